"""TransE."""

from __future__ import annotations

from typing import ClassVar

from itransf.models.translation import Translation


class TransE(Translation):
    """-|h + r - t|   (Bordes et al., 2013)."""

    fused: ClassVar[bool] = True
