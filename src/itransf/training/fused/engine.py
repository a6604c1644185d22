"""What all fused engines share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Lock
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from itransf.config import Config
from itransf.models import Translation
from itransf.models.base import QueryModel
from itransf.models.projection import ConceptProjection, DiagonalProjection, FullProjection, NoProjection
from itransf.training.fused.plan import Layout, Plan, count_planned_batches, count_rows, make_plan
from itransf.training.negatives import draw_negatives
from itransf.training.objectives import ContrastObjective
from itransf.training.optimizers import MOMENTS, RowOptimizer

CONSTRAINTS = {"none": 0, "unit": 1, "ball": 2}
OPERATIONS = {"add": 0, "multiply": 1, "complex": 2, "rotate": 3}
COMPARISONS = {"l1": 1, "l2": 2, "dot": 3, "modulus": 4}
OPTIMIZERS = {"sgd": 0, "adagrad": 1, "adam": 2}
PROJECTIONS = (NoProjection, FullProjection, DiagonalProjection, ConceptProjection)
Projections = list[tuple[str, FullProjection | DiagonalProjection | ConceptProjection]]
_one_at_a_time = Lock()


class Options(NamedTuple):
    """Settings of a step, as numbers.

    Attributes:
        projection: Kind of projection: 0 none, 1 own matrices, 2 concepts by softmax, 3 concepts by free weights.
        operation: How a relation acts on a head: 0 added, 1 multiplied, 2 complex product, 3 rotation.
        comparison: How a query is compared with a candidate: 1 l1, 2 l2, 3 dot product, 4 moduli of differences.
        angle: Angle of a relation's number one.
        entity_constraint: Constraint on the length of entity embeddings: 0 none, 1 unit, 2 ball.
        projected_constraint: Constraint on the length of projected embeddings.
        optimizer: 0 SGD, 1 Adagrad, 2 Adam.
        adversarial: Whether the loss is self-adversarial, not hinge.
        margin: Margin of the loss.
        adversarial_temperature: Temperature of the weights of negatives.
        attention_temperature: Temperature of the softmax over concepts.
        matrix_lr_factor: Learning-rate multiplier of matrices and free weights.
        l1_weight: Weight of the l1 penalty on free weights.
        l2_weight: Weight of the regularizer.
    """

    projection: int
    operation: int
    comparison: int
    angle: float
    entity_constraint: int
    projected_constraint: int
    optimizer: int
    adversarial: bool
    margin: float
    adversarial_temperature: float
    attention_temperature: float
    matrix_lr_factor: float
    l1_weight: float
    l2_weight: float


class Buffers(NamedTuple):
    """Intermediate results, overwritten by every step; shapes as in `plan`.

    Attributes:
        vectors: Projected rows, (N, d).
        gradients: Gradients of projected rows, (N, d).
        entity_gradients: Gradients of rows before projection, (N, d).
        relation_gradients: Gradients of relation embeddings, one per triple, (B, d), or (B, d / 2) of angles.
        matrices: (G, d, d), or diagonals, (G, 1, d).
        matrix_gradients: Gradients of the segments; a group's whole gradient is summed into its first, (M, d, d) or
            (M, 1, d).
        attention: Weights of the supported concepts of each matrix, (G, k).
        weight_gradients: Gradients of those weights, (G, k).
        targets: Vectors that the shared replacements of a triple are compared with, (B, d).
        statistics: Of a triple's shared negatives the maximum and sum of the softmax, or the triple's distance, (B, 2).
    """

    vectors: Tensor
    gradients: Tensor
    entity_gradients: Tensor
    relation_gradients: Tensor
    matrices: Tensor
    matrix_gradients: Tensor
    attention: Tensor
    weight_gradients: Tensor
    targets: Tensor
    statistics: Tensor


class FusedEngine(ABC):
    """Trains a model on many batches at once, planned together.

    Attributes:
        shares_negatives: Whether the triples of a relation may share negatives.
        lists_entities: Whether the plan lists the rows of each entity.
        drops: Whether differences may have dropout.
        operations: Operations of models that are trained, each with the comparisons that it can have.

    Args:
        model: Model, trained in place.
        objective: Objective with the triples, their weights and factors, and the sampler of the negatives.
        optimizer: Optimizer, whose states and step count are updated in place.
        config: All settings.
    """

    shares_negatives: ClassVar[bool]
    lists_entities: ClassVar[bool]
    drops: ClassVar[bool]
    operations: ClassVar[dict[str, tuple[str, ...]]]

    @classmethod
    def has_kernels(cls, model: QueryModel) -> bool:
        """Return whether the engine knows a model's operation with its comparison, and its dropout, if any."""
        return (cls.drops or not model.dropout) and model.compare in cls.operations.get(model.operation or "", ())

    def __init__(
        self, model: QueryModel, objective: ContrastObjective, optimizer: RowOptimizer, config: Config
    ) -> None:
        self.model, self.objective, self.optimizer, self.config = model, objective, optimizer, config
        self.projections, train = list_projections(model), objective.train
        self.layout = make_layout(model, self.projections, len(train), config)
        if not self.lists_entities:
            self.layout = self.layout._replace(distinct=0)
        self.options = make_options(model, self.projections, config)
        self.buffers = make_buffers(self.layout, train.device)
        self.planned_steps = count_planned_batches(len(train), model.sizes.relations, config, train.device.type)
        self.rates = torch.zeros(self.planned_steps, 3, device=train.device)
        self.losses = torch.zeros(self.planned_steps, self.layout.batch, device=train.device)

    @torch.no_grad()
    def run(self, triples: Tensor, generator: torch.Generator) -> Tensor:
        """Update on at most the planned number of batches and return the loss of each, (S,).

        Args:
            triples: Indices of triples, sorted by relation inside each batch.
            generator: Generator of the negatives.
        """
        objective = self.objective
        corruption = draw_negatives(objective.sampler, self.config.negatives, triples, self.layout.batch, generator)
        supports = [p.support for _, p in self.projections if isinstance(p, ConceptProjection)]
        weights = torch.stack([objective.weights[triples], objective.factors[triples]])
        plan = make_plan(objective.train[triples], weights, corruption, supports, self.layout)
        steps = len(plan.step_sizes)
        self._set_rates(steps)
        self.losses.zero_()
        self.run_planned(plan, steps)
        self.optimizer.steps += steps
        return (self.losses[:steps] * plan.shares).sum(1)

    @abstractmethod
    def run_planned(self, plan: Plan, steps: int) -> None:
        """Run the first `steps` steps of a plan."""

    def _set_rates(self, steps: int) -> None:
        """Write the learning rate and Adam's bias corrections of the next steps."""
        numbers = self.optimizer.steps + 1 + torch.arange(steps, dtype=torch.float64, device="cpu")
        columns = [torch.full_like(numbers, self.optimizer.learning_rate), *(1 - beta**numbers for beta in MOMENTS)]
        self.rates[:steps] = torch.stack(columns, 1).float().to(self.rates.device)

    def with_states(self, name: str) -> tuple[Tensor, Tensor, Tensor]:
        """Return a parameter and its two optimizer states (the parameter itself in place of missing ones)."""
        parameter = self.model.get_parameter(name)
        states = [self.optimizer.state[f"{name}.{slot}"] for slot in self.optimizer.slots]
        first, second = [*states, parameter, parameter][:2]
        return parameter, first, second


