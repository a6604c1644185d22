"""Metrics of link prediction: overall, and by relation, frequency bucket and mapping category.

The standard protocol: the true head and the true tail of each triple are ranked among all entities. Filtered metrics
leave out every other entity that completes a known triple of train, valid or test; raw metrics leave out none. The
query's own entity counts as a rival, and by default a rival with the same score adds half a place (`realistic`).
Typed metrics follow the rule of `rank_as_predicted` instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, KeysView, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np

from itransf.data import CATEGORIES, Booleans, Floats, Graph, Integers, KnownIndex, Triples
from itransf.errors import ConfigError, DataError, check_count
from itransf.evaluation.ranking import DEFAULT_MEMORY, Ranks, Ties, rank_as_predicted, rank_triples, sample_triples
from itransf.evaluation.skill import Skill, compare_with_popularity
from itransf.files import replace_nan
from itransf.models.base import SIDES, Model, Side

Weighting = Literal["relation", "query"]
BucketEdges = Literal["count", "log"]
OTHER_TIES: tuple[Ties, ...] = ("optimistic", "pessimistic")
HITS = (1, 3, 10)
METRICS = {"mr": "MR", "mrr": "MRR", "amri": "AMRI", **{f"hits@{k}": f"Hits@{k}" for k in HITS}}
"""Each metric's name and its heading in tables."""


@dataclass(frozen=True)
class Evaluation:
    """Metrics of a split, by the standard protocol; `typed` and `typed_ranks` follow the rule of predictions.

    `sampled_from` is the number of triples of the split if a random sample of them was ranked, else 0. `also_in_train`
    is the number of ranked triples of valid or test that are in train, too.

    It is a mapping of the filtered metrics over both sides: `evaluation["mrr"]`, `dict(evaluation)`.
    """

    split: str
    ties: Ties
    overall: dict[str, dict[str, dict[str, float]]]
    by_ties: dict[str, dict[str, dict[str, float]]]
    typed: dict[str, dict[str, float]]
    relations: list[dict[str, Any]]
    buckets: list[dict[str, Any]]
    categories: list[dict[str, Any]]
    ranks: Ranks
    typed_ranks: Ranks
    weighted: bool = False
    sampled_from: int = 0
    also_in_train: int = 0

    def __getitem__(self, metric: str) -> float:
        """Return a filtered metric over both sides, such as evaluation["mrr"].

        Raises:
            ConfigError: There is no such metric.
        """
        if metric not in self:
            raise ConfigError(f"there is no metric {metric!r}; there are: {', '.join(self)}")
        return self.overall["filtered"]["both"][metric]

    def keys(self) -> KeysView[str]:
        """Return the names of the metrics."""
        return self.overall["filtered"]["both"].keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, metric: object) -> bool:
        return isinstance(metric, str) and metric in self.keys()

    def __repr__(self) -> str:
        figures = ", ".join(f"{METRICS[name]} {format_metric(name, self[name])}" for name in ("mr", "mrr", "hits@10"))
        return f"Evaluation({self.split}: {figures} %, {self['queries']:,.0f} queries)"

    def to_dict(self) -> dict[str, Any]:
        """Return all metrics, ready for JSON; Hits@k are fractions."""
        content = {
            "split": self.split,
            **({"weighted": True} if self.weighted else {}),
            **{name: count for name in ("sampled_from", "also_in_train") if (count := getattr(self, name))},
            "ties": self.ties,
            **self.overall,
            **self.by_ties,
            "typed": self.typed,
            "relations": self.relations,
            "buckets": self.buckets,
            "categories": self.categories,
        }
        return cast(dict[str, Any], replace_nan(content))


