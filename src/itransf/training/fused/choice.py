"""The choice between plain and fused steps."""

from importlib.util import find_spec
from typing import Protocol

import torch
from torch import Tensor

from itransf.config import Config
from itransf.models import DistMult, Model, Translation
from itransf.models.base import QueryModel
from itransf.training.fused.bilinear import BilinearEngine, has_bilinear_steps
from itransf.training.fused.engine import OPTIMIZERS, PROJECTIONS, FusedEngine
from itransf.training.objectives import CandidateObjective, ContrastObjective, Objective
from itransf.training.optimizers import RowOptimizer

TABLES = {"entities", "relations"}
LOSSES = ("hinge", "self_adversarial")
SAMPLERS = ("uniform", "bernoulli")
COMPILERS = {"cuda": "triton", "cpu": "numba"}


class Engine(Protocol):
    """Runs many steps at once."""

    def run(self, triples: Tensor, generator: torch.Generator) -> Tensor:
        """Update on the batches of these triples, sorted by relation inside each, and return their losses, (S,)."""
        ...


def make_engine(model: Model, objective: Objective, optimizer: RowOptimizer, config: Config) -> Engine | None:
    """Return the engine of fast steps, or None if there is no compiler or no fast step for this training."""
    if has_bilinear_steps(model, optimizer, config):
        assert isinstance(model, DistMult)
        assert isinstance(objective, CandidateObjective)
        return BilinearEngine(model, objective, optimizer, config)
    if not can_fuse(model, config):
        return None
    assert isinstance(model, QueryModel)
    assert isinstance(objective, ContrastObjective)
    kind = load_engine(objective.train.device.type)
    if kind is None or not kind.has_kernels(model):
        return None
    if config.negatives.shared and not kind.shares_negatives:
        return None
    return kind(model, objective, optimizer, config)


def load_engine(device: str) -> type[FusedEngine] | None:
    """Return the engine of a kind of device, or None if its compiler is not installed."""
    if find_spec(COMPILERS.get(device, "")) is None:
        return None
    # Compilers are optional and slow to import: import only the one that is used.
    if device == "cuda":
        from itransf.training.fused.gpu import GPUEngine  # noqa: PLC0415

        return GPUEngine
    from itransf.training.fused.cpu import CPUEngine  # noqa: PLC0415

    return CPUEngine


def lacks_compiler(model: Model, config: Config, device: str) -> bool:
    """Return whether the steps of this training would be fused if the compiler for the device were installed."""
    is_left_out = device == "cpu" and (config.negatives.shared or getattr(model, "dropout", 0) > 0)  # see CPUEngine
    return find_spec(COMPILERS[device]) is None and can_fuse(model, config) and not is_left_out


def can_fuse(model: Model, config: Config) -> bool:
    """Return whether kernels may compute exactly what the plain steps of this training do.

    A model class declares `fused = True` in its own body; a subclass, which may score differently, does not inherit it.
    Each engine has kernels for some operations only (`FusedEngine.has_kernels`).
    """
    if not vars(type(model)).get("fused", False) or not isinstance(model, QueryModel):
        return False
    has_l2 = config.regularizer.name == "l2" and type(model).factors is Translation.factors
    return (
        has_known_projections(model)
        and model.is_random == (model.dropout > 0)  # no other part of a score is random
        and type(model).learning_rate_factor in (Model.learning_rate_factor, Translation.learning_rate_factor)
        and all(parameter.dtype == torch.float32 for parameter in model.parameters())
        and (not config.regularizer.weight or has_l2)
        and config.loss.name in LOSSES
        and config.negatives.sampler in SAMPLERS
        and config.training.optimizer in OPTIMIZERS
    )


def has_known_projections(model: QueryModel) -> bool:
    """Return whether both projections are of one kind that has kernels, or the model has none and two tables alone."""
    if not isinstance(model, Translation):
        return {name for name, _ in model.named_parameters()} == TABLES
    kinds = {type(model.project_head), type(model.project_tail)}
    return len(kinds) == 1 and kinds <= set(PROJECTIONS)
