"""Evidence for a triple: the training triples most similar to it, and those that its lead depends on most."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from itransf.data import Booleans, Floats, Graph, Integers, Triples
from itransf.models import SIDES, DistMult, Model, Side, Translation
from itransf.ops.distance import distance
from itransf.prediction import LabelledTriple, name_triple
from itransf.prediction.search import DEFAULT_MEMORY

Triple = tuple[int, int, int]
RIVALS = 1000  # strongest rivals that a triple's lead is over
RIDGE = 10.0  # weight of a ridge regression, relative to the mean squared length of its gradients
MOST_FITTED = 256  # triples of one regression
_COPIES = 12  # vectors of a triple's two ends, projected, and their gradients


@dataclass(frozen=True)
class Evidence(LabelledTriple):
    """A training triple as evidence for another one, or for what a concept does.

    Attributes:
        value: Distance or similarity to the explained triple (`find_nearest`), its influence (`find_supporting`), or
            what a concept adds to its score.
    """

    value: float


@torch.no_grad()
def find_nearest(model: Model, graph: Graph, triple: Triple, count: int = 3) -> list[Evidence]:
    """Return the training triples of the same relation that are most similar to a triple, the most similar first.

    Where a score is a distance, the distance of (h', r, t') to (h, r, t) is |P_head(h') - P_head(h)| + |P_tail(t') -
    P_tail(t)|, in the model's norm. Where it is a sum over dimensions, the similarity is the cosine of its summands;
    for other models with a vector per entity, the cosine of the vectors of both ends; only a cosine above 0 counts. The
    triple itself does not count.
    """
    triples = drop_triple(graph.train[graph.train[:, 1] == triple[1]], triple)
    if isinstance(model, Translation):
        values = measure_distances(model, triples, triple)
        order = np.argsort(values, kind="stable")[:count]
    elif has_vectors(model):
        asked = (triples, triple)
        values = compare_summands(model, *asked) if isinstance(model, DistMult) else compare_ends(model, *asked)
        order = np.argsort(-values, kind="stable")[: min(count, int((values > 0).sum()))]
    else:
        return []
    return name_evidence(graph, triples[order], values[order])


def measure_distances(model: Translation, triples: Triples, triple: Triple) -> Floats:
    """Return the distance of triples (n, 3) of one relation to a triple, see `find_nearest`, (n,)."""
    distances = np.zeros(len(triples))
    for side, column in zip(SIDES, (0, 2), strict=True):
        distinct, places = np.unique(triples[:, column], return_inverse=True)
        own, others = (torch.tensor(each, device=model.entities.device) for each in ([triple[column]], distinct))
        centre = model.project(own, torch.full_like(own, triple[1]), side)
        parts = [
            distance(model.project(part, torch.full_like(part, triple[1]), side) - centre, model.config.p_norm)
            for part in torch.split(others, count_rows(model))
        ]
        distances += torch.cat(parts).double().cpu().numpy()[places]
    return distances


def compare_summands(model: DistMult, triples: Triples, triple: Triple) -> Floats:
    """Return the cosine of what each dimension adds to the scores of triples (n, 3) and of a triple, (n,)."""
    rows = torch.tensor(np.append(triples, [triple], axis=0), device=model.entities.device)
    vector, entities = model.relation_table()[triple[1]], model.entities.detach()
    parts = []
    for part in torch.split(rows, count_rows(model)):
        products = model.pair(entities[part[:, 0]], entities[part[:, 2]]) * vector
        parts.append(products.view(len(part), model.numbers, -1).sum(1))  # (n', d)
    summands = torch.cat(parts)
    return np.asarray(cosine_similarity(summands[:-1], summands[-1:]).double().cpu().numpy())


def compare_ends(model: Model, triples: Triples, triple: Triple) -> Floats:
    """Return the cosine of the vectors of both ends of triples (n, 3) with those of a triple, (n,)."""
    table = model.entity_vectors()
    ends = torch.tensor(np.append(triples, [triple], axis=0)[:, ::2], device=table.device)
    vectors = (table[part].flatten(1) for part in torch.split(ends[:-1], count_rows(model)))
    parts = [cosine_similarity(each, table[ends[-1:]].flatten(1)) for each in vectors]
    return np.asarray(torch.cat(parts).double().cpu().numpy())


def find_supporting(
    model: Model,
    graph: Graph,
    triple: Triple,
    count: int = 3,
    *,
    side: Side = "tail",
    about: Sequence[Side] = SIDES,
) -> list[Evidence]:
    """Return the training triples about the same head or tail that a triple's lead depends on most, as one set.

    The lead is the triple's score minus the logsumexp of the scores of its strongest rivals on `side`. The embedding of
    each end is treated as a ridge regression on its training triples (`Ridge`). The influence of a triple z is how much
    the lead falls when the regressions of the ends that z shares are solved without z. The triple with the largest
    influence is removed, and those of the others are computed again, so that triples that replace each other are found
    together. The explained triple itself does not count, and only triples with a positive influence are returned.

    This is an estimate from the trained embeddings, not the effect of training without z.

    Args:
        model: Trained model.
        graph: Its graph.
        triple: Head, relation and tail, known or not.
        count: Maximum number of triples.
        side: Side of the answer, which is compared with its rivals.
        about: Ends of the triple; a returned triple has one of them.
    """
    if not has_vectors(model):
        return []
    triples = drop_triple(graph.train[are_about(graph.train, triple[::2])], triple)
    is_left = are_about(triples, [triple[2 * SIDES.index(end)] for end in about])
    leads = differentiate_lead(model, graph, triple, side)
    fits = [
        Ridge.fit(model, triples, entity, lead)
        for entity, lead in leads.items()
        if are_about(triples[is_left], [entity]).any()
    ]
    order: list[int] = []
    values: list[float] = []
    while len(order) < count and is_left.any():
        influences = np.where(is_left, sum(fit.find_influences(len(triples)) for fit in fits), -np.inf)
        best = int(influences.argmax())
        if influences[best] <= 0:
            break
        order.append(best)
        values.append(float(influences[best]))
        is_left[best] = False
        for fit in fits:
            fit.remove(best)
    return name_evidence(graph, triples[order], np.array(values))


@dataclass(frozen=True)
class Ridge:
    """An embedding e as a ridge regression on training triples z: the least sum of (1 - <e, x_z>)^2 + w |e|^2.

    x_z is the gradient of z's score with respect to e, and w is RIDGE times the mean of |x_z|^2. With K the products
    <x_z, x_y> and g the gradient of the lead with respect to e, <g, e> is the sum of (K + w I)^-1 (<g, x_z>)_z.

    Attributes:
        rows: Row numbers of the triples, (n,).
        inverse: (K + w I)^-1 of the triples that are left, zero for others, (n, n).
        products: <g, x_z>, (n,).
    """

    rows: Integers
    inverse: Floats
    products: Floats

    @classmethod
    def fit(cls, model: Model, triples: Triples, entity: int, lead: Tensor) -> Ridge:
        """Fit an entity to those of the triples (n, 3) that have it, at most MOST_FITTED with the largest <g, x_z>.

        Args:
            model: Trained model.
            triples: Training triples, (n, 3).
            entity: Number of the entity.
            lead: The gradient g, (d,).
        """
        rows, size = np.flatnonzero(are_about(triples, [entity])), count_rows(model)
        parts = [differentiate(model, triples[part], entity) for part in np.split(rows, range(size, len(rows), size))]
        gradients = torch.cat(parts)  # (n, d)
        products, chosen = (gradients @ lead).topk(min(MOST_FITTED, len(rows)))
        fitted = gradients[chosen].double()
        squares = fitted @ fitted.T
        weight = RIDGE * squares.trace() / max(len(chosen), 1) + torch.finfo(torch.float32).tiny
        inverse = torch.linalg.inv(squares + weight * torch.diag_embed(torch.ones_like(products)).to(squares))
        return cls(rows[chosen.cpu().numpy()], inverse.cpu().numpy(), products.double().cpu().numpy())

    def find_influences(self, count: int) -> Floats:
        """Return how much <g, e> falls without each of `count` triples; zero for those that are not fitted."""
        influences, own = np.zeros(count), self.inverse.diagonal()
        falls = self.inverse.sum(axis=1) * (self.inverse @ self.products)
        influences[self.rows] = np.divide(falls, own, out=np.zeros_like(falls), where=own > 0)
        return influences

    def remove(self, row: int) -> None:
        """Solve the regression without the triple of a row."""
        for place in np.flatnonzero(self.rows == row):
            column = self.inverse[:, place].copy()
            self.inverse[:] -= np.outer(column, column) / column[place]
            self.inverse[place] = self.inverse[:, place] = 0.0


def differentiate_lead(model: Model, graph: Graph, triple: Triple, side: Side) -> dict[int, Tensor]:
    """Return the gradient (d,) of a triple's lead over its rivals on `side` with respect to each of its ends."""
    entities, scores = find_rivals(model, graph, triple, side)
    rows = np.tile(np.array(triple), (1 + len(entities), 1))
    rows[1:, 2 if side == "tail" else 0] = entities
    shares = torch.cat([scores.new_ones(1), -torch.softmax(scores, 0)])
    return {entity: shares @ differentiate(model, rows, entity) for entity in triple[::2]}


