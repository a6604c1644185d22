"""Losses of triples beside corrupted copies; each returns one value per triple."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, relu, softplus

from itransf.config import LossConfig

ContrastLoss = Callable[[Tensor, Tensor], Tensor]


def hinge(positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """Return the mean over negatives of [margin + f(triple) - f(corrupted)]_+, f = -score (Eq. 2).

    Args:
        positive: Scores of the triples, (b,).
        negative: Scores of their corrupted copies, (b, n).
        margin: How far apart they should be.
    """
    return relu(margin - positive[:, None] + negative).mean(1)


def self_adversarial(positive: Tensor, negative: Tensor, margin: float, temperature: float) -> Tensor:
    """Return the logistic loss whose negatives weigh more the more plausible they look (Sun et al., 2019)."""
    weights = torch.softmax(negative.detach() * temperature, dim=1)
    return -(logsigmoid(margin + positive) + (weights * logsigmoid(-margin - negative)).sum(1)) / 2


def sampled_softmax(positive: Tensor, negative: Tensor, scale: float) -> Tensor:
    """Return the cross-entropy of the triple among itself and its corrupted copies."""
    others = torch.logsumexp(negative * scale if scale != 1.0 else negative, dim=1)
    return softplus(others - positive * scale)


def make_contrast_loss(config: LossConfig) -> ContrastLoss:
    """Return the configured loss as a function of positive (b,) and negative (b, n) scores."""
    if config.name == "hinge":
        return lambda positive, negative: hinge(positive, negative, config.margin)
    if config.name == "self_adversarial":
        return lambda positive, negative: self_adversarial(
            positive, negative, config.margin, config.adversarial_temperature
        )
    return lambda positive, negative: sampled_softmax(positive, negative, config.scale)
