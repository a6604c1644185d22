"""Filtered ranking: where the true head and tail of each triple rank among all entities, or among those that fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeGuard

import numpy as np
import torch
from torch import Tensor

from itransf.data import Booleans, Floats, Graph, Integers, KnownIndex, Triples, Typing, is_among, sort_distinct
from itransf.errors import ITransFError
from itransf.models.base import SIDES, Model, QueryModel, Scorer, Side, compare_all, has_query_form
from itransf.ops.counting_cuda import KnownLists, count_grouped_cuda
from itransf.ops.distance import Counted, has_triton
from itransf.ops.ranks import Answers, count_by_scores, count_closer
from itransf.progress import Tracker, track

Ties = Literal["realistic", "optimistic", "pessimistic"]
DEFAULT_MEMORY = 512 * 2**20  # bytes for one chunk of scores
# Comparisons of which rivals are counted as distances.
NORMS: dict[str, Counted] = {"l1": 1, "l2": 2, "modulus": "moduli"}
MOST_SCORES, FEWEST_RANKED = 10**10, 1000  # triples times entities beyond which a sample is ranked; its least size
MOST_TRIPLES = 4096  # triples counted between two updates of the progress bar
COPIES = 3  # copies of a projected table on a GPU at once: multiplied, constrained to its length, transposed


@dataclass(frozen=True)
class Ranks:
    """Counts of rivals for each triple and side; ranks follow from them under any tie policy.

    Attributes:
        triples: The ranked triples, (n, 3).
        above: Entities scoring above the true one: (2 protocols, 2 sides, n); protocols are filtered, raw; sides
            are head, tail.
        tied: Other entities with the same score, in the same shape.
        rivals: Entities the true one was compared with, in the same shape.
        scores: Score of each triple, computed on each side, (2 sides, n); None unless asked for.
    """

    triples: Triples
    above: Integers
    tied: Integers
    rivals: Integers
    scores: Floats | None = None

    def ranks(self, side: Side, filtered: bool = True, ties: Ties = "realistic") -> Floats:
        """Return the rank of each triple's entity on `side`, from one."""
        place = (0 if filtered else 1, SIDES.index(side))
        share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
        return np.asarray(1.0 + self.above[place] + share * self.tied[place])


@dataclass(frozen=True)
class Questions:
    """The distinct queries behind the triples of one side, sorted by relation and anchor.

    Attributes:
        relations: Relation of each query, (q,).
        anchors: Entity on the other side of each query, (q,).
        offsets: Start of each query's excluded entities in `excluded`, (q + 1,).
        excluded: Entities that are not rivals in the filtered protocol, without repetition within a query.
        triples: Row numbers of the triples in the order of their queries, (n,).
        answers: True entity of each of those triples, (n,).
        places: Query of each of those triples, ascending, (n,).
        is_excluded: Whether the answer of each of those triples is among the excluded entities, (n,).
    """

    relations: Integers
    anchors: Integers
    offsets: Integers
    excluded: Integers
    triples: Integers
    answers: Integers
    places: Integers
    is_excluded: Booleans


class Part(NamedTuple):
    """A range of triples with their own queries, on the model's device; names as in `Questions`."""

    relations: Tensor
    anchors: Tensor
    answers: Tensor
    offsets: Tensor
    excluded: Tensor
    places: Tensor

    @property
    def wanted(self) -> Answers:
        """The answers, with the entities that are excluded for each query."""
        return Answers(self.answers, self.places, self.offsets, self.excluded)


Count = Callable[[Part], tuple[Tensor, ...]]


