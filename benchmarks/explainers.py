"""Explanations of a prediction by training triples about its head, by several methods; see `benchmarks.removal`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.named_triples import read_triples
from itransf.data.graph import Graph, Triples
from itransf.data.known import Integers
from itransf.interpret.evidence import differentiate, find_supporting
from itransf.run import Run

MOST = 4
"""Maximum number of triples of an explanation."""


@dataclass(frozen=True, eq=False)
class Question:
    """A correct prediction that is to be explained.

    Attributes:
        run: The trained model, on the CPU.
        triple: Head, relation and tail.
        own: Training triples about the head, (n, 3).
        receivers: The entities that are given a sufficient explanation; none for a necessary one.
        rng: Random numbers.
    """

    run: Run
    triple: tuple[int, int, int]
    own: Triples
    receivers: Integers
    rng: np.random.Generator

    def cases(self) -> Iterator[tuple[int, Triples, Triples, float]]:
        """Yield each entity in the place of the head, with the prediction and the triples, and which way they change.

        For a necessary explanation this is the head itself, whose triples are removed: -1.
        """
        head = self.triple[0]
        for entity in self.receivers.tolist() or [head]:
            moved = [replace_entity(rows, head, entity) for rows in (np.array([self.triple]), self.own)]
            yield entity, moved[0], moved[1], 1.0 if len(self.receivers) else -1.0

    def take(self, values: Tensor) -> Triples:
        """Return the triples about the head with the largest values (n,)."""
        return self.own[np.argsort(-values.cpu().numpy(), kind="stable")[:MOST]]


def explain_by_support(question: Question) -> Triples:
    """Take what `find_supporting` returns, of triples about the head."""
    graph = question.run.graph
    found = find_supporting(question.run.model, graph, question.triple, MOST, about=["head"])
    return read_triples(graph, [(each.head, each.relation, each.tail) for each in found])


@torch.no_grad()
def explain_by_poisoning(question: Question) -> Triples:
    """Take the triples whose score changes most if the head's embedding is moved along the prediction's gradient."""
    model, step, values = question.run.model, question.run.config.training.learning_rate, []
    for entity, asked, rows, sign in question.cases():
        before, row = score(model, rows), model.get_parameter("entities")[entity]
        kept = row.clone()
        row += sign * step * differentiate(model, asked, entity)[0]
        values.append(sign * (score(model, rows) - before))
        row.copy_(kept)
    return question.take(torch.stack(values).mean(0))


@torch.no_grad()
def explain_by_criage(question: Question) -> Triples:
    """Take the triples with the largest influence on the score by a Newton step of the head's embedding.

    Its loss is taken for a logistic regression: with x the gradients of the scores s of its triples, the Hessian is
    H = sum of p (1 - p) x x', p = sigmoid(s), here plus its mean eigenvalue times the identity, as H has no inverse for
    an entity with few triples. A triple that comes or goes changes the prediction's score by g' H' (1 - p) x, where H'
    is the inverse with or without its own summand.
    """
    model, values = question.run.model, []
    for entity, asked, rows, sign in question.cases():
        theirs, _ = weigh_logistic(model, list_own(question.run.graph, entity), entity)
        hessian = theirs.T @ theirs
        hessian += torch.eye(len(hessian)) * hessian.trace() / min(theirs.shape)
        weighted, doubts = weigh_logistic(model, rows, entity)
        gradient = differentiate(model, asked, entity).double()
        solved = torch.linalg.solve(hessian, torch.cat([gradient, weighted]).T)  # (d, 1 + n)
        shares = (weighted * solved[:, 1:].T).sum(1)  # p (1 - p) x' H^-1 x
        values.append((1 - doubts) ** -0.5 * doubts**0.5 * (weighted @ solved[:, 0]) / (1 + sign * shares))
    return question.take(torch.stack(values).mean(0))


def explain_at_random(question: Question) -> Triples:
    """Take random triples about the head."""
    return question.own[question.rng.permutation(len(question.own))[:MOST]]


METHODS: dict[str, Callable[[Question], Triples]] = {
    "itransf explain": explain_by_support,
    "data poisoning": explain_by_poisoning,
    "Criage": explain_by_criage,
    "random": explain_at_random,
}


def score(model: Any, triples: Triples) -> Tensor:
    """Return the scores of triples, (n,), in double precision."""
    found: Tensor = model.score(*torch.tensor(triples).T)
    return found.double()


def weigh_logistic(model: Any, triples: Triples, entity: int) -> tuple[Tensor, Tensor]:
    """Return the gradients of scores times sqrt(p (1 - p)), (n, d), and 1 - p, (n,), with p = sigmoid(score)."""
    scores = score(model, triples)
    doubts = torch.sigmoid(-scores)
    return differentiate(model, triples, entity).double() * (doubts * (1 - doubts)).sqrt()[:, None], doubts


def list_own(graph: Graph, entity: int) -> Triples:
    """Return the training triples about an entity, (n, 3)."""
    return np.asarray(graph.train[(graph.train[:, [0, 2]] == entity).any(axis=1)])


def replace_entity(triples: Triples, old: int, new: int) -> Triples:
    """Return triples (n, 3) with one entity in the place of another."""
    moved = triples.copy()
    moved[:, [0, 2]] = np.where(triples[:, [0, 2]] == old, new, triples[:, [0, 2]])
    return moved
