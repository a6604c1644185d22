"""The stored results: one JSON file for each job that was done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from itransf.config import Config, Layer, build_config
from itransf.errors import ConfigError, DataError
from itransf.experiments.reproduction.jobs import HARMLESS, Job
from itransf.files import write_text
from itransf.run.settings import flatten

Record = Mapping[str, Any]


class Results:
    """A folder of stored results.

    What was made with other settings than a preset has now is as good as missing: a page that names a preset must show
    what that preset gives.

    Args:
        folder: Where they lie.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def records(self) -> dict[str, Record]:
        """Everything stored, by key."""
        return {path.stem: _read(path) for path in sorted(self.folder.glob("*.json"))}

    def path(self, job: Job) -> Path:
        """Return where a job's result lies, or will."""
        return self.folder / f"{job.key}.json"

    def find(self, job: Job) -> Record | None:
        """Return a job's result, if there is one made with the settings of now."""
        record = self.records.get(job.key)
        return record if record is not None and not self.differences(job, record) else None

    def find_seeds(self, job: Job) -> list[Record]:
        """Return the results of a job with every seed there is, in the order of the seeds."""
        same = [record["seed"] for record in self.records.values() if record["row_key"] == job.row_key]
        found = (self.find(replace(job, seed=seed)) for seed in sorted(same))
        return [record for record in found if record is not None]

    def differences(self, job: Job, record: Record) -> list[str]:
        """Return the settings that a stored result was made with and that are others now."""
        if not job.preset:
            return []
        return list_differences(record["config"], job.resolve())

    def list_outdated(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the keys of results made with other settings than now, and what differs."""
        for key, record in self.records.items():
            try:
                found = self.differences(Job.read(record["job"]), record)
            except ConfigError as error:  # the preset is gone, or no longer goes with these settings
                found = [str(error).partition(".")[0]]
            if found:
                yield key, found

    def store(self, job: Job, record: Record) -> Path:
        """Write a job's result and remember it."""
        told = {"key": job.key, "row_key": job.row_key, "job": job.to_dict(), **record}
        path = self.path(job)
        write_text(path, write_parts(told))
        self.records[job.key] = _read(path)
        return path


def _read(path: Path) -> Record:
    try:
        record: Record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); remove it to measure again") from None
    missing = [key for key in ("key", "row_key", "job", "seed") if key not in record]
    if missing:
        raise DataError(f"{path}: is no result of 'itransf reproduce' (it holds no {missing[0]!r}); move it elsewhere")
    return {name: _spread(part) for name, part in record.items()}


def write_parts(record: Record) -> str:
    """Return a record as JSON, one line for each part."""
    lines = [f"{json.dumps(name)}: {_write_part(part)}" for name, part in record.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _write_part(part: Any) -> str:
    """Return a part of a record as JSON; a list of like objects as a table, which is half as long."""
    if isinstance(part, list) and part and all(isinstance(row, dict) and row.keys() == part[0].keys() for row in part):
        part = {"columns": list(part[0]), "rows": [list(row.values()) for row in part]}
    return json.dumps(part, allow_nan=False, separators=(",", ":"))


def _spread(part: Any) -> Any:
    """Return a table as a list of objects again, and anything else as it is."""
    if isinstance(part, dict) and part.keys() == {"columns", "rows"}:
        return [dict(zip(part["columns"], row, strict=True)) for row in part["rows"]]
    return part


def list_differences(then: Mapping[str, Any], now: Config) -> list[str]:
    """Return the settings of a training that are others now, in words.

    Args:
        then: What `Config.to_dict` returned.
        now: The settings of now.
    """
    before, after = flatten(then), flatten(now.to_dict())
    # A setting that came later stands for what was done before it came.
    usual = flatten(_fill_defaults(then["model"]["name"]))
    return sorted(
        f"{key}: {before.get(key, usual.get(key))!r} then, {value!r} now"
        for key, value in after.items()
        if not key.startswith(HARMLESS) and before.get(key, usual.get(key)) != value
    )


def _fill_defaults(model: str) -> dict[str, Any]:
    return build_config([Layer("defaults", {"model": {"name": model}})]).to_dict()
