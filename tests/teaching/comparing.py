"""Comparison of runs before and after something was learned."""

from __future__ import annotations

import torch

from itransf.run import Run
from itransf.training.trainer import weights


def same_but_for(old: Run, new: Run, added: set[str]) -> None:
    """Check that every tensor has its old bits, and one more row if it is in `added`."""
    before, after = weights(old.model), weights(new.model)
    assert before.keys() == after.keys()
    for name, tensor in after.items():
        assert len(tensor) == len(before[name]) + (name in added), name
        assert torch.equal(tensor[: len(before[name])], before[name]), name
        assert torch.isfinite(tensor.double()).all(), name