@torch.no_grad()
def rank_triples(
    model: Model,
    triples: Triples,
    known: KnownIndex,
    memory: int = DEFAULT_MEMORY,
    progress: bool = False,
    *,
    loops: Booleans | None = None,
    typing: Typing | None = None,
    keep_scores: bool = False,
    sides: Sequence[Side] = SIDES,
    title: str = "ranking",
) -> Ranks:
    """Rank the true head and tail of every triple among all entities, filtered and raw.

    The entity table is projected once per relation and side. Models that compare query vectors with candidates are
    ranked by counting kernels where those are installed; other models by chunks of at most `memory` bytes of scores.

    Args:
        model: Scoring model.
        triples: Triples to rank, (n, 3).
        known: Known triples, which are not rivals in the filtered protocol.
        memory: Bytes for one chunk of scores.
        progress: Whether to show a progress bar.
        loops: For each relation, whether a query's own entity is a rival in the filtered protocol, (r,); by default
            it is for all relations, as is usual in link prediction.
        typing: Entities that fit each side of each relation: only they are rivals, even of an answer that does not fit;
            by default all entities are.
        keep_scores: Whether to return the scores of the triples. All ranks then come from `model.scorer`, so that they
            agree with predictions to the last bit, and NaN scores are refused.
        sides: Sides to rank; the other side has counts of zero.
        title: Title of the progress bar.

    Raises:
        ITransFError: With `keep_scores`, a score is not a number.
    """
    on_device = model if typing is None and not keep_scores and can_rank_on_device(model) else None
    found = []
    with track(title, len(sides) * len(triples), "queries", progress) as tracker:
        for side in sides if len(triples) else ():
            questions = ask(triples, known, side, loops)
            if on_device is not None:
                counts = count_on_device(on_device, questions, side, memory, tracker)
            else:
                counts = count_here(model, questions, side, typing, memory, tracker, keep_scores)
            found.append((SIDES.index(side), questions.triples, counts))
    columns: list[Any] = [np.zeros((2, len(SIDES), len(triples)), dtype=np.int64) for _ in range(3)]
    columns += [np.zeros((len(SIDES), len(triples)))] if keep_scores else []
    for number, rows, counts in found:
        for column, count in zip(columns, counts, strict=True):
            column[..., number, rows] = count.cpu().numpy()  # a GPU is waited for only here
    return Ranks(triples, *columns)


