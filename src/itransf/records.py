"""What a run folder knows of itself: run.json, read and written without loading the model."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itransf import __version__
from itransf.errors import CheckpointError, RunError
from itransf.files import write_text
from itransf.registry import BY_SETTING

if TYPE_CHECKING:
    from itransf.config import Config
    from itransf.data.graph import Graph

FORMAT = 2
READERS = {1: "0.1"}  # the version of itransf that reads runs of an older format
FILE = "run.json"
LOWER_IS_BETTER = {"mr"}


@dataclass(frozen=True)
class RunRecord:
    """The identity and the results of a run.

    Attributes:
        id: Unique identifier; a copy of a run keeps it.
        created: Date and time at which the run started (ISO 8601, UTC).
        version: Version of itransf that made the run.
        graph: Name of the graph.
        data_hash: SHA-256 of the names and triples of the graph.
        model: Name of the model.
        seed: Random seed.
        parent: Identifier of the run that this one was derived from by learning, editing or re-fitting, if any.
        seconds: Training time so far.
        metrics: Final metrics by split: the best validation ("valid") and, if measured after training, "test".
        notes: Remarks about the graph.
        plugins: Where a model, loss or the like from outside the package comes from, by setting.
    """

    id: str
    created: str
    version: str
    graph: str
    data_hash: str
    model: str
    seed: int
    parent: str | None = None
    seconds: float = 0.0
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    plugins: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def new(cls, graph: Graph, config: Config, parent: str | None = None) -> RunRecord:
        """Return the record of a run that starts now."""
        return cls(
            id=str(uuid.uuid4()),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            version=__version__,
            graph=graph.name,
            data_hash=hash_graph(graph),
            model=config.name,
            seed=config.seed,
            parent=parent,
            notes=graph.notes,
            plugins=list_plugins(config),
        )

    def with_history(self, history: Iterable[Mapping[str, Any]], metric: str) -> RunRecord:
        """Return the record with the time and the best validation of these epochs."""
        epochs = list(history)
        best = next((epoch for epoch in reversed(epochs) if epoch.get("best")), None)
        metrics = {split: values for split, values in self.metrics.items() if split != "valid"}
        if best is not None:
            metrics["valid"] = {"phase": best["phase"], "epoch": best["epoch"], metric: best["metric"]}
        return replace(self, seconds=sum(epoch["seconds"] for epoch in epochs), metrics=metrics)

    @property
    def validation(self) -> tuple[str, float] | None:
        """The name and value of the metric that chose the weights."""
        found = {key: value for key, value in self.metrics.get("valid", {}).items() if key not in ("phase", "epoch")}
        return next(iter(found.items()), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as a dictionary for JSON."""
        return {**asdict(self), "notes": list(self.notes)}


def list_plugins(config: Config) -> dict[str, str]:
    """Return the source of everything in the settings that is not built in."""
    content = config.to_dict()
    found = {key: registry.source(content[(at := key.split("."))[0]][at[1]]) for key, registry in BY_SETTING.items()}
    return {key: source for key, source in found.items() if source is not None}


def hash_graph(graph: Graph) -> str:
    """Return the SHA-256 of a graph's names and triples; labels do not count."""
    digest = hashlib.sha256()
    for names in (graph.entities.names, graph.relations.names):
        digest.update(json.dumps(list(names)).encode())
    for triples in (graph.train, graph.valid, graph.test):
        digest.update(f"{triples.shape}".encode())
        digest.update(triples.astype("<i8", order="C").tobytes())
    return digest.hexdigest()


def write_record(folder: Path, record: RunRecord) -> None:
    """Write run.json, the file that makes a folder a run."""
    content = {"format": FORMAT, **record.to_dict()}
    write_text(folder / FILE, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_record(folder: Path) -> RunRecord:
    """Read run.json.

    Raises:
        RunError: The folder does not hold a run.
        CheckpointError: The file is damaged, or the run has another format.
    """
    path = folder / FILE
    if not path.is_file():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise RunError(f"{folder}: is not a run folder (it has no {FILE}); give one that 'itransf train' made")
        raise RunError(f"{folder}: there is no such run; 'itransf train DATA --out {folder}' makes one")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        written = content["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: cannot be read ({error}); the run is damaged") from None
    if written != FORMAT:
        reader = f"itransf {READERS[written]}" if written in READERS else "a newer version of itransf"
        raise CheckpointError(f"{path}: has format {written!r}, which {reader} reads; this version reads {FORMAT}")
    known = {entry.name for entry in fields(RunRecord)}
    try:
        record = RunRecord(**{key: value for key, value in content.items() if key in known})
        return _check_types(replace(record, notes=tuple(record.notes)))
    except TypeError as error:
        raise CheckpointError(f"{path}: {error}; the run is damaged") from None


def _check_types(record: RunRecord) -> RunRecord:
    """Refuse values of other types than a record has."""
    texts = (record.id, record.created, record.version, record.graph, record.data_hash, record.model, *record.notes)
    wrong: list[object] = [text for text in texts if not isinstance(text, str)]
    wrong += [] if isinstance(record.metrics, Mapping) else [record.metrics]
    wrong += [number for number in (record.seconds, record.seed) if not isinstance(number, int | float)]
    if wrong:
        raise TypeError(f"{wrong[0]!r} has a wrong type")
    return record


def find_runs(folder: Path) -> tuple[list[tuple[Path, RunRecord]], list[str]]:
    """Return all runs at or below a folder, best first for each graph, and why others cannot be read.

    Runs are ordered by the metric that chose their weights; runs without validation come last.

    Raises:
        RunError: There is no such folder.
    """
    if not folder.is_dir():
        raise RunError(f"{folder}: there is no such folder")
    found, faults = [], []
    for path in sorted(file.parent for file in folder.rglob(FILE) if not file.parent.name.startswith(".")):
        try:
            found.append((path, read_record(path)))
        except CheckpointError as error:
            faults.append(str(error))
    return sorted(found, key=lambda run: _rank(run[1])), faults


def _rank(record: RunRecord) -> tuple[Any, ...]:
    """Return the sorting key of a run: its graph, then its validation metric, best first."""
    if record.validation is None:
        return record.graph, True, "", 0.0
    metric, value = record.validation
    return record.graph, False, metric, value if metric in LOWER_IS_BETTER else -value
