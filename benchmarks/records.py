"""Where records of measurements lie, and how those of this folder are started."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from itransf.experiments.bench import records

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"


def start_record(benchmark: str, seed: int, config: Mapping[str, Any], packages: Iterable[str]) -> dict[str, Any]:
    """Return a record that says everything but the figures.

    Args:
        benchmark: The module's name under `benchmarks`.
        seed: Of everything random.
        config: The options, all written out, by the names of the command line.
        packages: Whose versions matter, beside python and this package.
    """
    return records.start_record(benchmark, ("python", "-m", f"benchmarks.{benchmark}"), seed, config, packages)


def read_records(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Return the stored records of benchmarks by name."""
    found = {}
    for path in sorted(folder.glob("benchmark-*.json")):
        found[path.stem.removeprefix("benchmark-")] = json.loads(path.read_text(encoding="utf-8"))
    return found
