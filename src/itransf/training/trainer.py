"""The training loop: batches, updates, constraints, assignment steps, validation, and a state that can be resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from itransf.config import CHOOSE, Config
from itransf.data.graph import Graph
from itransf.errors import ConfigError, DivergenceError
from itransf.models import Model, ProjectingConcepts
from itransf.ops.grouped import occurrence_numbers
from itransf.registry import REGULARIZERS
from itransf.training.assignment import AssignmentReport, draw_sample, is_due, reassign
from itransf.training.fused.choice import make_engine
from itransf.training.fused.plan import count_planned_batches, sort_by_relation
from itransf.training.losses import make_contrast_loss
from itransf.training.negatives import make_sampler
from itransf.training.objectives import check_draws, make_objective
from itransf.training.optimizers import make_optimizer

Validate = Callable[[Model], float]
SEEN = 0.5  # share of an epoch by which the state of an earlier training is estimated
EARLIER = 3  # epochs whose gradients an estimated state has accumulated, chosen on validation (FB15k-237, CoDEx-S)


@dataclass(frozen=True)
class EpochReport:
    """Result of one epoch.

    Attributes:
        epoch: Number of the epoch, from 1.
        loss: Mean loss of its batches.
        seconds: Time of its updates.
        metric: Validation metric, if it was validated.
        is_best: Whether that metric is the best so far.
        assignment: Result of the assignment step, if there was one.
    """

    epoch: int
    loss: float
    seconds: float
    metric: float | None = None
    is_best: bool = False
    assignment: AssignmentReport | None = None


@dataclass
class Progress:
    """Progress of a training, in plain numbers."""

    epoch: int = 0
    batches: int = 0
    loss_sum: float = 0.0
    steps: int = 0
    best_metric: float | None = None
    best_epoch: int = 0
    validations_since_best: int = 0
    seconds: float = 0.0
    finished: bool = False
    averaged: int = 0

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Progress:
        """Return the progress of a checkpoint.

        Raises:
            ValueError: A number is missing or is not one that a training can have.
        """
        fresh = vars(cls())
        for name, value in stored.items():
            if name == "best_metric":
                is_right = value is None or type(value) is float
            else:
                is_right = type(value) is type(fresh.get(name))
            if not is_right or (name not in ("loss_sum", "best_metric") and value < 0):
                raise ValueError(f"{name} = {value!r}")
        return cls(**{name: stored[name] for name in fresh})


class Average:
    """A running mean of parameters over epochs (Polyak and Juditsky, 1992).

    Attributes:
        means: Means so far; of integers, such as supports, the latest values.
        count: Number of epochs.
    """

    def __init__(self) -> None:
        self.means: dict[str, Tensor] = {}
        self.count = 0

    def add(self, tensors: Mapping[str, Tensor]) -> None:
        """Add the tensors of an epoch; means that were handed out before do not change."""
        self.count += 1
        for name, tensor in tensors.items():
            if self.count == 1 or not tensor.is_floating_point():
                self.means[name] = tensor.clone()
            else:
                self.means[name] = self.means[name].lerp(tensor, 1 / self.count)


@dataclass
class Trainer:
    """Trains one model on one graph.

    Args:
        model: Model, trained in place.
        graph: Graph with the training triples.
        config: All settings.
        validate: Function that returns the validation metric of the model.
    """

    model: Model
    graph: Graph
    config: Config
    validate: Validate | None = None
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        """Move the triples to the model's device and build sampler, objective, optimizer and engine."""
        if self.config.regularizer.weight == CHOOSE:
            raise ConfigError("regularizer.weight = -1 is to be chosen by `itransf.train`; give a weight here")
        check_draws(self.model, self.config)
        device = next(self.model.parameters()).device
        self.train = torch.as_tensor(self.graph.train, device=device)
        self.generator = torch.Generator(device).manual_seed(self.config.seed)
        self.noise = torch.Generator(device)
        self.sampler = make_sampler(self.graph, self.config.negatives, device)
        self.objective = make_objective(self.graph, self.train, self.sampler, self.config)
        self.optimizer = make_optimizer(self.model, self.config.training)
        self.engine = make_engine(self.model, self.objective, self.optimizer, self.config)
        self.planned = count_planned_batches(len(self.train), len(self.graph.relations), self.config, device.type)
        self.epoch_random_state = self.plan_random_state = self.generator.get_state()
        self.best: dict[str, Tensor] | None = None
        self.average = Average()

    def epochs(self, after_batch: Callable[[], None] = lambda: None) -> Iterator[EpochReport]:
        """Train and yield a report per epoch, until the last epoch, early stopping or the time limit."""
        total = self.config.training.epochs
        while self.progress.epoch < total and not self.progress.finished:
            started = time.perf_counter()
            loss = self._run_epoch(after_batch)
            seconds = time.perf_counter() - started
            self.progress.seconds += seconds
            self.progress.epoch += 1
            assignment = self._reassign() if self._is_assignment_due() else None
            self._take_average()
            limit, patience = self.config.training.max_minutes * 60, self.config.validation.patience
            is_late = 0 < limit <= self.progress.seconds
            metric, is_best = self._validate() if self._is_validation_due(is_late) else (None, False)
            if is_late or 0 < patience <= self.progress.validations_since_best:
                self.progress.finished = True
            yield EpochReport(self.progress.epoch, loss, seconds, metric, is_best, assignment)
        self.progress.finished = True

    def estimate_state(self, rows: Mapping[str, int]) -> None:
        """Estimate the state that the optimizer had when the weights were trained before, if it accumulates one.

        The gradients of some batches are accumulated, but not applied. With an empty state, the first steps would be
        as long as those of a new training, and would undo a part of the earlier one.

        Args:
            rows: Number of rows of each parameter, the first ones, that were trained before.
        """
        if not self.optimizer.accumulates:
            return
        self.model.train()
        self.optimizer.learning_rate = 0.0
        self.sampler.uses_domains = self._uses_domains()
        order = self._shuffle()
        seen = order[: max(self.config.training.batch_size, int(len(order) * SEEN))]
        for _ in self._run_batches(seen):
            pass
        self.model.eval()
        self.optimizer.extrapolate(EARLIER * len(order) / len(seen), rows)
        self.optimizer.steps = 0

    def _run_epoch(self, after_batch: Callable[[], None]) -> float:
        """Pass over the triples once, from where a stored state stopped, and return the mean loss."""
        if self.progress.batches == 0:
            self.epoch_random_state = self.generator.get_state()
            self.progress.loss_sum = 0.0
            order = self._shuffle()
        else:
            now = self.generator.get_state()
            self.generator.set_state(self.epoch_random_state)
            order = self._shuffle()
            self.generator.set_state(now)
        self.model.train()
        self.optimizer.learning_rate = self._learning_rate()
        self.sampler.uses_domains = self._uses_domains()
        for losses in self._run_batches(order):
            self._note_losses(losses)
            after_batch()
        self.model.eval()
        if not all(bool(tensor.isfinite().all()) for tensor in weights(self.model).values()):
            raise self._divergence("the weights became infinite or NaN")
        batches, self.progress.batches = self.progress.batches, 0
        return self.progress.loss_sum / batches

    def _run_batches(self, order: Tensor) -> Iterator[list[float]]:
        """Update on the remaining batches and yield the losses of one, or of all that the engine runs at once.

        Negatives are drawn for `planned` batches at once, so that plain and fused steps see the same ones.
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
        """Add the losses of batches to the epoch's; a loss that is not finite ends the training."""
        total = sum(losses)
        if not total < float("inf"):
            raise self._divergence(f"the loss became {total}")
        self.progress.loss_sum += total
        self.progress.batches += len(losses)

    def _divergence(self, fault: str) -> DivergenceError:
        """Return the error of this epoch."""
        rate = self.config.training.learning_rate
        return DivergenceError(f"{fault} in epoch {self.progress.epoch + 1}: lower training.learning_rate (now {rate})")

    def _shuffle(self) -> Tensor:
        return shuffle_triples(self.train[:, 1], self.config.training.block_size, self.generator)

    def _step(self, triples: Tensor, negatives: Any) -> float:
        """Update on one batch (triple indices, sorted by relation) and return its loss without penalties."""
        self.model.noise = self.noise.manual_seed(self.config.seed + self.optimizer.steps)
        loss, touched = self.objective(self.model, triples, negatives)
        self.model.noise = None
        batch = self.train[triples]
        add_penalties(loss, self.model, batch, self.config).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.model.constrain(touched, None if self.config.loss.relation_weight else batch[:, 1])
        return float(loss.detach())

    def _learning_rate(self) -> float:
        training = self.config.training
        if training.lr_decay == "none":
            return training.learning_rate
        return training.learning_rate * (1 - self.progress.epoch / training.epochs)

    def _uses_domains(self) -> bool:
        negatives = self.config.negatives
        with_domains = round(negatives.domain_stop * self.config.training.epochs)
        return bool(negatives.domain) and self.progress.epoch < with_domains

    def _is_assignment_due(self) -> bool:
        if not isinstance(self.model, ProjectingConcepts) or not self.model.has_supports:
            return False
        return is_due(self.config.assignment, self.progress.epoch, self.config.training.epochs)

    def _reassign(self) -> AssignmentReport:
        assert isinstance(self.model, ProjectingConcepts), "only these have assignment steps"
        settings = self.config.assignment
        sample = draw_sample(
            self.train, self.sampler, settings.triples, settings.negatives, self.generator, self.objective.factors
        )
        return reassign(self.model, sample, make_contrast_loss(self.config.loss), settings)

    def _is_validation_due(self, is_late: bool) -> bool:
        """Return whether this epoch is validated, as the last one always is."""
        every, epoch = self.config.validation.every, self.progress.epoch
        if self.validate is None or not every:
            return False
        return is_late or epoch % every == 0 or epoch == self.config.training.epochs

    def _take_average(self) -> None:
        """Add the epoch's weights to their average, if it is one of the final epochs."""
        training = self.config.training
        before = round(training.epochs * (1 - training.weight_averaging))  # epochs that are not averaged
        if self.average.count > max(self.progress.epoch - 1 - before, 0):  # started for fewer epochs, before a resume
            self.average = Average()
        if self.progress.epoch > before:
            self.average.add(weights(self.model))

    def _load_average(self) -> None:
        """Put the average into the model and apply its constraints."""
        load_weights(self.model, self.average.means)
        self.model.constrain(None, None)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Put the average, if any, into the model while the block runs."""
        if not self.average.count:
            yield
            return
        kept = copy_weights(self.model)
        self._load_average()
        try:
            yield
        finally:
            load_weights(self.model, kept)

    def _validate(self) -> tuple[float, bool]:
        """Validate, and keep the weights (or their average) if they are the best so far."""
        assert self.validate is not None
        with self._averaged():
            metric, best = self.validate(self.model), self.progress.best_metric
            is_lower_better = self.config.validation.metric == "mr"
            is_best = best is None or (metric < best if is_lower_better else metric > best)
            if is_best:
                self.progress.best_metric, self.progress.best_epoch = metric, self.progress.epoch
                self.progress.validations_since_best = 0
                self.best = copy_weights(self.model)
            else:
                self.progress.validations_since_best += 1
        return metric, is_best

    def restore_best(self) -> None:
        """Put the best validated weights into the model or, without validation, the average, if any."""
        if self.best is not None:
            load_weights(self.model, self.best)
        elif self.average.count:
            self._load_average()

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return everything needed to resume: tensors and plain numbers."""
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
        """Restore a stored state."""
        self.progress = Progress.read(progress)
        if self.progress.batches > -(-len(self.train) // self.config.training.batch_size):
            raise ValueError(f"batches = {self.progress.batches}")
        self.optimizer.steps = self.progress.steps
        check_values(_under("model.", tensors))
        load_weights(self.model, _under("model.", tensors))
        self.best = self._bring("best.", tensors) or None
        self.average.means, self.average.count = self._bring("average.", tensors), self.progress.averaged
        for name, tensor in self.optimizer.state.items():
            check_alike(name, tensors[f"optimizer.{name}"], tensor)
            tensor.copy_(tensors[f"optimizer.{name}"])
        self.plan_random_state = tensors["random.now"].cpu()
        self.generator.set_state(self.plan_random_state)
        self.epoch_random_state = tensors["random.epoch"].cpu()

    def _bring(self, prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return stored weights whose names have this prefix, without it, on the model's device; all or none."""
        found, own = _under(prefix, tensors), weights(self.model)
        check_values(found)
        for name in own if found else ():
            check_alike(name, found[name], own[name])
        return {name: found[name].to(self.train.device) for name in own if found}


def shuffle_triples(relations: Tensor, block_size: int, generator: torch.Generator) -> Tensor:
    """Return a random order of triples that keeps blocks of at most `block_size` triples of a relation together."""
    order = torch.randperm(len(relations), generator=generator, device=relations.device)
    if block_size == 1:
        return order
    blocks = occurrence_numbers(relations[order]) // block_size  # each triple's block among those of its relation
    _, numbers = torch.unique(relations[order] * len(relations) + blocks, return_inverse=True)
    draws = torch.rand(len(relations), generator=generator, device=order.device)
    return order[torch.argsort(draws[numbers], stable=True)]


def add_penalties(loss: Tensor, model: Model, triples: Tensor, config: Config) -> Tensor:
    """Return the loss of triples (b, 3) with the configured regularizer and the model's own penalty."""
    batch = triples.unbind(1)
    if config.regularizer.weight:
        loss = loss + config.regularizer.weight * REGULARIZERS[config.regularizer.name](model.factors(*batch))
    penalty = model.penalty(*batch)
    return loss if penalty is None else loss + penalty


def weights(model: Model) -> dict[str, Tensor]:
    """Return the parameters and buffers of a model, shared ones once, under their first name."""
    return {name: tensor.detach() for name, tensor in [*model.named_parameters(), *model.named_buffers()]}


def copy_weights(model: Model) -> dict[str, Tensor]:
    """Return copies of the parameters and buffers of a model."""
    return {name: tensor.clone() for name, tensor in weights(model).items()}


@torch.no_grad()
def load_weights(model: Model, stored: Mapping[str, Tensor]) -> None:
    """Copy stored weights into a model; stored weights without rules leave them as they are.

    Raises:
        KeyError: A weight is missing.
        ValueError: A weight has another shape or type of number.
    """
    for name, tensor in weights(model).items():
        if name in stored or not name.endswith(".rules"):
            check_alike(name, stored[name], tensor)
            tensor.copy_(stored[name])


def check_values(stored: Mapping[str, Tensor]) -> None:
    """Refuse NaN or infinite weights, and supports with a concept that does not exist or is there twice."""
    for name, tensor in stored.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise ValueError(f"{name!r} contain NaN or infinite values")
        if name.endswith(".support") and tensor.dim() == 2:
            concepts = stored[f"{name.removesuffix('support')}scores"].shape[-1]
            wrong = tensor[(tensor < 0) | (tensor >= concepts)]
            if len(wrong):
                raise ValueError(f"{name!r} has concept {int(wrong[0])}, but there are {concepts}")
            chosen = tensor.sort(1).values
            if bool((chosen[:, 1:] == chosen[:, :-1]).any()):
                raise ValueError(f"{name!r} has a concept twice")


def check_alike(name: str, found: Tensor, expected: Tensor) -> None:
    """Refuse a stored tensor that has another shape or type of number than it should have."""
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        shapes = f"is {list(found.shape)} of {found.dtype}, not {list(expected.shape)} of {expected.dtype}"
        raise ValueError(f"{name!r} {shapes}")


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
