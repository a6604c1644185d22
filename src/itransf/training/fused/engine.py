"""The choice between plain and fused steps, and what all fused engines share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import ClassVar

import torch
from torch import Tensor, nn

from itransf.config import Config
from itransf.models.base import Model
from itransf.models.projection import ConceptProjection, FullProjection, NoProjection
from itransf.models.translation import Translation
from itransf.training.fused.plan import Layout, Plan, count_planned_batches, make_plan
from itransf.training.negatives import NegativeSampler, draw_negatives
from itransf.training.optimizers import MOMENTS, RowOptimizer

LENGTHS = {"none": 0, "unit": 1, "ball": 2}
OPTIMIZERS = {"sgd": 0, "adagrad": 1, "adam": 2}
LOSSES = ("hinge", "self_adversarial")
SAMPLERS = ("uniform", "bernoulli")
PROJECTIONS = (NoProjection, FullProjection, ConceptProjection)
COMPILERS = {"cuda": "triton", "cpu": "numba"}


def make_engine(
    model: Model, train: Tensor, sampler: NegativeSampler, optimizer: RowOptimizer, config: Config
) -> FusedEngine | None:
    """Return the engine of fused steps, or None if there is no compiler or no kernel for this training."""
    if not can_fuse(model, config):
        return None
    assert isinstance(model, Translation)
    kind = load_engine(train.device.type)
    if kind is None or (config.negatives.shared and not kind.shares_negatives):
        return None
    return kind(model, train, sampler, optimizer, config)


def load_engine(device: str) -> type[FusedEngine] | None:
    """Return the engine of a kind of device, or None if its compiler is not installed."""
    if find_spec(COMPILERS.get(device, "")) is None:
        return None
    # Compilers are optional and slow to import: import only the one that is used.
    if device == "cuda":
        from itransf.training.fused.gpu import RecordedEngine  # noqa: PLC0415

        return RecordedEngine
    from itransf.training.fused.cpu import CompiledEngine  # noqa: PLC0415

    return CompiledEngine


def can_fuse(model: Model, config: Config) -> bool:
    """Tell whether the kernels compute exactly what the plain steps of this training do.

    A model class declares `fused = True` in its own body. A subclass does not inherit that, as it may score otherwise.
    """
    if not vars(type(model)).get("fused", False) or not isinstance(model, Translation):
        return False
    kinds = {type(model.project_head), type(model.project_tail)}
    return (
        len(kinds) == 1
        and kinds <= set(PROJECTIONS)
        and model.entities.dtype == torch.float32
        and not config.regularizer.weight
        and config.loss.name in LOSSES
        and config.negatives.sampler in SAMPLERS
        and config.training.optimizer in OPTIMIZERS
    )


@dataclass
class Buffers:
    """What a step writes and the next one writes over."""

    vectors: Tensor  # (N, d): rows after projection
    gradients: Tensor  # (N, d): of those
    entity_gradients: Tensor  # (N, d): of the rows before projection
    relation_gradients: Tensor  # (B, d)
    matrices: Tensor  # (G, d, d)
    matrix_gradients: Tensor  # (M, d, d): of the segments; a group's whole gradient ends up in its first
    attention: Tensor  # (G, k)
    gains: Tensor  # (G, k): how the loss changes with each weight of a matrix
    wanted: Tensor  # (B, d): what shared replacements of a triple are compared with
    figures: Tensor  # (B, 2): of a triple, what its shared replacements need to know of all of them


class FusedEngine(ABC):
    """Trains a translation model on many batches at once, planned together.

    Args:
        model: Changed in place.
        train: Training triples on the model's device, (f, 3).
        sampler: Draws the corrupted copies.
        optimizer: Its states are moved in place, its step count goes on.
        config: All settings.
    """

    shares_negatives: ClassVar[bool]

    def __init__(
        self, model: Translation, train: Tensor, sampler: NegativeSampler, optimizer: RowOptimizer, config: Config
    ) -> None:
        self.model, self.train, self.sampler, self.optimizer, self.config = model, train, sampler, optimizer, config
        self.projections = list_projections(model)
        self.layout = make_layout(model, self.projections, min(config.training.batch_size, len(train)), config)
        self.planned_steps = count_planned_batches(len(train), model.sizes.relations, config, train.device.type)
        self.rates = torch.zeros(self.planned_steps, 3, device=train.device)
        self.losses = torch.zeros(self.planned_steps, self.layout.batch, device=train.device)
        self.buffers = make_buffers(self.layout, model.config.dim, train.device)
        self.plan: Plan | None = None

    @torch.no_grad()
    def run(self, triples: Tensor, generator: torch.Generator) -> Tensor:
        """Update on at most the planned number of batches and return the loss of each, (S,).

        Args:
            triples: Indices, sorted by relation inside each batch.
            generator: Generator of the negatives.
        """
        corruption = draw_negatives(self.sampler, self.config.negatives, triples, self.layout.batch, generator)
        supports = [p.support for _, p in self.projections if isinstance(p, ConceptProjection)]
        plan = make_plan(self.train[triples], corruption, supports, self.layout)
        if self.plan is None:
            self.plan = make_room(plan, self.planned_steps)
        plan.copy_into(self.plan)
        steps = len(plan.sizes)
        self._set_rates(steps)
        self.losses.zero_()
        self.run_planned(self.plan, steps)
        self.optimizer.steps += steps
        return self.losses[:steps].sum(1) / plan.sizes[:, 0]

    @abstractmethod
    def run_planned(self, plan: Plan, steps: int) -> None:
        """Run the first `steps` steps of a plan that always lies at the same place in memory."""

    def _set_rates(self, steps: int) -> None:
        """Write the learning rate and Adam's corrections of the coming steps."""
        numbers = self.optimizer.steps + 1 + torch.arange(steps, dtype=torch.float64, device="cpu")
        columns = [torch.full_like(numbers, self.optimizer.learning_rate), *(1 - beta**numbers for beta in MOMENTS)]
        self.rates[:steps] = torch.stack(columns, 1).float().to(self.rates.device)


