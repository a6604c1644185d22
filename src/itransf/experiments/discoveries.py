"""Choosing predicted facts that are worth showing: new, plausible, and not all of one kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from itransf.data import Graph
from itransf.interpret import Attention, SharedConcept, concepts_behind
from itransf.models import Side
from itransf.prediction import Prediction, Query, ScoredFact, answer_queries
from itransf.run import Run

LOOSE = 1.05  # mean answers per question from which one more is no contradiction
TINY = 1e-9  # a score that is this close to zero is divided by no less
LOOKED_AT = 30  # the best new facts of each relation that are looked at


@dataclass(frozen=True)
class Discovery:
    """A new fact, how it stands, and the concepts behind it.

    Attributes:
        fact: The prediction with its ranks.
        lead: By which share the model prefers it to the best rival, as a mean over both sides.
        concepts: The concepts of the relation's two sides, and who shares each.
    """

    fact: ScoredFact
    lead: float
    concepts: dict[Side, list[SharedConcept]]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        concepts = {side: [shared.to_dict() for shared in found] for side, found in self.concepts.items()}
        return {**self.fact.to_dict(), "lead": self.lead, "concepts": concepts}


def find_discoveries(run: Run, attention: Attention, count: int = 10, per_relation: int = 2) -> list[Discovery]:
    """Return new facts a run predicts, the ones it prefers most first.

    Args:
        run: A trained model and its graph.
        attention: The model's.
        count: How many facts.
        per_relation: The most of one relation.
    """
    found: list[Prediction] = []
    for relation in open_relations(run.graph):
        found += run.predict(relation=relation, top=LOOKED_AT)
    scored = run.score((fact.head, fact.relation, fact.tail) for fact in found)
    leads = measure_leads(run, scored)
    order = sorted(range(len(scored)), key=lambda place: -leads[place])
    chosen = choose_diverse([scored[place] for place in order], count, per_relation)
    by_fact = dict(zip(scored, leads, strict=True))
    return [Discovery(fact, by_fact[fact], concepts_behind(attention, fact.relation)) for fact in chosen]


def open_relations(graph: Graph) -> list[str]:
    """Return the relations in which a new fact need not contradict a known one.

    Where every head has exactly one tail, or every tail exactly one head, all that can be said within the
    relation's domains has been said.
    """
    statistics = graph.statistics
    loose = (statistics.tails_per_head >= LOOSE) & (statistics.heads_per_tail >= LOOSE)
    return [graph.relations.name(relation) for relation in np.flatnonzero(loose).tolist()]


def measure_leads(run: Run, facts: Sequence[ScoredFact]) -> list[float]:
    """Return by which share of its own score each fact is ahead of its best rival, as a mean over both sides.

    Scores of different relations cannot be compared, these shares can.
    """
    if not facts:
        return []
    queries = [Query(fact.head, fact.relation, None) for fact in facts]
    queries += [Query(None, fact.relation, fact.tail) for fact in facts]
    rivals = [float("-inf")] * len(queries)
    # Of the two best answers at most one is the fact itself.
    for answer in answer_queries(run.model, run.graph, queries, top=2).to_pylist():
        place = answer["query"] - 1
        fact = facts[place % len(facts)]
        if (answer["head"], answer["tail"]) != (fact.head, fact.tail):
            rivals[place] = max(rivals[place], answer["score"])
    both = zip(facts, rivals[: len(facts)], rivals[len(facts) :], strict=True)
    return [(fact.score - (one + other) / 2.0) / max(abs(fact.score), TINY) for fact, one, other in both]


def choose_diverse(facts: Iterable[ScoredFact], count: int, per_relation: int) -> list[ScoredFact]:
    """Return the first facts such that no head, no two entities and no relation come up too often."""
    chosen: list[ScoredFact] = []
    relations, heads, pairs = Counter[str](), set[str](), set[frozenset[str]]()
    for fact in facts:
        pair = frozenset((fact.head, fact.tail))
        if relations[fact.relation] >= per_relation or fact.head in heads or pair in pairs:
            continue
        chosen.append(fact)
        relations[fact.relation] += 1
        heads.add(fact.head)
        pairs.add(pair)
        if len(chosen) == count:
            break
    return chosen
