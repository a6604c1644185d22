"""Training steps of bilinear models: cross-entropy over all or sampled entities, by library matrix products.

The gradient of the softmax is written into the matrix of scores, and each entity is looked up once. On a GPU the
kernels of a step are recorded once and replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import log_softmax, pad

from itransf.config import Config
from itransf.models.base import Model, look_up
from itransf.models.distmult import DistMult
from itransf.registry import REGULARIZERS
from itransf.training.fused.engine import record
from itransf.training.objectives import MASKED, CandidateObjective, relation_loss
from itransf.training.optimizers import SGD, Adagrad, RowOptimizer
from itransf.training.switches import Switch

SCORES_AT_ONCE = {"cpu": 1 << 25, "cuda": 1 << 28}  # scores in memory
ALIGNED = 8  # a GPU multiplies matrices whose sizes are multiples of this twice as fast
WARM_UP = 3  # steps before a recording, in which libraries allocate what they need
_FAMILY = (
    *("score", "queries", "candidates", "factors", "penalty", "constrain"),
    *("score_pool", "compare_pool", "pool", "score_relations"),
)
fast_products = Switch(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "high")
"""Multiplies matrices of a GPU in TF32."""


def has_bilinear_steps(model: Model, optimizer: RowOptimizer, config: Config) -> bool:
    """Return whether `BilinearEngine` computes exactly what the plain steps of this training do."""
    return (
        vars(type(model)).get("fused", False)
        and isinstance(model, DistMult)
        and all(getattr(type(model), name) is getattr(DistMult, name) for name in _FAMILY)
        and model.entities.dtype == torch.float32
        and config.loss.name == "cross_entropy"
        and not config.negatives.filtered
        and not config.loss.subsampling
        and type(optimizer) in (SGD, Adagrad)  # which do not move rows without a gradient
        and not (model.entities.is_cuda and config.training.deterministic)
    )


class Gradients(NamedTuple):
    """Loss of queries and its gradients.

    Attributes:
        loss: Mean loss.
        queries: Gradient of the queries, (q, d).
        rows: Entities with a gradient, (n,), possibly repeated; None for all entities.
        entities: Their gradients, (n, d).
    """

    loss: Tensor
    queries: Tensor
    rows: Tensor | None
    entities: Tensor


@torch.no_grad()
def contrast_all(queries: Tensor, entities: Tensor, answers: Tensor, factors: Tensor, scale: float) -> Gradients:
    """Return the cross-entropy of each query's answer (q,) among all entities (e, d), and its gradients.

    The factors (q, 1) are those of the losses.
    """
    count = len(entities)
    table = pad(entities, (0, 0, 0, -count % ALIGNED))  # with rows of zeros
    at_once = max(1, SCORES_AT_ONCE[queries.device.type] // len(table))
    weight = scale / len(queries)
    total, gradient = torch.zeros((), device=queries.device), torch.empty_like(queries)
    own = torch.zeros_like(table)
    for start in range(0, len(queries), at_once):
        part = slice(start, start + at_once)
        chosen = answers[part, None]
        scores = scale * queries[part] @ table.T
        scores[:, count:] = -torch.inf
        logs = log_softmax(scores, dim=1)
        total -= (logs.gather(1, chosen) * factors[part]).sum()
        shares = logs.exp_().scatter_add_(1, chosen, -torch.ones_like(logs[:, :1]))
        torch.mm(shares, table, out=gradient[part])
        own.addmm_(shares.T, factors[part] * queries[part], alpha=weight)
    return Gradients(total / len(queries), gradient.mul_(weight * factors), None, own[:count])


@torch.no_grad()
def contrast_some(
    queries: Tensor,
    entities: Tensor,
    answers: Tensor,
    candidates: Tensor,
    right: Tensor,
    factors: Tensor,
    scale: float,
) -> Gradients:
    """Return the cross-entropy of each query's answer among itself and candidates, and its gradients.

    Args:
        queries: (q, d)
        entities: (e, d)
        answers: Right entities, (q,).
        candidates: Other entities, (c,), ascending and distinct.
        right: Vectors of the right entities, (q, d).
        factors: Factors of the losses, (q, 1).
        scale: Factor on scores.
    """
    weight, table = scale / len(queries), entities.index_select(0, candidates)
    scores = torch.cat([(queries * right).sum(1, keepdim=True), queries @ table.T], dim=1).mul_(scale)
    places = torch.searchsorted(candidates, answers).clamp_max(len(candidates) - 1)
    is_answer, columns = candidates[places] == answers, 1 + places[:, None]
    scores.scatter_(1, columns, scores.gather(1, columns).masked_fill(is_answer[:, None], MASKED))
    logs = log_softmax(scores, dim=1)
    loss = -(logs[:, 0] * factors[:, 0]).mean()
    shares = logs.exp_()
    shares[:, 0] -= 1
    others = shares[:, 1:]
    gradient = (others @ table).addcmul_(shares[:, :1], right).mul_(weight * factors)
    values = torch.cat([others.T @ (factors * queries), shares[:, :1] * factors * queries]).mul_(weight)
    return Gradients(loss, gradient, torch.cat([candidates, answers]), values)


class BilinearEngine:
    """Trains a bilinear model on one batch after the other.

    Args:
        model: Model, trained in place.
        objective: Objective with the training triples, which draws the candidates.
        optimizer: Optimizer of the model.
        config: All settings.
    """

    def __init__(self, model: DistMult, objective: CandidateObjective, optimizer: RowOptimizer, config: Config) -> None:
        self.model, self.objective, self.optimizer, self.config = model, objective, optimizer, config
        self.batch = objective.train[: config.training.batch_size].clone()  # what a recorded step reads
        self.factors = objective.factors[: config.training.batch_size].clone()  # as well
        self.loss = torch.zeros((), device=self.batch.device)  # what it writes
        self.recording: torch.cuda.CUDAGraph | None = None
        self.recorded_rate = 0.0

    def run(self, triples: Tensor, generator: torch.Generator) -> Tensor:
        """Update on the batches of these triples and return the loss of each, (S,)."""
        size = self.config.training.batch_size
        drawn: Sequence[Tensor | None] = self.objective.draw(triples, size, generator)
        losses = []
        with fast_products(triples.is_cuda):
            for rows, candidates in zip(torch.split(triples, size), drawn, strict=True):
                is_fixed = candidates is None and len(rows) == len(self.batch)
                batch, factors = self.objective.train[rows], self.objective.factors[rows]
                can_replay = is_fixed and rows.is_cuda
                losses.append(self._replay(batch, factors) if can_replay else self._step(batch, factors, candidates))
        return torch.stack(losses)

    def _replay(self, batch: Tensor, factors: Tensor) -> Tensor:
        """Update on a batch by recorded kernels; record them first, and again if the learning rate changed."""
        self.batch.copy_(batch)
        self.factors.copy_(factors)
        if self.recording is None or self.recorded_rate != self.optimizer.learning_rate:
            self._record()
        assert self.recording is not None
        self.recording.replay()
        self.optimizer.steps += 1
        return self.loss.clone()

    def _record(self) -> None:
        """Record a step; the steps before it that warm up are undone."""
        tensors = [*self.model.parameters(), *self.optimizer.state.values()]
        kept, steps = [tensor.detach().clone() for tensor in tensors], self.optimizer.steps
        self.recorded_rate = self.optimizer.learning_rate
        self.recording = record(lambda: self.loss.copy_(self._step(self.batch, self.factors, None)), WARM_UP)
        with torch.no_grad():
            for tensor, before in zip(tensors, kept, strict=True):
                tensor.copy_(before)
        self.optimizer.steps = steps

    def _step(self, batch: Tensor, factors: Tensor, candidates: Tensor | None) -> Tensor:
        """Update on one batch (b, 3), whose losses have these factors (b,), and return its loss without penalties."""
        model, loss = self.model, self.config.loss
        heads, relations, tails = batch.unbind(1)
        entities = model.entities.detach()
        head, tail = (entities.index_select(0, rows).requires_grad_() for rows in (heads, tails))
        table = model.relation_table()
        relation = table.index_select(0, relations)
        queries = torch.cat([model.multiply(head, relation, "tail"), model.multiply(tail, relation, "head")])
        answers, twice = torch.cat([tails, heads]), torch.cat([factors, factors])[:, None]
        if candidates is None:
            found = contrast_all(queries.detach(), entities, answers, twice, loss.scale)
        else:
            right = torch.cat([tail, head]).detach()
            found = contrast_some(queries.detach(), entities, answers, candidates, right, twice, loss.scale)
        roots, gradients, total = [queries], [found.queries], found.loss
        if loss.relation_weight:
            scores = loss.scale * (model.pair(head, tail) @ table.T)
            roots.append(loss.relation_weight * relation_loss(scores, relations, factors))
            total = total + roots[-1].detach()
        regularizer = self.config.regularizer
        if regularizer.weight:
            moduli = [model.moduli(part) for part in (head, relation, tail)]
            roots.append(regularizer.weight * REGULARIZERS[regularizer.name](moduli))
        gradients += [torch.ones_like(root) for root in roots[1:]]
        torch.autograd.backward(roots, gradients)
        assert head.grad is not None
        assert tail.grad is not None
        if found.rows is None:
            model.entities.grad = found.entities.index_add_(0, heads, head.grad).index_add_(0, tails, tail.grad)
        else:
            rows, values = torch.cat([found.rows, heads, tails]), torch.cat([found.entities, head.grad, tail.grad])
            torch.autograd.backward(look_up(model.entities, rows), values)  # a sparse gradient of these rows
        self.optimizer.step()
        return total
