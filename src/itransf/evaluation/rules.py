"""One-hop rules: what train reveals by inverse, symmetric and duplicate relations, alone and combined with a model.

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
from itransf.data.known import Booleans, Floats, Integers, KnownIndex, PairIndex, expand_ranges, is_among
from itransf.evaluation.ranking import rank_triples
from itransf.models.base import SIDES, Model, Pool, Side, Sizes
from itransf.models.ensemble import Ensemble
from itransf.progress import track

LEAST_CONFIDENCE = 0.01
"""Rules below this are left out: what they lead to is hardly likelier than anything else."""
WEIGHTS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Weights of rules added to a model, from which validation chooses; with the last one, rules nearly decide alone."""
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

    def choose(self, relations: Integers) -> tuple[Integers, Integers]:
        """Return the rules that imply each of the relations (b,): numbers of relations and of rules, (m,) each."""
        starts, stops = (np.searchsorted(self.heads, relations, edge) for edge in ("left", "right"))
        return expand_ranges(starts, stops - starts)


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
        return self.score_pool(heads, relations, "tail", Pool(None)).gather(1, tails[:, None]).squeeze(1)

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the confidences (b, n) of the pool's entities on `side` of the queries (anchor, relation)."""
        given, entities = anchors.cpu().numpy(), self.sizes.entities
        rows, rules = self.mined.choose(relations.cpu().numpy())
        best = torch.zeros(len(given) * entities, device="cpu")
        for swapped in (False, True):
            chosen = np.flatnonzero(self.mined.swapped[rules] == swapped)
            towards = SIDES[SIDES.index(side) ^ swapped]
            offsets, answers = self._triples.answers(given[rows[chosen]], self.mined.bodies[rules[chosen]], towards)
            led = np.repeat(chosen, np.diff(offsets))  # to answers
            confidences = torch.from_numpy(self.mined.confidences[rules[led]].astype(np.float32))
            best.scatter_reduce_(0, torch.from_numpy(rows[led] * entities + answers), confidences, "amax")
        scores = best.view(len(given), entities).to(anchors.device)
        return scores if pool.entities is None else scores[:, pool.entities]


class WithRules(Model):
    """A model blended with rules: score(h, r, t) = (s(h, r, t) - mu) / sigma + weight[r] confidence(h, r, t).

    mu and sigma are the mean and the standard deviation of the model's scores of random triples, as in an ensemble.

    Args:
        model: Trained model; it is not copied.
        rules: Rules of the same graph.
        weights: Weight of the rules that imply each relation, (r,).
    """

    def __init__(self, model: Model, rules: RuleList, weights: Tensor) -> None:
        super().__init__(model.sizes, model.config)
        self.model, self.rules = Ensemble([model]), rules
        self.weights = nn.Parameter(weights.to(self.model.measured), requires_grad=False)

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the plausibility of each triple, (b,)."""
        extra = self.weights[relations] * self.rules.score(heads, relations, tails)
        return self.model.score(heads, relations, tails) + extra

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the scores (b, n) of the pool's entities on `side` of the queries (anchor, relation)."""
        own = self.model.score_pool(anchors, relations, side, pool)
        return own + self.weights[relations, None] * self.rules.score_pool(anchors, relations, side, pool)


@torch.no_grad()
def blend_with_rules(model: Model, graph: Graph, rules: RuleList, progress: bool = False) -> WithRules:
    """Return a model blended with the rules of its graph, whose weights are chosen on validation, one per relation.

    Validation triples are ranked with each weight of `WEIGHTS`. A relation gets the weight with the best sum of the
    reciprocal ranks of its own triples and of `SHRINKAGE` times the mean over all; of equal ones, the smallest.
    Test is not looked at. Without validation triples all weights are 0.

    Args:
        model: Trained model.
        graph: Its graph.
        rules: Rules of the graph.
        progress: Whether to show progress bars.
    """
    blend = WithRules(model, rules, torch.zeros(len(graph.relations), device="cpu"))
    triples = graph.valid[is_among(graph.valid[:, 1], rules.mined.heads)]  # rules change no other ranks
    known, found = graph.known_in("train", "valid"), np.zeros((len(WEIGHTS), len(triples)))
    with track("choosing weights of rules", len(WEIGHTS), "weights", progress) as tracker:
        for place, weight in enumerate(WEIGHTS):
            blend.weights.fill_(weight)
            ranks = rank_triples(blend, triples, known)
            found[place] = np.mean([1.0 / ranks.ranks(side) for side in SIDES], axis=0)
            tracker.advance()
    chosen = choose_weights(found, triples[:, 1], len(graph.relations))
    blend.weights.copy_(torch.from_numpy(np.array(WEIGHTS)[chosen]))
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
    triples, sizes = graph.train, (len(graph.entities), len(graph.relations))
    links = PairIndex(triples[:, 0], triples[:, 2], triples[:, 1], sizes)
    loops = np.bincount(triples[triples[:, 0] == triples[:, 2], 1], minlength=sizes[1])  # no evidence of symmetry
    found = []
    for swapped, (start, end) in enumerate(((0, 2), (2, 0))):
        offsets, heads = links.look_up(triples[:, start], triples[:, end])
        bodies = np.repeat(triples[:, 1], np.diff(offsets))
        codes, shared = np.unique(heads * sizes[1] + bodies, return_counts=True)
        heads, bodies = np.divmod(codes, sizes[1])
        own = np.where((heads == bodies) & bool(swapped), loops[bodies], 0)
        shares = (shared - own) / np.maximum(graph.statistics.counts[bodies] - own, 1)
        kept = (shares >= least) & ((heads != bodies) | bool(swapped))
        found.append(np.stack([heads, bodies, np.full(len(codes), swapped), shares])[:, kept])
    table = np.concatenate(found, axis=1)
    heads, bodies, swaps, shares = table[:, np.argsort(table[0], kind="stable")]
    return Rules(heads.astype(np.int64), bodies.astype(np.int64), swaps.astype(np.bool_), shares)
