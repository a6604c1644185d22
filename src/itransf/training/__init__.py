"""Training: negative sampling, losses, optimizers, the assignment of concepts, and the loop around them."""

from itransf.training.trainer import EpochReport as EpochReport
from itransf.training.trainer import Trainer as Trainer
