"""SE, structured embeddings."""

from typing import ClassVar

from itransf.models.base import Paper
from itransf.models.projection import FullProjection
from itransf.models.unstructured import Unstructured


class SE(Unstructured):
    """-|W_head[r] h - W_tail[r] t|   (Bordes et al., 2011), STransE without translations."""

    tuned: ClassVar[tuple[float, float]] = (0.2, 0.003)
    paper = Paper(
        "Learning Structured Embeddings of Knowledge Bases",
        "Bordes, Weston, Collobert, Bengio",
        "AAAI 2011",
        "https://ojs.aaai.org/index.php/AAAI/article/view/7917",
    )
    projection_kind = FullProjection
