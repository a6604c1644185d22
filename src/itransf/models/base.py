"""What every model promises.

A model gets sizes and its own config, and scores triples given as tensors of indices. Higher is more plausible.
Shapes: b batch, n replacements per triple, e entities, r relations, m concepts, k support size, d dimension.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from itransf.ops.distance import Norm, grouped_distance, pairwise_distance
from itransf.ops.grouping import Grouping, group_rows, sorted_grouping
from itransf.ops.products import grouped_product, multiply_transposed

Side = Literal["head", "tail"]
SIDES: tuple[Side, Side] = ("head", "tail")
Scorer = Callable[[Tensor], Tensor]
Compare = Literal["l1", "l2", "dot"]


@dataclass(frozen=True)
class Sizes:
    """How many entities and relations a model has to know."""

    entities: int
    relations: int


@dataclass(frozen=True)
class Pool:
    """Candidate answers: which entities (None: all), and, where the model has such, their vectors (n, d)."""

    entities: Tensor | None
    vectors: Tensor | None = None


class Model(nn.Module, ABC):
    """The contract: three ways to score triples, and hooks that do nothing unless a model needs them."""

    Config: ClassVar[type]

    def __init__(self, sizes: Sizes, config: Any) -> None:
        super().__init__()
        self.sizes, self.config = sizes, config

    @abstractmethod
    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the plausibility of each triple, (b,)."""

    @abstractmethod
    def score_tails(self, heads: Tensor, relations: Tensor) -> Tensor:
        """Return the plausibility of every entity as the tail, (b, e)."""

    @abstractmethod
    def score_heads(self, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the plausibility of every entity as the head, (b, e)."""

    def pool(self, entities: Tensor | None = None) -> Pool:
        """Return candidates to score again and again: these entities, or all."""
        return Pool(entities)

    def scorer(self, relation: int, side: Side, pool: Pool | None = None) -> Scorer:
        """Return a function from anchors (q,) to the scores (q, n) of the pool's entities on `side`.

        What depends on the relation alone is computed once, here; the anchors may come in any chunks.
        """
        candidates = self.pool() if pool is None else pool

        def score_all(anchors: Tensor) -> Tensor:
            return self.score_pool(anchors, torch.full_like(anchors, relation), side, candidates)

        return score_all

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the scores (b, n) of the pool's entities as answers to the questions (anchor, relation)."""
        tails = side == "tail"
        scores = self.score_tails(anchors, relations) if tails else self.score_heads(relations, anchors)
        return scores if pool.entities is None else scores[:, pool.entities]

    def score_contrast(
        self, heads: Tensor, relations: Tensor, tails: Tensor, replaces_head: Tensor, replacements: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Score triples beside corrupted copies of them.

        Args:
            heads: (b,)
            relations: (b,)
            tails: (b,)
            replaces_head: Whether the replacements stand in for the head (else for the tail), bool (b,).
            replacements: Entities, (b, n).

        Returns:
            The scores of the triples (b,) and of their corrupted copies (b, n).
        """
        n = replacements.shape[1]
        corrupted_heads = torch.where(replaces_head[:, None], replacements, heads[:, None])
        corrupted_tails = torch.where(replaces_head[:, None], tails[:, None], replacements)
        negatives = self.score(corrupted_heads.flatten(), relations.repeat_interleave(n), corrupted_tails.flatten())
        return self.score(heads, relations, tails), negatives.view(-1, n)

    def score_shared(
        self,
        heads: Tensor,
        relations: Tensor,
        tails: Tensor,
        owners: Tensor,
        replaces_head: Tensor,
        replacements: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Score triples beside corrupted copies that the triples of a group have in common.

        Args:
            heads: (b,)
            relations: (b,), the same in a group.
            tails: (b,)
            owners: The group of each triple, (b,), ascending, none without triples.
            replaces_head: Which side of its triples a group replaces, bool (g,).
            replacements: By which entities, (g, n).

        Returns:
            The scores of the triples (b,) and of their corrupted copies (b, n).
        """
        return self.score_contrast(heads, relations, tails, replaces_head[owners], replacements[owners])

    def rate(self, parameter: str) -> float:
        """Return what the learning rate of the parameter of this name is multiplied with."""
        return 1.0

    def constrain(self, touched_entities: Tensor | None) -> None:
        """Restore the model's constraints after an update of these entities (None: of all)."""

    def penalty(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor | None:
        """Return what the model adds to the mean loss of a batch of triples, if anything."""
        return None

    def supports(self, side: Side) -> Tensor | None:
        """Return which concepts each relation may use on `side`, (r, k), to be written in place; None: no such."""
        return None

    def rules(self, side: Side) -> Tensor | None:
        """Return which concepts are pinned or forbidden to each relation on `side`, (r, m); None: no such."""
        return None

    def single_concept_scores(self, heads: Tensor, relations: Tensor, tails: Tensor, side: Side) -> Tensor:
        """Score triples as if `side` used one concept alone, for each concept in turn, (b, m)."""
        raise NotImplementedError(f"{type(self).__name__} has no concepts")

    def project_alone(self, entities: Tensor) -> Tensor:
        """Return what each concept alone makes of entities (b,), (b, m, d)."""
        raise NotImplementedError(f"{type(self).__name__} has no concepts")

    def to_bridge(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return what a relation's vector would have to be for each triple alone, (b, d)."""
        raise NotImplementedError(f"{type(self).__name__} has no translations")


class QueryModel(Model):
    """A model whose score compares a query vector with a table of candidates."""

    @property
    @abstractmethod
    def compare(self) -> Compare:
        """How a query is compared with a candidate."""

    @abstractmethod
    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return what to look for on `side` given the entity on the other side, (b, d)."""

    @abstractmethod
    def pool(self, entities: Tensor | None = None) -> Pool:
        """Return candidates with their vectors."""

    @abstractmethod
    def candidates(self, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the pool's entities as seen on `side` of each relation (u,), (u, n, d)."""

    def scorer(self, relation: int, side: Side, pool: Pool | None = None) -> Scorer:
        """Return a function from anchors to scores; the pool is projected once, here."""
        device = next(self.parameters()).device
        wanted = torch.tensor([relation], device=device)
        table = self.candidates(wanted, side, self.pool() if pool is None else pool)[0]

        def score_all(anchors: Tensor) -> Tensor:
            queries = self.queries(anchors, torch.full_like(anchors, relation), side)
            return compare_all(queries, table, self.compare)

        return score_all

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the scores (b, n) of the pool; each relation projects it once."""
        grouping = group_rows(relations)
        tables = self.candidates(grouping.keys, side, pool)  # (u, n, d)
        queries = self.queries(anchors, relations, side)  # (b, d)
        if grouping.order is None:
            return compare_grouped(queries, tables, grouping, self.compare)
        scores = compare_grouped(queries[grouping.order], tables, sorted_grouping(grouping), self.compare)
        return torch.empty_like(scores).index_copy(0, grouping.order, scores)

    def score_tails(self, heads: Tensor, relations: Tensor) -> Tensor:
        """Return the plausibility of every entity as the tail, (b, e)."""
        return self._score_side(heads, relations, "tail")

    def score_heads(self, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the plausibility of every entity as the head, (b, e)."""
        return self._score_side(tails, relations, "head")

    def _score_side(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        scores = self.new_scores(len(anchors))
        for relation in torch.unique(relations).tolist():
            rows = (relations == relation).nonzero().squeeze(1)
            scores = scores.index_copy(0, rows, self.scorer(relation, side)(anchors[rows]))
        return scores

    def new_scores(self, rows: int) -> Tensor:
        """Return an unset score matrix of `rows` queries, on the model's device."""
        return next(self.parameters()).new_empty(rows, self.sizes.entities)


def compare_grouped(queries: Tensor, tables: Tensor, grouping: Grouping, compare: Compare) -> Tensor:
    """Return the score of every query (b, d), sorted by group, against its group's candidates (u, n, d)."""
    if compare == "dot":
        return grouped_product(queries, tables, grouping)
    return -grouped_distance(queries, tables, grouping, 1 if compare == "l1" else 2)


def compare_all(queries: Tensor, table: Tensor, compare: Compare) -> Tensor:
    """Return the score of every query (q, d) against every candidate (e, d), as (q, e)."""
    if compare == "dot":
        return multiply_transposed(queries, table)
    norm: Norm = 1 if compare == "l1" else 2
    return -pairwise_distance(queries, table, norm)
