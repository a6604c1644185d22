"""The one-hop rule list: what train gives away by inverse, symmetric and duplicate relations, without learning.

A rule says that a triple of one relation (the body) implies a triple of another (the head), between the same entities
or with the two swapped. Its confidence is the share of the body's training triples for which the implied triple is in
train too. A relation that implies itself swapped is symmetric, two that imply each other swapped are inverse, two
that imply each other as they are are duplicates. An answer scores as high as the most confident rule that leads to it
from train in one step; answers no rule leads to are tied behind all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from itransf.data.graph import Graph
from itransf.data.known import Integers, KnownIndex
from itransf.data.leakage import Pairs, mine_structure
from itransf.models.base import Model, Side, Sizes

LEAST_CONFIDENCE = 0.01
"""Rules below this are left out: what they lead to is hardly likelier than anything else."""


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
    swapped: npt.NDArray[np.bool_]
    confidences: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.heads)


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
        # Where scores are made; rules have no weights to say it by.
        self.place = nn.Parameter(torch.zeros(0), requires_grad=False)

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the confidence of each triple, (b,)."""
        return self.score_tails(heads, relations).gather(1, tails[:, None]).squeeze(1)

    def score_tails(self, heads: Tensor, relations: Tensor) -> Tensor:
        """Return the confidence of every entity as the tail, (b, e)."""
        return self._score_side(heads, relations, "tail")

    def score_heads(self, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the confidence of every entity as the head, (b, e)."""
        return self._score_side(tails, relations, "head")

    def _score_side(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        given, wanted = anchors.cpu().numpy(), relations.cpu().numpy()
        starts, stops = (np.searchsorted(self.mined.heads, wanted, edge) for edge in ("left", "right"))
        sizes = stops - starts
        rows = np.repeat(np.arange(len(wanted)), sizes)  # the question of each rule that is tried
        tried = np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(len(rows))
        scores = torch.zeros(len(wanted) * self.sizes.entities)
        for swapped in (False, True):
            chosen = self.mined.swapped[tried] == swapped
            found = self._follow(given[rows[chosen]], tried[chosen], (side == "tail") != swapped)
            places = rows[chosen][found[0]] * self.sizes.entities + found[1]
            confidences = self.mined.confidences[tried[chosen]][found[0]].astype(np.float32)
            scores.scatter_reduce_(0, torch.from_numpy(places), torch.from_numpy(confidences), "amax")
        return scores.view(len(wanted), -1).to(self.place.device)

    def _follow(self, anchors: Integers, rules: Integers, onward: bool) -> tuple[Integers, Integers]:
        """Follow each rule's body from its anchor, to tails (onward) or to heads.

        Returns:
            The number of the application each answer belongs to, and the answers.
        """
        bodies = self.mined.bodies[rules]
        offsets, answers = self._triples.answers(anchors, bodies, "tail" if onward else "head")
        return np.repeat(np.arange(len(rules)), np.diff(offsets)), answers


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
