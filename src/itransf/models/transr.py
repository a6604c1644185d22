"""TransR."""

from typing import ClassVar

from itransf.models.base import Paper
from itransf.models.projection import FullProjection
from itransf.models.translation import Translation


class TransR(Translation):
    """-|W[r] h + r - W[r] t|   (Lin et al., 2015), with square W."""

    fused: ClassVar[bool] = True
    tuned: ClassVar[tuple[float, float]] = (0.2, 0.003)
    paper = Paper(
        "Learning Entity and Relation Embeddings for Knowledge Graph Completion",
        "Lin, Liu, Sun, Liu, Zhu",
        "AAAI 2015",
        "https://ojs.aaai.org/index.php/AAAI/article/view/9491",
    )
    projection_kind = FullProjection
    one_projection: ClassVar[bool] = True