def list_projections(model: QueryModel) -> Projections:
    """Return the names and projections of the sides that have matrices; one if both sides share theirs."""
    if not isinstance(model, Translation):
        return []
    named = [("project_head", model.project_head), ("project_tail", model.project_tail)]
    if model.project_tail is model.project_head:
        named = named[:1]
    return [(name, p) for name, p in named if isinstance(p, PROJECTIONS[1:])]


def make_layout(model: QueryModel, projections: Projections, triples: int, config: Config) -> Layout:
    """Return the sizes of a step."""
    mixing = next((p for _, p in projections if isinstance(p, ConceptProjection)), None)
    batch, negatives = min(config.training.batch_size, triples), config.negatives.per_triple
    slots, tile = min(model.sizes.relations, batch), 16 if negatives < 16 else 64
    rows, groups = count_rows(batch, slots, negatives, config.negatives.shared), len(projections) * slots
    tables = [p.concepts.flatten(1) if isinstance(p, ConceptProjection) else p.weight for _, p in projections]
    return Layout(
        entities=model.sizes.entities,
        batch=batch,
        negatives=negatives,
        shared=config.negatives.shared,
        slots=slots,
        rows=rows,
        distinct=min(rows, model.sizes.entities),
        projections=len(projections),
        groups=groups,
        tile=tile,
        tiles=rows // tile + groups,
        segment=8 * tile,
        segments=rows // (8 * tile) + groups,
        concepts=len(mixing.concepts) if mixing else 0,
        support_size=mixing.support.shape[1] if mixing else 0,
        dim=model.get_parameter("entities").shape[1],
        relation_dim=model.get_parameter("relations").shape[1],
        matrix_size=tables[0].shape[1] if tables else 0,
    )


