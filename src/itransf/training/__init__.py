"""Training: negative sampling, losses, optimizers, the assignment of concepts, and the loop around them."""

from __future__ import annotations

from itransf.training.assignment import AssignmentReport
from itransf.training.trainer import EpochReport, Trainer

__all__ = ["AssignmentReport", "EpochReport", "Trainer"]
