"""What is stored of a run: figures, figures of each relation, bootstrap replicates, attention."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from itransf.data.graph import Graph
from itransf.data.vocabulary import Vocabulary
from itransf.evaluation import Ranks, summarise
from itransf.interpret import Attention
from itransf.models import SIDES, Model
from itransf.run import Run
from reproduction.statistics import resample_triples

KEPT = ("mr", "mrr", "hits@1", "hits@3", "hits@10")
BUCKETS = 3
HEAVIEST = 0.01  # share of the queries, those with the worst ranks


def measure_ranks(graph: Graph, ranks: Ranks) -> dict[str, Any]:
    """Return the figures of filtered ranks: overall, by relation, and resampled."""
    by_triple = _stack(ranks)
    falling = np.sort(by_triple, axis=None)[::-1]
    heaviest = falling[: max(1, round(HEAVIEST * falling.size))].sum() / falling.sum()
    return {
        "metrics": measure_figures(ranks),
        "queries": by_triple.size,
        "heaviest": round_off(heaviest),
        "relations": list_relations(graph, ranks),
        "bootstrap": {name: [round_off(value, 5) for value in each] for name, each in resample_triples(ranks).items()},
    }


def measure_figures(ranks: Ranks) -> dict[str, float]:
    """Return the figures of filtered ranks overall."""
    figures = summarise(_stack(ranks).reshape(-1), ranks.rivals[0].T.reshape(-1))
    return {name: round_off(figures[name]) for name in KEPT}


def _stack(ranks: Ranks) -> Any:
    """Return the ranks of each triple's head and tail, (n, 2)."""
    return np.stack([ranks.ranks(side) for side in SIDES], axis=1)


def list_relations(graph: Graph, ranks: Ranks) -> list[dict[str, Any]]:
    """Return the figures of each ranked relation, most frequent first.

    `hits` has a digit for each triple, in the order of the split: how many of its two queries rank among the first ten.
    """
    by_triple, relations = _stack(ranks), ranks.triples[:, 1]
    buckets, counts = graph.statistics.frequency_buckets(BUCKETS), graph.statistics.counts
    hits = (by_triple <= 10).sum(axis=1)
    present = np.unique(relations)
    found = []
    for relation in present[np.argsort(-counts[present], kind="stable")].tolist():
        own = by_triple[relations == relation]
        found.append(
            {
                "relation": graph.relations.name(relation),
                "train_triples": int(counts[relation]),
                "bucket": int(buckets[relation]),
                "test_triples": len(own),
                "mr": round_off(own.mean()),
                "mrr": round_off((1.0 / own).mean()),
                "hits@10": round_off((own <= 10).mean()),
                "hits": "".join(map(str, hits[relations == relation].tolist())),
            }
        )
    return found


def measure_buckets(graph: Graph, ranks: Ranks) -> list[float | None]:
    """Return the macro average of Hits@10 in each frequency bucket, most frequent first; None for an empty one."""
    relations = list_relations(graph, ranks)
    hits = [[each["hits@10"] for each in relations if each["bucket"] == bucket] for bucket in range(BUCKETS)]
    return [round_off(statistics.fmean(found)) if found else None for found in hits]


def describe_run(run: Run) -> dict[str, Any]:
    """Return the settings, the training time and the size of a run."""
    info = run.info()
    seconds = [line["seconds"] for line in run.history if line["phase"] == "training"]
    return {
        "config": info["config"],
        "training": {
            "epochs": info["epochs"],
            "best": info["best"],
            "seconds": round_off(info["seconds"]),
            "seconds_per_epoch": round_off(statistics.fmean(seconds)) if seconds else None,
            "median_seconds_per_epoch": round_off(statistics.median(seconds)) if seconds else None,
        },
        "parameters": info["parameters"],
        "matrices": count_matrices(run.model),
    }


def count_matrices(model: Model) -> int:
    """Return the number of projection matrices that a model learns."""
    if not hasattr(model.config, "dim"):
        return 0  # a linear model
    found = [each for name, each in model.named_parameters() if name == "concepts" or name.endswith(".weight")]
    size = int(model.config.dim) ** 2
    return sum(each.numel() // size for each in found if each[0].numel() % size == 0)


def pack_attention(attention: Attention) -> dict[str, Any]:
    """Return attention ready for JSON: the concepts with a non-zero weight, for each side of each relation."""
    rounded = np.round(attention.weights.astype(np.float64), 4)
    used = attention.weights != 0
    sides: dict[str, Any] = {
        side: [
            [[int(concept), float(rounded[place, relation, concept])] for concept in np.flatnonzero(row)]
            for relation, row in enumerate(used[place])
        ]
        for place, side in enumerate(SIDES)
    }
    return {
        "kind": attention.kind,
        "concepts": attention.weights.shape[2],
        "relations": list(attention.relations.names),
        "train_triples": attention.counts.tolist(),
        **sides,
    }


def unpack_attention(packed: dict[str, Any]) -> Attention:
    """Return stored attention, up to rounding."""
    names = packed["relations"]
    weights = np.zeros((len(SIDES), len(names), packed["concepts"]), dtype=np.float32)
    for place, side in enumerate(SIDES):
        for relation, uses in enumerate(packed[side]):
            for concept, weight in uses:
                weights[place, relation, concept] = weight
    size = max((len(uses) for side in SIDES for uses in packed[side]), default=0)
    supports = np.sort(np.argsort(-np.abs(weights), axis=2, kind="stable")[:, :, :size], axis=2)
    counts = np.array(packed["train_triples"], dtype=np.int64)
    return Attention(weights, Vocabulary(names, kind="relation"), supports, counts, packed["kind"])


def round_off(value: float, digits: int = 6) -> float:
    """Return a number with a given number of significant digits."""
    return float(f"{float(value):.{digits}g}")