def evaluate(
    model: Model,
    graph: Graph,
    split: str = "test",
    ties: Ties = "realistic",
    memory: int = DEFAULT_MEMORY,
    buckets: int = 3,
    bucket_edges: BucketEdges = "count",
    bucket_weighting: Weighting = "relation",
    progress: bool = False,
    weighted: bool = False,
    triples: int | None = None,
) -> Evaluation:
    """Rank a split's triples among all entities, filtered with train, valid and test, and summarise the ranks.

    The triples are also ranked by the rule of predictions, and relations are compared with popularity.

    Args:
        model: Scoring model.
        graph: Graph whose split is ranked.
        split: "train", "valid" or "test".
        ties: Weight of a rival with the same score: half (`realistic`), nothing (`optimistic`) or one (`pessimistic`);
            half in type-constrained ranks.
        memory: Bytes for one chunk of scores.
        buckets: Number of frequency buckets; empty buckets are left out.
        bucket_edges: `count` (the same number of relations in each) or `log` (equal width in log frequency).
        bucket_weighting: `relation` (each relation has the same weight, as in the paper) or `query`.
        progress: Whether to show a progress bar.
        weighted: Whether each triple counts by its weight; skill and its interval are never weighted.
        triples: Maximum number of triples to rank, a random sample that is always the same; 0 ranks all. By default
            all, or as many as take 10^10 comparisons with entities on each side: 10,000 with a million entities.

    Raises:
        DataError: The split has no triples, or the triples have no weights.
        ConfigError: A tie policy, weighting or number is not valid.
    """
    if not len(graph.split(split)):
        raise DataError(f"the graph has no {split} triples to rank; choose another split")
    for name, given, kind in (("ties", ties, Ties), ("bucket_weighting", bucket_weighting, Weighting)):
        if given not in get_args(kind):
            raise ConfigError(f"{name} cannot be {given!r}; choose from {', '.join(get_args(kind))}")
    memory = check_count("memory", memory, least=1)
    numbers = graph.statistics.frequency_buckets(buckets, bucket_edges)
    most = None if triples is None else check_count("triples", triples, least=0)
    chosen = sample_triples(graph.split(split), len(graph.entities), most)
    own = _read_weights(graph, chosen, split) if weighted else None
    ranks = rank_triples(model, chosen, graph.known, memory, progress)
    table = _Table(ranks, ties, own)
    fitting = rank_as_predicted(model, graph, chosen, memory, progress, title="ranking among entities of fitting type")
    typed = _Table(fitting, "realistic", own)
    return Evaluation(
        split,
        ties,
        {name: table.both_sides(filtered=name == "filtered") for name in ("filtered", "raw")},
        {name: {"both": _Table(ranks, name, own).summary(SIDES)} for name in OTHER_TIES},
        typed.both_sides(),
        _by_relation(table, graph, typed, compare_with_popularity(fitting, graph, memory)),
        _by_bucket(table, graph, numbers, bucket_weighting),
        _by_category(table, graph),
        ranks,
        fitting,
        weighted,
        len(graph.split(split)) if len(chosen) < len(graph.split(split)) else 0,
        0 if split == "train" else int(graph.known_in("train").contains(chosen).sum()),
    )


def _read_weights(graph: Graph, triples: Triples, split: str) -> Floats:
    """Return the weights of triples of a split, (n,)."""
    if graph.weights is None:
        raise DataError("the triples of this graph have no weights; load them with a weight column")
    found = graph.weights.of(triples)
    if not found.any():
        raise DataError(f"all {split} triples have weight 0; evaluate without weights, or another split")
    return found


def summarise(ranks: Floats, rivals: Integers, weights: Floats | None = None) -> dict[str, float]:
    """Return mean rank, mean reciprocal rank, adjusted mean rank index, Hits@k (as fractions) and the query count.

    Args:
        ranks: Rank of each query, from one.
        rivals: Number of entities each answer was compared with.
        weights: Weight of each query; equal by default.
    """
    if len(ranks) == 0 or (weights is not None and not weights.any()):
        return {**dict.fromkeys(METRICS, float("nan")), "queries": 0}
    share = np.full(len(ranks), 1.0 / len(ranks)) if weights is None else weights / weights.sum()
    # A random guess ranks in the middle on average: rivals / 2 places below the top.
    expected = float(share @ (rivals / 2))
    mean_rank = float(share @ ranks)
    return {
        "mr": mean_rank,
        "mrr": float(share @ (1.0 / ranks)),
        "amri": 1.0 - (mean_rank - 1.0) / expected if expected else float("nan"),
        **{f"hits@{k}": float(share @ (ranks <= k)) for k in HITS},
        "queries": len(ranks),
    }


