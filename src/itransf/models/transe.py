"""TransE."""

from typing import ClassVar

from itransf.models.translation import Translation, TranslationConfig


class TransE(Translation):
    """-|h + r - t|   (Bordes et al., 2013)."""

    Config: ClassVar[type] = TranslationConfig
    fused: ClassVar[bool] = True
    tuned: ClassVar[tuple[float, float]] = (0.08, 0.0)
