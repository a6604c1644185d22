"""What is stored of a run: figures, relations one by one, bootstrap replicates, attention."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from itransf.data.graph import Graph
from itransf.data.vocabulary import Vocabulary
from itransf.evaluation import Ranks, summarise
from itransf.experiments.reproduction.bootstrap import resample_triples
from itransf.interpret import Attention
from itransf.models import SIDES, Model
from itransf.run import Run

KEPT = ("mr", "mrr", "hits@1", "hits@3", "hits@10")
DIGITS = 6  # significant ones of a figure
ATTENTION_DECIMALS = 4
BUCKETS = 3
HEAVIEST = 0.01  # share of the questions, those with the worst ranks


def measure_ranks(graph: Graph, ranks: Ranks) -> dict[str, Any]:
    """Return the figures of filtered ranks: overall, by relation, and resampled."""
    by_triple = stack_ranks(ranks)
    return {
        "metrics": measure_figures(ranks),
        "queries": by_triple.size,
        "heaviest": round_off(weigh_heaviest(by_triple)),
        "relations": list_relations(graph, ranks.triples[:, 1], by_triple),
        "bootstrap": {
            name: [round_off(value, 5) for value in found] for name, found in resample_triples(ranks).items()
        },
    }


def measure_figures(ranks: Ranks) -> dict[str, float]:
    """Return the figures of filtered ranks overall."""
    figures = summarise(stack_ranks(ranks).reshape(-1), ranks.rivals[0].T.reshape(-1))
    return {name: round_off(figures[name]) for name in KEPT}


def stack_ranks(ranks: Ranks) -> Any:
    """Return the ranks of each triple's head and tail, (n, 2)."""
    return np.stack([ranks.ranks(side) for side in SIDES], axis=1)


def weigh_heaviest(ranks: Any) -> float:
    """Return the share of mean rank that the questions with the worst ranks make up."""
    falling = np.sort(ranks, axis=None)[::-1]
    return float(falling[: max(1, round(HEAVIEST * falling.size))].sum() / falling.sum())


def list_relations(graph: Graph, relations: Any, by_triple: Any) -> list[dict[str, Any]]:
    """Return the figures of each relation that was ranked, the most frequent first.

    `hits` has a digit for each of its triples, in the order of the split: how many of its two questions were answered
    among the first ten.
    """
    buckets = graph.statistics.frequency_buckets(BUCKETS)
    counts = graph.statistics.counts
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
    """Return the macro average of Hits@10 over relations of each frequency, the most frequent first; None for none."""
    relations = list_relations(graph, ranks.triples[:, 1], stack_ranks(ranks))
    hits = [[each["hits@10"] for each in relations if each["bucket"] == bucket] for bucket in range(BUCKETS)]
    return [round_off(statistics.fmean(found)) if found else None for found in hits]


def describe_run(run: Run) -> dict[str, Any]:
    """Return what a run cost and what it is made of."""
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


def describe_attention(run: Run) -> dict[str, Any]:
    """Return what the relations of a run attend to, where they attend to anything."""
    return {"attention": pack_attention(run.concepts()) if run.config.name == "itransf" else None}


def count_matrices(model: Model) -> int:
    """Return how many projection matrices a model learns."""
    found = [
        parameter.numel()
        for name, parameter in model.named_parameters()
        if name == "concepts" or name.endswith(".weight")
    ]
    return sum(found) // int(model.config.dim) ** 2


def pack_attention(attention: Attention) -> dict[str, Any]:
    """Return attention ready for JSON: of each side of each relation, the concepts that weigh anything."""
    rounded = np.round(attention.weights.astype(np.float64), ATTENTION_DECIMALS)
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
    """Return stored attention as it was, up to rounding."""
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


def round_off(value: float, digits: int = DIGITS) -> float:
    """Return a number with so many significant digits."""
    return float(f"{float(value):.{digits}g}")
