"""What a run knows about an entity, and what changed from one run to another."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from itransf.data.graph import SPLITS, Graph, Triples
from itransf.errors import DataError, check_count
from itransf.evaluation import rank_both, sample_triples
from itransf.interpret.naming import call_concept, name_concepts
from itransf.interpret.sharing import FOUND, match_concepts
from itransf.models import SIDES
from itransf.prediction.inputs import name_triple
from itransf.teaching import find_closest

if TYPE_CHECKING:
    from itransf.run.run import Run

EXAMPLES = 5  # entities named for a relation
HITS = (1, 3, 10)


def show_entity(run: Run, entity: str, top: int = 5) -> dict[str, Any]:
    """Return what is known about an entity, what is predicted, and which entities are near, ready for JSON.

    Args:
        run: The run.
        entity: Name or label.
        top: Number of predicted triples, and of near entities.
    """
    entities, number, top = run.graph.entities, run.graph.entities.index(entity), check_count("top", top, least=1)
    triples, known = run.graph.merged().train, []
    for side, column in zip(SIDES, (0, 2), strict=True):
        own = triples[triples[:, column] == number]
        triples = triples[triples[:, column] != number]  # a self-loop is listed once
        for relation, count in zip(*np.unique(own[:, 1], return_counts=True), strict=True):
            others = own[own[:, 1] == relation, 2 - column][:EXAMPLES]
            examples = [entities.label(other) for other in others.tolist()]
            label = run.graph.relations.label(relation)
            known.append({"relation": label, "side": side, "count": int(count), "examples": examples})
    near = find_closest(run.chosen.model, run.graph, number, top)
    return {
        "name": entities.name(number),
        "label": entities.label(number),
        "known": sorted(known, key=lambda each: -int(each["count"])),
        "predicted": [each.to_dict() for each in run.missing(entity, top=top)],
        "near": [{"label": label, "likeness": cosine} for label, cosine in near],
    }


def compare_runs(run: Run, other: Run, top: int = 10) -> dict[str, Any]:
    """Return which triples and names, metrics, answers and concepts differ from those of a later run, ready for JSON.

    Args:
        run: Run before.
        other: Run on the same graph or a grown one; names are compared.
        top: Number of answers to list, those whose reciprocal rank changed most.

    Raises:
        DataError: The runs have no triples of valid or test in common.
        ConfigError: The number of answers is not one.
    """
    runs, top = (run, other), check_count("top", top)
    held = [
        {name_triple(each.graph, row)[:3] for row in np.concatenate([each.graph.valid, each.graph.test]).tolist()}
        for each in runs
    ]
    triples = sorted(held[0] & held[1])
    if not triples:
        raise DataError("the runs have no triples of valid or test in common; compare runs of the same graph")
    earlier = copy(run)
    earlier.graph = adopt_triples(run.graph, other.graph)  # so that both ignore the same answers
    runs = (earlier, other)
    scored = [[(found.head_rank, found.tail_rank) for found in each.score(triples)] for each in runs]
    ranks = np.array(scored)  # (2 runs, n, 2 sides)
    means = {"mrr": 1 / ranks} | {f"hits@{most}": ranks <= most for most in HITS}
    changes = np.abs(np.diff(1 / ranks, axis=0)[0])
    answers = []
    for place in np.argsort(-changes, axis=None, kind="stable")[: min(top, np.count_nonzero(changes))]:
        row, side = divmod(int(place), 2)
        head, relation, tail = triples[row]
        asked = (head, relation, None) if side else (None, relation, tail)
        best = [[vars(found)[f"{SIDES[side]}_label"] for found in each.predict(*asked, top=1)] for each in runs]
        given = dict(zip(("head", "relation", "tail"), triples[row], strict=True))
        answers.append({**given, "asked": SIDES[side], "ranks": ranks[:, row, side].tolist(), "best": best})
    return {
        "graph": count_changes(run.graph, other.graph, earlier.graph),
        "queries": ranks[0].size,
        "changed": int(np.count_nonzero(changes)),
        "metrics": {name: values.mean(axis=(1, 2)).tolist() for name, values in means.items()},
        "answers": answers,
        "concepts": compare_concepts(run, other) if run.has_concepts and other.has_concepts else None,
    }


def count_changes(before: Graph, after: Graph, adopted: Graph) -> dict[str, dict[str, int]]:
    """Return how many triples, entities and relations a graph has more and less than an earlier one.

    Args:
        before: Earlier graph.
        after: Later graph.
        adopted: The earlier graph with the triples of the later one.
    """
    sizes = [(len(each.merged().train), len(each.entities), len(each.relations)) for each in (before, after)]
    names = ((before.entities, after.entities), (before.relations, after.relations))
    same = [int(before.known.contains(adopted.merged().train).sum())]
    same += [sum(map(new.has_name, old)) for old, new in names]
    found = zip(("triples", "entities", "relations"), *sizes, same, strict=True)
    return {kind: {"added": new - kept, "removed": old - kept} for kind, old, new, kept in found}


def compare_valid(before: Run, after: Run) -> dict[str, dict[str, float]] | None:
    """Return the filtered metrics of a run and of an update of it on the triples that are in valid of both, if any."""
    same = adopt_triples(before.graph, after.graph).valid
    return measure_valid({"before": before, "after": after}, same[before.graph.known_in("valid").contains(same)])


def measure_valid(runs: Mapping[str, Run], triples: Triples) -> dict[str, dict[str, float]] | None:
    """Return the filtered metrics of runs on validation triples, those of a sample if they are many; None without any.

    Known are the triples of the last run for all of them, so that a change of the graph alone changes little.

    Args:
        runs: Runs by name, the last one on the last graph.
        triples: Triples that all have, (n, 3).
    """
    if not len(triples):
        return None
    chosen = sample_triples(triples, max(len(run.graph.entities) for run in runs.values()))
    last = list(runs.values())[-1].graph
    return {name: rank_both(run.model, chosen, adopt_triples(run.graph, last).known) for name, run in runs.items()}


def adopt_triples(graph: Graph, other: Graph) -> Graph:
    """Return a graph with the triples of another one, by name; those with names that it lacks are left out."""
    names = ((graph.entities, other.entities), (graph.relations, other.relations))
    entities, relations = (
        np.array([own.index(name) if own.has_name(name) else -1 for name in theirs], dtype=np.int64)
        for own, theirs in names
    )
    columns, splits = (entities, relations, entities), (other.split(split).T for split in SPLITS)
    found = (np.stack([own[numbers] for own, numbers in zip(columns, split, strict=True)], axis=1) for split in splits)
    train, valid, test = (triples[(triples >= 0).all(axis=1)] for triples in found)
    return replace(graph, train=train, valid=valid, test=test)


def compare_concepts(left: Run, right: Run) -> list[dict[str, Any]]:
    """Return the concepts that a run uses for relations of both, with the similarity of their counterparts."""
    common = [name for name in left.graph.relations if right.graph.relations.has_name(name)]
    attentions = []
    for run in (left, right):
        found, rows = run.concepts(), [run.graph.relations.index(name) for name in common]
        attentions.append(replace(found, weights=found.weights[:, rows]))
    if attentions[0].parts != attentions[1].parts:
        return []
    names, similarities = name_concepts(left.concepts(), left.concept_names), match_concepts(*attentions).tolist()
    return [
        {
            "concept": call_concept(number, names),
            "similarity": similarities[number],
            "found": similarities[number] >= FOUND,
        }
        for number in np.flatnonzero(attentions[0].used).tolist()
    ]
