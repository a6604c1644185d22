"""ITransF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from itransf.errors import ConfigError
from itransf.models.base import SIDES, Side, Sizes
from itransf.models.projection import AttentionKind, ConceptProjection, noisy_identities
from itransf.models.translation import Translation, TranslationConfig
from itransf.ops.gathering import gathered_distance
from itransf.ops.products import spread_product

TABLE_NUMBERS = 1 << 24  # floats that tables of projected entities may hold at once
ConceptStart = Literal["identity", "reflect", "mixed"]


@dataclass(frozen=True)
class ITransFConfig(TranslationConfig):
    """Settings of ITransF beside those of the family.

    Attributes:
        concepts: m, how many concept matrices are shared by all relations.
        support_size: k, the most concepts one side of a relation may use (the paper never gives it).
        temperature: Of the softmax over a support; the paper's 1/4.
        attention: `sparse` (at most k concepts), `dense` (all, softmax) or `l1` (all, no softmax, penalised).
        l1_weight: Coefficient of the l1 penalty, a mean over triples as the loss is; only with `attention = "l1"`.
        concept_init: `identity` (plus noise, as in the paper), `reflect` (random +-1 diagonals, which can tell the
            two ends of a symmetric relation apart) or `mixed` (half of them identities, the
            other half one and the same random +-1 diagonal, so that the coordinates it leaves alone are common to all).
    """

    concepts: int = 30
    support_size: int = 5
    temperature: float = 0.25
    attention: AttentionKind = "sparse"
    l1_weight: float = 0.001
    concept_init: ConceptStart = "identity"

    def __post_init__(self) -> None:
        """Refuse sizes that mean nothing."""
        for key in ("concepts", "support_size", "temperature"):
            if getattr(self, key) <= 0:
                raise ConfigError(f"model.{key} must be above zero, not {getattr(self, key)}")
        if self.attention == "sparse" and self.support_size > self.concepts:
            raise ConfigError(
                f"model.support_size = {self.support_size} asks for more concepts on a side than there are "
                f"(model.concepts = {self.concepts}); lower the one or raise the other"
            )


class ITransF(Translation):
    """-|sum_i a_head[r, i] D[i] h + r - sum_i a_tail[r, i] D[i] t|   (Xie et al., 2017, Eq. 1).

    The attention a[r] = SparseSoftmax(v[r], support[r]) is non-zero on at most k of the m concepts D, which both
    sides of all relations share. STransE is the special case m = 2 |R| with disjoint one-hot attention.
    """

    Config: ClassVar[type] = ITransFConfig
    fused: ClassVar[bool] = True
    config: ITransFConfig
    project_head: ConceptProjection
    project_tail: ConceptProjection

    def __init__(self, sizes: Sizes, config: ITransFConfig) -> None:
        super().__init__(sizes, config)
        self.concepts = nn.Parameter(start_concepts(config.concepts, config.dim, config.concept_init))
        for side in ("head", "tail"):
            projection = ConceptProjection(
                self.concepts, sizes.relations, config.support_size, config.temperature, config.attention
            )
            setattr(self, f"project_{side}", projection)

    def concept_projection(self, side: Side) -> ConceptProjection:
        """Return the projection of one side: its attention, supports and scores."""
        return self.project_head if side == "head" else self.project_tail

    def penalty(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor | None:
        """Return the family's penalty, and the l1 penalty where that kind of attention is asked for."""
        inherited = super().penalty(heads, relations, tails)
        if self.config.attention != "l1":
            return inherited
        weights = [embedding(relations, self.concept_projection(side).scores, sparse=True) for side in SIDES]
        total = torch.stack([each.abs().sum(1).mean() for each in weights]).sum()
        return self.config.l1_weight * total + (0.0 if inherited is None else inherited)

    def rate(self, parameter: str) -> float:
        """Return the factor of matrices for free weights too: these scale matrices, and start as small as 1 / m."""
        if self.config.attention == "l1" and parameter.endswith(".scores"):
            return self.config.matrix_lr_factor
        return super().rate(parameter)

    def supports(self, side: Side) -> Tensor | None:
        """Return the supports of one side, (r, k), where attention is sparse."""
        return self.concept_projection(side).support if self.config.attention == "sparse" else None

    def rules(self, side: Side) -> Tensor | None:
        """Return the rules of one side, (r, m), where attention is sparse."""
        return self.concept_projection(side).rules if self.config.attention == "sparse" else None

    def project_alone(self, entities: Tensor) -> Tensor:
        """Return what each concept alone makes of entities (b,), (b, m, d)."""
        return self.limit_projected(spread_product(self.entities[entities], self.concepts)).transpose(0, 1)

    @torch.no_grad()
    def single_concept_scores(self, heads: Tensor, relations: Tensor, tails: Tensor, side: Side) -> Tensor:
        """Score triples as if `side` used one concept alone, for each concept in turn, (b, m).

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


def start_concepts(count: int, dim: int, kind: ConceptStart) -> Tensor:
    """Return the first concept matrices (m, d, d)."""
    concepts = noisy_identities(count, dim)
    reflecting = {"identity": 0, "reflect": count, "mixed": count // 2}[kind]
    patterns = 1 if kind == "mixed" else reflecting
    signs = torch.randint(0, 2, (patterns, dim), device="cpu").float() * 2 - 1
    concepts[:reflecting] += torch.diag_embed(signs - 1)  # identity + noise -> diag(signs) + noise
    return concepts
