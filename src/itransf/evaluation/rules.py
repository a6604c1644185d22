"""One-hop rules: what train reveals by inverse, symmetric and duplicate relations, alone and beside a model.

A rule says that a triple of one relation (the body) implies a triple of another (the head), between the same entities
or with the two swapped. Its confidence is the share of the body's training triples for which the implied triple is in
train too. A relation that implies itself swapped is symmetric, two that imply each other swapped are inverse, two
that imply each other as they are are duplicates. An answer scores as high as the most confident rule that leads to it
from train in one step; answers no rule leads to are tied behind all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from itransf.data.graph import Graph
from itransf.data.known import Booleans, Floats, Integers, KnownIndex, is_among
from itransf.data.leakage import Pairs, mine_structure
from itransf.errors import DataError
from itransf.evaluation.ranking import rank_triples
from itransf.models.base import SIDES, Model, Pool, Scorer, Side, Sizes
from itransf.models.ensemble import measure_scores

LEAST_CONFIDENCE = 0.01
"""Rules below this are left out: what they lead to is hardly likelier than anything else."""
WEIGHTS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Weights of rules beside a model, from which validation chooses; with the last one, rules nearly decide alone."""
SHRINKAGE = 10
"""Validation triples of a relation at which its own count as much as all others for the choice of its weight."""


@dataclass(frozen=True, eq=False)
class Rules:
    """One-hop rules, sorted by the relation they imply.

    Attributes:
        heads: The relation each rule implies, ascending, (n,).
        bodies: The relation each rule starts from, (n,).
        swapped: Whether the two entities change places, (n,).
        confidences: The share of the body's training triples the rule is right about, (n,).
    """

    heads: Integers
    bodies: Integers
    swapped: Booleans
    confidences: Floats

    def __len__(self) -> int:
        return len(self.heads)

    def choose(self, relations: Integers) -> tuple[Integers, Integers]:
        """Return the rules that imply each of the relations (b,): numbers of relations and of rules, (m,) each."""
        starts, stops = (np.searchsorted(self.heads, relations, edge) for edge in ("left", "right"))
        sizes = stops - starts
        rows = np.repeat(np.arange(len(relations)), sizes)
        return rows, np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(len(rows))


class RuleList(Model):
    """Scores a triple by the most confident rule that leads to it from train, zero if there is none.

    It learns nothing and is ranked like any model: `evaluate(RuleList(graph), graph)`.

    Args:
        graph: Rules are mined from its train split alone, and applied to that.
        least: Rules with less confidence are left out.
    """

    def __init__(self, graph: Graph, least: float = LEAST_CONFIDENCE) -> None:
        super().__init__(Sizes(len(graph.entities), len(graph.relations)), None)
        self.mined = mine_rules(graph, least)
        self._triples = KnownIndex(graph.train, self.sizes.entities, self.sizes.relations)
        self.place = nn.Parameter(torch.zeros(0, device="cpu"), requires_grad=False)  # says where scores are computed

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the confidence of each triple, (b,)."""
        ends = np.stack([heads.cpu().numpy(), tails.cpu().numpy()], axis=1)
        rows, rules = self.mined.choose(relations.cpu().numpy())
        swaps = self.mined.swapped[rules, None]
        start, end = np.where(swaps, ends[rows, ::-1], ends[rows]).T
        holds = self._triples.contains(np.stack([start, self.mined.bodies[rules], end], axis=1))
        return self._take_best(rows[holds], rules[holds], len(ends)).to(heads.device)

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the confidences (b, n) of the pool's entities on `side` of the queries (anchor, relation)."""
        given, entities = anchors.cpu().numpy(), self.sizes.entities
        rows, rules = self.mined.choose(relations.cpu().numpy())
        places, applied = [], []
        for swapped in (False, True):
            chosen = np.flatnonzero(self.mined.swapped[rules] == swapped)
            bodies = self.mined.bodies[rules[chosen]]
            towards = side if not swapped else SIDES[1 - SIDES.index(side)]
            offsets, answers = self._triples.answers(given[rows[chosen]], bodies, towards)
            led = np.repeat(chosen, np.diff(offsets))
            places.append(rows[led] * entities + answers)
            applied.append(rules[led])
        best = self._take_best(np.concatenate(places), np.concatenate(applied), len(given) * entities)
        scores = best.view(len(given), entities).to(anchors.device)
        return scores if pool.entities is None else scores[:, pool.entities]

    def _take_best(self, places: Integers, rules: Integers, size: int) -> Tensor:
        """Return the highest confidence of the rules that lead to each place, (size,)."""
        scores, confidences = torch.zeros(size, device="cpu"), self.mined.confidences[rules].astype(np.float32)
        return scores.scatter_reduce_(0, torch.from_numpy(places), torch.from_numpy(confidences), "amax")


