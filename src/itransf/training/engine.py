"""The choice between plain steps and fused ones."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from itransf.config import Config
from itransf.models.base import Model
from itransf.models.translation import Translation
from itransf.training.negatives import NegativeSampler
from itransf.training.optimizers import RowOptimizer

if TYPE_CHECKING:
    from itransf.training.fused.engine import FusedEngine

COMPILERS = {"cuda": "triton", "cpu": "numba"}


def make_engine(
    model: Model, train: Tensor, sampler: NegativeSampler, optimizer: RowOptimizer, config: Config
) -> FusedEngine | None:
    """Return the engine of fused steps, or None where plain ones are taken: no compiler, or no kernel that fits."""
    if find_spec(COMPILERS.get(train.device.type, "")) is None or not can_fuse(model, config):
        return None
    if config.negatives.shared and not train.is_cuda:
        return None
    assert isinstance(model, Translation)
    # Compilers are extras, and slow to import: only the one that is used.
    if train.is_cuda:
        from itransf.training.fused.gpu import RecordedEngine  # noqa: PLC0415

        return RecordedEngine(model, train, sampler, optimizer, config)
    from itransf.training.fused.cpu import CompiledEngine  # noqa: PLC0415

    return CompiledEngine(model, train, sampler, optimizer, config)


def can_fuse(model: Model, config: Config) -> bool:
    """Tell whether this model, loss and penalty have kernels."""
    if not isinstance(model, Translation) or model.entities.dtype != torch.float32:
        return False
    return config.loss.name in ("hinge", "self_adversarial") and not model.config.n3
