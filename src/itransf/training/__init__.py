"""Learning: negatives, losses, optimisers, the choice of concepts, and the loop around them."""

from __future__ import annotations

from itransf.training.assignment import AssignmentReport
from itransf.training.reports import EpochReport
from itransf.training.trainer import Trainer

__all__ = ["AssignmentReport", "EpochReport", "Trainer"]