def sample_triples(triples: Triples, entities: int, most: int | None = None) -> Triples:
    """Return triples or a random sample of them, always the same, in their order.

    Args:
        triples: (n, 3)
        entities: Number of entities that they are ranked among.
        most: Size of the sample; 0 takes all, None as many as ranking compares with 10^10 entities on a side.
    """
    size = max(MOST_SCORES // max(entities, 1), FEWEST_RANKED) if most is None else most
    if not size or len(triples) <= size:
        return triples
    return triples[np.sort(np.random.default_rng(0).permutation(len(triples))[:size])]


def rank_as_predicted(
    model: Model,
    graph: Graph,
    triples: Triples,
    memory: int = DEFAULT_MEMORY,
    progress: bool = False,
    **options: Any,
) -> Ranks:
    """Rank triples by the rule of `complete`: among the entities that fit the relation and whose triple is not known.

    Self-loops are rivals only of relations that allow them. Other arguments are those of `rank_triples`.
    """
    options |= {"loops": graph.statistics.allows_loops, "typing": graph.typing}
    return rank_triples(model, triples, graph.known, memory, progress, **options)


def ask(triples: Triples, known: KnownIndex, side: Side, loops: Booleans | None = None) -> Questions:
    """Return the queries whose answers are the entities on `side`; for `loops` see `rank_triples`."""
    heads, relations, tails = triples.T
    anchors, answers = (heads, tails) if side == "tail" else (tails, heads)
    keys = relations * (anchors.max(initial=0) + 1) + anchors
    order = np.argsort(keys, kind="stable")
    anchors, relations, answers = anchors[order], relations[order], answers[order]
    is_first = np.diff(keys[order], prepend=-1) != 0
    places = np.cumsum(is_first) - 1
    anchors, relations = anchors[is_first], relations[is_first]
    offsets, excluded = known.answers(anchors, relations, side)
    is_excluded = known.contains(triples[order])
    if loops is not None:
        is_excluded |= (answers == anchors[places]) & ~loops[relations[places]]
        rows = np.repeat(np.arange(len(anchors)), np.diff(offsets))
        is_added = ~loops[relations]
        is_added[rows[excluded == anchors[rows]]] = False  # known already
        excluded = np.insert(excluded, offsets[:-1][is_added], anchors[is_added])
        offsets = offsets + np.append(0, np.cumsum(is_added))
    return Questions(relations, anchors, offsets, excluded, order, answers, places, is_excluded)


def count_here(
    model: Model,
    questions: Questions,
    side: Side,
    typing: Typing | None,
    memory: int,
    tracker: Tracker,
    keep_scores: bool = False,
) -> list[Tensor]:
    """Count the rivals above each answer, tied with it, and in all, (2, n) each, filtered first.

    With `keep_scores` the scores of the answers follow, (n,).
    """
    device = next(model.parameters()).device
    relations = questions.relations[questions.places]  # (n,)
    bounds = np.flatnonzero(np.diff(relations, prepend=-1, append=-1)).tolist()
    by_query = model if typing is None and not keep_scores and has_query_form(model) else None
    if by_query is not None and shares_candidates(by_query, side):
        bounds = [0, len(relations)]
    found = []
    for start, stop in pairwise(bounds):
        relation, own = int(relations[start]), cut(questions, slice(start, stop))
        entities, candidates = None, model.sizes.entities
        if typing is not None:
            fitting = typing.candidates(relation, side)
            entities, own = restrict(own, fitting)
            candidates = len(fitting)
        count: Count
        if by_query is not None:
            table = by_query.candidates(torch.tensor([relation], device=device), side, model.pool())[0]
            count = partial(count_in_table, by_query, table, side, memory)
        else:
            scored = None if entities is None else torch.tensor(entities, device=device)
            scorer = model.scorer(relation, side, model.pool(scored))
            width = candidates if entities is None else len(entities)
            count = partial(count_in_scores, scorer, width, candidates, memory, keep_scores)
        rivals = torch.from_numpy(count_rivals(own, candidates))
        for first in range(0, stop - start, MOST_TRIPLES):
            rows = slice(first, min(first + MOST_TRIPLES, stop - start))
            above, tied, *scores = count(move(cut(own, rows), device))
            found.append((above, tied, rivals[:, rows], *scores))
            tracker.advance(rows.stop - rows.start)
    return [torch.cat(parts, dim=-1) for parts in zip(*found, strict=True)]


def cut(questions: Questions, rows: slice) -> Questions:
    """Return a range of triples with their own queries, numbered from zero."""
    first, last = questions.places[rows.start], questions.places[rows.stop - 1] + 1
    offsets = questions.offsets[first : last + 1]
    return Questions(
        questions.relations[first:last],
        questions.anchors[first:last],
        offsets - offsets[0],
        questions.excluded[offsets[0] : offsets[-1]],
        questions.triples[rows],
        questions.answers[rows],
        questions.places[rows] - first,
        questions.is_excluded[rows],
    )


def move(questions: Questions, device: torch.device) -> Part:
    """Return queries on a device."""
    return Part(*(torch.from_numpy(getattr(questions, name)).to(device) for name in Part._fields))


def restrict(questions: Questions, fitting: Integers) -> tuple[Integers, Questions]:
    """Restrict the queries of one relation to the entities that fit.

    Returns:
        The entities to score: those that fit, then other answers. The queries, with the places of entities among these
        for their numbers.
    """
    fits = is_among(questions.answers, fitting)
    pool = np.concatenate([fitting, sort_distinct(questions.answers[~fits])])
    order = np.argsort(pool)
    answers = order[np.searchsorted(pool, questions.answers, sorter=order)]
    kept = is_among(questions.excluded, fitting)
    offsets = np.append(0, np.cumsum(kept))[questions.offsets]
    excluded = np.searchsorted(fitting, questions.excluded[kept])
    is_excluded = questions.is_excluded & fits
    changes: dict[str, Any] = {"answers": answers, "offsets": offsets, "excluded": excluded, "is_excluded": is_excluded}
    return pool, replace(questions, **changes)


def count_rivals(questions: Questions, candidates: int) -> Integers:
    """Return the number of rivals of each triple, filtered and raw, (2, n).

    The first entities, of the number of candidates, are rivals; the answer is not its own rival in any case.
    """
    raw = candidates - (questions.answers < candidates)
    return np.stack([raw - np.diff(questions.offsets)[questions.places] + questions.is_excluded, raw])


def shares_candidates(model: QueryModel, side: Side) -> bool:
    """Return whether all relations compare their queries with the same vectors, as those of bilinear models do."""
    numbers = torch.arange(min(2, model.sizes.relations), device=next(model.parameters()).device)
    return len(numbers) < 2 or model.candidates(numbers, side, model.pool(numbers[:1])).stride(0) == 0


def count_in_table(model: QueryModel, table: Tensor, side: Side, memory: int, part: Part) -> tuple[Tensor, ...]:
    """Count rivals by comparing query vectors with a table of candidates (e, d)."""
    queries = model.queries(part.anchors, part.relations, side)
    if model.compare in NORMS:
        return count_closer(queries, table, part.wanted, NORMS[model.compare], memory)

    def score(rows: slice) -> Tensor:
        return compare_all(queries[rows], table, model.compare)

    return count_by_scores(score, len(table), part.wanted, memory)


def count_in_scores(
    scorer: Scorer, entities: int, candidates: int, memory: int, keep_scores: bool, part: Part
) -> tuple[Tensor, ...]:
    """Count rivals by scores; with `keep_scores` also return the scores of the answers.

    Args:
        scorer: Function from anchors to the scores of entities.
        entities: Number of entities that it scores.
        candidates: Number of those, the first ones, that may be rivals.
        memory: Bytes for one chunk of scores.
        keep_scores: Whether to return the scores of the answers, and to refuse NaN scores.
        part: Queries and answers.
    """
    own = torch.zeros(len(part.answers), dtype=torch.float64, device=part.answers.device)

    def score(rows: slice) -> Tensor:
        scores = scorer(part.anchors[rows])
        if keep_scores:
            wanted = (part.places >= rows.start) & (part.places < rows.stop)
            own[wanted] = refuse_nan(scores)[part.places[wanted] - rows.start, part.answers[wanted]].double()
        return scores

    counts = count_by_scores(score, entities, part.wanted, memory, candidates)
    return (*counts, own) if keep_scores else counts


def can_rank_on_device(model: Model) -> TypeGuard[QueryModel]:
    """Return whether `count_on_device` works for this model, on its present device."""
    first = next(model.parameters())
    fits = has_query_form(model) and model.compare in ("l1", "l2") and first.dtype == torch.float32
    return fits and first.is_cuda and has_triton()


def count_on_device(model: QueryModel, questions: Questions, side: Side, memory: int, tracker: Tracker) -> list[Tensor]:
    """Count the rivals above each answer, tied with it, and in all, (2, n) each, filtered first.

    All queries move to the device at once, as each small copy would wait for the work before it.

    Args:
        model: Model that compares float32 vectors by an l1 or l2 distance.
        questions: Queries about `side`.
        side: Side of the answers.
        memory: Bytes for the projected tables of one turn.
        tracker: Progress.
    """
    pool, places = model.pool(), questions.places
    assert pool.vectors is not None, "models that compare by distance have vectors to compare with"
    per_row = COPIES * pool.vectors.shape[1] * pool.vectors.element_size()
    relations = questions.relations[places]  # (n,)
    starts = np.flatnonzero(np.diff(relations, prepend=-1, append=-1))  # where each distinct relation begins
    lists = (questions.offsets[places], questions.offsets[places + 1], questions.excluded)
    arrays = (starts, questions.anchors[places], relations, questions.answers, *lists)
    bounds, *columns, excluded = (torch.from_numpy(array).to(pool.vectors.device) for array in arrays)
    found = []
    for start, stop in cut_into_turns(relations, (len(pool.vectors) * per_row, per_row), memory):
        first, last = np.searchsorted(starts, (start, stop - 1), side="right") - 1
        offsets = bounds[first : last + 2].clamp(start, stop)
        anchors, kinds, answers, begins, ends = (column[start:stop] for column in columns)
        counts = count_grouped_cuda(
            model.queries(anchors, kinds, side),
            model.candidates(columns[1][offsets[:-1]], side, pool),
            offsets - start,
            answers,
            KnownLists(begins, ends, excluded),
            1 if model.compare == "l1" else 2,
        )
        found.append(counts)
        tracker.advance(stop - start)
    return [torch.cat(parts, dim=-1) for parts in zip(*found, strict=True)]


def cut_into_turns(relations: Integers, row_bytes: tuple[int, int], memory: int) -> Iterator[tuple[int, int]]:
    """Cut queries sorted by relation into turns whose vectors fit the memory.

    Args:
        relations: Relation of each query, ascending, (q,).
        row_bytes: Bytes of one relation's projected tables, and of one query's vectors.
        memory: Bytes for one turn, which has at least one relation and one query.

    Yields:
        Start and stop of each turn.
    """
    ends = np.append(np.flatnonzero(np.diff(relations)) + 1, len(relations))
    at_once, most_rows = (max(1, memory // size) for size in row_bytes)
    start = 0
    while start < len(relations):
        last = min(int(np.searchsorted(ends, start, side="right")) + at_once, len(ends)) - 1
        stop = min(int(ends[last]), start + most_rows)
        yield start, stop
        start = stop


def refuse_nan(scores: Tensor) -> Tensor:
    """Return the scores unless one is not a number, in which case they have no order."""
    if bool(scores.isnan().any()):
        raise ITransFError(
            "the model gives NaN scores, so its training has diverged; train it again with a lower learning rate"
        )
    return scores
