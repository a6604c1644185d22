"""The choice between plain steps and fused ones."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from torch import Tensor

from itransf.config import Config
from itransf.models.base import Model
from itransf.models.projection import ConceptProjection
from itransf.models.translation import Translation
from itransf.training.negatives import NegativeSampler
from itransf.training.optimizers import RowOptimizer

if TYPE_CHECKING:
    from itransf.training.fused.engine import FusedEngine


def make_engine(
    model: Model, train: Tensor, sampler: NegativeSampler, optimizer: RowOptimizer, config: Config
) -> FusedEngine | None:
    """Return the engine of fused steps, or None where plain ones are taken: on a CPU, or where no kernel fits."""
    if not train.is_cuda or find_spec("triton") is None:
        return None
    if not isinstance(model, Translation) or not can_fuse(model, config):
        return None
    from itransf.training.fused.engine import FusedEngine  # noqa: PLC0415 - triton is there only beside CUDA

    return FusedEngine(model, train, sampler, optimizer, config)


def can_fuse(model: Translation, config: Config) -> bool:
    """Tell whether this loss, penalty and attention have kernels."""
    projection = model.project_head
    free_weights = isinstance(projection, ConceptProjection) and projection.kind == "l1"
    return config.loss.kind in ("hinge", "adversarial") and not model.config.n3 and not free_weights
