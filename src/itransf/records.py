"""What a run folder knows of itself: run.json, read and written without loading the model.

run.json holds the identity and the results of a run, and the checksums of its other files. It is written last, so that
it decides which files belong to the run, and it ends with a checksum of itself.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itransf import __version__
from itransf.config import Config, list_named
from itransf.errors import CheckpointError, RunError
from itransf.files import Checksum, write_text
from itransf.registry import BY_SETTING

if TYPE_CHECKING:
    from itransf.data.graph import Graph

FORMAT = 2
READERS = {1: "0.1"}  # the version of itransf that reads runs of an older format
FILE = "run.json"
WEIGHTS = "model.safetensors"
FINISHED, UNFINISHED, DAMAGED = "finished", "unfinished", "damaged"
LOWER_IS_BETTER = {"mr"}
_LISTS = ("notes", "members", "lineage")
_LATER: dict[str, Any] = {"members": [], "lineage": [], "final": False}  # what only some runs have
LARGEST = 10**15  # of any number in the files of a run
_NAME = re.compile(r"[a-z]+(-\d{1,9})?\.(json|jsonl|toml|safetensors)")  # of a file of a run


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
        members: Identifiers of the runs of an ensemble, whose seeds are `seed`, `seed` + 1 and so on; empty texts until
            all are trained.
        final: Whether the run was trained on all triples; its metrics are then those of its parent.
        lineage: Updates that led to this run, the first one first: the run before, when, and what changed.
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
    members: tuple[str, ...] = ()
    final: bool = False
    lineage: tuple[Mapping[str, Any], ...] = ()

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
            notes=tuple(str(note) for note in graph.notes),
            plugins=list_plugins(config),
        )

    def with_history(self, history: Iterable[Mapping[str, Any]], metric: str) -> RunRecord:
        """Return the record with the time and the best validation of these epochs."""
        epochs = list(history)
        best = next((epoch for epoch in reversed(epochs) if epoch.get("best")), None)
        metrics = {split: values for split, values in self.metrics.items() if split != "valid" or self.final}
        if best is not None and not self.final:
            metrics["valid"] = {"phase": best["phase"], "epoch": best["epoch"], metric: best["metric"]}
        return replace(self, seconds=sum(epoch["seconds"] for epoch in epochs), metrics=metrics)

    @property
    def validation(self) -> tuple[str, float] | None:
        """The name and value of the metric that chose the weights."""
        found = {key: value for key, value in self.metrics.get("valid", {}).items() if key not in ("phase", "epoch")}
        return next(iter(found.items()), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as a dictionary for JSON."""
        lists = {key: list(getattr(self, key)) for key in _LISTS}
        return {key: value for key, value in {**asdict(self), **lists}.items() if key not in _LATER or value}


@dataclass(frozen=True)
class Manifest:
    """The content of run.json.

    Attributes:
        record: Identity and results of the run.
        files: Checksums of its files by name.
        commit: Unique identifier of this state of the folder.
    """

    record: RunRecord
    files: Mapping[str, Checksum] = field(default_factory=dict)
    commit: str = field(default_factory=lambda: uuid.uuid4().hex, compare=False)


def list_plugins(config: Config) -> dict[str, str]:
    """Return the source of everything in the settings that is not built in."""
    found = {key: BY_SETTING[key].source(name) for key, name in list_named(config.to_dict()).items()}
    return {key: source for key, source in found.items() if source is not None}


