"""Readings made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from itransf.data.graph import Graph
from itransf.interpret.measures.reading import Reading, scale_rows
from itransf.models import ITransF, Sizes
from itransf.models.itransf import ITransFConfig


def make_reading(graph: Graph, weights: Sequence[object] | np.ndarray, name: str = "itransf", dim: int = 4) -> Reading:
    """Return a reading with these weights (2, r, m), of a model that does not have them."""
    table = np.array(weights, dtype=np.float32)
    torch.manual_seed(0)
    config = ITransFConfig(dim=dim, concepts=table.shape[2], support_size=min(2, table.shape[2]))
    model = ITransF(Sizes(len(graph.entities), len(graph.relations)), config)
    return Reading(name, graph, model, scale_rows(table), table)


def sure(value: float | None) -> float:
    """Return a value that must be there."""
    assert value is not None
    return value
