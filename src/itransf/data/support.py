"""What other triples say about each training triple: whether its entities fit, and which paths support it.

A pattern is one step or two steps, each a relation read forwards or backwards. It connects h and t if the graph has
h -a- t, or h -a- x -b- t for an entity x. As evidence for (h, r, t), the pattern is worth a share: the number of other
triples of r that it connects, divided by the number of its paths. Several paths between one pair count once above and
each below, so patterns with many paths for each pair are worth less.
"""

from dataclasses import dataclass

import numpy as np

from itransf.data.graph import Graph, Triples
from itransf.data.known import Floats, Integers, expand_ranges, sort_distinct

PRIOR = 2.0  # paths without the relation that are added to those of each pattern
SURE = 0.99  # largest share that counts, so that evidence stays finite
AT_ONCE = 2**22  # steps followed together, which bounds the memory


@dataclass(frozen=True)
class Support:
    """What the other triples say about the triples of a relation.

    Attributes:
        rows: Numbers of the training triples, (n,).
        fits: How well head and tail fit their sides, (2, n); see `Typing.measure_fits`.
        evidence: Sum of -log(1 - share) over the patterns that connect head and tail, (n,).
        patterns: Number of these patterns, (n,).
    """

    rows: Integers
    fits: Floats
    evidence: Floats
    patterns: Integers


class SupportIndex:
    """Steps between entities, in both directions, to find what supports training triples.

    Args:
        graph: Graph; triples of valid and test are evidence, too.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph, self._width, self._entities = graph, 2 * len(graph.relations), len(graph.entities)
        self._triples = np.concatenate([graph.train, graph.valid, graph.test])
        heads, relations, tails = self._triples[self._triples[:, 0] != self._triples[:, 2]].T
        starts, ends = np.concatenate([heads, tails]), np.concatenate([tails, heads])
        steps = np.concatenate([2 * relations, 2 * relations + 1])  # 2 r forwards, 2 r + 1 backwards
        order = np.lexsort((steps, ends, starts))
        self._starts, self._ends, self._steps = starts[order], ends[order], steps[order]
        self._pairs = self._starts * self._entities + self._ends
        self._first = np.searchsorted(self._starts, np.arange(self._entities + 1))  # where the steps of an entity begin
        self._totals: dict[int, Floats] = {}

    def weigh(self, relation: int) -> Support:
        """Return what the other triples say about the training triples of a relation."""
        rows = np.flatnonzero(self._triples[:, 1] == relation)
        triples, count = self._triples[rows], int((rows < len(self._graph.train)).sum())
        typing = self._graph.typing
        fits = np.stack([typing.measure_fits(relation, side, triples[:count]) for side in ("head", "tail")])
        amounts = np.cumsum(np.diff(self._first)[triples[:, [0, 2]]].min(axis=1)) // AT_ONCE
        chunks = np.split(np.arange(len(triples)), np.flatnonzero(np.diff(amounts)) + 1)
        codes = np.concatenate([self._connect(triples, chunk) for chunk in chunks])
        places, patterns = np.divmod(codes, self._width * (self._width + 1))
        distinct, numbers, held = np.unique(patterns, return_inverse=True, return_counts=True)
        shares = (held - 1) / (np.array([self._count_paths(pattern) for pattern in distinct.tolist()]) - 1 + PRIOR)
        weights = -np.log1p(-np.minimum(shares, SURE))[numbers]
        evidence = np.bincount(places, weights, len(rows)).astype(np.float64)
        return Support(rows[:count], fits, evidence[:count], np.bincount(places, minlength=len(rows))[:count])

    def _connect(self, triples: Triples, chunk: Integers) -> Integers:
        """Return the patterns that connect head and tail of some triples: triple, first and second step in a number."""
        heads, relations, tails = triples[chunk].T
        degrees = np.diff(self._first)
        turned = degrees[heads] > degrees[tails]  # the end with fewer steps is the one to start from
        near, far = np.where(turned, tails, heads), np.where(turned, heads, tails)
        places, steps = expand_ranges(self._first[near], degrees[near])
        middles, first = self._ends[steps], self._steps[steps]
        direct = (middles == far[places]) & (first != 2 * relations[places] + turned[places])
        found = [(places[direct], (first ^ turned[places])[direct], np.full(direct.sum(), self._width))]
        onward = middles != far[places]
        places, middles, first = places[onward], middles[onward], first[onward]
        wanted = middles * self._entities + far[places]
        starts, stops = (np.searchsorted(self._pairs, wanted, side) for side in ("left", "right"))
        again, steps = expand_ranges(starts, stops - starts)
        places, first, second = places[again], first[again], self._steps[steps]
        is_turned = turned[places]
        found.append((places, np.where(is_turned, second ^ 1, first), np.where(is_turned, first ^ 1, second)))
        place, one, two = (np.concatenate(column) for column in zip(*found, strict=True))
        return sort_distinct((chunk[place] * self._width + one) * (self._width + 1) + two)

    def _count_paths(self, pattern: int) -> float:
        """Return the number of paths of a pattern, without those that return by the same triple."""
        first, second = divmod(pattern, self._width + 1)
        if first not in self._totals:
            arriving = np.bincount(self._starts[self._steps == first ^ 1], minlength=self._entities)
            totals = np.bincount(self._steps, arriving[self._starts], self._width + 1).astype(np.float64)
            totals[first ^ 1] -= arriving.sum()  # back by the same triple
            totals[self._width] = arriving.sum()  # without a second step
            self._totals[first] = totals
        return float(self._totals[first][second])
