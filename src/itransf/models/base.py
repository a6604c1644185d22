"""The contract of a model: score triples given as tensors of indices. Higher is more plausible.

The quick way: subclass `Model` and write `score`. Training, ranking, prediction and saving then work, correct if not
fast. The fast way: subclass `QueryModel` and write `queries`: a triple's score compares a query vector with a candidate
vector, which gives fast ranking, many negatives and 1-vs-all losses.

Shapes: b batch, n negatives per triple, e entities, r relations, m concepts, k support size, d dimension.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeGuard

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from itransf.errors import ConfigError
from itransf.ops.distance import distance, grouped_distance, grouped_modulus_distance, moduli
from itransf.ops.dropout import dropout_mask
from itransf.ops.grouped import Grouping, group_rows, grouped_product, one_group

Side = Literal["head", "tail"]
SIDES: tuple[Side, Side] = ("head", "tail")
Scorer = Callable[[Tensor], Tensor]
Compare = Literal["l1", "l2", "dot", "affine", "modulus"]
Defaults = Mapping[str, Mapping[str, Any]]
Operation = Literal["add", "multiply", "complex", "rotate"]
SCORES_AT_ONCE = 1 << 17  # triples scored in one call where a model has no query form
SMALL = 20_000  # training triples below which a graph is small
VISITS = {"small": 250_000, "cpu": 2_000_000, "cuda": 30_000_000}  # triples seen in all epochs together
FEWEST_EPOCHS, MOST_EPOCHS = 10, 200
ALL_CANDIDATES, SOME_CANDIDATES = 2500, 1024  # entities up to which all are candidates; number of candidates beyond
FEWEST_BATCHES = 16  # per epoch of a small graph, while they hold 32 triples


class TrainingGraph(Protocol):
    """What a model may look at when it is built: names and training triples."""

    @property
    def entities(self) -> Sized:
        """Names of the entities."""

    @property
    def relations(self) -> Sized:
        """Names of the relations."""

    @property
    def train(self) -> Any:
        """Training triples as an integer array, (n, 3)."""


@dataclass(frozen=True)
class Sizes:
    """Numbers of entities and relations."""

    entities: int
    relations: int


class Paper(NamedTuple):
    """Publication that introduced a model."""

    title: str
    authors: str
    venue: str
    link: str


@dataclass(frozen=True)
class Pool:
    """Candidate answers: entity indices (None: all entities) and, for a query model, their vectors (n, d)."""

    entities: Tensor | None
    vectors: Tensor | None = None


@dataclass(frozen=True)
class Part:
    """One summand of a score.

    Attributes:
        side: "head", "tail" or "translation"; "relation" where a score is a product.
        concept: Number of the concept; None for what is not a concept.
        weight: Attention on the concept.
        symmetry: "symmetric" if the part adds the same to (h, r, t) and (t, r, h), "antisymmetric" if the opposite.
    """

    side: str
    concept: int | None
    weight: float | None
    symmetry: str = field(default="", kw_only=True)


class Split(NamedTuple):
    """The scores of triples of one relation, split into parts.

    Attributes:
        parts: (p,)
        values: Share of each part in each total, in double precision, (n, p); the rows sum to the totals.
        totals: The scores or, if they are negated distances, the distances, (n,).
        is_distance: Whether the totals are distances.
    """

    parts: tuple[Part, ...]
    values: Tensor
    totals: Tensor
    is_distance: bool = False


class Model(nn.Module, ABC):
    """A scoring function with parameters.

    Attributes:
        Config: Frozen dataclass of the model's own settings.
        paper: Publication, if there is one.
        fused: Whether the fused training steps compute exactly this class; not inherited.
        starts_from: Model that `warm_start.epochs` trains first, if the model can start from one.
        is_random: Whether scores are random in training: a triple's is then taken from the same draw as its rivals'.
        noise: Random numbers of the current training step; the same step draws the same numbers.
        chosen: Settings by section that hold for graphs of any size without a preset, where they differ from those of
            most models.
        uses: What a score uses beside parameters: "paths" or "features" of the training triples, or nothing.
    """

    Config: ClassVar[type]
    paper: ClassVar[Paper | None] = None
    fused: ClassVar[bool] = False
    starts_from: ClassVar[str] = ""
    chosen: ClassVar[Defaults] = {}
    is_random: bool = False
    noise: torch.Generator | None = None
    uses: ClassVar[str] = ""

    def __init__(self, sizes: Sizes, config: Any) -> None:
        super().__init__()
        self.sizes, self.config = sizes, config

    @classmethod
    def build(cls, graph: TrainingGraph, config: Any) -> Model:
        """Return a new model for a graph; override it to look at the training triples."""
        return cls(Sizes(len(graph.entities), len(graph.relations)), config)

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return settings by section for a graph, where they differ from the defaults of the sections.

        These depend on the size of the graph, and on what the model has `chosen`.

        Args:
            graph: Graph to train on.
            device: "cpu" or "cuda".
        """
        triples = len(graph.train)
        is_small = triples < SMALL
        epochs = VISITS["small" if is_small else device] // max(triples, 1)
        epochs = min(max(epochs, FEWEST_EPOCHS), MOST_EPOCHS)
        batch = min(max(triples // FEWEST_BATCHES, 32), 512) if is_small else 1024
        own = {entry.name for entry in fields(cls.Config)}
        found = {
            "model": {"dim": 64 if is_small else 100} if "dim" in own else {},
            "training": {"epochs": epochs, "batch_size": batch, "block_size": max(batch // 8, 1)},
            "loss": {"candidates": 0 if len(graph.entities) <= ALL_CANDIDATES else SOME_CANDIDATES},
            "validation": {"every": max(epochs // 10, 1)},
        }
        return found | {section: {**found.get(section, {}), **own} for section, own in cls.chosen.items()}

    @abstractmethod
    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the plausibility of each triple, (b,)."""

    def score_tails(self, heads: Tensor, relations: Tensor) -> Tensor:
        """Return the plausibility of every entity as the tail, (b, e)."""
        return self._score_side(heads, relations, "tail")

    def score_heads(self, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the plausibility of every entity as the head, (b, e)."""
        return self._score_side(tails, relations, "head")

    def _score_side(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Score all entities one relation at a time, so that only one table of candidates is in memory."""
        scores = next(self.parameters()).new_empty(len(anchors), self.sizes.entities)
        for relation in torch.unique(relations).tolist():
            rows = (relations == relation).nonzero().squeeze(1)
            scores = scores.index_copy(0, rows, self.scorer(relation, side)(anchors[rows]))
        return scores

    def pool(self, entities: Tensor | None = None) -> Pool:
        """Return these entities, or all, as candidates."""
        return Pool(entities)

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the scores (b, n) of the pool's entities on `side` of the queries (anchor, relation)."""
        candidates = pool.entities
        if candidates is None:
            candidates = torch.arange(self.sizes.entities, device=anchors.device)
        n = len(candidates)
        parts = []
        for rows in torch.split(torch.arange(len(anchors), device=anchors.device), max(1, SCORES_AT_ONCE // max(n, 1))):
            answers, known = candidates.repeat(len(rows)), anchors[rows].repeat_interleave(n)
            heads, tails = (answers, known) if side == "head" else (known, answers)
            parts.append(self.score(heads, relations[rows].repeat_interleave(n), tails).view(-1, n))
        return torch.cat(parts)

    def scorer(self, relation: int, side: Side, pool: Pool | None = None) -> Scorer:
        """Return a function from anchors (q,) to the scores (q, n) of the pool's entities on `side`.

        What depends on the relation alone is computed once.
        """
        candidates = self.pool() if pool is None else pool

        def score_all(anchors: Tensor) -> Tensor:
            return self.score_pool(anchors, torch.full_like(anchors, relation), side, candidates)

        return score_all

    def score_contrast(
        self, heads: Tensor, relations: Tensor, tails: Tensor, replaces_head: Tensor, entities: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Score triples and their negatives.

        Args:
            heads: (b,)
            relations: (b,)
            tails: (b,)
            replaces_head: Whether the negatives replace the head (else the tail), bool (b,).
            entities: Entities that replace it, (b, n).

        Returns:
            The scores of the triples (b,) and of their negatives (b, n).
        """
        owners = torch.arange(len(heads), device=heads.device)
        return self.score_shared(heads, relations, tails, owners, replaces_head, entities)

    def score_shared(
        self, heads: Tensor, relations: Tensor, tails: Tensor, owners: Tensor, replaces_head: Tensor, entities: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Score triples and the negatives that the triples of a group share.

        Args:
            heads: (b,)
            relations: (b,), the same within a group.
            tails: (b,)
            owners: Group of each triple, (b,), ascending; every group has a triple.
            replaces_head: Whether a group's negatives replace the head, bool (g,).
            entities: Entities that replace it, (g, n).

        Returns:
            The scores of the triples (b,) and of their negatives (b, n).
        """
        negatives = self.score(*list_negatives(heads, relations, tails, owners, replaces_head, entities))
        return self.score(heads, relations, tails), negatives.view(-1, entities.shape[1])

    @property
    def is_explainable(self) -> bool:
        """Whether `split_scores` splits the scores exactly."""
        return type(self).split_scores is not Model.split_scores

    def split_scores(self, triples: Tensor) -> Split:
        """Split the scores of triples (n, 3) of one relation into parts; override it to have scores explained."""
        raise NotImplementedError(f"{type(self).__name__} does not split its scores")

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the vectors (b, d) that a regularizer is applied to, by default embeddings; complex ones as moduli.

        Raises:
            ConfigError: The model has no embeddings, and names no other vectors.
        """
        tables = self.embeddings()
        if len(tables) < 2:
            raise ConfigError(
                f"the model {type(self).__name__} defines no embeddings to regularize (Model.factors); "
                "set regularizer.weight=0"
            )
        entities, own = tables["entities"], tables["relations"]
        return look_up(entities, heads), look_up(own, relations), look_up(entities, tails)

    def score_relations(self, heads: Tensor, tails: Tensor) -> Tensor:
        """Return the plausibility of every relation between heads and tails, (b, r)."""
        count = self.sizes.relations
        relations = torch.arange(count, device=heads.device).repeat(len(heads))
        return self.score(heads.repeat_interleave(count), relations, tails.repeat_interleave(count)).view(-1, count)

    def drop(self, values: Tensor, share: float) -> Tensor:
        """Set a random share of the values to zero in training, and scale the others up to keep the mean."""
        if not share or not self.training:
            return values
        kept = torch.rand(values.shape, generator=self.noise, device=values.device) >= share
        return values * kept / (1 - share)

    def penalty(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor | None:
        """Return a term of the model's own that is added to the mean loss of a batch, if any."""
        return None

    def learning_rate_factor(self, parameter: str) -> float:
        """Return the factor on the learning rate of a parameter, by name."""
        return 1.0

    def constrain(self, entities: Tensor | None, relations: Tensor | None) -> None:
        """Restore constraints after an update of these rows (None: of all rows)."""

    def embeddings(self) -> dict[str, nn.Parameter]:
        """Return the tables "entities" (e, ...) and "relations" (r, ...), where the model has them."""
        found = {name: getattr(self, name, None) for name in ("entities", "relations")}
        return {name: table for name, table in found.items() if isinstance(table, nn.Parameter)}

    def entity_vectors(self) -> Tensor:
        """Return the vectors by which entities are compared with each other, (e, d); by default their embeddings."""
        return self.embeddings()["entities"].detach().flatten(1)

    @torch.no_grad()
    def start_from(self, model: Model, counts: Tensor) -> None:
        """Start with what another model learned on the same graph; by default, with its embeddings.

        Args:
            model: Trained model of the kind that `starts_from` names.
            counts: Training triples of each relation, (r,).
        """
        for name, table in model.embeddings().items():
            self.get_parameter(name).copy_(table)

    @torch.no_grad()
    def start_relation(self, heads: Tensor, tails: Tensor) -> None:
        """Start the last relation, which is new, from its triples; by default, its embedding at the others' mean."""
        table = self.embeddings()["relations"]
        table[-1] = table[:-1].mean(0)


class QueryModel(Model):
    """A model that compares a query vector with candidate vectors.

    Subclasses set `compare`, write `queries`, and hold a parameter `entities` (e, d); those whose candidates depend on
    the relation override `candidates` and `answers`, too.

    A query is compared by the l1 or l2 distance, by a dot product (`affine`: of all but its last number, which is
    added), or by the sum of the moduli of complex differences, real parts first (`modulus`).

    Attributes:
        operation: What makes the query of a head and a row of `relations`, for compiled training steps: they are added,
            multiplied, multiplied as complex numbers (`complex`), or the head is turned by the angles `angle` times the
            row (`rotate`). The query of a tail undoes it: with -r, or the conjugate.
        dropout: Dropout probability of the difference of a query and a candidate in training; each pair has its own.
    """

    operation: ClassVar[Operation | None] = None
    dropout: float = 0.0

    @property
    @abstractmethod
    def compare(self) -> Compare:
        """How a query is compared with a candidate; a class may set it as an attribute."""

    @abstractmethod
    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return the vectors to compare candidates on `side` with, given the entities on the other side, (b, d)."""

    def pool(self, entities: Tensor | None = None) -> Pool:
        """Return these entities, or all, with their vectors."""
        table = self.get_parameter("entities")
        return Pool(None, table) if entities is None else Pool(entities, look_up(table, entities))

    def candidates(self, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the pool's vectors on `side` of each relation (u,), (u, n, d)."""
        assert pool.vectors is not None, "pools of query models hold vectors"
        return pool.vectors.expand(len(relations), -1, -1)

    def answers(self, entities: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return the vectors of entities (b,) as candidates on `side` of their own relations (b,), (b, d)."""
        if type(self).candidates is not QueryModel.candidates:
            raise NotImplementedError(f"{type(self).__name__} overrides candidates and so must override answers")
        return look_up(self.get_parameter("entities"), entities)

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the comparison of each tail query with its own tail, (b,)."""
        queries, answers = self.queries(heads, relations, "tail"), self.answers(tails, relations, "tail")
        if self._drops:
            mask = self.drop(torch.ones_like(queries), self.dropout)  # of both, and so of their difference
            queries, answers = mask * queries, mask * answers
        return compare_rows(queries, answers, self.compare)

    def _score_dropped(self, heads: Tensor, relations: Tensor, tails: Tensor, first: int) -> Tensor:
        """Return the scores (b,) with dropout of the differences.

        A mask depends only on the seed of the step and the number of the triple, so that fused steps draw the same.

        Args:
            heads: (b,)
            relations: (b,)
            tails: (b,)
            first: Number of the first triple among all that the step scores.
        """
        assert self.noise is not None, "scores are random in training steps"
        queries, answers = self.queries(heads, relations, "tail"), self.answers(tails, relations, "tail")
        seed = self.noise.initial_seed()
        mask = dropout_mask(seed, first, len(queries), queries.shape[1], self.dropout, queries.device).to(queries.dtype)
        return compare_rows(mask * queries, mask * answers, self.compare)

    @property
    def _drops(self) -> bool:
        """Whether differences are dropped now, so that a query cannot be compared with many candidates at once."""
        return self.training and self.dropout > 0

    @property
    def has_own_score(self) -> bool:
        """Whether a subclass has a score of its own, beside the comparison of queries with answers."""
        return type(self).score is not QueryModel.score

    @property
    def _has_answers(self) -> bool:
        """Whether the score compares queries with `answers`."""
        kind = type(self)
        own = kind.candidates is QueryModel.candidates or kind.answers is not QueryModel.answers
        return own and not self.has_own_score

    def score_shared(
        self, heads: Tensor, relations: Tensor, tails: Tensor, owners: Tensor, replaces_head: Tensor, entities: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Score triples beside negatives they share, each of which has one vector in its group."""
        if self._drops and self.noise is not None and self._has_answers:
            n = entities.shape[1]
            negatives = list_negatives(heads, relations, tails, owners, replaces_head, entities)
            negative_scores = self._score_dropped(*negatives, 0).view(-1, n)
            return self._score_dropped(heads, relations, tails, len(heads) * n), negative_scores
        if self._drops or not self._has_answers:
            return super().score_shared(heads, relations, tails, owners, replaces_head, entities)
        n, queries = entities.shape[1], self.queries(heads, relations, "tail")
        positive = compare_rows(queries, self.answers(tails, relations, "tail"), self.compare)
        negative, counts = positive.new_empty(len(positive), n), torch.bincount(owners)
        of_group = relations[counts.cumsum(0) - 1]  # (g,)
        for side in SIDES:
            groups = (replaces_head == (side == "head")).nonzero().squeeze(1)
            if len(groups):
                rows, known = (replaces_head[owners] == (side == "head")).nonzero().squeeze(1), of_group[groups]
                asked = queries[rows] if side == "tail" else self.queries(tails[rows], relations[rows], side)
                others = self.answers(entities[groups].flatten(), known.repeat_interleave(n), side)
                grouping = Grouping(known, counts[groups].tolist(), None)
                found = compare_grouped(asked, others.view(len(groups), n, -1), grouping, self.compare)
                negative = negative.index_copy(0, rows, found)
        return positive, negative

    def scorer(self, relation: int, side: Side, pool: Pool | None = None) -> Scorer:
        """Return a function from anchors to scores; the candidates are computed once."""
        if self.has_own_score:
            return super().scorer(relation, side, pool)
        wanted = torch.tensor([relation], device=next(self.parameters()).device)
        table = self.candidates(wanted, side, self.pool() if pool is None else pool)[0]

        def score_all(anchors: Tensor) -> Tensor:
            queries = self.queries(anchors, torch.full_like(anchors, relation), side)
            return compare_all(queries, table, self.compare)

        return score_all

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the scores (b, n) of the pool; its candidates are computed once per relation."""
        if self._drops or self.has_own_score:
            return super().score_pool(anchors, relations, side, pool)
        return self.compare_pool(anchors, relations, side, pool)

    def compare_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the comparisons (b, n) of queries with the pool."""
        queries = self.queries(anchors, relations, side)  # (b, d)
        if type(self).candidates is QueryModel.candidates:
            assert pool.vectors is not None, "pools of query models hold vectors"
            return compare_all(queries, pool.vectors, self.compare)
        grouping = group_rows(relations)
        tables = self.candidates(grouping.keys, side, pool)  # (u, n, d)
        if not tables.stride(0):  # one table for all relations
            return compare_all(queries, tables[0], self.compare)
        if grouping.order is None:
            return compare_grouped(queries, tables, grouping, self.compare)
        scores = compare_grouped(queries[grouping.order], tables, replace(grouping, order=None), self.compare)
        return torch.empty_like(scores).index_copy(0, grouping.order, scores)


def list_negatives(
    heads: Tensor, relations: Tensor, tails: Tensor, owners: Tensor, replaces_head: Tensor, entities: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return heads, relations and tails of the negatives of triples (b,), (b n,), from those of their groups (g, n)."""
    of_head, entities = replaces_head[owners, None], entities[owners]
    negative_heads = torch.where(of_head, entities, heads[:, None]).flatten()
    negative_tails = torch.where(of_head, tails[:, None], entities).flatten()
    return negative_heads, relations.repeat_interleave(entities.shape[1]), negative_tails


def has_query_form(model: Model) -> TypeGuard[QueryModel]:
    """Return whether comparing queries with candidates gives the whole score."""
    return isinstance(model, QueryModel) and type(model).scorer is QueryModel.scorer and not model.has_own_score


def look_up(table: Tensor, rows: Tensor) -> Tensor:
    """Return rows of an embedding table; their gradient is sparse, so an update touches these rows only."""
    return embedding(rows, table, sparse=True)


def compare_rows(queries: Tensor, candidates: Tensor, compare: Compare) -> Tensor:
    """Return the score of each query (b, d) against its own candidate (b, d), (b,)."""
    if compare == "dot":
        return (queries * candidates).sum(-1)
    if compare == "affine":
        return (queries[..., :-1] * candidates).sum(-1) + queries[..., -1]
    if compare == "modulus":
        return -moduli(queries - candidates).sum(-1)
    return -distance(queries - candidates, 1 if compare == "l1" else 2)


def compare_grouped(queries: Tensor, tables: Tensor, grouping: Grouping, compare: Compare) -> Tensor:
    """Return the score of every query (b, d), sorted by group, against its group's candidates (u, n, d)."""
    if len(queries) == len(tables) > 1:  # each has a table of its own
        return compare_rows(queries[:, None], tables, compare)
    if compare == "dot":
        return grouped_product(queries, tables, grouping)
    if compare == "affine":
        return grouped_product(queries[:, :-1], tables, grouping) + queries[:, -1:]
    if compare == "modulus":
        return -grouped_modulus_distance(queries, tables, grouping)
    return -grouped_distance(queries, tables, grouping, 1 if compare == "l1" else 2)


def compare_all(queries: Tensor, table: Tensor, compare: Compare) -> Tensor:
    """Return the score of every query (q, d) against every candidate (e, d), as (q, e)."""
    return compare_grouped(queries, table[None], one_group(queries), compare)
