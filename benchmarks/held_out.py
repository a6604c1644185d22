"""Relations held out of a graph together, each to be learned later from a few of its triples.

Relations that mirror or repeat a held-out relation are held out as well, for they give its triples away: those that
imply it or are implied by it, as they are or reversed, in at least 80 % of the triples of all splits. Only triples
whose entities occur in the remaining training triples are given or ranked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from itransf.data.graph import SPLITS, Graph, Triples
from itransf.data.leakage import mine_structure
from itransf.data.vocabulary import Vocabulary

LEAST_TRIPLES = 60
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class HeldOut:
    """A graph without some relations, and the triples of these relations.

    Attributes:
        graph: The remaining graph.
        triples: Triples of each held-out relation whose entities both occur in the remaining training triples. The
            relations are numbered after those of the graph, in this order.
        answers: All triples of each relation, numbered alike, for filtering.
        companions: Relations that were removed because they mirror or repeat a held-out one.
    """

    graph: Graph
    triples: Mapping[str, Triples]
    answers: Mapping[str, Triples]
    companions: tuple[str, ...]

    def draw(self, name: str, draw: int) -> Triples:
        """Return the triples of a relation in a random order, the same for the same draw."""
        triples = self.triples[name]
        return triples[np.random.default_rng(draw).permutation(len(triples))]

    def name_pairs(self, triples: Triples) -> list[tuple[str, str]]:
        """Return the names of heads and tails."""
        names = self.graph.entities.names
        return [(names[head], names[tail]) for head, _, tail in triples.tolist()]

    def put_back(self, given: Mapping[str, Triples]) -> Graph:
        """Return the graph with the held-out relations and these triples of them."""
        known = self.graph.relations
        relations = Vocabulary([*known.names, *self.triples], known.labels, "relation")
        train = np.concatenate([self.graph.train, *given.values()])
        return replace(self.graph, relations=relations, train=train)

    @property
    def short(self) -> list[str]:
        """The relations that have too few triples to be measured."""
        return [name for name, triples in self.triples.items() if len(triples) < LEAST_TRIPLES]


def list_pairs(graph: Graph) -> Pairs:
    """Return the pairs of relations of which one mirrors or repeats the other."""
    structure = mine_structure(graph, splits=SPLITS)
    kinds = (structure.inverse, structure.duplicate, structure.one_way_inverse, structure.one_way_duplicate)
    return [(graph.relations.name(left), graph.relations.name(right)) for kind in kinds for left, right, _ in kind]


def find_companions(pairs: Pairs, names: Sequence[str]) -> list[str]:
    """Return the other relations that form a pair with one of these."""
    found = [other for left, right in pairs for one, other in ((left, right), (right, left)) if one in names]
    return [name for name in dict.fromkeys(found) if name not in names]


def hold_out(graph: Graph, names: Sequence[str], pairs: Pairs | None = None) -> HeldOut:
    """Remove relations, and those that mirror or repeat them, from all splits of a graph.

    Args:
        graph: The whole graph.
        names: The relations.
        pairs: Result of `list_pairs`, if it is known.
    """
    companions = find_companions(list_pairs(graph) if pairs is None else pairs, names)
    taken, gone = ([graph.relations.index(name) for name in chosen] for chosen in (names, companions))
    kept = np.setdiff1d(np.arange(len(graph.relations)), [*taken, *gone])
    numbers = np.empty(len(graph.relations), dtype=np.int64)
    numbers[[*kept, *taken, *gone]] = np.arange(len(numbers))
    splits = {split: graph.split(split).copy() for split in SPLITS}
    for triples in splits.values():
        triples[:, 1] = numbers[triples[:, 1]]
    every = np.concatenate(list(splits.values()))
    answers = {name: every[every[:, 1] == len(kept) + place] for place, name in enumerate(names)}
    relations = Vocabulary([graph.relations.name(number) for number in kept], graph.relations.labels, "relation")
    rest = replace(graph, relations=relations, **{split: t[t[:, 1] < len(kept)] for split, t in splits.items()})
    seen = np.zeros(len(graph.entities), dtype=bool)
    seen[rest.train[:, [0, 2]]] = True
    triples = {name: found[seen[found[:, [0, 2]]].all(1)] for name, found in answers.items()}
    return HeldOut(rest, triples, answers, tuple(companions))


def choose_relations(graph: Graph, count: int, seed: int) -> list[str]:
    """Draw relations at random that do not mirror or repeat each other and have enough triples."""
    chosen, pairs = list[str](), list_pairs(graph)
    for number in np.random.default_rng(seed).permutation(len(graph.relations)).tolist():
        name = graph.relations.name(number)
        if len(chosen) < count and name not in find_companions(pairs, chosen):
            tried = [*chosen, name]
            chosen = chosen if hold_out(graph, tried, pairs).short else tried
    return chosen
