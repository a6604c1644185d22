"""Stored results: one JSON file for each job."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from itransf.config import Config, Layer, build_config
from itransf.errors import ConfigError, DataError
from itransf.files import write_text
from itransf.run.settings import flatten
from reproduction.jobs import HARMLESS, Job

Record = Mapping[str, Any]


class Results:
    """A folder of stored results.

    A result made with other settings than its preset has now counts as missing.

    Args:
        folder: Place of the JSON files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def records(self) -> dict[str, Record]:
        """All results by key."""
        return {path.stem: _read(path) for path in sorted(self.folder.glob("*.json"))}

    def find(self, job: Job) -> Record | None:
        """Return the result of a job, None if there is none with the present settings."""
        record = self.records.get(job.key)
        return record if record is not None and not list_differences(job, record) else None

    def find_seeds(self, job: Job) -> list[Record]:
        """Return the results of a job with all seeds, in the order of the seeds."""
        key = job.row_key
        seeds = sorted(record["seed"] for record in self.records.values() if record["row_key"] == key)
        found = (self.find(replace(job, seed=seed)) for seed in seeds)
        return [record for record in found if record is not None]

    def list_outdated(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the keys of results made with other settings than now, and what differs."""
        for key, record in self.records.items():
            try:
                found = list_differences(Job.read(record["job"]), record)
            except ConfigError as error:  # the preset or a setting no longer exists
                found = [str(error).partition(".")[0]]
            if found:
                yield key, found

    def store(self, job: Job, record: Record) -> Path:
        """Write the result of a job and keep it in memory."""
        path = self.folder / f"{job.key}.json"
        write_text(path, write_parts({"key": job.key, "row_key": job.row_key, "job": job.to_dict(), **record}))
        self.records[job.key] = _read(path)
        return path


def list_differences(job: Job, record: Record) -> list[str]:
    """Return the settings of a stored result that have changed since."""
    return compare_settings(record["config"], job.resolve()) if job.preset else []


def compare_settings(then: Mapping[str, Any], now: Config) -> list[str]:
    """Return the settings that differ between a stored configuration and a present one.

    Args:
        then: Result of `Config.to_dict`. A setting it lacks was added later and counts as the default.
        now: The present settings; those without effect on this model are not compared.
    """
    before, after = _list_defaults(then["model"]["name"]) | flatten(then), flatten(now.to_dict())
    return sorted(
        f"{key}: {before.get(key)!r} then, {value!r} now"
        for key, value in after.items()
        if not key.startswith(_list_idle(now)) and before.get(key) != value
    )


def _list_idle(config: Config) -> tuple[str, ...]:
    """Return how settings begin that have no effect on the result."""
    idle = [*HARMLESS]
    idle += [] if config.has_assignment else ["assignment."]
    idle += ["model.matrix_lr_factor"] if config.name == "transe" else []
    idle += [] if config.regularizer.weight else ["regularizer.name"]
    return tuple(idle)


@cache
def _list_defaults(model: str) -> dict[str, Any]:
    return flatten(build_config([Layer("defaults", {"model": {"name": model}})]).to_dict())


def _read(path: Path) -> Record:
    try:
        record: Record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); delete it to measure again") from None
    missing = [key for key in ("key", "row_key", "job", "seed") if key not in record]
    if missing:
        raise DataError(f"{path}: not a result of 'python -m reproduction' (no {missing[0]!r}); move it elsewhere")
    return {name: _spread(part) for name, part in record.items()}


def write_parts(record: Record) -> str:
    """Return a record as JSON, one line for each part."""
    lines = [f"{json.dumps(name)}: {_write_part(part)}" for name, part in record.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _write_part(part: Any) -> str:
    """Return a part of a record as JSON; a list of like objects becomes a table, which is half as long."""
    if isinstance(part, list) and part and all(isinstance(row, dict) and row.keys() == part[0].keys() for row in part):
        part = {"columns": list(part[0]), "rows": [list(row.values()) for row in part]}
    return json.dumps(part, allow_nan=False, separators=(",", ":"))


def _spread(part: Any) -> Any:
    """Return a table as a list of objects, and anything else unchanged."""
    if isinstance(part, dict) and part.keys() == {"columns", "rows"}:
        return [dict(zip(part["columns"], row, strict=True)) for row in part["rows"]]
    return part
