"""ITransF."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from itransf.config import setting
from itransf.models.base import SIDES, SMALL, Paper, Side, Sizes, TrainingGraph, look_up
from itransf.models.concepts import ProjectingConcepts, check_support_size
from itransf.models.projection import noisy_identities
from itransf.models.translation import ConceptTranslation, TranslationConfig
from itransf.ops.distance import gathered_distance
from itransf.ops.grouped import spread_product

TABLE_NUMBERS = 1 << 24  # floats that tables of projected entities may hold at once
FEWEST_CONCEPTS, MOST_CONCEPTS = 8, 300  # that the defaults choose


@dataclass(frozen=True)
class ITransFConfig(TranslationConfig):
    """Settings of ITransF beside those of the family."""

    concepts: int = setting(
        30,
        "Number m of concept matrices that all relations share.",
        "three quarters of the relations under 20,000 triples, else half, from 8 to 300",
        above=0,
    )
    support_size: int = setting(
        5, "Maximum number k of concepts on one side of a relation.", "5 under 20,000 triples, else 3", above=0
    )
    temperature: float = setting(0.25, "Temperature of the softmax over a support (the paper's 1/4).", above=0)
    attention: Literal["sparse", "dense", "l1"] = setting(
        "sparse", "sparse (softmax over at most k concepts), dense (softmax over all) or l1 (free weights, penalized)."
    )
    l1_weight: float = setting(0.001, "Coefficient of the l1 penalty, averaged over triples (attention=l1).")
    concept_init: Literal["identity", "reflect", "mixed"] = setting(
        "mixed",
        "Initial concepts: identity (plus noise, as in the paper), reflect (random +-1 diagonals, which can tell the "
        "two ends of a symmetric relation apart) or mixed (half identities, half one shared +-1 diagonal).",
    )

    def __post_init__(self) -> None:
        """Refuse more concepts on a side than there are."""
        if self.attention == "sparse":
            check_support_size(self.concepts, self.support_size)


class ITransF(ConceptTranslation, ProjectingConcepts):
    """-|sum_i a_head[r, i] D[i] h + r - sum_i a_tail[r, i] D[i] t|   (Xie et al., 2017, Eq. 1).

    The attention a[r] = SparseSoftmax(v[r], support[r]) is non-zero on at most k of the m concepts D, which both
    sides of all relations share. STransE is the special case m = 2 |R| with disjoint one-hot attention.
    """

    Config: ClassVar[type] = ITransFConfig
    config: ITransFConfig
    fused: ClassVar[bool] = True
    tuned: ClassVar[tuple[float, float]] = (0.2, 0.002)
    paper = Paper(
        "An Interpretable Knowledge Transfer Model for Knowledge Base Completion",
        "Xie, Ma, Dai, Hovy",
        "ACL 2017",
        "https://aclanthology.org/P17-1088",
    )

    def __init__(self, sizes: Sizes, config: ITransFConfig) -> None:
        super().__init__(sizes, config)
        concepts = start_concepts(config.concepts, config.dim, config.concept_init)
        self.add_concepts(concepts, config.support_size, config.temperature, config.attention)

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return the family's settings for a graph, with the number of concepts."""
        found = super().defaults(graph, device)
        is_small, relations = len(graph.train) < SMALL, len(graph.relations)
        wanted = relations * 3 // 4 if is_small else relations // 2
        concepts = min(max(wanted, FEWEST_CONCEPTS), MOST_CONCEPTS)
        found["model"] |= {"concepts": concepts, "support_size": 5 if is_small else 3}
        return found

    def penalty(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor | None:
        """Return the l1 penalty of that kind of attention."""
        if self.config.attention != "l1":
            return None
        weights = [look_up(self.concept_attention(side).scores, relations) for side in SIDES]
        return self.config.l1_weight * torch.stack([each.abs().sum(1).mean() for each in weights]).sum()

    def project_alone(self, entities: Tensor) -> Tensor:
        """Return the projection of entities (b,) by each concept alone, (b, m, d)."""
        return self.limit_projected(spread_product(self.entities[entities], self.concepts)).transpose(0, 1)

    @torch.no_grad()
    def single_concept_scores(self, heads: Tensor, relations: Tensor, tails: Tensor, side: Side) -> Tensor:
        """Return the scores of triples if `side` used one concept alone, for each concept, (b, m).

        The other side keeps its attention. Every distinct entity is projected once per concept.
        """
        entities, anchors = (heads, tails) if side == "head" else (tails, heads)
        wanted = self.queries(anchors, relations, side)  # (b, d)
        distinct, places = torch.unique(entities, return_inverse=True)
        vectors = self.entities[distinct]
        at_once = max(1, TABLE_NUMBERS // vectors.numel())
        scores = wanted.new_empty(len(wanted), len(self.concepts))
        for start in range(0, len(self.concepts), at_once):
            part = slice(start, start + at_once)
            tables = self.limit_projected(spread_product(vectors, self.concepts[part]))  # (c, e', d)
            scores[:, part] = -gathered_distance(tables, places, wanted, self.config.p_norm)
        return scores


def start_concepts(count: int, dim: int, kind: str) -> Tensor:
    """Return the initial concept matrices, (m, d, d)."""
    concepts = noisy_identities(count, dim)
    reflecting = {"identity": 0, "reflect": count, "mixed": count // 2}[kind]
    patterns = 1 if kind == "mixed" else reflecting
    signs = torch.randint(0, 2, (patterns, dim), device="cpu").float() * 2 - 1
    concepts[:reflecting] += torch.diag_embed(signs - 1)  # identity + noise -> diag(signs) + noise
    return concepts
