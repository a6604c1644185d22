"""Inverse, symmetric and duplicate relations, the test leakage that they cause, and the description of a graph.

Relation a implies relation b (reversed, or as it is) if at least THRESHOLD of a's triples are also triples of b. Two
relations that imply each other reversed are inverse, a relation that implies itself reversed is symmetric, and two
that imply each other as they are are duplicates; implications in one direction only are listed separately.

A split scatters triples and their reverses over train, valid and test, so train alone shows only about its share of the
structure. A graph is described from all triples, and a model, which has seen only train, is judged from train.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from itransf.data.graph import SPLITS, Graph, Triples
from itransf.data.known import Booleans, Floats, Integers, PairIndex, is_among, sort_distinct
from itransf.data.splits import keep_distinct
from itransf.data.statistics import CATEGORIES

THRESHOLD = 0.8
"""Share of a relation's triples from which it implies another."""

Pairs = tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class Structure:
    """Relations that imply each other or others, strongest first.

    Attributes:
        inverse: (relation, other relation, overlap): the triples of one, reversed, are those of the other. The overlap
            is the share of the larger one's triples.
        symmetric: (relation, share of its triples whose reverse is also a triple of it).
        duplicate: (relation, other relation, overlap): both have the same triples.
        one_way_inverse: (relation, other relation, share): this share of the relation's triples, reversed, are
            triples of the other, which has many more.
        one_way_duplicate: (relation, other relation, share): the same for triples as they are.
    """

    inverse: Pairs
    symmetric: tuple[tuple[int, float], ...]
    duplicate: Pairs
    one_way_inverse: Pairs = ()
    one_way_duplicate: Pairs = ()


@dataclass(frozen=True)
class Leakage:
    """Shares of a split's triples that train reveals in one step.

    Attributes:
        itself: The triple is in train, too.
        inverse: (tail, other relation, head) is in train, and the other relation implies this one reversed.
        symmetric: (tail, relation, head) is in train.
        duplicate: (head, other relation, tail) is in train, and the other relation implies this one.
        any: One of these four.
        reversed_pair: Train links tail to head by any relation.
        same_pair: Train links head to tail by any relation.
    """

    itself: float
    inverse: float
    symmetric: float
    duplicate: float
    any: float
    reversed_pair: float
    same_pair: float


def mine_structure(graph: Graph, threshold: float = THRESHOLD, splits: Sequence[str] = ("train",)) -> Structure:
    """Find inverse, symmetric and duplicate relations, by default in train.

    A triple that links an entity to itself counts as its own reverse.

    Args:
        graph: The graph.
        threshold: Share of its triples from which a relation implies another.
        splits: Splits to search: train for what a model can have seen, all for the structure of the graph.
    """
    triples = keep_distinct(np.concatenate([graph.split(split) for split in splits]))
    heads, relations, tails = triples.T
    sizes = np.bincount(relations, minlength=len(graph.relations))
    links = _link(triples, graph)
    inverse, one_way_inverse = _pair_up(relations, *links.look_up(tails, heads), sizes, threshold)
    duplicate, one_way_duplicate = _pair_up(relations, *links.look_up(heads, tails), sizes, threshold)
    return Structure(
        inverse=tuple(found for found in inverse if found[0] < found[1]),
        symmetric=tuple((left, share) for left, right, share in inverse if left == right),
        duplicate=tuple(found for found in duplicate if found[0] < found[1]),
        one_way_inverse=one_way_inverse,
        one_way_duplicate=one_way_duplicate,
    )


def measure_overlaps(graph: Graph, relation: int) -> tuple[Floats, Floats, Integers]:
    """Return the shares of a relation's triples that are also triples of each relation, reversed or as they are.

    Triples of all splits count.

    Args:
        graph: The graph.
        relation: Number of the relation.

    Returns:
        Shares reversed (r,), shares as they are (r,), and the number of triples of each relation (r,).
    """
    triples = graph.merged().train
    links, (heads, _, tails) = _link(triples, graph), triples[triples[:, 1] == relation].T
    ends = ((tails, heads), (heads, tails))
    counts = [np.bincount(links.look_up(*pair)[1], minlength=len(graph.relations)) for pair in ends]
    reversed_share, same_share = (count / max(len(heads), 1) for count in counts)
    return reversed_share, same_share, np.bincount(triples[:, 1], minlength=len(graph.relations))


