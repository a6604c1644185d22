"""Experiments: whole studies in one call each, from data to tables and figures."""

from __future__ import annotations

from itransf.experiments import reproduction
from itransf.experiments.bench import run_bench, write_record
from itransf.experiments.demo import DemoResult, run_demo

__all__ = ["DemoResult", "reproduction", "run_bench", "run_demo", "write_record"]