class WithRules(Model):
    """A model blended with rules: score(h, r, t) = (s(h, r, t) - mu) / sigma + weight[r] confidence(h, r, t).

    mu and sigma are the mean and the standard deviation of the model's scores of random triples, as in an ensemble.

    Args:
        model: Trained model; it is not copied.
        rules: Rules of the same graph.
        weights: Weight of the rules that imply each relation, (r,).
    """

    measured: Tensor

    def __init__(self, model: Model, rules: RuleList, weights: Tensor) -> None:
        super().__init__(model.sizes, model.config)
        self.model, self.rules = model, rules
        self.register_buffer("measured", measure_scores(model))
        self.weights = nn.Parameter(weights.to(self.measured), requires_grad=False)

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the plausibility of each triple, (b,)."""
        extra = self.weights[relations] * self.rules.score(heads, relations, tails)
        return self._normalise(self.model.score(heads, relations, tails)) + extra

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the scores (b, n) of the pool's entities on `side` of the queries (anchor, relation)."""
        own = self._normalise(self.model.score_pool(anchors, relations, side, self.model.pool(pool.entities)))
        return own + self.weights[relations, None] * self.rules.score_pool(anchors, relations, side, pool)

    def scorer(self, relation: int, side: Side, pool: Pool | None = None) -> Scorer:
        """Return a function from anchors to scores; what depends on the relation alone is computed once."""
        score = self.model.scorer(relation, side, None if pool is None else self.model.pool(pool.entities))
        weight, extra = float(self.weights[relation]), self.rules.scorer(relation, side, pool)
        if not weight:
            return lambda anchors: self._normalise(score(anchors))
        return lambda anchors: self._normalise(score(anchors)) + weight * extra(anchors)

    def _normalise(self, scores: Tensor) -> Tensor:
        """Return the model's scores with mean 0 and standard deviation 1."""
        return (scores - self.measured[0]) / self.measured[1]


@torch.no_grad()
def blend_with_rules(model: Model, graph: Graph, rules: RuleList | None = None, progress: bool = False) -> WithRules:
    """Return a model blended with the rules of its graph, whose weights are chosen on validation, one per relation.

    Validation triples are ranked with each weight of `WEIGHTS`. A relation gets the weight with the best sum of the
    reciprocal ranks of its own triples and of `SHRINKAGE` times the mean over all; of equal ones, the smallest.
    Test is not looked at.

    Args:
        model: Trained model.
        graph: Its graph.
        rules: Rules of the graph; by default they are mined.
        progress: Whether to show progress bars.

    Raises:
        DataError: There are no validation triples.
    """
    if not len(graph.valid):
        raise DataError("the weights of rules are chosen on validation triples, and the graph has none")
    rules = rules or RuleList(graph)
    blend = WithRules(model, rules, torch.zeros(len(graph.relations)))
    triples = graph.valid[is_among(graph.valid[:, 1], rules.mined.heads)]  # rules change no other ranks
    known, found = graph.known_in("train", "valid"), np.zeros((len(WEIGHTS), len(triples)))
    for place, weight in enumerate(WEIGHTS):
        blend.weights.fill_(weight)
        ranks = rank_triples(blend, triples, known, progress=progress, title=f"rules with weight {weight:g}")
        found[place] = np.mean([1.0 / ranks.ranks(side) for side in SIDES], axis=0)
    chosen = choose_weights(found, triples[:, 1], len(graph.relations))
    implied = torch.from_numpy(is_among(np.arange(len(graph.relations)), rules.mined.heads))
    blend.weights.copy_(torch.tensor(WEIGHTS)[torch.from_numpy(chosen)] * implied)
    return blend


def choose_weights(found: Floats, relations: Integers, count: int) -> Integers:
    """Return the number of the best weight of each relation, (count,).

    Args:
        found: Mean reciprocal rank of each triple with each weight, (w, n).
        relations: Relation of each triple, (n,).
        count: Number of relations.
    """
    sums = np.stack([np.bincount(relations, row, minlength=count) for row in found])  # (w, r)
    means = found.sum(axis=1, keepdims=True) / max(len(relations), 1)
    return np.asarray(np.argmax(sums + SHRINKAGE * means, axis=0))


def mine_rules(graph: Graph, least: float = LEAST_CONFIDENCE) -> Rules:
    """Mine all one-hop rules of at least this confidence from train."""
    structure = mine_structure(graph, least)
    counts = graph.statistics.counts
    symmetric: Pairs = tuple((relation, relation, share) for relation, share in structure.symmetric)
    lists = (
        (True, symmetric, True),
        (True, structure.inverse, False),
        (True, structure.one_way_inverse, True),
        (False, structure.duplicate, False),
        (False, structure.one_way_duplicate, True),
    )
    found = [
        rule
        for swapped, pairs, one_way in lists
        for body, head, share in pairs
        for rule in _direct(body, head, share, one_way, counts, swapped)
    ]
    table = np.array(sorted(found), dtype=np.float64).reshape(-1, 4)
    heads, bodies, swaps = table[:, :3].astype(np.int64).T
    return Rules(heads, bodies, swaps.astype(np.bool_), table[:, 3])


def _direct(
    body: int, head: int, share: float, one_way: bool, counts: Integers, swapped: bool
) -> list[tuple[int, int, bool, float]]:
    """Return the rules (head, body, swapped, confidence) that a pair of relations stands for."""
    if one_way:
        return [(head, body, swapped, share)]
    # Where both imply each other, the share is that of the larger one's triples.
    shared = share * max(counts[body], counts[head])
    both = ((head, body), (body, head))
    return [(implied, start, swapped, float(shared / counts[start])) for implied, start in both]
