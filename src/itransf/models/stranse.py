"""STransE."""

from typing import ClassVar

from itransf.models.base import Paper
from itransf.models.projection import FullProjection
from itransf.models.translation import Translation


class STransE(Translation):
    """-|W_head[r] h + r - W_tail[r] t|   (Nguyen et al., 2016)."""

    fused: ClassVar[bool] = True
    tuned: ClassVar[tuple[float, float]] = (0.2, 0.003)
    paper = Paper(
        "STransE: a novel embedding model of entities and relationships in knowledge bases",
        "Nguyen, Sirts, Qu, Johnson",
        "NAACL 2016",
        "https://aclanthology.org/N16-1054",
    )
    projection_kind = FullProjection
