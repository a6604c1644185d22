"""Experiments: the tables and figures that `experiments.toml` describes, as rows and jobs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from itransf.errors import ConfigError, did_you_mean
from reproduction.jobs import QUICK, QUICK_GRAPHS, Job

HERE = Path(__file__).parent
QUICK_CODING = (f"atoms={QUICK['model.concepts']}", f"nonzeros={QUICK['model.support_size']}")


@dataclass(frozen=True)
class Scope:
    """How much to train.

    Attributes:
        quick: Minutes on small bundled graphs instead of the published ones.
        seeds: Seeds of each training; if empty, as many as the experiment needs.
        settings: Overrides such as "training.epochs=5" for every training.
    """

    quick: bool = False
    seeds: tuple[int, ...] = ()
    settings: tuple[str, ...] = ()


WHOLE = Scope()


@dataclass(frozen=True)
class Row:
    """A row of a table: one job, repeated with several seeds.

    Attributes:
        label: First cell.
        preset: Settings to start from; empty where nothing is trained.
        dataset: Name of the graph; that of the preset if not given.
        set: Overrides of the preset.
        method: Key of `methods.METHODS`.
        options: Arguments of the method.
        paper: Numbers that the paper prints: "mr", "hits@10" (in percent), "seconds" per epoch, counts of a graph.
        tick: Label on the horizontal axis of a curve.
        quick: Whether a quick version has this row.
        seed: The only seed to show, if not all.
    """

    label: str
    preset: str = ""
    dataset: str = ""
    set: tuple[str, ...] = ()
    method: str = "train"
    options: tuple[str, ...] = ()
    paper: Mapping[str, float] | None = None
    tick: str = ""
    quick: bool = True
    seed: int | None = None

    def make_job(self, scope: Scope = WHOLE) -> Job:
        """Return the job with seed 0."""
        dataset = self.dataset or self.preset.partition("/")[0]
        settings, options = self.set, self.options
        if scope.quick:
            dataset = QUICK_GRAPHS.get(dataset, dataset)
            settings = tuple(each for each in settings if not _is_cut(each))
            options = QUICK_CODING if options else ()
        settings = (*settings, *scope.settings) if self.preset else ()
        return Job(dataset, self.preset, settings, 0, self.method, options, scope.quick)


def _is_cut(setting: str) -> bool:
    key = setting.partition("=")[0]
    return key in QUICK and key != "model.concepts"


@dataclass(frozen=True)
class Table:
    """What a table shows.

    Attributes:
        title: Line above it.
        rows: Its jobs.
        columns: Keys of `tables.COLUMNS`.
        kind: "rows" for one line per row; otherwise a key of `tables.KINDS`.
        baseline: Label of the row that others are compared with.
        rule: Key of `tables.RULES` that marks rows.
        mark: Cell of a marked row.
        statements: What the paper says of two relation sides, for the kind "overlaps".
    """

    title: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...] = ()
    kind: str = "rows"
    baseline: str = ""
    rule: str = ""
    mark: str = ""
    statements: tuple[Mapping[str, Any], ...] = ()

    def list_rows(self, scope: Scope) -> list[Row]:
        """Return the rows, without those that train the same as an earlier row."""
        found: dict[Any, Row] = {}
        for row in self.rows:
            job = row.make_job(scope)
            ranked = job.method in ("train", "validate")
            same = (job.dataset, ranked or job.method, job.resolve() if job.preset else "")
            if row.quick or not scope.quick:
                found.setdefault(same if self.kind == "rows" else row.label, row)
        return list(found.values())


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes:
        name: File name without ending.
        kind: Key of `figures.KINDS`.
        caption: Sentence below it.
        tables: Titles of the tables it shows.
        row: Label of the row it shows, for the kind "attention".
        scaled: Whether weights are shown as shares of the largest of their side.
        words: What weights, columns and colours are called, for the kind "attention".
    """

    name: str
    kind: str
    caption: str
    tables: tuple[str, ...]
    row: str = ""
    scaled: bool = False
    words: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    Attributes:
        name: Word on the command line.
        title: Heading.
        tables: What it shows.
        pictures: What it draws.
        seeds: Number of seeds of each training.
        timing: Whether the time of an epoch is measured too.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...] = ()
    seeds: int = 1
    timing: bool = False

    def list_jobs(self, scope: Scope) -> list[Job]:
        """Return all jobs; those without training first, then all jobs of one seed before those of the next."""
        jobs = [row.make_job(scope) for table in self.tables for row in table.list_rows(scope)]
        measured, trained = ([job for job in jobs if bool(job.preset) == wanted] for wanted in (False, True))
        seeds = scope.seeds or range(self.seeds)
        timed = [job.timing for job in trained] if self.timing else []
        return list(dict.fromkeys([*measured, *(replace(job, seed=seed) for seed in seeds for job in trained), *timed]))

    def find_table(self, title: str) -> Table:
        """Return the table with this title."""
        return next(table for table in self.tables if table.title == title)


@cache
def read_experiments() -> dict[str, Experiment]:
    """Return all experiments by name, in the order in which they are run and shown."""
    content = read_toml("experiments.toml")
    variants = content.pop("variants")
    return {name: _read_experiment(name, each, variants) for name, each in content.items()}


@cache
def read_toml(name: str) -> dict[str, Any]:
    """Return the content of a file of this folder."""
    return tomllib.loads((HERE / name).read_text(encoding="utf-8"))


def find_experiments(name: str) -> list[Experiment]:
    """Return the experiment of this name, or all of them for "all".

    Raises:
        ConfigError: There is no such experiment.
    """
    known = read_experiments()
    name = name.replace("-", "_")
    if name == "all":
        return list(known.values())
    if name not in known:
        words = (*known, "all", "render")
        hint = did_you_mean(name, words) or f" There are: {', '.join(words)}."
        raise ConfigError(f"there is no experiment {name!r}.{hint}")
    return [known[name]]


def _read_experiment(name: str, content: Mapping[str, Any], variants: Mapping[str, Any]) -> Experiment:
    columns = tuple(content.get("columns", ()))
    tables = tuple(_read_table({"columns": columns, **each}, variants) for each in content["tables"])
    pictures = tuple(Picture(**{**each, "tables": tuple(each["tables"])}) for each in content.get("pictures", ()))
    rest = {key: value for key, value in content.items() if key in ("title", "seeds", "timing")}
    return Experiment(name=name, tables=tables, pictures=pictures, **rest)


def _read_table(content: dict[str, Any], variants: Mapping[str, Any]) -> Table:
    """Return a table; `preset`, `method` and `set` hold for all its rows, `variants` names a list of rows."""
    shared = {key: content.pop(key) for key in ("preset", "method") if key in content}
    added = tuple(content.pop("set", ()))
    named = [{"label": label, "set": each} for label, each in variants[content.pop("variants", "none")].items()]
    rows = [{**shared, **each} for each in (*content.pop("rows", ()), *named)]
    made = (Row(**{**each, "set": (*each.get("set", ()), *added), "options": tuple(each.get("options", ()))})
            for each in rows)  # fmt: skip
    content["columns"], content["statements"] = tuple(content["columns"]), tuple(content.get("statements", ()))
    return Table(rows=tuple(made), **content)
