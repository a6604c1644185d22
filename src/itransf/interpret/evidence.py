"""Known facts behind an answer: those most alike, and those that pull the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from itransf.data.graph import Graph, Triples
from itransf.data.sorting import Integers
from itransf.interpret.rivals import Fact
from itransf.interpret.spaces import DEFAULT_MEMORY, Space
from itransf.models import SIDES, Side
from itransf.models.translation import Translation
from itransf.ops.distance import distance
from itransf.prediction.answers import LabelledFact, name_fact

_COPIES = 12  # vectors of a fact's two ends, projected, and their gradients


@dataclass(frozen=True)
class Evidence(LabelledFact):
    """A training fact beside the one that is explained.

    Attributes:
        value: How far away it is (`find_nearest`), or how strongly it pulls (`find_supporting`).
    """

    value: float


@torch.no_grad()
def find_nearest(
    space: Space, graph: Graph, fact: Fact, count: int = 3, memory: int = DEFAULT_MEMORY
) -> list[Evidence]:
    """Return the training facts of the same relation that lie closest to a fact, nearest first.

    The distance of (h', r, t') to (h, r, t) is |P_head(h') - P_head(h)| + |P_tail(t') - P_tail(t)|: how far the
    ends are apart where the relation sees them, in the model's norm. The fact itself does not count.
    """
    facts = drop_fact(graph.train[graph.train[:, 1] == space.relation], fact)
    distances = np.zeros(len(facts))
    for side, column in zip(SIDES, (0, 2), strict=True):
        distinct, places = np.unique(facts[:, column], return_inverse=True)
        distances += measure_from(space, side, fact[column], distinct, memory)[places]
    order = np.argsort(distances, kind="stable")[:count]
    return describe_evidence(graph, facts[order], distances[order])


def measure_from(space: Space, side: Side, entity: int, others: Integers, memory: int) -> np.ndarray[Any, Any]:
    """Return how far other entities (n,) stand from one on `side`, (n,)."""
    device, dim = space.translation.device, len(space.translation)
    origin = space.place(torch.tensor([entity], device=device), side)
    size = max(1, memory // (_COPIES * dim * origin.element_size()))
    parts = [
        distance(space.place(torch.tensor(others[start : start + size], device=device), side) - origin, norm)
        for norm in [space.model.config.norm]
        for start in range(0, len(others), size)
    ]
    return torch.cat(parts).double().cpu().numpy() if parts else np.zeros(0)


def find_supporting(
    model: Translation, graph: Graph, fact: Fact, count: int = 3, memory: int = DEFAULT_MEMORY
) -> list[Evidence]:
    """Return the training facts about the same head or tail that pull a fact together most, strongest first.

    Training on a fact z moves the vectors of its two ends against the gradient of its distance f(z). The pull of z
    on the fact is how much a small step of this kind, of size one, would lessen the fact's distance f:
    the sum over the ends e that both have of <df/de, df(z)/de>. The fact itself does not count, and only facts with
    a pull above zero are returned.

    This is an estimate from the trained vectors. It is not what would happen if the model were trained without z.
    """
    head, _, tail = fact
    touching = np.isin(graph.train[:, (0, 2)], (head, tail)).any(axis=1)
    facts = drop_fact(graph.train[touching], fact)
    own = pull_ends(model, np.array([fact]))
    size = max(1, memory // (_COPIES * model.config.dim * own[0].element_size()))
    pulls = np.zeros(len(facts))
    for start in range(0, len(facts), size):
        rows = slice(start, start + size)
        pulls[rows] = sum_pulls(own, pull_ends(model, facts[rows]), fact, facts[rows])
    order = np.argsort(-pulls, kind="stable")[:count]
    order = order[pulls[order] > 0]
    return describe_evidence(graph, facts[order], pulls[order])


@torch.inference_mode(mode=False)
@torch.enable_grad()
def pull_ends(model: Translation, facts: Triples) -> tuple[Tensor, Tensor]:
    """Return the gradients of each fact's distance by the vectors of its head and of its tail, both (n, d)."""
    heads, relations, tails = torch.tensor(facts, device=model.entities.device).unbind(1)
    ends = [model.entities.detach()[entities].requires_grad_() for entities in (heads, tails)]
    head = model.limit_projected(model.project_head(ends[0], relations))
    tail = model.limit_projected(model.project_tail(ends[1], relations))
    distances = distance(head + model.translate(relations) - tail, model.config.norm)
    by_head, by_tail = torch.autograd.grad(distances.sum(), ends)
    return by_head, by_tail


def sum_pulls(
    own: tuple[Tensor, Tensor], theirs: tuple[Tensor, Tensor], fact: Fact, facts: Triples
) -> np.ndarray[Any, Any]:
    """Return the inner products of gradients by the ends that a fact and each of others (n, 3) have in common, (n,)."""
    total = np.zeros(len(facts))
    for gradient, entity in zip(own, (fact[0], fact[2]), strict=True):
        for gradients, column in zip(theirs, (0, 2), strict=True):
            products = (gradients @ gradient[0]).double().cpu().numpy()  # (n, d) @ (d,)
            total += np.where(facts[:, column] == entity, products, 0.0)
    return total


def drop_fact(facts: Triples, fact: Fact) -> Triples:
    """Return facts (n, 3) without one."""
    kept: Triples = facts[(facts != np.array(fact)).any(axis=1)]
    return kept


def describe_evidence(graph: Graph, facts: Triples, values: np.ndarray[Any, Any]) -> list[Evidence]:
    """Put names to facts and values."""
    rows = zip(facts.tolist(), values.tolist(), strict=True)
    return [Evidence(*name_fact(graph, fact), value) for fact, value in rows]
