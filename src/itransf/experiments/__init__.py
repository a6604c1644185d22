"""Experiments: whole studies in one call each, from data to tables and figures."""

from __future__ import annotations

from itransf.experiments import reproduction

__all__ = ["reproduction"]