def make_options(model: QueryModel, projections: Projections, config: Config) -> Options:
    """Return the settings of a step as numbers."""
    projection = projections[0][1] if projections else None
    kind = 0 if projection is None else 1
    if isinstance(projection, ConceptProjection):
        kind = 3 if projection.has_free_weights else 2
    assert model.operation is not None, "checked by can_fuse"
    return Options(
        projection=kind,
        operation=OPERATIONS[model.operation],
        comparison=COMPARISONS[model.compare],
        angle=float(getattr(model, "angle", 0.0)),
        entity_constraint=CONSTRAINTS[getattr(model.config, "entity_constraint", "none")],
        projected_constraint=CONSTRAINTS[getattr(model.config, "projected_constraint", "none")],
        optimizer=OPTIMIZERS[config.training.optimizer],
        adversarial=config.loss.name == "self_adversarial",
        margin=float(config.loss.margin),
        adversarial_temperature=float(config.loss.adversarial_temperature),
        attention_temperature=float(getattr(model.config, "temperature", 1.0)),
        matrix_lr_factor=float(getattr(model.config, "matrix_lr_factor", 1.0)),
        l1_weight=float(getattr(model.config, "l1_weight", 0.0)),
        l2_weight=float(config.regularizer.weight),
    )


def make_buffers(layout: Layout, device: torch.device) -> Buffers:
    """Allocate the intermediate results of a step."""

    def make(*shape: int) -> Tensor:
        return torch.zeros(shape, device=device)

    dim, groups, height = layout.dim, layout.groups, layout.matrix_size // layout.dim
    projected, shared = layout.rows if groups else 0, layout.batch if layout.shared else 0
    return Buffers(
        vectors=make(projected, dim),
        gradients=make(projected, dim),
        entity_gradients=make(layout.rows, dim),
        relation_gradients=make(layout.batch, layout.relation_dim),
        matrices=make(groups, height, dim),
        matrix_gradients=make(layout.segments if groups else 0, height, dim),
        attention=make(groups, layout.support_size),
        weight_gradients=make(groups, layout.support_size),
        targets=make(shared, dim),
        statistics=make(shared, 2),
    )


def record(step: Callable[[], object], warm_up: int) -> torch.cuda.CUDAGraph:
    """Run a step a few times, which compiles its kernels, and record another one, which does not run, as a CUDA graph.

    Its replay needs one launch. Other trainings may run on other streams of the device, in other threads. A stream
    chosen by torch could be one of theirs, whose work would be recorded instead of run; so the current stream records,
    unless it is the default one, which cannot record and beside which there are no others.
    """
    current, recording = torch.cuda.current_stream(), torch.cuda.CUDAGraph()
    is_default = current == torch.cuda.default_stream()
    own = torch.cuda.Stream() if is_default else current  # type: ignore[no-untyped-call]
    with _one_at_a_time:
        own.wait_stream(current)
        with torch.cuda.stream(own):
            for _ in range(warm_up):
                step()
        torch.cuda.synchronize()
        with torch.cuda.graph(recording, stream=own, capture_error_mode="thread_local"):
            step()
    return recording