def hash_graph(graph: Graph) -> str:
    """Return the SHA-256 of a graph's names, triples and weights; labels do not count."""
    digest = hashlib.sha256()
    for names in (graph.entities.names, graph.relations.names):
        digest.update(json.dumps(list(names)).encode())
    for triples in (graph.train, graph.valid, graph.test):
        digest.update(f"{triples.shape}".encode())
        digest.update(triples.astype("<i8", order="C").tobytes())
        if graph.weights is not None:
            digest.update(graph.weights.of(triples).astype("<f8").tobytes())
    for pairs in () if graph.types is None else (graph.types.members, graph.types.sides):
        digest.update(pairs.astype("<i8", order="C").tobytes())
    return digest.hexdigest()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write run.json, the file that makes a folder a run."""
    files = {name: checksum._asdict() for name, checksum in sorted(manifest.files.items())}
    content = {"format": FORMAT, **manifest.record.to_dict(), "files": files, "commit": manifest.commit}
    write_text(folder / FILE, format_sealed(content))


def read_manifest(folder: Path, sealed: bool = True) -> Manifest:
    """Read run.json.

    Args:
        folder: Run folder.
        sealed: Whether to refuse a file that does not match its own checksum.

    Raises:
        RunError: The folder does not hold a run.
        CheckpointError: The file is damaged, or the run has another format.
    """
    path = folder / FILE
    if not path.is_file():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise RunError(f"{folder}: is not a run folder (it has no {FILE}); give one that 'itransf train' made")
        raise RunError(f"{folder}: there is no such run; 'itransf train DATA --out {folder}' makes one")
    raw = read_bytes(path)
    content = check_object(parse_json(raw, path), {"format": is_count}, path)
    written = content["format"]
    if written != FORMAT:
        reader = f"itransf {READERS[written]}" if written in READERS else "a newer version of itransf"
        raise CheckpointError(f"{path}: has format {written}, which {reader} reads; this version reads {FORMAT}")
    check_object({**_LATER, **content}, _MANIFEST, path)
    unsealed = {key: value for key, value in content.items() if key != "checksum"}
    if sealed and raw != format_sealed(unsealed).encode():
        raise changed(path)
    known = {entry.name for entry in fields(RunRecord)}
    lists = {key: tuple(content.get(key, ())) for key in _LISTS}
    record = RunRecord(**{key: value for key, value in {**content, **lists}.items() if key in known})
    files = {name: Checksum(**check_object(entry, _CHECKSUM, path)) for name, entry in content["files"].items()}
    return Manifest(record, files, content["commit"])


def format_sealed(content: Mapping[str, Any]) -> str:
    """Return the text of run.json, with a checksum of the rest at its end."""
    checksum = Checksum.of(json.dumps(content).encode()).crc32
    return json.dumps({**content, "checksum": checksum}, indent=2, ensure_ascii=False) + "\n"


def read_bytes(path: Path) -> bytes:
    """Read a file of a run."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path}: is missing; restore it or train again") from None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from None


def parse_json(raw: bytes, path: Path) -> Any:
    """Parse JSON that is well-formed in the strictest sense: no key twice, no NaN, no half characters, no deep nesting.

    Raises:
        CheckpointError: It is not.
    """
    try:
        content = json.loads(raw.decode(), object_pairs_hook=_refuse_twice, parse_constant=_refuse_constant)
        if b"\\u" in raw:
            json.dumps(content, ensure_ascii=False).encode()  # refuses lone surrogates
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"is not valid JSON ({error})") from None
    return content


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key is there twice")
    return content


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def check_object(content: Any, keys: Mapping[str, Callable[[Any], bool]], path: Path | str) -> dict[str, Any]:
    """Return a JSON object whose values pass these tests.

    Raises:
        CheckpointError: A value is missing or does not pass; the message names its key.
    """
    if not isinstance(content, dict):
        raise damaged(path, "does not hold a JSON object")
    for key, is_right in keys.items():
        if key not in content:
            raise damaged(path, f"has no {key!r}")
        if not is_right(content[key]):
            raise damaged(path, f"has a wrong value for {key!r}")
    return content


def is_text(value: Any) -> bool:
    """Return whether a value is text."""
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number of sensible size."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def is_count(value: Any) -> bool:
    """Return whether a value is a whole number, not negative, of sensible size."""
    return is_number(value) and isinstance(value, int) and value >= 0


