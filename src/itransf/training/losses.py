"""Losses and regularizers.

A loss is a function of the scores of triples (b,), the scores of their negatives (b, n) and the settings, which returns
one value per triple. A loss with the attribute `one_vs_all = True` gets the scores of all entities, or of candidates
that the batch shares, instead of sampled negatives. A regularizer is a function of the factors that a model returns.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, relu, softplus

from itransf.config import LossConfig
from itransf.registry import LOSSES

ContrastLoss = Callable[[Tensor, Tensor], Tensor]


def hinge(positive: Tensor, negative: Tensor, config: LossConfig) -> Tensor:
    """Return the mean over negatives of [margin + f(triple) - f(negative)]_+, f = -score (the paper's Eq. 2)."""
    return relu(config.margin - positive[:, None] + negative).mean(1)


def self_adversarial(positive: Tensor, negative: Tensor, config: LossConfig) -> Tensor:
    """Return the logistic loss in which plausible negatives weigh more (Sun et al., 2019)."""
    margin = config.margin
    weights = torch.softmax(negative.detach() * config.adversarial_temperature, dim=1)
    return -(logsigmoid(margin + positive) + (weights * logsigmoid(-margin - negative)).sum(1)) / 2


def cross_entropy(positive: Tensor, negative: Tensor, config: LossConfig) -> Tensor:
    """Return the cross-entropy of the triple among itself and its negatives."""
    scale = config.scale
    others = torch.logsumexp(negative * scale if scale != 1.0 else negative, dim=1)
    return softplus(others - positive * scale)


cross_entropy.one_vs_all = True  # type: ignore[attr-defined]


def make_contrast_loss(config: LossConfig) -> ContrastLoss:
    """Return the configured loss as a function of positive (b,) and negative (b, n) scores."""
    return partial(LOSSES[config.name], config=config)


def n3(factors: Sequence[Tensor]) -> Tensor:
    """Return the nuclear 3-norm regularizer (Lacroix et al., 2018): the mean over triples of summed cubes."""
    return torch.stack([factor.abs().pow(3).sum(1).mean() for factor in factors]).sum()


def l2(factors: Sequence[Tensor]) -> Tensor:
    """Return the mean over triples of summed squares."""
    return torch.stack([factor.square().sum(1).mean() for factor in factors]).sum()


def l1(factors: Sequence[Tensor]) -> Tensor:
    """Return the mean over triples of summed absolute values."""
    return torch.stack([factor.abs().sum(1).mean() for factor in factors]).sum()
