"""The paper, live: every table and figure from trainings that anyone can repeat."""

from __future__ import annotations

from itransf.experiments.reproduction.drawing import write_picture
from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.page import write_page
from itransf.experiments.reproduction.reproducing import list_stages, reproduce
from itransf.experiments.reproduction.workshop import Workshop

__all__ = ["Scope", "Workshop", "list_stages", "reproduce", "write_page", "write_picture"]