def is_texts(value: Any) -> bool:
    """Return whether a value is an object of texts."""
    return isinstance(value, dict) and all(map(is_text, value.values()))


def _is_metrics(value: Any) -> bool:
    """Return whether a value has an object of plain values for each split, with one number at least for "valid"."""
    if not isinstance(value, dict) or not all(isinstance(part, dict) for part in value.values()):
        return False
    plain = all(item is None or is_text(item) or is_number(item) for part in value.values() for item in part.values())
    best = [item for key, item in value.get("valid", {"metric": 0.0}).items() if key not in ("phase", "epoch")]
    return plain and len(best) == 1 and is_number(best[0])


def _is_step(value: Any) -> bool:
    """Return whether a value is an object of texts and counts."""
    return isinstance(value, dict) and all(is_text(part) or is_count(part) for part in value.values())


_MANIFEST: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("id", "created", "version", "graph", "data_hash", "model", "commit", "checksum"), is_text),
    "seed": lambda value: isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**64,
    "parent": lambda value: value is None or is_text(value),
    "seconds": is_number,
    "metrics": _is_metrics,
    **dict.fromkeys(("notes", "members"), lambda value: isinstance(value, list) and all(map(is_text, value))),
    "lineage": lambda value: isinstance(value, list) and all(map(_is_step, value)),
    "plugins": is_texts,
    "final": lambda value: isinstance(value, bool),
    "files": lambda value: isinstance(value, dict) and all(map(_NAME.fullmatch, value)),
}
_CHECKSUM: dict[str, Callable[[Any], bool]] = {
    "size": is_count,
    "crc32": lambda value: is_text(value) and re.fullmatch("[0-9a-f]{8}", value) is not None,
}


def damaged(path: Path | str, fault: str) -> CheckpointError:
    """Return the error for a file that cannot be used."""
    return CheckpointError(f"{path}: {fault}; the run is damaged, restore the file or train again")


def changed(path: Path) -> CheckpointError:
    """Return the error for a file that does not match its checksum."""
    return CheckpointError(
        f"{path}: does not match its checksum, so it is damaged or was edited; restore it or train again, "
        f"or accept an edit of yours with 'itransf seal {path.parent}'"
    )


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
            found.append((path, read_manifest(path).record))
        except CheckpointError as error:
            faults.append(str(error))
    return sorted(found, key=lambda run: _rank(run[1])), faults


def judge_state(folder: Path, wanted: str = "") -> str:
    """Return whether a run is "finished", "unfinished" or "damaged", as far as run.json and sizes of files tell.

    Args:
        folder: Run folder.
        wanted: Identifier that the run must have as a member of an ensemble.
    """
    try:
        manifest = read_manifest(folder)
    except CheckpointError:
        return DAMAGED
    record = manifest.record
    for name, checksum in manifest.files.items():
        places = [folder / name, *folder.glob(f".{name}.*.new")]  # before it gets its name
        if checksum.size not in [place.stat().st_size for place in places if place.is_file()]:
            return DAMAGED
    if wanted and (record.members or record.id != wanted):
        return DAMAGED
    if "" in record.members:
        return UNFINISHED
    numbered = enumerate(record.members, start=record.seed)
    states = {judge_state(folder / name_member(seed), member) for seed, member in numbered}
    if not states:
        states = {FINISHED if WEIGHTS in manifest.files else UNFINISHED}
    return next(state for state in (DAMAGED, UNFINISHED, FINISHED) if state in states)


def name_member(seed: int) -> str:
    """Return the name of the folder of a member of an ensemble."""
    return f"seed-{seed}"


def _rank(record: RunRecord) -> tuple[Any, ...]:
    """Return the sorting key of a run: its graph, then its validation metric, best first."""
    if record.validation is None:
        return record.graph, True, "", 0.0
    metric, value = record.validation
    return record.graph, False, metric, value if metric in LOWER_IS_BETTER else -value