def list_projections(model: Translation) -> list[tuple[str, nn.Module]]:
    """Return the model's projections that have matrices, each once, with their names."""
    named = [("project_head", model.project_head), ("project_tail", model.project_tail)]
    if model.project_tail is model.project_head:
        named = named[:1]
    return [(name, p) for name, p in named if isinstance(p, FullProjection | ConceptProjection)]


def make_layout(model: Translation, projections: list[tuple[str, nn.Module]], batch: int, config: Config) -> Layout:
    """Return the sizes of a step."""
    mixing = next((p for _, p in projections if isinstance(p, ConceptProjection)), None)
    return Layout(
        entities=model.sizes.entities,
        relations=model.sizes.relations,
        batch=batch,
        negatives=config.negatives.per_triple,
        projections=len(projections),
        tile=16 if config.negatives.per_triple < 16 else 64,
        concepts=len(mixing.concepts) if mixing else 0,
        support=mixing.support.shape[1] if mixing else 0,
        shared=config.negatives.shared,
    )


def make_buffers(layout: Layout, dim: int, device: torch.device) -> Buffers:
    """Return room for what a step writes."""

    def make(*shape: int) -> Tensor:
        return torch.zeros(shape, device=device)

    projected = layout.rows if layout.projections else 0
    return Buffers(
        vectors=make(projected, dim),
        gradients=make(projected, dim),
        entity_gradients=make(layout.rows, dim),
        relation_gradients=make(layout.batch, dim),
        matrices=make(layout.groups, dim, dim),
        matrix_gradients=make(layout.segments if layout.groups else 0, dim, dim),
        attention=make(layout.groups, layout.support),
        gains=make(layout.groups, layout.support),
        wanted=make(layout.batch if layout.shared else 0, dim),
        figures=make(layout.batch if layout.shared else 0, 2),
    )


def make_room(plan: Plan, steps: int) -> Plan:
    """Return a plan of `steps` unused steps with the shapes of this one."""
    shapes = {item.name: getattr(plan, item.name) for item in fields(plan)}
    return Plan(**{name: tensor.new_full((steps, *tensor.shape[1:]), -1) for name, tensor in shapes.items()})
