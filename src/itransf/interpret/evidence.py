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
TRIED = 64  # triples whose pull is computed at a time; the largest are usually among the first
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
    if not isinstance(model, Translation | DistMult):
        return []
    ends = (triple[0], triple[2])
    touching = [graph.train[:, column] == entity for column in (0, 2) for entity in ends]
    triples = drop_triple(graph.train[np.logical_or.reduce(touching)], triple)
    own = find_gradients(model, np.array([triple]))
    size = count_rows(model, memory)
    products = np.zeros((len(triples), len(SIDES)))  # of their heads, then of their tails
    for start in range(0, len(triples), size):
        rows = slice(start, start + size)
        theirs = find_gradients(model, triples[rows])
        for gradient, entity in zip(own, ends, strict=True):
            for column, gradients in enumerate(theirs):
                product = (gradients @ gradient[0]).double().cpu().numpy()  # (n, d) @ (d,)
                products[rows, column] += np.where(triples[rows, 2 * column] == entity, product, 0.0)
    pulls = products.sum(axis=1)
    if isinstance(model, DistMult):
        pulls = discount_certain(model, triples, products, count, memory)
    order = np.argsort(-pulls, kind="stable")[:count]
    order = order[pulls[order] > 0]
    return name_evidence(graph, triples[order], pulls[order])


def discount_certain(model: DistMult, triples: Triples, products: Floats, count: int, memory: int) -> Floats:
    """Return the `count` largest pulls of triples (n, 3) from their products (n, 2), (n,); others may be zero.

    A pull is at most the sum of the positive products, so that not all entities have to be scored for every triple.
    """
    bounds = np.maximum(products, 0.0).sum(axis=1)
    order = np.argsort(-bounds, kind="stable")
    pulls = np.zeros(len(triples))
    size = max(1, min(TRIED, memory // (len(SIDES) * model.entities.element_size() * len(model.entities))))
    for start in range(0, len(triples), size):
        rows = order[start : start + size]
        if count <= start and np.partition(pulls, -count)[-count:].min(initial=np.inf) >= bounds[rows[0]]:
            break
        pulls[rows] = (products[rows] * find_doubts(model, triples[rows], products[rows] != 0)).sum(axis=1)
    return pulls


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
def find_doubts(model: DistMult, triples: Triples, asked: npt.NDArray[np.bool_]) -> Floats:
    """Return 1 - p(t | h, r) and 1 - p(h | r, t) of triples (n, 3), (n, 2), p being a softmax over all entities.

    Only what is asked for (n, 2) is computed, in one product; the rest is zero.
    """
    heads, relations, tails = torch.tensor(triples, device=model.entities.device).unbind(1)
    wanted = [torch.tensor(column, device=heads.device).nonzero().squeeze(1) for column in asked.T]
    given = zip(wanted, (heads, tails), SIDES[::-1], strict=True)
    queries = torch.cat([model.queries(ends[rows], relations[rows], side) for rows, ends, side in given])
    answers = torch.cat([tails[wanted[0]], heads[wanted[1]]])
    scores = queries @ model.entities.T  # (q, e)
    surprise = scores.logsumexp(1) - scores.gather(1, answers[:, None]).squeeze(1)  # -log p
    doubts = np.zeros(asked.shape)
    doubts.T[asked.T] = -torch.expm1(-surprise.double()).cpu().numpy()
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
