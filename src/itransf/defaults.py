"""Settings for a graph nobody has tuned: chosen by its size."""

from __future__ import annotations

from itransf.config import Layer
from itransf.data.graph import Graph


def default_layer(graph: Graph, model: str) -> Layer:
    """Return settings for any graph and model."""
    settings = {"model": {"name": model}}
    return Layer("defaults", settings)
