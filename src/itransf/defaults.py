"""Settings for a graph nobody has tuned, chosen by its size and by where it is trained.

The recipe: cross-entropy against candidates shared by a batch, l2, no length constraints, Adam with a rate that falls
to zero, and matrices that learn more slowly than vectors, so that they leave the identity only where many triples ask
for it. For small graphs the rates, the penalty and the concepts of each model are those that did best on the
validation triples of the bundled world graph, in stored trials (`benchmarks.tuning`, `results/tuning-world-*.json`).
For large ones they were found for ITransF on CoDEx-S: the concepts and the rate by validation alone
(`results/tuning-codex-s.json`), the rest in earlier trials that were not stored and in which test figures were seen.
"""

from __future__ import annotations

from typing import Any

from itransf.config import Layer
from itransf.data.graph import Graph
from itransf.models import MODELS, ITransF

SMALL = 20_000  # triples below which vectors and batches are kept small
VISITS = {"small": 250_000, "cpu": 2_000_000, "cuda": 30_000_000}  # triples seen in all epochs together
FEWEST_EPOCHS, MOST_EPOCHS = 10, 200
ALL_CANDIDATES, SOME_CANDIDATES = 2500, 1024  # entities up to which all are candidates; how many beyond
BATCHES = 16  # the fewest batches an epoch of a small graph is cut into, while they hold 32 triples
FEWEST_CONCEPTS, MOST_CONCEPTS = 8, 300
CHOSEN: dict[str, dict[str, float]] = {  # for small graphs, by model; see above
    "transe": {"learning_rate": 0.08, "n3": 0.0},
    "transr": {"learning_rate": 0.2, "n3": 0.003, "matrix_lr_factor": 0.01},
    "stranse": {"learning_rate": 0.2, "n3": 0.003, "matrix_lr_factor": 0.01},
    "itransf": {"learning_rate": 0.2, "n3": 0.002, "matrix_lr_factor": 0.01},
}


def default_layer(graph: Graph, model: str, device: str = "cpu") -> Layer:
    """Return settings for any graph.

    Args:
        graph: Its sizes are looked at.
        model: The name of the model to train.
        device: "cpu" or "cuda": a large graph is given more epochs on a GPU.
    """
    triples, entities, relations = len(graph.train), len(graph.entities), len(graph.relations)
    is_small = triples < SMALL
    size = _choose_small(triples, model) if is_small else _choose_large(triples, device)
    epochs = size["training"]["epochs"]
    settings: dict[str, Any] = {
        "model": {
            "name": model,
            "p_norm": 2,
            "entity_constraint": "none",
            "projected_constraint": "none",
            **size["model"],
        },
        "training": {"optimizer": "adam", "lr_decay": "linear", **size["training"]},
        "loss": {"name": "cross_entropy", "candidates": 0 if entities <= ALL_CANDIDATES else SOME_CANDIDATES},
        "negatives": {"filtered": False},
        "validation": {"every": max(epochs // 10, 1), "metric": "mrr", "triples": 2000},
        "assignment": {"every": 5, "start": 5, "stop": 0.3, "triples": 300, "negatives": 4},
    }
    if MODELS.get(model) is ITransF:
        settings["model"] |= _choose_concepts(relations, is_small)
    return Layer("defaults", settings)


def _choose_concepts(relations: int, is_small: bool) -> dict[str, Any]:
    wanted = relations * 3 // 4 if is_small else relations // 2
    concepts = min(max(wanted, FEWEST_CONCEPTS), MOST_CONCEPTS)
    return {"concepts": concepts, "support_size": 5 if is_small else 3, "concept_init": "mixed"}


def _choose_small(triples: int, model: str) -> dict[str, dict[str, Any]]:
    batch = min(max(triples // BATCHES, 32), 512)
    chosen = dict(CHOSEN.get(model, CHOSEN["itransf"]))
    rate = chosen.pop("learning_rate")
    return {
        "model": {"dim": 64, **chosen},
        "training": {
            "epochs": _count_epochs(triples, "small"),
            "batch_size": batch,
            "block_size": max(batch // 8, 1),
            "learning_rate": rate,
        },
    }


def _choose_large(triples: int, device: str) -> dict[str, dict[str, Any]]:
    return {
        "model": {"dim": 100, "matrix_lr_factor": 0.03, "n3": 0.003},
        "training": {
            "epochs": _count_epochs(triples, device),
            "batch_size": 1024,
            "block_size": 128,
            "learning_rate": 0.015,
        },
    }


def _count_epochs(triples: int, budget: str) -> int:
    return min(max(VISITS[budget] // max(triples, 1), FEWEST_EPOCHS), MOST_EPOCHS)
