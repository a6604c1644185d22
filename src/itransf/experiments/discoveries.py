"""Choosing predicted triples that are worth showing: new, plausible, and not all of one kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from itransf.data import Graph
from itransf.interpret import Attention, SharedConcept, concepts_behind
from itransf.models import Side
from itransf.prediction import Prediction, Query, ScoredTriple, answer_queries
from itransf.run import Run

LOOSE = 1.05  # mean answers per question from which one more is no contradiction
TINY = 1e-9  # a score that is this close to zero is divided by no less
LOOKED_AT = 30  # the best new triples of each relation that are looked at


@dataclass(frozen=True)
class Discovery:
    """A new triple, how it stands, and the concepts behind it.

    Attributes:
        triple: The prediction with its ranks.
        lead: By which share the model prefers it to the best rival, as a mean over both sides.
        concepts: The concepts of the relation's two sides, and who shares each.
    """

    triple: ScoredTriple
    lead: float
    concepts: dict[Side, list[SharedConcept]]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        concepts = {side: [shared.to_dict() for shared in found] for side, found in self.concepts.items()}
        return {**self.triple.to_dict(), "lead": self.lead, "concepts": concepts}


def find_discoveries(run: Run, attention: Attention, count: int = 10, per_relation: int = 2) -> list[Discovery]:
    """Return new triples a run predicts, the ones it prefers most first.

    Args:
        run: A trained model and its graph.
        attention: The model's.
        count: How many triples.
        per_relation: The most of one relation.
    """
    found: list[Prediction] = []
    for relation in open_relations(run.graph):
        found += run.predict(relation=relation, top=LOOKED_AT)
    scored = run.score((triple.head, triple.relation, triple.tail) for triple in found)
    leads = measure_leads(run, scored)
    order = sorted(range(len(scored)), key=lambda place: -leads[place])
    chosen = choose_diverse([scored[place] for place in order], count, per_relation)
    by_triple = dict(zip(scored, leads, strict=True))
    return [Discovery(triple, by_triple[triple], concepts_behind(attention, triple.relation)) for triple in chosen]


def open_relations(graph: Graph) -> list[str]:
    """Return the relations in which a new triple need not contradict a known one.

    Where every head has exactly one tail, or every tail exactly one head, all that can be said within the
    relation's domains has been said.
    """
    statistics = graph.statistics
    loose = (statistics.tails_per_head >= LOOSE) & (statistics.heads_per_tail >= LOOSE)
    return [graph.relations.name(relation) for relation in np.flatnonzero(loose).tolist()]


def measure_leads(run: Run, triples: Sequence[ScoredTriple]) -> list[float]:
    """Return by which share of its own score each triple is ahead of its best rival, as a mean over both sides.

    Scores of different relations cannot be compared, these shares can.
    """
    if not triples:
        return []
    queries = [Query(triple.head, triple.relation, None) for triple in triples]
    queries += [Query(None, triple.relation, triple.tail) for triple in triples]
    rivals = [float("-inf")] * len(queries)
    # Of the two best answers at most one is the triple itself.
    for answer in answer_queries(run.model, run.graph, queries, top=2).to_pylist():
        place = answer["query"] - 1
        triple = triples[place % len(triples)]
        if (answer["head"], answer["tail"]) != (triple.head, triple.tail):
            rivals[place] = max(rivals[place], answer["score"])
    both = zip(triples, rivals[: len(triples)], rivals[len(triples) :], strict=True)
    return [(triple.score - (one + other) / 2.0) / max(abs(triple.score), TINY) for triple, one, other in both]


def choose_diverse(triples: Iterable[ScoredTriple], count: int, per_relation: int) -> list[ScoredTriple]:
    """Return the first triples such that no head, no two entities and no relation come up too often."""
    chosen: list[ScoredTriple] = []
    relations, heads, pairs = Counter[str](), set[str](), set[frozenset[str]]()
    for triple in triples:
        pair = frozenset((triple.head, triple.tail))
        if relations[triple.relation] >= per_relation or triple.head in heads or pair in pairs:
            continue
        chosen.append(triple)
        relations[triple.relation] += 1
        heads.add(triple.head)
        pairs.add(pair)
        if len(chosen) == count:
            break
    return chosen
