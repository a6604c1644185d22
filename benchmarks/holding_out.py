"""Relations taken out of a graph together, each to be learned from a few of its triples.

Only triples about entities that the rest tells something of are given and asked: the others would have to be learned as
entities first, and `itransf learn` says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from itransf.data.graph import SPLITS, Graph, Triples
from itransf.data.vocabulary import Vocabulary

LEAST_TRIPLES = 60


@dataclass(frozen=True)
class HeldOut:
    """A graph without some relations, and what they say.

    Attributes:
        graph: The rest.
        triples: Of each relation those whose entities both occur in the rest's training triples. Their numbers are
            those that the relations have when they are put behind the others in this order.
        answers: All triples of each relation, numbered alike: what is no rival when others are ranked.
    """

    graph: Graph
    triples: Mapping[str, Triples]
    answers: Mapping[str, Triples]

    def draw(self, name: str, draw: int) -> Triples:
        """Return a relation's triples in a random order, the same for the same draw."""
        triples = self.triples[name]
        return triples[np.random.default_rng(draw).permutation(len(triples))]

    def name_pairs(self, triples: Triples) -> list[tuple[str, str]]:
        """Return triples as pairs of names."""
        names = self.graph.entities.names
        return [(names[head], names[tail]) for head, _, tail in triples.tolist()]

    def put_back(self, given: Mapping[str, Triples]) -> Graph:
        """Return the graph with all relations, and these triples of those that were taken out."""
        known = self.graph.relations
        relations = Vocabulary([*known.names, *self.triples], known.labels, "relation")
        train = np.concatenate([self.graph.train, *given.values()])
        return replace(self.graph, relations=relations, train=train)


def hold_out(graph: Graph, names: Sequence[str]) -> HeldOut:
    """Take relations out of all splits of a graph."""
    taken = [graph.relations.index(name) for name in names]
    kept = np.setdiff1d(np.arange(len(graph.relations)), taken)
    numbers = np.empty(len(graph.relations), dtype=np.int64)
    numbers[[*kept, *taken]] = np.arange(len(numbers))
    splits = {split: graph.split(split).copy() for split in SPLITS}
    for triples in splits.values():
        triples[:, 1] = numbers[triples[:, 1]]
    every = np.concatenate(list(splits.values()))
    answers = {name: every[every[:, 1] == len(kept) + place] for place, name in enumerate(names)}
    relations = Vocabulary([graph.relations.name(number) for number in kept], graph.relations.labels, "relation")
    rest = replace(graph, relations=relations, **{split: f[f[:, 1] < len(kept)] for split, f in splits.items()})
    told = np.zeros(len(graph.entities), dtype=bool)
    told[rest.train[:, [0, 2]]] = True
    triples = {name: found[told[found[:, [0, 2]]].all(1)] for name, found in answers.items()}
    return HeldOut(rest, triples, answers)


def find_short(held: HeldOut) -> list[str]:
    """Return the relations that have too few triples to be measured."""
    return [name for name, triples in held.triples.items() if len(triples) < LEAST_TRIPLES]


def choose_relations(graph: Graph, count: int, seed: int) -> list[str]:
    """Draw relations at random, passing over those that would leave one with too few triples."""
    chosen: list[str] = []
    for number in np.random.default_rng(seed).permutation(len(graph.relations)).tolist():
        tried = [*chosen, graph.relations.name(number)]
        if len(chosen) < count and not find_short(hold_out(graph, tried)):
            chosen = tried
    return chosen
