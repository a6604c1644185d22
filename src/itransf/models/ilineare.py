"""ILineaRE: LineaRE whose diagonals are composed of a few shared concepts."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from itransf.config import setting
from itransf.models.base import SIDES, SMALL, Model, Paper, Sizes, TrainingGraph
from itransf.models.concepts import CodedConcepts, check_support_size
from itransf.models.lineare import LineaRE, LineaREConfig
from itransf.models.translation import ConceptTranslation
from itransf.ops.distance import distance

RIVALS = 256  # entities that the tails of a new relation are compared with


@dataclass(frozen=True)
class ILineaREConfig(LineaREConfig):
    """Settings of ILineaRE beside those of LineaRE."""

    concepts: int = setting(
        30,
        "Number m of concept vectors that all relations share.",
        "as many as relations under 20,000 triples, else a third of them",
    )
    support_size: int = setting(
        5, "Maximum number k of concepts on one side of a relation.", "5, or fewer where there are fewer"
    )

    def __post_init__(self) -> None:
        """Refuse impossible sizes."""
        check_support_size(self.concepts, self.support_size)


class ILineaRE(LineaRE, ConceptTranslation, CodedConcepts):
    """-|w_head * h + r - w_tail * t| with w_side = sum_i a_side[r, i] c[i] over at most k shared concepts.

    Weights are free and have signs. Training starts with LineaRE (`warm_start.epochs`); its diagonals are then coded
    sparsely.
    """

    Config: ClassVar[type] = ILineaREConfig
    config: ILineaREConfig
    paper: ClassVar[Paper | None] = None  # from this package
    fused: ClassVar[bool] = True
    starts_from: ClassVar[str] = "lineare"

    def __init__(self, sizes: Sizes, config: ILineaREConfig) -> None:
        super().__init__(sizes, config)
        self.add_concepts(torch.randn(config.concepts, config.dim, device="cpu"), config.support_size, 1.0, "signed")

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return the settings of LineaRE for a graph, with the number of concepts; a third of the epochs come after."""
        found = super().defaults(graph, device)
        is_small, relations = len(graph.train) < SMALL, len(graph.relations)
        concepts = max(relations if is_small else relations // 3, 1)
        epochs = found["training"]["epochs"]
        found["model"] |= {"concepts": concepts, "support_size": min(5, concepts)}
        found["training"] |= {"epochs": max(epochs // 3, 1)}
        found["validation"] = {"every": max(epochs // 9, 1)}
        return found | {"warm_start": {"epochs": epochs - epochs // 3}}

    def part_vectors(self, part: str) -> Tensor:
        """Return the diagonals of one side of all relations, (r, d)."""
        return self.concept_attention(part).matrices(torch.arange(self.sizes.relations, device=self.concepts.device))

    @torch.no_grad()
    def start_from(self, model: Model, counts: Tensor) -> None:
        """Start with the embeddings of a trained LineaRE and with sparse codes of its diagonals.

        Args:
            model: LineaRE of the same dimension.
            counts: Training triples of each relation, (r,).
        """
        super().start_from(model, counts)
        diagonals = torch.stack([model.get_parameter(f"project_{side}.weight") for side in SIDES])
        self.start_codes(diagonals, counts, self.config.dim**0.5)  # entries of concepts are about one

    @torch.no_grad()
    def start_relation(self, heads: Tensor, tails: Tensor) -> None:
        """Start the last relation with the concepts of the one that tells its tails best from other entities."""
        rivals = torch.arange(min(RIVALS, self.sizes.entities), device=heads.device)
        fits = []
        for relation in range(self.sizes.relations - 1):
            number = torch.full_like(heads, relation)
            translations = self.exact_translations(heads, number, tails)
            queries = self.project(heads, number, "head") + translations.mean(0)
            others = self.project(rivals, torch.full_like(rivals, relation), "tail")
            far = torch.cdist(queries, others, p=float(self.config.p_norm)).mean()
            near = distance(translations - translations.mean(0), self.config.p_norm).mean()
            fits.append((float(near / far.clamp_min(torch.finfo(far.dtype).tiny)), -float(far)))
        best = fits.index(min(fits))
        for side in SIDES:
            attention = self.concept_attention(side)
            attention.support[-1], attention.scores[-1] = attention.support[best], attention.scores[best]
        super().start_relation(heads, tails)
