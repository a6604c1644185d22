"""Readings made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from itransf.data.graph import Graph
from itransf.interpret.measures.readings import Reading, read_weights
from itransf.models import ITransF, Sizes
from itransf.models.itransf import ITransFConfig


def make_reading(graph: Graph, weights: Sequence[object] | np.ndarray, name: str = "itransf", dim: int = 4) -> Reading:
    """Return a reading with these weights (2, r, m), as a sparse attention over random concepts."""
    table = np.array(weights, dtype=np.float32)
    torch.manual_seed(0)
    config = ITransFConfig(dim=dim, concepts=table.shape[2], support_size=min(2, table.shape[2]))
    model = ITransF(Sizes(len(graph.entities), len(graph.relations)), config)
    concepts = torch.randn(table.shape[2], dim, dim)
    return read_weights(model, graph, name, table, concepts, free=False)


def sure(value: float | None) -> float:
    """Return a value that must be there."""
    assert value is not None
    return value