def measure_leakage(graph: Graph, split: str = "test", structure: Structure | None = None) -> Leakage:
    """Measure which shares of a split's triples train reveals in one step.

    Args:
        graph: The graph.
        split: The split to measure.
        structure: Relations that imply others; mined from all triples if not given.
    """
    triples = graph.split(split)
    if not len(triples):
        return Leakage(*[0.0] * 7)
    structure = structure or mine_structure(graph, splits=SPLITS)
    count = len(graph.relations)
    links, (heads, _, tails) = _link(graph.train, graph), triples.T
    backward, forward = links.look_up(tails, heads), links.look_up(heads, tails)
    inverse = _meets(triples, *backward, _list_codes(structure.inverse, structure.one_way_inverse, count), count)
    symmetric = _meets(triples, *backward, np.arange(count) * (count + 1), count)
    duplicate = _meets(triples, *forward, _list_codes(structure.duplicate, structure.one_way_duplicate, count), count)
    linked = [np.diff(offsets) > 0 for offsets, _ in (backward, forward)]
    itself = graph.known_in("train").contains(triples)
    shares = (itself, inverse, symmetric, duplicate, itself | inverse | symmetric | duplicate, *linked)
    return Leakage(*(float(np.mean(share)) for share in shares))


def describe(graph: Graph) -> dict[str, Any]:
    """Return a description of a graph, ready for JSON.

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
    domains = {side: statistics.domain_sizes(side) for side in ("head", "tail")}
    return [
        {
            "name": graph.relations.name(relation),
            "label": graph.relations.label(relation),
            **{split: int(triples[split][relation]) for split in SPLITS},
            "tails_per_head": float(statistics.tails_per_head[relation]),
            "heads_per_tail": float(statistics.heads_per_tail[relation]),
            "category": statistics.categories[relation],
            **{f"{side}_domain": int(sizes[relation]) for side, sizes in domains.items()},
        }
        for relation in np.argsort(-statistics.counts, kind="stable").tolist()
    ]


def _count_categories(graph: Graph) -> dict[str, dict[str, int]]:
    """Return how many relations and train triples each mapping category has."""
    categories, counts = np.array(graph.statistics.categories), graph.statistics.counts
    return {
        category: {"relations": int((categories == category).sum()), "train": int(counts[categories == category].sum())}
        for category in CATEGORIES
    }


def _name_structure(graph: Graph, structure: Structure) -> dict[str, list[dict[str, Any]]]:
    """Return the mined structure with names in place of numbers."""
    name = graph.relations.name

    def mutual(pairs: Pairs) -> list[dict[str, Any]]:
        return [{"relations": [name(left), name(right)], "overlap": share} for left, right, share in pairs]

    def one_way(pairs: Pairs) -> list[dict[str, Any]]:
        return [{"relation": name(left), "implies": name(right), "share": share} for left, right, share in pairs]

    return {
        "inverse": mutual(structure.inverse),
        "symmetric": [{"relation": name(number), "share": share} for number, share in structure.symmetric],
        "duplicate": mutual(structure.duplicate),
        "one_way_inverse": one_way(structure.one_way_inverse),
        "one_way_duplicate": one_way(structure.one_way_duplicate),
    }


def _link(triples: Triples, graph: Graph) -> PairIndex:
    """Return an index of the relations from one entity to another."""
    return PairIndex(triples[:, 0], triples[:, 2], triples[:, 1], (len(graph.entities), len(graph.relations)))


def _pair_up(
    relations: Integers, offsets: Integers, found: Integers, counts: Integers, threshold: float
) -> tuple[Pairs, Pairs]:
    """Return the pairs of relations that imply each other, in both orders, and those where only the first does."""
    codes, shared = np.unique(np.repeat(relations, np.diff(offsets)) * len(counts) + found, return_counts=True)
    left, right = np.divmod(codes, len(counts))
    overlap, share = shared / np.maximum(counts[left], counts[right]), shared / counts[left]
    is_mutual = overlap >= threshold
    is_one_way = ~is_mutual & (share >= threshold)
    return _sort_pairs(left, right, overlap, is_mutual), _sort_pairs(left, right, share, is_one_way)


def _sort_pairs(left: Integers, right: Integers, shares: Floats, kept: Booleans) -> Pairs:
    """Return the pairs that are kept, strongest first."""
    rows = zip(left[kept].tolist(), right[kept].tolist(), shares[kept].tolist(), strict=True)
    return tuple(sorted(rows, key=lambda row: (-row[2], row[0], row[1])))


def _list_codes(mutual: Pairs, one_way: Pairs, count: int) -> Integers:
    """Return codes (implied relation x count + relation that implies it), ascending."""
    both = [(a, b) for left, right, _ in mutual for a, b in ((left, right), (right, left))]
    both += [(implied, relation) for relation, implied, _ in one_way]
    codes = np.array([a * count + b for a, b in both], dtype=np.int64)
    return sort_distinct(codes)


def _meets(triples: Triples, offsets: Integers, found: Integers, codes: Integers, count: int) -> Booleans:
    """Return for each triple whether one of the relations found for it forms a wanted pair with its own."""
    rows = np.repeat(np.arange(len(triples)), np.diff(offsets))
    hit = is_among(triples[rows, 1] * count + found, codes)
    met = np.zeros(len(triples), dtype=np.bool_)
    met[rows[hit]] = True
    return met
