"""Records of measurements: what was run, on what, with which versions, and all that came out."""

from __future__ import annotations

import json
import shlex
import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from itransf.experiments.bench.hardware import describe_commit, describe_hardware, describe_versions
from itransf.files import write_text


def start_record(
    benchmark: str, program: Sequence[str], seed: int, config: Mapping[str, Any], packages: Iterable[str]
) -> dict[str, Any]:
    """Return a record that says everything but the figures.

    Args:
        benchmark: What it is called.
        program: The words that start it.
        seed: Of everything random.
        config: The options, all written out, by the names of the command line.
        packages: Whose versions matter, beside python and this package.
    """
    return {
        "benchmark": benchmark,
        "command": format_command(program, config),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "config": dict(config),
        "git": describe_commit(),
        "hardware": describe_hardware(),
        "versions": describe_versions(packages),
    }


def format_command(program: Sequence[str], config: Mapping[str, Any]) -> str:
    """Return the command that measures the same again, every option written out."""
    words = list(program)
    for name, value in config.items():
        if isinstance(value, bool):
            words += [f"--{name.replace('_', '-')}"] if value else []
        else:
            values = value if isinstance(value, list | tuple) else [value]
            words += [f"--{name.replace('_', '-')}", *map(str, values)]
    return shlex.join(words)


def summarise(values: Sequence[float]) -> dict[str, float]:
    """Return median and extremes."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def write_record(record: Mapping[str, Any], path: Path) -> None:
    """Write a record as readable JSON."""
    write_text(path, json.dumps(record, indent=2, allow_nan=False) + "\n")
