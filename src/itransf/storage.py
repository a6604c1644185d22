"""The run folder, written so that it holds the old run or the new one at every instant.

run.json                   identity and results of the run, and the checksums of its files (see `itransf.records`)
config.toml                every setting
vocabulary.json            names and labels of entities and relations
graph.safetensors          train, valid and test triples as numbers, and their weights and types if there are some
history.jsonl              one line per epoch
checkpoint-N.safetensors   state of training (weights, optimizer, random state); the last two while training
model.safetensors          weights of a finished run
concepts.json              names that a person gave to concepts, if any
calibration.json           from scores to probabilities, if there are enough validation triples
.lock                      held while the folder is written
seed-N/                    in the folder of an ensemble, which has only run.json and calibration.json: the run
                           of each seed

A file is first staged under a hidden name that holds its checksum. The commit writes run.json, which decides what
belongs to the run; then staged files get their names, and files of an earlier state are removed. A process that dies
before the commit changes nothing; after it, readers find files under either name, and the next writer cleans up. Other
files in the folder are not touched.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from itransf.config import Config, build_config, check_trusted, format_toml, parse_layer
from itransf.data import SPLITS, Graph, Integers, SplitRule, Types, Vocabulary, Weights
from itransf.errors import CheckpointError, ConfigError, DataError, RunError, WriteError
from itransf.files import Checksum, lock, make_folder, replacing, reporting
from itransf.prediction.calibration import Calibration
from itransf.records import (
    FILE,
    LARGEST,
    WEIGHTS,
    Manifest,
    RunRecord,
    changed,
    check_object,
    damaged,
    is_count,
    is_number,
    is_text,
    is_texts,
    name_member,
    parse_json,
    read_manifest,
    write_manifest,
)

CONFIG, NAMES, TRIPLES, HISTORY = "config.toml", "vocabulary.json", "graph.safetensors", "history.jsonl"
CONCEPTS, CALIBRATION, LOCK = "concepts.json", "calibration.json", ".lock"
_CHECKPOINT = re.compile(r"checkpoint(?:-(\d{1,9}))?\.safetensors")
_FIXED = {CONFIG, NAMES, TRIPLES, HISTORY, WEIGHTS, CONCEPTS, CALIBRATION}
_HIDDEN = re.compile(r"\.(.+)\.[^.]+\.(?:tmp|new)")  # temporary and staged files
_WEIGHTED, _WEIGHTS = "weighted", "weights"  # tensors of the triples that have weights
_MEMBERS, _SIDES = "types", "sides"  # tensors of given types
_KEPT = 2  # checkpoints during training
T = TypeVar("T")
_LOG = logging.getLogger("itransf.storage")


class RunFolder:
    """A folder that holds a run, or could: its state, and reading and writing its files.

    Args:
        path: Path of the folder.
        manifest: Checksums to read the files by, instead of those in run.json.
    """

    def __init__(self, path: Path, manifest: Manifest | None = None) -> None:
        self.path = path
        self._manifest = manifest  # given, or that of a new run before its first commit
        self._staged: dict[str, Checksum] = {}
        self._dropped: set[str] = set()

    # State

    @property
    def is_occupied(self) -> bool:
        """Whether the folder holds anything but the files of a run that was never committed."""
        if not self.path.is_dir():
            return self.path.exists()
        return (self.path / FILE).exists() or any(not self._is_rest(entry.name) for entry in self.path.iterdir())

    @property
    def is_replaceable(self) -> bool:
        """Whether the folder is free, or holds a run, readable or not."""
        return (self.path / FILE).is_file() or not self.is_occupied

    def read_manifest(self) -> Manifest:
        """Return the record of the run and the checksums of its files."""
        return self._manifest or read_manifest(self.path)

    @property
    def _holds_run(self) -> bool:
        return self._manifest is not None or (self.path / FILE).exists()

    @property
    def files(self) -> Collection[str]:
        """The names of the committed files of the run; none if the folder is free.

        Raises:
            CheckpointError: run.json is damaged.
        """
        return self.read_manifest().files if self._holds_run else ()

    @property
    def checkpoints(self) -> list[str]:
        """The names of the checkpoints of the run, the last one first."""
        found = [name for name in self.files if _CHECKPOINT.fullmatch(name)]
        return sorted(found, key=_number, reverse=True)

    @property
    def members(self) -> list[Path]:
        """The folders of the runs of an ensemble, by seed, trained or not; none for another run."""
        if not self._holds_run:
            return []
        record = self.read_record()
        return [self.path / name_member(record.seed + number) for number in range(len(record.members))]

    def open_members(self) -> list[RunFolder]:
        """Return the folders of the runs of an ensemble; none for another run.

        Raises:
            RunError: The training has not ended, a member is missing, or another run is in its place.
        """
        found, ids = [], self.read_record().members
        if "" in ids:
            raise RunError(
                f"{self.path}: the training of this ensemble has not ended; continue it with 'itransf train ... "
                f"--seeds {len(ids)} --resume', or give a member that is trained, such as {self.members[0]}"
            )
        for path, own in zip(self.members, ids, strict=True):
            record = RunFolder(path).read_record() if (path / FILE).is_file() else None
            if record is None or record.members or record.id != own:
                state = "is missing" if record is None else "is another run"
                raise RunError(
                    f"{self.path}: its member {path.name} {state}; restore it, train it with 'itransf train ... "
                    f"--seeds {len(ids)} --resume', or give the folder of another member"
                )
            found.append(RunFolder(path))
        return found

    def check_free(self, overwrite: bool) -> None:
        """Check that a new run can be written here, if need be over another run.

        Raises:
            RunError: A run is here and may not be overwritten, or something else is.
        """
        if self.is_occupied and not (overwrite and self.is_replaceable):
            raise self.refuse()

    def refuse(self) -> RunError:
        """Return the error for a folder in which no new run can be started, with what can be done instead."""
        if not self.is_replaceable:
            return RunError(f"{self.path}: is not a run and is not overwritten; choose another folder or remove it")
        try:
            found = "a run; resume it (--resume, resume=True)," if self.checkpoints else "a run without a checkpoint;"
            if self.members:
                found = "an ensemble; resume it (--seeds N --resume, seeds=N, resume=True),"
        except CheckpointError:
            found = "a run that cannot be read;"
        return RunError(
            f"{self.path}: already holds {found} overwrite it (--overwrite, overwrite=True) or choose another folder"
        )

    @staticmethod
    def _is_own(name: str) -> bool:
        """Return whether a file has a name that a run may have, staged or not."""
        hidden = _HIDDEN.fullmatch(name)
        plain = hidden[1] if hidden else name
        return plain in _FIXED or plain == FILE or _CHECKPOINT.fullmatch(plain) is not None

    def _is_rest(self, name: str) -> bool:
        """Return whether a file may come from a process that died before its first commit."""
        return name == LOCK or (name.startswith(".") and self._is_own(name))

    # Writing

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other writers out of the folder while the block runs, and clean up after one that died.

        Raises:
            RunError: Another process is writing to it.
        """
        if self.path.exists() and not self.path.is_dir():
            raise self.refuse()
        make_folder(self.path)
        try:
            with lock(self.path / LOCK) as is_ours:
                if not is_ours:
                    raise RunError(f"{self.path}: another training is using it; wait, or choose another folder")
                with suppress(CheckpointError):  # a run that cannot be read is left as it is
                    self._settle()
                yield
        finally:
            with suppress(OSError):  # it is not empty
                self.path.rmdir()

    @contextmanager
    def replaced(self, overwrite: bool) -> Iterator[None]:
        """Let the block write a new run, which replaces an existing one with its first commit.

        Raises:
            RunError: A run is here and may not be overwritten, or something else is.
        """
        self.check_free(overwrite)
        try:
            yield
        finally:
            self._discard()

    def create(self, graph: Graph, config: Config, record: RunRecord | None = None) -> None:
        """Stage the files of a new run that do not change during training; the first commit replaces any other run."""
        make_folder(self.path)
        self._manifest = Manifest(record or RunRecord.new(graph, config))
        self.stage_names(graph)
        arrays: dict[str, Any] = {split: graph.split(split) for split in SPLITS}
        if graph.weights is not None:
            arrays |= {_WEIGHTED: graph.weights.triples, _WEIGHTS: graph.weights.values}
        if graph.types is not None:
            arrays |= {_MEMBERS: graph.types.members, _SIDES: graph.types.sides}
        # Copies: weights may be given for the very array of triples, and a file cannot hold the same memory twice.
        tensors = {name: torch.from_numpy(np.array(array, order="C")) for name, array in arrays.items()}
        self.stage_tensors(TRIPLES, tensors, {} if graph.rule is None else {"rule": asdict(graph.rule)})
        self.stage_config(config)

    def commit(self, record: RunRecord | None = None, drop: Collection[str] = ()) -> None:
        """Make what was staged part of the run.

        Args:
            record: New content of run.json; by default it keeps its own.
            drop: Names of files that do not belong to the run any more.
        """
        present = self.read_manifest()
        replaced = self._find_members() if self._manifest is not None else []
        kept = {name: checksum for name, checksum in present.files.items() if name not in {*drop, *self._dropped}}
        write_manifest(self.path, Manifest(record or present.record, {**kept, **self._staged}))
        self._staged, self._dropped, self._manifest = {}, set(), None
        self._settle()
        for member in replaced:  # of an ensemble that was here before
            if member.is_replaceable:
                member._empty()

    def _settle(self) -> None:
        """Give the files of the last commit their names, and remove those that are not part of the run."""
        is_run = (self.path / FILE).exists()
        files = read_manifest(self.path).files if is_run else {}
        with reporting(f"{self.path} cannot be replaced", "choose another folder"):
            for name, checksum in files.items():
                with suppress(FileNotFoundError):
                    self._staged_path(name, checksum).replace(self.path / name)
            for entry in list(self.path.iterdir()):
                # Without run.json, files with plain names belong to somebody else.
                is_superfluous = self._is_own(entry.name) if is_run else self._is_rest(entry.name)
                if is_superfluous and entry.name not in {*files, FILE, LOCK}:
                    entry.unlink()

    def _discard(self) -> None:
        """Remove what was staged but not committed."""
        for name, checksum in self._staged.items():
            with suppress(OSError):
                self._staged_path(name, checksum).unlink()
        self._staged, self._dropped, self._manifest = {}, set(), None

    def clear(self) -> None:
        """Remove the run, with its members if it is an ensemble.

        Raises:
            RunError: The folder holds something else.
        """
        folders = [*self._find_members(), self]
        for folder in folders:
            folder.check_free(overwrite=True)
        for folder in folders:
            folder._empty()

    def _find_members(self) -> list[RunFolder]:
        """Return the folders of the members of the ensemble that is on disk; none if it cannot be read."""
        with suppress(CheckpointError):
            return list(map(RunFolder, RunFolder(self.path).members))
        return []

    def _empty(self) -> None:
        """Remove the files of the run, run.json last: what is left of the run can be replaced until it is gone."""
        if not self.path.is_dir():
            return
        with reporting(f"{self.path} cannot be replaced", "choose another folder"):
            for entry in sorted(self.path.iterdir(), key=lambda entry: entry.name == FILE):
                if self._is_own(entry.name):
                    entry.unlink()
        with suppress(OSError):  # it is not empty
            self.path.rmdir()

    def _staged_path(self, name: str, checksum: Checksum) -> Path:
        """Return where a file waits for the commit, and until it gets its name."""
        return self.path / f".{name}.{checksum.size}-{checksum.crc32}.new"

    def _stage(self, name: str, write: Callable[[Path], object]) -> None:
        """Write a file that the next commit makes part of the run."""

        def rename(temporary: Path) -> Path:
            self._staged[name] = Checksum.of_file(temporary)
            return self._staged_path(name, self._staged[name])

        with replacing(self.path / name, rename) as temporary:
            write(temporary)

    def _stage_text(self, name: str, text: str) -> None:
        self._stage(name, lambda path: path.write_text(text, encoding="utf-8"))

    def stage_config(self, config: Config) -> None:
        """Stage the settings."""
        self._stage_text(CONFIG, format_toml(config.to_dict()))

    def stage_names(self, graph: Graph) -> None:
        """Stage the names of entities and relations, and their labels."""
        vocabulary = {
            "entities": graph.entities.names,
            "relations": graph.relations.names,
            "labels": dict(graph.entities.labels),
            "relation_labels": dict(graph.relations.labels),
        }
        self._stage_text(NAMES, json.dumps(vocabulary, ensure_ascii=False))

    def stage_tensors(self, name: str, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Stage tensors and plain values in one file."""
        plain = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
        try:
            self._stage(name, lambda path: safetensors.torch.save_file(plain, path, {"meta": json.dumps(meta)}))
        except SafetensorError as error:  # raised when the disk is full
            raise WriteError(f"{self.path / name} cannot be written: {error}; choose another place") from None

    def stage_history(self, entries: list[dict[str, Any]]) -> None:
        """Stage the history, one JSON object per line."""
        self._stage_text(HISTORY, "".join(json.dumps(entry) + "\n" for entry in entries))

    def stage_concept_names(self, names: Mapping[int, str]) -> None:
        """Stage the names that a person gave to concepts; without any, there is no such file."""
        content = {"names": {str(concept): names[concept] for concept in sorted(names)}}
        self._stage_json(CONCEPTS, content if names else None, indent=2)

    def stage_calibration(self, calibration: Calibration | None) -> None:
        """Stage the calibration; without one, there is no such file."""
        self._stage_json(CALIBRATION, None if calibration is None else calibration.to_dict(), indent=1)

    def _stage_json(self, name: str, content: Mapping[str, Any] | None, indent: int) -> None:
        """Stage a JSON object; without one, the next commit drops the file."""
        if content is None:
            self._dropped.add(name)
        else:
            self._stage_text(name, json.dumps(content, indent=indent, ensure_ascii=False) + "\n")

    def write_checkpoint(self, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Commit a checkpoint with its history; it replaces the weights of an earlier end and old checkpoints."""
        before = self.checkpoints
        self.stage_tensors(f"checkpoint-{_number(before[0]) + 1 if before else 1}.safetensors", tensors, meta)
        self.stage_history(meta["history"])
        self.commit(drop=[*before[_KEPT - 1 :], WEIGHTS, CALIBRATION])

    def measure(self) -> dict[str, Checksum]:
        """Return the checksums of the files as they are now."""
        return {
            entry.name: Checksum.of_file(entry)
            for entry in self.path.iterdir()
            if self._is_own(entry.name) and not entry.name.startswith(".") and entry.name != FILE
        }

    # Reading

    def verify(self, names: Collection[str] | None = None) -> None:
        """Compare files with their checksums.

        Args:
            names: Names of files; by default all files of the run and, if it is an ensemble, of its members.

        Raises:
            CheckpointError: A file has changed or is missing.
        """
        for name in self.files if names is None else names:
            self._read(name, lambda path: None)
        for member in self.open_members() if names is None else ():
            member.verify()

    def _read(self, name: str, read: Callable[[Path], T]) -> T:
        """Return what a function reads from a file of the run that matches its checksum."""
        expected = self.read_manifest().files.get(name)
        if expected is None:
            raise CheckpointError(f"{self.path / name}: is not part of the run; the run is not complete")
        for path in (self._staged_path(name, expected), self.path / name):  # it may get its name meanwhile
            try:
                if Checksum.of_file(path) != expected:
                    raise changed(self.path / name)
                return read(path)
            except FileNotFoundError:
                continue
            except (OSError, RuntimeError, SafetensorError) as error:
                if path.exists():
                    raise damaged(self.path / name, f"cannot be read ({error})") from None
        raise CheckpointError(f"{self.path / name}: is missing; restore it or train again")

    def _read_json(self, name: str, keys: Mapping[str, Callable[[Any], bool]]) -> dict[str, Any]:
        """Read a JSON object whose values pass these tests."""
        path = self.path / name
        return check_object(parse_json(self._read(name, Path.read_bytes), path), keys, path)

    def read_record(self) -> RunRecord:
        """Read the identity and the results of the run."""
        return self.read_manifest().record

    def read_config(self) -> Config:
        """Read the settings; code from outside the package is imported only if it is installed or was named."""
        try:
            layer = parse_layer(self._read(CONFIG, Path.read_bytes), self.path / CONFIG)
            check_trusted(layer, str(self.path))
            return build_config([layer])
        except ConfigError as error:
            raise CheckpointError(f"{error} (in the config of the run)") from None

    def read_begun(self) -> Config | None:
        """Read the settings of the run, or of the first member of an ensemble, that has a checkpoint; None without."""
        folders = [self, *map(RunFolder, self.members)]
        return next((each.read_config() for each in folders if each.checkpoints), None)

    def read_graph(self) -> Graph:
        """Read the graph that the run was trained on."""
        entities, relations = self._read_names()
        tensors, meta = self.read_tensors(TRIPLES)
        path, record, given = self.path / TRIPLES, self.read_record(), dict[str, Any]()
        try:
            rule = SplitRule(**meta["rule"]) if "rule" in meta else None
        except (DataError, TypeError) as error:
            raise damaged(path, f"has no rule of its split ({error})") from None

        def check(name: str, *columns: tuple[str, int]) -> Integers:
            return _check_rows(tensors.get(name), name, columns, path)

        ends = ("entity", len(entities))
        triple = (ends, ("relation", len(relations)), ends)
        if _WEIGHTS in tensors:
            weighted, weights = check(_WEIGHTED, *triple), tensors[_WEIGHTS]
            is_right = weights.dtype == torch.float64 and weights.shape == (len(weighted),)
            if not is_right or not ((weights >= 0) & weights.isfinite()).all():
                raise damaged(path, f"has no {_WEIGHTS} of its {len(weighted):,} weighted triples")
            given["weights"] = Weights(weighted, weights.numpy())
        if _MEMBERS in tensors:
            kind = ("type", LARGEST)
            given["types"] = Types(check(_MEMBERS, ends, kind), check(_SIDES, ("side", 2 * len(relations)), kind))
        train, valid, test = (check(split, *triple) for split in SPLITS)
        return Graph(record.graph, entities, relations, train, valid, test, record.notes, rule, **given)

    def _read_names(self) -> tuple[Vocabulary, Vocabulary]:
        """Read the names of entities and relations, and their labels."""
        keys = {"entities": _is_names, "relations": _is_names, "labels": is_texts, "relation_labels": is_texts}
        names = self._read_json(NAMES, keys)
        try:
            return (
                Vocabulary(names["entities"], names["labels"], kind="entity"),
                Vocabulary(names["relations"], names["relation_labels"], kind="relation"),
            )
        except DataError as error:
            raise damaged(self.path / NAMES, str(error).partition(";")[0]) from None

    def read_tensors(self, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Read tensors and the values written with them."""
        tensors, written = self._read(name, _read_safetensors)
        return tensors, check_object(parse_json(written.encode(), self.path / name), {}, self.path / name)

    def read_checkpoint(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Read the last checkpoint, or the one before it if the last one is damaged.

        Raises:
            CheckpointError: There is none, or none that can be read.
        """
        first: CheckpointError | None = None
        for name in self.checkpoints:
            try:
                tensors, meta = self.read_tensors(name)
                check_object(meta, _META, self.path / name)
                check_history(meta["history"], self.path / name)
            except CheckpointError as error:
                first = first or error
                continue
            if first is not None:
                _LOG.warning("%s. The checkpoint before it is used: epoch %s.", first, meta["progress"].get("epoch"))
            return tensors, meta
        raise first or CheckpointError(f"{self.path}: has no checkpoint; train again")

    def read_history(self) -> list[dict[str, Any]]:
        """Read the history."""
        if HISTORY not in self.files:
            return []
        path = self.path / HISTORY
        entries = [parse_json(line, path) for line in self._read(HISTORY, Path.read_bytes).splitlines()]
        return check_history(entries, path)

    def read_concept_names(self) -> dict[int, str]:
        """Read the names of concepts, by number."""
        if CONCEPTS not in self.files:
            return {}
        names = self._read_json(CONCEPTS, {"names": _are_concepts})["names"]
        return {int(key): name for key, name in names.items()}

    def read_calibration(self, relations: int) -> Calibration | None:
        """Read the calibration, if there is one, of a graph with this many relations."""
        if CALIBRATION not in self.files:
            return None
        content = self._read_json(CALIBRATION, {})
        try:
            found = Calibration.from_dict(content)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(self.path / CALIBRATION, f"is no calibration ({error})") from None
        if not len(found.slopes) == len(found.offsets) <= 2 * relations:
            raise damaged(self.path / CALIBRATION, "is the calibration of another graph")
        return found


_EPOCH: dict[str, Callable[[Any], bool]] = {
    "phase": is_text,
    "epoch": is_count,
    "loss": is_number,
    "seconds": lambda value: is_number(value) and value >= 0,
}
_META: dict[str, Callable[[Any], bool]] = {
    "phase": is_text,
    "progress": lambda value: isinstance(value, dict),
    "limits": lambda value: isinstance(value, list) and all(map(is_number, value)),
    "history": lambda value: isinstance(value, list),
}


def check_history(entries: list[Any], path: Path) -> list[dict[str, Any]]:
    """Return the lines of a history if each is an epoch.

    Raises:
        CheckpointError: One is not; the message names its line.
    """
    for line, entry in enumerate(entries, start=1):
        where = f"{path}, line {line}"
        check_object(entry, _EPOCH, where)
        if entry.get("best"):
            check_object(entry, {"metric": is_number}, where)
    return entries


def _check_rows(tensor: Tensor | None, name: str, columns: Sequence[tuple[str, int]], path: Path) -> Integers:
    """Return rows of numbers, (n, c); each column has a kind, and the limit that its numbers are below."""
    if tensor is None or tensor.dtype not in (torch.int32, torch.int64) or tensor.shape[1:] != (len(columns),):
        raise damaged(path, f"has no table {name!r}")
    rows: Integers = tensor.numpy().astype(np.int64, copy=False)
    for column, (kind, limit) in zip(rows.T, columns, strict=True):
        wrong = column[(column < 0) | (column >= limit)]
        if len(wrong):
            raise damaged(path, f"has {kind} {wrong[0]} in {name!r}, but there are only {limit:,}")
    return rows


def _read_safetensors(path: Path) -> tuple[dict[str, Tensor], str]:
    """Read tensors, and the text that was written with them."""
    with safe_open(path, "pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
        return tensors, (file.metadata() or {}).get("meta", "{}")


def _is_names(value: Any) -> bool:
    """Return whether a value is a list of texts, none of them empty."""
    return isinstance(value, list) and all(is_text(name) and name for name in value)


def _are_concepts(value: Any) -> bool:
    """Return whether a value is an object of texts whose keys are numbers."""
    return is_texts(value) and all(re.fullmatch(r"\d{1,9}", key) for key in value)


def _number(checkpoint: str) -> int:
    """Return the number in the name of a checkpoint."""
    found = _CHECKPOINT.fullmatch(checkpoint)
    return int(found[1] or 0) if found else 0
