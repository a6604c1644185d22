"""Known triples behind an answer: those most alike, and those that pull the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from itransf.data.graph import Graph, Triples
from itransf.data.known import Integers
from itransf.interpret.rivals import Triple
from itransf.interpret.spaces import DEFAULT_MEMORY, Space
from itransf.models import SIDES, Side
from itransf.models.translation import Translation
from itransf.ops.distance import distance
from itransf.prediction.inputs import LabelledTriple, name_triple

_COPIES = 12  # vectors of a triple's two ends, projected, and their gradients


@dataclass(frozen=True)
class Evidence(LabelledTriple):
    """A training triple beside the one that is explained.

    Attributes:
        value: How far away it is (`find_nearest`), or how strongly it pulls (`find_supporting`).
    """

    value: float


@torch.no_grad()
def find_nearest(
    space: Space, graph: Graph, triple: Triple, count: int = 3, memory: int = DEFAULT_MEMORY
) -> list[Evidence]:
    """Return the training triples of the same relation that lie closest to a triple, nearest first.

    The distance of (h', r, t') to (h, r, t) is |P_head(h') - P_head(h)| + |P_tail(t') - P_tail(t)|: how far the
    ends are apart where the relation sees them, in the model's norm. The triple itself does not count.
    """
    triples = drop_triple(graph.train[graph.train[:, 1] == space.relation], triple)
    distances = np.zeros(len(triples))
    for side, column in zip(SIDES, (0, 2), strict=True):
        distinct, places = np.unique(triples[:, column], return_inverse=True)
        distances += measure_from(space, side, triple[column], distinct, memory)[places]
    order = np.argsort(distances, kind="stable")[:count]
    return describe_evidence(graph, triples[order], distances[order])


def measure_from(space: Space, side: Side, entity: int, others: Integers, memory: int) -> np.ndarray[Any, Any]:
    """Return how far other entities (n,) stand from one on `side`, (n,)."""
    device, dim = space.translation.device, len(space.translation)
    origin = space.place(torch.tensor([entity], device=device), side)
    size = max(1, memory // (_COPIES * dim * origin.element_size()))
    parts = [
        distance(space.place(torch.tensor(others[start : start + size], device=device), side) - origin, norm)
        for norm in [space.model.config.p_norm]
        for start in range(0, len(others), size)
    ]
    return torch.cat(parts).double().cpu().numpy() if parts else np.zeros(0)


def find_supporting(
    model: Translation, graph: Graph, triple: Triple, count: int = 3, memory: int = DEFAULT_MEMORY
) -> list[Evidence]:
    """Return the training triples about the same head or tail that pull a triple together most, strongest first.

    Training on a triple z moves the vectors of its two ends against the gradient of its distance f(z). The pull of z
    on the triple is how much a small step of this kind, of size one, would lessen the triple's distance f:
    the sum over the ends e that both have of <df/de, df(z)/de>. The triple itself does not count, and only triples with
    a pull above zero are returned.

    This is an estimate from the trained vectors. It is not what would happen if the model were trained without z.
    """
    head, _, tail = triple
    touching = np.isin(graph.train[:, (0, 2)], (head, tail)).any(axis=1)
    triples = drop_triple(graph.train[touching], triple)
    own = pull_ends(model, np.array([triple]))
    size = max(1, memory // (_COPIES * model.config.dim * own[0].element_size()))
    pulls = np.zeros(len(triples))
    for start in range(0, len(triples), size):
        rows = slice(start, start + size)
        pulls[rows] = sum_pulls(own, pull_ends(model, triples[rows]), triple, triples[rows])
    order = np.argsort(-pulls, kind="stable")[:count]
    order = order[pulls[order] > 0]
    return describe_evidence(graph, triples[order], pulls[order])


@torch.inference_mode(mode=False)
@torch.enable_grad()
def pull_ends(model: Translation, triples: Triples) -> tuple[Tensor, Tensor]:
    """Return the gradients of each triple's distance by the vectors of its head and of its tail, both (n, d)."""
    heads, relations, tails = torch.tensor(triples, device=model.entities.device).unbind(1)
    ends = [model.entities.detach()[entities].requires_grad_() for entities in (heads, tails)]
    head = model.limit_projected(model.project_head(ends[0], relations))
    tail = model.limit_projected(model.project_tail(ends[1], relations))
    distances = distance(head + model.translate(relations) - tail, model.config.p_norm)
    by_head, by_tail = torch.autograd.grad(distances.sum(), ends)
    return by_head, by_tail


def sum_pulls(
    own: tuple[Tensor, Tensor], theirs: tuple[Tensor, Tensor], triple: Triple, triples: Triples
) -> np.ndarray[Any, Any]:
    """Return the inner products of a triple's gradients with those of others (n, 3), by shared entities, (n,)."""
    total = np.zeros(len(triples))
    for gradient, entity in zip(own, (triple[0], triple[2]), strict=True):
        for gradients, column in zip(theirs, (0, 2), strict=True):
            products = (gradients @ gradient[0]).double().cpu().numpy()  # (n, d) @ (d,)
            total += np.where(triples[:, column] == entity, products, 0.0)
    return total


def drop_triple(triples: Triples, triple: Triple) -> Triples:
    """Return triples (n, 3) without one."""
    kept: Triples = triples[(triples != np.array(triple)).any(axis=1)]
    return kept


def describe_evidence(graph: Graph, triples: Triples, values: np.ndarray[Any, Any]) -> list[Evidence]:
    """Put names to triples and values."""
    rows = zip(triples.tolist(), values.tolist(), strict=True)
    return [Evidence(*name_triple(graph, triple), value) for triple, value in rows]
