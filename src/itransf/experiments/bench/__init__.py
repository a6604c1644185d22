"""How fast this machine trains and ranks, beside what it could do at best."""

from __future__ import annotations

from itransf.experiments.bench.records import write_record
from itransf.experiments.bench.running import run_bench

__all__ = ["run_bench", "write_record"]
