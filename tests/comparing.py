"""Comparison of runs by their weights."""

from __future__ import annotations

import torch

from itransf.run import Run
from itransf.training.trainer import weights


def same_weights(left: Run, right: Run) -> bool:
    """Return whether two runs have the same bits, wherever their tensors are."""
    others = weights(right.model)
    return all(torch.equal(tensor.cpu(), others[name].cpu()) for name, tensor in weights(left.model).items())


def same_but_for(old: Run, new: Run, added: set[str]) -> None:
    """Check that every tensor has its old bits, and one more row if it is in `added`."""
    before, after = weights(old.model), weights(new.model)
    assert before.keys() == after.keys()
    for name, tensor in after.items():
        own = tensor[:-1] if name in added else tensor
        assert torch.equal(own, before[name]), name
        assert torch.isfinite(tensor.double()).all(), name