def rank_both(model: Model, triples: Triples, known: KnownIndex) -> dict[str, float]:
    """Return the filtered metrics of triples (n, 3) over both sides, and nothing else that `evaluate` measures."""
    ranks = rank_triples(model, triples, known)
    return summarise(np.concatenate([ranks.ranks(side) for side in SIDES]), ranks.rivals[0].reshape(-1))


def format_metric(name: str, value: float | None) -> str:
    """Return a metric as text: Hits@k in percent and MR with one decimal, others with three; a dash for no value."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{100.0 * value:.1f}" if name.startswith("hits") else f"{value:,.{1 if name == 'mr' else 3}f}"


class _Table:
    """Ranks under one tie policy, and weights of the triples, (n,), if they are to count."""

    def __init__(self, ranks: Ranks, ties: Ties, weights: Floats | None) -> None:
        self.ranks, self.ties, self.weights = ranks, ties, weights
        self.relations = ranks.triples[:, 1]

    def summary(
        self,
        sides: tuple[Side, ...],
        rows: Booleans | slice = slice(None),
        filtered: bool = True,
        weights: Floats | None = None,
    ) -> dict[str, float]:
        """Return the metrics of these triples on these sides; `weights` has one value per triple, or its own count."""
        weights = self.weights if weights is None else weights
        protocol = 0 if filtered else 1
        ranks = np.concatenate([self.ranks.ranks(side, filtered, self.ties)[rows] for side in sides])
        rivals = np.concatenate([self.ranks.rivals[protocol, SIDES.index(side)][rows] for side in sides])
        shares = None if weights is None else np.tile(weights[rows], len(sides))
        return summarise(ranks, rivals, shares)

    def both_sides(self, rows: Booleans | slice = slice(None), filtered: bool = True) -> dict[str, dict[str, float]]:
        """Return the metrics of both sides together and of each alone."""
        return {
            "both": self.summary(SIDES, rows, filtered),
            **{side: self.summary((side,), rows, filtered) for side in SIDES},
        }


def _by_relation(table: _Table, graph: Graph, typed: _Table, skills: Mapping[int, Skill]) -> list[dict[str, Any]]:
    present = np.unique(table.relations)
    order = present[np.argsort(-graph.statistics.counts[present], kind="stable")]
    return [
        {
            "relation": graph.relations.name(relation),
            "label": graph.relations.label(relation),
            "train_triples": int(graph.statistics.counts[relation]),
            "category": graph.statistics.categories[relation],
            **table.both_sides(table.relations == relation),
            "typed": typed.summary(SIDES, table.relations == relation),
            "skill": skills[relation].to_dict(),
        }
        for relation in order.tolist()
    ]


def _by_bucket(table: _Table, graph: Graph, numbers: Integers, weighting: Weighting) -> list[dict[str, Any]]:
    triples_per_relation = np.bincount(table.relations, minlength=len(graph.relations))
    weights = table.weights
    if weighting == "relation":
        sums = np.bincount(table.relations, weights, minlength=len(graph.relations))[table.relations]
        weights = np.divide(1.0 if weights is None else weights, sums, out=np.zeros(len(sums)), where=sums > 0)
    found = []
    for bucket in np.unique(numbers).tolist():
        members = np.flatnonzero(numbers == bucket)
        frequencies = graph.statistics.counts[members]
        found.append(
            {
                "bucket": bucket,
                "relations": len(members),
                "ranked_relations": int((triples_per_relation[members] > 0).sum()),
                "train_triples": [int(frequencies.min()), int(frequencies.max())],
                "weighting": weighting,
                **table.summary(SIDES, numbers[table.relations] == bucket, weights=weights),
            }
        )
    return found


def _by_category(table: _Table, graph: Graph) -> list[dict[str, Any]]:
    of_relation = np.array([CATEGORIES.index(name) for name in graph.statistics.categories])
    return [
        {"category": name, **table.both_sides(of_relation[table.relations] == number)}
        for number, name in enumerate(CATEGORIES)
    ]
