"""The epoch loop: batches, updates, constraints, assignment, validation, and a state that can be put away."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.errors import ITransFError
from itransf.models.base import Model
from itransf.ops.grouping import occurrence_numbers
from itransf.training.assignment import AssignmentReport, is_due, reassign
from itransf.training.averaging import Average
from itransf.training.fused.engine import make_engine
from itransf.training.fused.plan import count_planned_batches, sort_by_relation
from itransf.training.losses import make_contrast_loss
from itransf.training.negatives import NegativeSampler
from itransf.training.objectives import make_objective
from itransf.training.optimizers import make_optimizer
from itransf.training.reports import EpochReport, Progress
from itransf.training.sample import draw_sample

Validate = Callable[[Model], float]


@dataclass
class Trainer:
    """Trains one model on one graph.

    Args:
        model: Changed in place.
        graph: Its training triples are learned.
        config: All settings.
        validate: Gives the validation metric of the model.
        lower_is_better: Whether that metric improves downwards.
    """

    model: Model
    graph: Graph
    config: Config
    validate: Validate | None = None
    lower_is_better: bool = False
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        """Bring the triples to the model's device and set up what draws and updates."""
        device = next(self.model.parameters()).device
        self.train = torch.as_tensor(self.graph.train, device=device)
        self.generator = torch.Generator(device).manual_seed(self.config.seed)
        self.sampler = NegativeSampler(self.graph, self.config.negatives, device)
        self.objective = make_objective(self.graph, self.train, self.sampler, self.config)
        self.optimizer = make_optimizer(self.model, self.config.training)
        self.engine = make_engine(self.model, self.train, self.sampler, self.optimizer, self.config)
        self.planned = count_planned_batches(len(self.train), len(self.graph.relations), self.config, device.type)
        self.epoch_random_state = self.plan_random_state = self.generator.get_state()
        self.best: dict[str, Tensor] | None = None
        self.average = Average()

    def epochs(self, after_batch: Callable[[], None] = lambda: None) -> Iterator[EpochReport]:
        """Train, one report per epoch, until all are done, patience or time is out."""
        total = self.config.training.epochs
        while self.progress.epoch < total and not self.progress.finished:
            started = time.perf_counter()
            loss = self._run_epoch(after_batch)
            seconds = time.perf_counter() - started
            self.progress.seconds += seconds
            self.progress.epoch += 1
            assignment = self._reassign() if self._is_assignment_due() else None
            self._take_average()
            metric, is_best = self._look() if self._is_look_due() else (None, False)
            limit = self.config.training.max_minutes * 60
            if self._is_out_of_patience() or (limit and self.progress.seconds >= limit):
                self.progress.finished = True
            yield EpochReport(self.progress.epoch, loss, seconds, metric, is_best, assignment)
        self.progress.finished = True

    def _run_epoch(self, after_batch: Callable[[], None]) -> float:
        """Go through the triples once, from where a stored state left off, and return the mean loss."""
        if self.progress.batches == 0:
            self.epoch_random_state = self.generator.get_state()
            self.progress.loss_sum = 0.0
            order = self._shuffle()
        else:
            now = self.generator.get_state()
            self.generator.set_state(self.epoch_random_state)
            order = self._shuffle()
            self.generator.set_state(now)
        self.optimizer.learning_rate = self._learning_rate()
        self.sampler.strength = self._domain_strength()
        for losses in self._run_batches(order):
            self._note_losses(losses)
            after_batch()
        batches, self.progress.batches = self.progress.batches, 0
        return self.progress.loss_sum / batches

    def _run_batches(self, order: Tensor) -> Iterator[list[float]]:
        """Update on the batches that are left and yield the losses of one, or of as many as an engine runs at once.

        Negatives are drawn for `planned` batches at once, whoever takes the steps: plain and fused ones see the same.
        """
        size, done = self.config.training.batch_size, self.progress.batches
        for start in range(done - done % self.planned, -(-len(order) // size), self.planned):
            triples = order[start * size : (start + self.planned) * size]
            triples = sort_by_relation(triples, self.train[triples, 1], size)
            self.plan_random_state = self.generator.get_state()
            if self.engine is not None and start >= done:
                yield self.engine.run(triples, self.generator).tolist()
                continue
            negatives = self.objective.draw(triples, size, self.generator)
            batches = list(zip(torch.split(triples, size), negatives, strict=True))
            for batch, drawn in batches[max(done - start, 0) :]:
                yield [self._step(batch, drawn)]

    def _note_losses(self, losses: list[float]) -> None:
        """Add the losses of batches to the epoch's; one that is no number ends the training."""
        total = sum(losses)
        if not total < float("inf"):
            raise ITransFError(
                f"the loss became {total} in epoch {self.progress.epoch + 1}: lower training.learning_rate "
                f"(now {self.config.training.learning_rate})"
            )
        self.progress.loss_sum += total
        self.progress.batches += len(losses)

    def _shuffle(self) -> Tensor:
        return shuffle_triples(self.train[:, 1], self.config.training.block_size, self.generator)

    def _step(self, triples: Tensor, negatives: Any) -> float:
        """Update on one batch (triple indices, sorted by relation) and return its loss, without penalties."""
        loss, touched = self.objective(self.model, triples, negatives)
        penalty = self.model.penalty(*self.train[triples].unbind(1))
        total = loss if penalty is None else loss + penalty
        total.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.model.constrain(touched)
        return float(loss.detach())

    def _learning_rate(self) -> float:
        training = self.config.training
        if training.lr_decay == "none":
            return training.learning_rate
        return training.learning_rate * (1 - self.progress.epoch / training.epochs)

    def _domain_strength(self) -> float:
        negatives = self.config.negatives
        with_domains = round(negatives.domain_stop * self.config.training.epochs)
        return negatives.domain if self.progress.epoch < with_domains else 0.0

    def _is_assignment_due(self) -> bool:
        if self.model.supports("head") is None:
            return False
        return is_due(self.config.assignment, self.progress.epoch, self.config.training.epochs)

    def _reassign(self) -> AssignmentReport:
        settings = self.config.assignment
        sample = draw_sample(self.train, self.sampler, settings.triples, settings.negatives, self.generator)
        return reassign(self.model, sample, make_contrast_loss(self.config.loss), settings)

    def _is_look_due(self) -> bool:
        every, epoch = self.config.validation.every, self.progress.epoch
        if self.validate is None or not every:
            return False
        return epoch % every == 0 or epoch == self.config.training.epochs

    def _take_average(self) -> None:
        """Take the epoch's weights into their average, if it is one of those that count."""
        training = self.config.training
        before = round(training.epochs * (1 - training.weight_averaging))  # epochs that do not count
        if self.progress.epoch <= before:
            self.average.forget()
            return
        if self.average.count > self.progress.epoch - 1 - before:  # begun for fewer epochs, before a resume
            self.average.forget()
        self.average.add(weights(self.model))

    def _load_average(self) -> None:
        """Put the average into the model, at the lengths that the model holds vectors to."""
        load_weights(self.model, self.average.means)
        self.model.constrain(None)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Have the average in the model while the block runs, if there is one."""
        if not self.average.count:
            yield
            return
        kept = copy_weights(self.model)
        self._load_average()
        try:
            yield
        finally:
            load_weights(self.model, kept)

    def _look(self) -> tuple[float, bool]:
        """Validate, and keep the weights (or their average) if they are the best so far."""
        assert self.validate is not None
        with self._averaged():
            metric, best = self.validate(self.model), self.progress.best_metric
            is_best = best is None or (metric < best if self.lower_is_better else metric > best)
            if is_best:
                self.progress.best_metric, self.progress.best_epoch = metric, self.progress.epoch
                self.progress.looks_since_best = 0
                self.best = copy_weights(self.model)
            else:
                self.progress.looks_since_best += 1
        return metric, is_best

    def _is_out_of_patience(self) -> bool:
        patience = self.config.validation.patience
        return bool(patience) and self.progress.looks_since_best >= patience

    def restore_best(self) -> None:
        """Put into the model what is kept: the best seen on validation or, where nobody looked, the average, if any."""
        if self.best is not None:
            load_weights(self.model, self.best)
        elif self.average.count:
            self._load_average()

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return all that is needed to go on: tensors, and plain numbers."""
        self.progress.steps, self.progress.averaged = self.optimizer.steps, self.average.count
        tensors = {f"model.{name}": tensor for name, tensor in weights(self.model).items()}
        tensors |= {f"best.{name}": tensor for name, tensor in (self.best or {}).items()}
        tensors |= {f"average.{name}": tensor for name, tensor in self.average.means.items()}
        tensors |= {f"optimizer.{name}": tensor for name, tensor in self.optimizer.state.items()}
        # Within a plan its negatives are drawn again when training is resumed.
        within = self.progress.batches % self.planned
        now = self.plan_random_state if within else self.generator.get_state()
        tensors |= {"random.now": now, "random.epoch": self.epoch_random_state}
        return tensors, vars(self.progress).copy()

    def load_state(self, tensors: dict[str, Tensor], progress: dict[str, Any]) -> None:
        """Take up a stored state."""
        self.progress = Progress(**progress)
        self.optimizer.steps = self.progress.steps
        load_weights(self.model, _under("model.", tensors))
        self.best = self._bring("best.", tensors) or None
        self.average.means, self.average.count = self._bring("average.", tensors), self.progress.averaged
        for name, tensor in _under("optimizer.", tensors).items():
            self.optimizer.state[name].copy_(tensor)
        self.generator.set_state(tensors["random.now"].cpu())
        self.epoch_random_state = tensors["random.epoch"].cpu()

    def _bring(self, prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return stored tensors whose names begin so, by the rest of their names, where the model is."""
        return {name: tensor.to(self.train.device) for name, tensor in _under(prefix, tensors).items()}


def shuffle_triples(relations: Tensor, block_size: int, generator: torch.Generator) -> Tensor:
    """Return a random order of triples that keeps blocks of at most `block_size` triples of a relation together."""
    order = torch.randperm(len(relations), generator=generator, device=relations.device)
    if block_size == 1:
        return order
    blocks = occurrence_numbers(relations[order]) // block_size  # each triple's block among those of its relation
    _, numbers = torch.unique(relations[order] * len(relations) + blocks, return_inverse=True)
    draws = torch.rand(len(relations), generator=generator, device=order.device)
    return order[torch.argsort(draws[numbers], stable=True)]


def weights(model: Model) -> dict[str, Tensor]:
    """Return what a model has learned, each tensor once (shared ones under their first name)."""
    return {name: tensor.detach() for name, tensor in [*model.named_parameters(), *model.named_buffers()]}


def copy_weights(model: Model) -> dict[str, Tensor]:
    """Return copies of what a model has learned."""
    return {name: tensor.clone() for name, tensor in weights(model).items()}


@torch.no_grad()
def load_weights(model: Model, stored: dict[str, Tensor]) -> None:
    """Copy stored weights into a model of the same shape; where no rules were stored there are none."""
    for name, tensor in weights(model).items():
        if name in stored or not name.endswith(".rules"):
            tensor.copy_(stored[name])


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