@torch.no_grad()
def find_rivals(model: Model, graph: Graph, triple: Triple, side: Side) -> tuple[Integers, Tensor]:
    """Return the best other candidates for the answer whose triples are not known, (n,), and their scores, (n,)."""
    given, answer = (triple[0], triple[2]) if side == "tail" else (triple[2], triple[0])
    scores = model.scorer(triple[1], side)(torch.tensor([given], device=next(model.parameters()).device))[0]
    excluded = {answer, *graph.known.answers(given, triple[1], side)[1].tolist()}
    scores[list(excluded)] = -torch.inf
    best = scores.topk(min(RIVALS, len(scores) - len(excluded)))
    return best.indices.cpu().numpy(), best.values


def differentiate(model: Model, triples: Triples, entity: int) -> Tensor:
    """Return the gradients of the scores of triples with respect to one entity, (n, d); zero without the entity."""
    table = model.embeddings()["entities"].detach()
    found = table.new_zeros(len(triples), table.shape[1])
    for side, column in zip(SIDES, (0, 2), strict=True):
        rows = np.flatnonzero(triples[:, column] == entity)
        if len(rows):
            found[rows] += find_gradients(model, triples[rows], side)
    return found


@torch.inference_mode(mode=False)
@torch.enable_grad()
def find_gradients(model: Model, triples: Triples, side: Side) -> Tensor:
    """Return the gradient of each triple's score with respect to its end on `side`, (n, d)."""
    table = model.embeddings()["entities"].detach()
    heads, relations, tails = torch.tensor(triples, device=table.device).unbind(1)
    ends = nn.Parameter(table[torch.cat([heads, tails])])  # a row for each end of each triple
    alone = copy(model)
    alone._parameters = {**model._parameters, "entities": ends}
    places = torch.arange(len(ends), device=table.device).chunk(2)
    (gradient,) = torch.autograd.grad(alone.score(places[0], relations, places[1]).sum(), ends)
    return gradient.to_dense().chunk(2)[SIDES.index(side)]


def has_vectors(model: Model) -> bool:
    """Return whether each entity has a vector, in a parameter of that name."""
    table = model.embeddings().get("entities")
    return table is not None and table is model._parameters.get("entities") and table.dim() == 2


def count_rows(model: Model) -> int:
    """Return how many triples can be computed at a time within the memory."""
    table = model.embeddings()["entities"]
    return max(1, DEFAULT_MEMORY // (_COPIES * table.shape[1] * table.element_size()))


def are_about(triples: Triples, entities: Sequence[int]) -> Booleans:
    """Return which of the triples (n, 3) have one of these entities as head or tail, (n,)."""
    return np.asarray(np.logical_or.reduce([triples[:, column] == entity for column in (0, 2) for entity in entities]))


def drop_triple(triples: Triples, triple: Triple) -> Triples:
    """Return triples (n, 3) without one."""
    kept: Triples = triples[(triples != np.array(triple)).any(axis=1)]
    return kept


def name_evidence(graph: Graph, triples: Triples, values: Floats) -> list[Evidence]:
    """Return triples with their names and values."""
    rows = zip(triples.tolist(), values.tolist(), strict=True)
    return [Evidence(*name_triple(graph, triple), value) for triple, value in rows]
