"""Evidence for a triple: the training triples most similar to it, and those that raise its score most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from itransf.data.graph import Graph, Triples
from itransf.models import SIDES, DistMult, Model, Side, Translation
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
        value: Distance or similarity to the explained triple (`find_nearest`), or its pull (`find_supporting`).
    """

    value: float


@torch.no_grad()
def find_nearest(
    model: Model, graph: Graph, triple: Triple, count: int = 3, memory: int = DEFAULT_MEMORY
) -> list[Evidence]:
    """Return the training triples of the same relation that are most similar to a triple, the most similar first.

    Where a score is a distance, the distance of (h', r, t') to (h, r, t) is |P_head(h') - P_head(h)| + |P_tail(t') -
    P_tail(t)|, in the model's norm. Where it is a sum over dimensions, the similarity is the cosine of its summands.
    The triple itself does not count.
    """
    triples = drop_triple(graph.train[graph.train[:, 1] == triple[1]], triple)
    if isinstance(model, Translation):
        values = measure_distances(model, triples, triple, memory)
        order = np.argsort(values, kind="stable")[:count]
    elif isinstance(model, DistMult):
        values = compare_summands(model, triples, triple, memory)
        order = np.argsort(-values, kind="stable")[:count]
    else:
        return []
    return name_evidence(graph, triples[order], values[order])


def measure_distances(model: Translation, triples: Triples, triple: Triple, memory: int) -> Floats:
    """Return the distance of triples (n, 3) of one relation to a triple, see `find_nearest`, (n,)."""
    distances = np.zeros(len(triples))
    for side, column in zip(SIDES, (0, 2), strict=True):
        distinct, places = np.unique(triples[:, column], return_inverse=True)
        entities = np.append(distinct, triple[column])
        distances += measure_from_last(model, triple[1], side, entities, memory)[places]
    return distances


def compare_summands(model: DistMult, triples: Triples, triple: Triple, memory: int) -> Floats:
    """Return the cosine of what each dimension adds to the scores of triples (n, 3) and of a triple, (n,)."""
    rows = torch.tensor(np.append(triples, [triple], axis=0), device=model.entities.device)
    vector, entities = model.relation_table()[triple[1]], model.entities.detach()
    parts = []
    for part in torch.split(rows, count_rows(model, memory)):
        products = model.pair(entities[part[:, 0]], entities[part[:, 2]]) * vector
        parts.append(products.view(len(part), model.numbers, -1).sum(1))  # (n', d)
    summands = torch.cat(parts)
    return np.asarray(cosine_similarity(summands[:-1], summands[-1:]).double().cpu().numpy())


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
    model: Model, graph: Graph, triple: Triple, count: int = 3, memory: int = DEFAULT_MEMORY
) -> list[Evidence]:
    """Return the training triples about the same head or tail that raise a triple's score most, strongest first.

    Training on a triple z moves the embeddings of its two ends along the gradient of its score f(z). The pull of z on
    the triple is how much a small step of this kind would raise the triple's score f, per size of the step: the sum
    over the ends e that both have of <df/de, df(z)/de>. Where a score is a product, each summand is multiplied by
    1 - p, with p the softmax probability of z's other end among all entities, given e: what the model is sure of pulls
    little. The triple itself does not count, and only triples with a positive pull are returned.

    This is an estimate from the trained embeddings, not the effect of training without z.
    """
    head, _, tail = triple
    if not isinstance(model, Translation | DistMult):
        return []
    touching = np.isin(graph.train[:, (0, 2)], (head, tail)).any(axis=1)
    triples = drop_triple(graph.train[touching], triple)
    own = find_gradients(model, np.array([triple]))
    size = count_rows(model, memory)
    pulls = np.zeros(len(triples))
    for start in range(0, len(triples), size):
        rows = slice(start, start + size)
        theirs = find_gradients(model, triples[rows])
        for gradient, entity in zip(own, (head, tail), strict=True):
            for gradients, side in zip(theirs, SIDES, strict=True):
                products = (gradients @ gradient[0]).double().cpu().numpy()  # (n, d) @ (d,)
                places = np.flatnonzero(triples[rows, 0 if side == "head" else 2] == entity)
                pulls[start + places] += products[places] * find_doubt(model, triples[start + places], side, memory)
    order = np.argsort(-pulls, kind="stable")[:count]
    order = order[pulls[order] > 0]
    return name_evidence(graph, triples[order], pulls[order])


@torch.inference_mode(mode=False)
@torch.enable_grad()
def find_gradients(model: Translation | DistMult, triples: Triples) -> tuple[Tensor, Tensor]:
    """Return the gradients of each triple's score by the embeddings of its head and of its tail, both (n, d)."""
    heads, relations, tails = torch.tensor(triples, device=model.entities.device).unbind(1)
    if isinstance(model, DistMult):
        return model.queries(tails, relations, "head").detach(), model.queries(heads, relations, "tail").detach()
    ends = [model.entities.detach()[entities].requires_grad_() for entities in (heads, tails)]
    head = model.limit_projected(model.projection("head")(ends[0], relations))
    tail = model.limit_projected(model.projection("tail")(ends[1], relations))
    distances = distance(head + model.translate(relations) - tail, model.config.p_norm)
    by_head, by_tail = torch.autograd.grad(-distances.sum(), ends)
    return by_head, by_tail


@torch.no_grad()
def find_doubt(model: Translation | DistMult, triples: Triples, side: Side, memory: int) -> Floats:
    """Return 1 - p(the other end | the end on `side`, relation) of triples (n, 3), p being a softmax over all entities.

    For a distance, whose gradient has no such factor, it is 1. Triples that ask the same share the scores.
    """
    doubts = np.ones(len(triples))
    if isinstance(model, Translation):
        return doubts
    given, answer, asked = (0, 2, SIDES[1]) if side == "head" else (2, 0, SIDES[0])
    distinct, owners = np.unique(triples[:, [given, 1]], axis=0, return_inverse=True)
    queries, of = (
        torch.tensor(distinct, device=model.entities.device),
        torch.tensor(owners, device=model.entities.device),
    )
    answers = torch.tensor(triples[:, answer], device=model.entities.device)
    size = max(1, memory // (model.entities.element_size() * len(model.entities)))
    for start in range(0, len(queries), size):
        anchors, relations = queries[start : start + size].unbind(1)
        scores = model.score_pool(anchors, relations, asked, model.pool())  # (u, e)
        rows = ((of >= start) & (of < start + size)).nonzero().squeeze(1)
        surprise = scores.logsumexp(1)[of[rows] - start] - scores[of[rows] - start, answers[rows]]  # -log p
        doubts[rows.cpu().numpy()] = -torch.expm1(-surprise.double()).cpu().numpy()
    return doubts


def count_rows(model: Translation | DistMult, memory: int) -> int:
    """Return how many triples can be computed at a time within the memory."""
    return max(1, memory // (_COPIES * model.entities.shape[1] * model.entities.element_size()))


def drop_triple(triples: Triples, triple: Triple) -> Triples:
    """Return triples (n, 3) without one."""
    kept: Triples = triples[(triples != np.array(triple)).any(axis=1)]
    return kept


def name_evidence(graph: Graph, triples: Triples, values: Floats) -> list[Evidence]:
    """Return triples with their names and values."""
    rows = zip(triples.tolist(), values.tolist(), strict=True)
    return [Evidence(*name_triple(graph, triple), value) for triple, value in rows]
