"""LineaRE."""

from dataclasses import dataclass
from typing import ClassVar

from itransf.config import setting
from itransf.models.base import Defaults, Paper, Sizes
from itransf.models.projection import DiagonalProjection
from itransf.models.translation import Translation, TranslationConfig


@dataclass(frozen=True)
class LineaREConfig(TranslationConfig):
    """Settings of LineaRE beside those of the family."""

    dropout: float = setting(0.0, "Dropout probability of the difference vector in training.", below=1)


class LineaRE(Translation):
    """-|w_head[r] * h + r - w_tail[r] * t|, * elementwise   (Peng and Zhang, 2020).

    ITransF with d concepts that are unit diagonals, shared by all relations with free weights.
    """

    Config: ClassVar[type] = LineaREConfig
    config: LineaREConfig
    fused: ClassVar[bool] = True
    tuned: ClassVar[tuple[float, float]] = (0.2, 0.003)
    starts_from: ClassVar[str] = ""
    paper: ClassVar[Paper | None] = Paper(
        "LineaRE: Simple but Powerful Knowledge Graph Embedding for Link Prediction",
        "Peng, Zhang",
        "ICDM 2020",
        "https://arxiv.org/abs/2004.10037",
    )
    projection_kind = DiagonalProjection
    chosen: ClassVar[Defaults] = {"model": {"matrix_lr_factor": 1.0}}  # diagonals learn as fast as vectors

    def __init__(self, sizes: Sizes, config: LineaREConfig) -> None:
        super().__init__(sizes, config)
        self.dropout, self.is_random = config.dropout, config.dropout > 0
