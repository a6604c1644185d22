"""Describing a graph in numbers that a program can read and a person can be shown."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np

from itransf.data.graph import SPLITS, Graph
from itransf.data.leakage import Structure, measure_leakage, mine_structure
from itransf.data.statistics import CATEGORIES


def describe(graph: Graph) -> dict[str, Any]:
    """Return what can be said about a graph, ready for JSON.

    Returns:
        Keys: name, entities, relations, triples (per split), relation_table (most frequent first: name, label,
        triples per split, tails_per_head, heads_per_tail, category, head_domain, tail_domain), categories
        (relations and train triples per mapping category), leakage (per split, shares), structure (inverse and
        duplicate pairs, symmetric relations and what holds one way only, by name; measured on all triples, because a
        split scatters triples and their reverses), notes.
    """
    structure = mine_structure(graph, splits=SPLITS)
    return {
        "name": graph.name,
        "entities": len(graph.entities),
        "relations": len(graph.relations),
        "triples": {split: len(graph.split(split)) for split in SPLITS},
        "relation_table": _tabulate_relations(graph),
        "categories": _count_categories(graph),
        "leakage": {split: asdict(measure_leakage(graph, split, structure)) for split in ("valid", "test")},
        "structure": _name_structure(graph, structure),
        "notes": list(graph.notes),
    }


def _tabulate_relations(graph: Graph) -> list[dict[str, Any]]:
    """Return one row per relation, most frequent in train first."""
    statistics, count = graph.statistics, len(graph.relations)
    triples = {split: np.bincount(graph.split(split)[:, 1], minlength=count) for split in SPLITS}
    return [
        {
            "name": graph.relations.name(relation),
            "label": graph.relations.label(relation),
            **{split: int(triples[split][relation]) for split in SPLITS},
            "tails_per_head": float(statistics.tails_per_head[relation]),
            "heads_per_tail": float(statistics.heads_per_tail[relation]),
            "category": statistics.categories[relation],
            "head_domain": int(statistics.head_domain_sizes[relation]),
            "tail_domain": int(statistics.tail_domain_sizes[relation]),
        }
        for relation in np.argsort(-statistics.counts, kind="stable").tolist()
    ]


def _count_categories(graph: Graph) -> dict[str, dict[str, int]]:
    """Return how many relations and train triples each mapping category has."""
    relations, triples = Counter[str](), Counter[str]()
    for category, count in zip(graph.statistics.categories, graph.statistics.counts.tolist(), strict=True):
        relations[category] += 1
        triples[category] += count
    return {category: {"relations": relations[category], "train": triples[category]} for category in CATEGORIES}


def _name_structure(graph: Graph, structure: Structure) -> dict[str, list[dict[str, Any]]]:
    """Return the mined structure with names in place of numbers."""
    name = graph.relations.name
    pairs = {
        key: [{"relations": [name(left), name(right)], "overlap": share} for left, right, share in found]
        for key, found in (("inverse", structure.inverse), ("duplicate", structure.duplicate))
    }
    one_way = {
        key: [{"relation": name(left), "implies": name(right), "share": share} for left, right, share in found]
        for key, found in (
            ("one_way_inverse", structure.one_way_inverse),
            ("one_way_duplicate", structure.one_way_duplicate),
        )
    }
    symmetric = [{"relation": name(number), "share": share} for number, share in structure.symmetric]
    return {"inverse": pairs["inverse"], "symmetric": symmetric, "duplicate": pairs["duplicate"], **one_way}
