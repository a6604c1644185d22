"""Unstructured."""

from typing import ClassVar

import torch
from torch import Tensor

from itransf.models.base import Paper, Sizes
from itransf.models.translation import Translation, TranslationConfig


class Unstructured(Translation):
    """-|h - t|   (Bordes et al., 2014): TransE without translations, so all relations are alike."""

    starts_from: ClassVar[str] = ""
    paper = Paper(
        "A Semantic Matching Energy Function for Learning with Multi-relational Data",
        "Bordes, Glorot, Weston, Bengio",
        "Machine Learning 2014",
        "https://arxiv.org/abs/1301.3485",
    )

    def __init__(self, sizes: Sizes, config: TranslationConfig) -> None:
        super().__init__(sizes, config)
        del self.relations  # zeros, which are not trained, take their place
        self.register_buffer("relations", torch.zeros(sizes.relations, config.dim, device="cpu"))

    def start_relation(self, heads: Tensor, tails: Tensor) -> None:
        """Leave the translation of a new relation at zero."""
