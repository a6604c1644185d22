"""Settings for a graph nobody has tuned, chosen by its size and by where it is trained.

The recipe, found on validation facts of CoDEx-S and of the bundled world graph: cross-entropy against candidates
shared by a batch, l2, no length constraints, Adam with a rate that falls to zero, and matrices that learn slowly,
so that they leave the identity only where many facts ask for it.
"""

from __future__ import annotations

from typing import Any

from itransf.config import Layer
from itransf.data.graph import Graph
from itransf.models import MODELS, ITransF

FACT_VISITS = {
    "cpu": 3_300_000,
    "cuda": 60_000_000,
}  # facts seen in all epochs together, about ten minutes' worth
FEWEST_EPOCHS, MOST_EPOCHS = 10, 100
SMALL = 20_000  # facts below which vectors and batches are kept small


def default_layer(graph: Graph, model: str, device: str = "cpu") -> Layer:
    """Return settings for any graph.

    Args:
        graph: Its sizes are looked at.
        model: The name of the model to train.
        device: "cpu" or "cuda": a GPU is given more epochs.
    """
    facts, relations = len(graph.train), len(graph.relations)
    epochs = min(max(FACT_VISITS[device] // max(facts, 1), FEWEST_EPOCHS), MOST_EPOCHS)
    is_small = facts < SMALL
    settings: dict[str, Any] = {
        "model": {
            "name": model,
            "dim": 64 if is_small else 128,
            "norm": 2,
            "entities": "none",
            "projected": "none",
            "matrix_rate": 0.03,
            "n3": 0.002,
        },
        "training": {
            "epochs": epochs,
            "batch_size": 512 if is_small else 1024,
            "block_size": 64 if is_small else 128,
            "optimizer": "adam",
            "learning_rate": 0.01,
            "decay": "linear",
        },
        "loss": {"kind": "softmax", "candidates": 1024},
        "negatives": {"avoid_known": False},
        "validation": {"every": max(epochs // 10, 1), "metric": "mrr", "facts": 2000},
        "assignment": {"every": 5, "start": 5, "stop": 0.3, "facts": 300, "negatives": 4},
    }
    if MODELS.get(model) is ITransF:
        settings["model"] |= {"concepts": min(max(relations // 2, 8), 300), "support_size": 3}
    return Layer("defaults", settings)
