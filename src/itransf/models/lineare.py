"""LineaRE."""

from typing import Any, ClassVar

from itransf.models.base import Paper, Sizes, TrainingGraph
from itransf.models.projection import DiagonalProjection
from itransf.models.translation import Translation, TranslationConfig


class LineaRE(Translation):
    """-|w_head[r] * h + r - w_tail[r] * t|, * elementwise   (Peng and Zhang, 2020)."""

    Config: ClassVar[type] = TranslationConfig
    fused: ClassVar[bool] = True
    starts_from: ClassVar[str] = ""
    paper: ClassVar[Paper | None] = Paper(
        "LineaRE: Simple but Powerful Knowledge Graph Embedding for Link Prediction",
        "Peng, Zhang",
        "ICDM 2020",
        "https://arxiv.org/abs/2004.10037",
    )

    def __init__(self, sizes: Sizes, config: TranslationConfig) -> None:
        super().__init__(sizes, config)
        self.project_head = DiagonalProjection(sizes.relations, config.dim)
        self.project_tail = DiagonalProjection(sizes.relations, config.dim)

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return the family's settings for a graph; diagonals learn as fast as vectors."""
        found = super().defaults(graph, device)
        found["model"] |= {"matrix_lr_factor": 1.0}
        return found
