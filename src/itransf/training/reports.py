"""What an epoch brought, and how far training has come."""

from __future__ import annotations

from dataclasses import dataclass

from itransf.training.assignment import AssignmentReport


@dataclass(frozen=True)
class EpochReport:
    """What one epoch brought.

    Attributes:
        epoch: Its number, from one.
        loss: Mean loss of its batches.
        seconds: How long its updates took.
        metric: The validation metric, where it was looked at.
        is_best: Whether that metric is the best so far.
        assignment: What the choice of concepts did, where it ran.
    """

    epoch: int
    loss: float
    seconds: float
    metric: float | None = None
    is_best: bool = False
    assignment: AssignmentReport | None = None


@dataclass
class Progress:
    """How far training has come; everything here is plain numbers."""

    epoch: int = 0
    batches: int = 0
    loss_sum: float = 0.0
    steps: int = 0
    best_metric: float | None = None
    best_epoch: int = 0
    looks_since_best: int = 0
    seconds: float = 0.0
    finished: bool = False
    averaged: int = 0
