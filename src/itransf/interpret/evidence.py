"""Evidence for a triple: the training triples most similar to it, and those that lower its distance most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.data.graph import Graph, Triples
from itransf.models import SIDES, Side
from itransf.models.translation import Translation
from itransf.ops.distance import distance
from itransf.prediction.inputs import LabelledTriple, name_triple
from itransf.prediction.predict import DEFAULT_MEMORY

Triple = tuple[int, int, int]
Floats = npt.NDArray[np.float64]
_COPIES = 12  # vectors of a triple's two ends, projected, and their gradients


@dataclass(frozen=True)
class Evidence(LabelledTriple):
    """A training triple as evidence for another.

    Attributes:
        value: Distance to the explained triple (`find_nearest`), or its pull (`find_supporting`).
    """

    value: float


@torch.no_grad()
def find_nearest(
    model: Translation, graph: Graph, triple: Triple, count: int = 3, memory: int = DEFAULT_MEMORY
) -> list[Evidence]:
    """Return the training triples of the same relation that are nearest to a triple, nearest first.

    The distance of (h', r, t') to (h, r, t) is |P_head(h') - P_head(h)| + |P_tail(t') - P_tail(t)|, in the model's
    norm. The triple itself does not count.
    """
    triples = drop_triple(graph.train[graph.train[:, 1] == triple[1]], triple)
    distances = np.zeros(len(triples))
    for side, column in zip(SIDES, (0, 2), strict=True):
        distinct, places = np.unique(triples[:, column], return_inverse=True)
        entities = np.append(distinct, triple[column])
        distances += measure_from_last(model, triple[1], side, entities, memory)[places]
    order = np.argsort(distances, kind="stable")[:count]
    return name_evidence(graph, triples[order], distances[order])


def measure_from_last(
    model: Translation, relation: int, side: Side, entities: npt.NDArray[np.int64], memory: int
) -> Floats:
    """Return the distance of each entity (n,) from the last one, as the relation projects them on `side`, (n,)."""
    numbers = torch.tensor(entities, device=model.entities.device)
    last = model.project(numbers[-1:], torch.full_like(numbers[-1:], relation), side)
    parts = [
        distance(model.project(part, torch.full_like(part, relation), side) - last, model.config.p_norm)
        for part in torch.split(numbers, count_rows(model, memory))
    ]
    return np.asarray(torch.cat(parts).double().cpu().numpy())


def find_supporting(
    model: Translation, graph: Graph, triple: Triple, count: int = 3, memory: int = DEFAULT_MEMORY
) -> list[Evidence]:
    """Return the training triples about the same head or tail that lower a triple's distance most, strongest first.

    Training on a triple z moves the embeddings of its two ends against the gradient of its distance f(z). The pull of
    z on the triple is how much a small step of this kind would lower the triple's distance f, per size of the step:
    the sum over the ends e that both have of <df/de, df(z)/de>. The triple itself does not count, and only triples with
    a positive pull are returned.

    This is an estimate from the trained embeddings, not the effect of training without z.
    """
    head, _, tail = triple
    touching = np.isin(graph.train[:, (0, 2)], (head, tail)).any(axis=1)
    triples = drop_triple(graph.train[touching], triple)
    own = find_gradients(model, np.array([triple]))
    size = count_rows(model, memory)
    pulls = np.zeros(len(triples))
    for start in range(0, len(triples), size):
        rows = slice(start, start + size)
        theirs = find_gradients(model, triples[rows])
        for gradient, entity in zip(own, (head, tail), strict=True):
            for gradients, column in zip(theirs, (0, 2), strict=True):
                products = (gradients @ gradient[0]).double().cpu().numpy()  # (n, d) @ (d,)
                pulls[rows] += np.where(triples[rows, column] == entity, products, 0.0)
    order = np.argsort(-pulls, kind="stable")[:count]
    order = order[pulls[order] > 0]
    return name_evidence(graph, triples[order], pulls[order])


@torch.inference_mode(mode=False)
@torch.enable_grad()
def find_gradients(model: Translation, triples: Triples) -> tuple[Tensor, Tensor]:
    """Return the gradients of each triple's distance by the embeddings of its head and of its tail, both (n, d)."""
    heads, relations, tails = torch.tensor(triples, device=model.entities.device).unbind(1)
    ends = [model.entities.detach()[entities].requires_grad_() for entities in (heads, tails)]
    head = model.limit_projected(model.projection("head")(ends[0], relations))
    tail = model.limit_projected(model.projection("tail")(ends[1], relations))
    distances = distance(head + model.translate(relations) - tail, model.config.p_norm)
    by_head, by_tail = torch.autograd.grad(distances.sum(), ends)
    return by_head, by_tail


def count_rows(model: Translation, memory: int) -> int:
    """Return how many triples can be computed at a time within the memory."""
    return max(1, memory // (_COPIES * model.config.dim * model.entities.element_size()))


def drop_triple(triples: Triples, triple: Triple) -> Triples:
    """Return triples (n, 3) without one."""
    kept: Triples = triples[(triples != np.array(triple)).any(axis=1)]
    return kept


def name_evidence(graph: Graph, triples: Triples, values: Floats) -> list[Evidence]:
    """Return triples with their names and values."""
    rows = zip(triples.tolist(), values.tolist(), strict=True)
    return [Evidence(*name_triple(graph, triple), value) for triple, value in rows]
