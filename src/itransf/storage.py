"""The run folder, written so that a crash never leaves half a file.

run.json                identity and results of the run (see `itransf.records`)
config.toml             every setting
vocabulary.json         names and labels of entities and relations
graph.safetensors       train, valid and test triples as numbers
history.jsonl           one line per epoch
checkpoint.safetensors  state of training (weights, optimizer, random state)
model.safetensors       weights of a finished run
concepts.json           names that a person gave to concepts, if any
.replaced/              a run that is being overwritten, until the new one has weights
.lock                   held while a training works in the folder

Other files in the folder are not touched.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from itransf.config import Config, build_config, check_trusted, format_toml, read_layer
from itransf.data.graph import SPLITS, Graph, Triples
from itransf.data.vocabulary import Vocabulary
from itransf.errors import CheckpointError, ConfigError, DataError, RunError, WriteError
from itransf.files import lock, make_folder, replacing, write_text
from itransf.records import FILE, RunRecord, read_record, write_record

WEIGHTS = "model.safetensors"
CHECKPOINT = "checkpoint.safetensors"
CONCEPTS = "concepts.json"
BEGINNING = ("vocabulary.json", "graph.safetensors", "config.toml", FILE)  # in the order in which they are written
OWN = (*BEGINNING, "history.jsonl", CHECKPOINT, WEIGHTS, CONCEPTS)
TEMPORARY = tuple(f".{name}." for name in OWN)
LOCK, ASIDE = ".lock", ".replaced"
EPOCH: dict[str, type | tuple[type, ...]] = {"phase": str, "epoch": int, "loss": (int, float), "seconds": (int, float)}


class RunFolder:
    """A folder that holds a run, or could: its state, and reading and writing its files."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def is_occupied(self) -> bool:
        """Whether the path exists and is not an empty folder."""
        if not self.path.is_dir():
            return self.path.exists()
        return any(entry.name != LOCK for entry in self.path.iterdir())

    @property
    def has_checkpoint(self) -> bool:
        """Whether training can be resumed from here."""
        return (self.path / FILE).is_file() and (self.path / CHECKPOINT).is_file()

    @property
    def has_weights(self) -> bool:
        """Whether a run is here that can be opened or resumed."""
        return self.has_checkpoint or (self.path / WEIGHTS).is_file()

    @property
    def is_barely_begun(self) -> bool:
        """Whether nothing is here, or only what is written before training."""
        if not self.is_occupied:
            return True
        if not self.path.is_dir():
            return False
        names = {entry.name for entry in self.path.iterdir()} - {LOCK}
        written = {name for name in names if not name.startswith(TEMPORARY)}
        # The names are written first: a config.toml alone belongs to somebody else.
        return written <= {*BEGINNING} and (not written or BEGINNING[0] in written)

    @property
    def is_replaceable(self) -> bool:
        """Whether the folder is free, or holds a run or the rest of one."""
        return (self.path / FILE).is_file() or (self.path / ASIDE).is_dir() or self.is_barely_begun

    def refuse(self) -> RunError:
        """Return the error for a folder in which no new run can be started, with what can be done instead."""
        if not self.is_replaceable:
            return RunError(f"{self.path}: is not a run and is not overwritten; choose another folder or remove it")
        can_resume = self.has_checkpoint or self.is_barely_begun
        found = "a run; resume it (--resume, resume=True)," if can_resume else "a run without a checkpoint;"
        return RunError(
            f"{self.path}: already holds {found} overwrite it (--overwrite, overwrite=True) or choose another folder"
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other trainings out of the folder while the block runs.

        Raises:
            RunError: Another training is using it.
        """
        if self.path.exists() and not self.path.is_dir():
            raise self.refuse()
        make_folder(self.path)
        try:
            with lock(self.path / LOCK) as is_ours:
                if not is_ours:
                    raise RunError(f"{self.path}: another training is using it; wait, or choose another folder")
                yield
        finally:
            with suppress(OSError):  # it is not empty
                self.path.rmdir()

    @contextmanager
    def replaced(self, overwrite: bool) -> Iterator[None]:
        """Make room for a new run, which the block writes.

        An existing run is refused unless it may be overwritten, and is restored if the block fails before the new one
        has weights or a checkpoint.
        """
        if self.is_occupied and (not overwrite or not self.is_replaceable):
            raise self.refuse()
        self._set_aside()
        try:
            yield
        except BaseException:
            if not self.has_weights:
                self._restore()
            raise
        finally:
            shutil.rmtree(self.path / ASIDE, ignore_errors=True)

    def _list_own(self) -> list[Path]:
        """Return the files of the run, including temporary ones."""
        entries = self.path.iterdir() if self.path.is_dir() else ()
        return [entry for entry in entries if entry.name in OWN or entry.name.startswith(TEMPORARY)]

    def _set_aside(self) -> None:
        """Move a usable run into a subfolder; without one, a run set aside by a process that died stays there."""
        aside, is_usable = self.path / ASIDE, self.has_weights
        with self._reporting_failure():
            if is_usable:
                shutil.rmtree(aside, ignore_errors=True)
                aside.mkdir()
            for file in self._list_own():
                if is_usable:
                    file.replace(aside / file.name)
                else:
                    file.unlink()

    def _restore(self) -> None:
        """Restore the run that was set aside."""
        for file in self._list_own():
            file.unlink()
        if (self.path / ASIDE).is_dir():
            for file in (self.path / ASIDE).iterdir():
                file.replace(self.path / file.name)

    def clear(self) -> None:
        """Remove the run.

        Raises:
            RunError: The folder holds something else.
        """
        if not self.is_occupied:
            return
        if not self.is_replaceable:
            raise self.refuse()
        with self._reporting_failure():
            for file in self._list_own():
                file.unlink()
            shutil.rmtree(self.path / ASIDE, ignore_errors=True)
        with suppress(OSError):  # it is not empty
            self.path.rmdir()

    @contextmanager
    def _reporting_failure(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise WriteError(f"{self.path} cannot be replaced: {error.strerror}; choose another folder") from None

    def remove(self, name: str) -> None:
        """Remove one file, if it exists."""
        (self.path / name).unlink(missing_ok=True)

    def create(self, graph: Graph, config: Config, record: RunRecord | None = None) -> None:
        """Write the files that do not change during training."""
        make_folder(self.path)
        self.write_names(graph)
        splits = {split: torch.from_numpy(np.ascontiguousarray(graph.split(split))) for split in SPLITS}
        self.write_tensors("graph.safetensors", splits, {})
        self.write_config(config)
        self.write_record(record or RunRecord.new(graph, config))

    def write_record(self, record: RunRecord) -> None:
        """Write run.json, the file that makes the folder a run."""
        write_record(self.path, record)

    def read_record(self) -> RunRecord:
        """Read run.json; see `itransf.records.read_record`."""
        return read_record(self.path)

    def write_config(self, config: Config) -> None:
        """Write the settings."""
        write_text(self.path / "config.toml", format_toml(config.to_dict()))

    def read_config(self) -> Config:
        """Read the settings; code from outside the package is imported only if it is installed or was named."""
        try:
            layer = read_layer(self.path / "config.toml")
            check_trusted(layer, str(self.path))
            return build_config([layer])
        except ConfigError as error:
            raise CheckpointError(f"{error} (in the config of the run)") from None

    def write_names(self, graph: Graph) -> None:
        """Write the names of entities and relations, and their labels."""
        vocabulary = {
            "entities": graph.entities.names,
            "relations": graph.relations.names,
            "labels": dict(graph.entities.labels),
            "relation_labels": dict(graph.relations.labels),
        }
        write_text(self.path / "vocabulary.json", json.dumps(vocabulary, ensure_ascii=False))

    def read_graph(self) -> Graph:
        """Read the graph that the run was trained on."""
        entities, relations = self._read_names()
        tensors, _ = self.read_tensors("graph.safetensors")
        splits = {split: self._check_triples(split, tensors.get(split), entities, relations) for split in SPLITS}
        record = self.read_record()
        return Graph(record.graph, entities, relations, **splits, notes=record.notes)

    def _read_names(self) -> tuple[Vocabulary, Vocabulary]:
        """Read the names of entities and relations, and their labels."""
        path = self.path / "vocabulary.json"
        names = self._read_json(path.name, {"entities": list, "relations": list, "labels": dict})
        labels = {"entities": names["labels"], "relations": names.get("relation_labels", names["labels"])}
        for kind, given in labels.items():
            _check_texts(names[kind], path, "name")
            _check_texts(given.values(), path, "label")
        try:
            return (
                Vocabulary(names["entities"], labels["entities"], kind="entity"),
                Vocabulary(names["relations"], labels["relations"], kind="relation"),
            )
        except DataError as error:
            raise _damaged(path, str(error).partition(";")[0]) from None

    def _check_triples(self, split: str, tensor: Tensor | None, entities: Vocabulary, relations: Vocabulary) -> Triples:
        """Return the triples of a split, (n, 3), all of whose numbers have a name."""
        path, triples = self.path / "graph.safetensors", np.zeros(0) if tensor is None else tensor.numpy()
        if triples.ndim != 2 or triples.shape[1] != 3 or not np.issubdtype(triples.dtype, np.integer):
            raise _damaged(path, f"has no triples {split!r}")
        for column, names in enumerate((entities, relations, entities)):
            wrong = triples[(triples[:, column] < 0) | (triples[:, column] >= len(names)), column]
            if len(wrong):
                fault = f"uses {names.kind} {wrong[0]} in {split}, but vocabulary.json has {len(names):,} names"
                raise _damaged(path, fault)
        return triples.astype(np.int64, copy=False)

    def write_tensors(self, name: str, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Write tensors and plain values into one file."""
        plain = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
        try:
            with replacing(self.path / name) as temporary:
                safetensors.torch.save_file(plain, temporary, {"meta": json.dumps(meta)})
        except SafetensorError as error:  # raised when the disk is full
            raise WriteError(f"{self.path / name} cannot be written: {error}; choose another place") from None

    def read_tensors(self, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Read tensors and the values written with them."""
        path = self.path / name
        try:
            with safe_open(path, "pt") as file:
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
                meta = json.loads((file.metadata() or {}).get("meta", "{}"))
        except FileNotFoundError:
            raise CheckpointError(f"{path}: is missing; the run is not complete") from None
        except (OSError, SafetensorError, ValueError) as error:
            raise CheckpointError(f"{path}: cannot be read ({error}); restore it or train again") from None
        return tensors, meta

    def write_history(self, entries: list[dict[str, Any]]) -> None:
        """Write the history, one JSON object per line."""
        write_text(self.path / "history.jsonl", "".join(json.dumps(entry) + "\n" for entry in entries))

    def read_history(self) -> list[dict[str, Any]]:
        """Read the history."""
        path = self.path / "history.jsonl"
        if not path.is_file():
            return []
        try:
            entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path}: cannot be read ({error}); remove it to do without it") from None
        for line, entry in enumerate(entries, start=1):
            for key, kind in EPOCH.items():
                if not isinstance(entry, dict) or not isinstance(entry.get(key), kind):
                    raise CheckpointError(f"{path}, line {line}: has no {key!r}; remove the file to do without it")
        return entries

    def write_concept_names(self, names: Mapping[int, str]) -> None:
        """Write the names that a person gave to concepts; without any, the file is removed."""
        if not names:
            self.remove(CONCEPTS)
            return
        content = {"names": {str(concept): names[concept] for concept in sorted(names)}}
        write_text(self.path / CONCEPTS, json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def read_concept_names(self) -> dict[int, str]:
        """Read the names of concepts, by number."""
        if not (self.path / CONCEPTS).is_file():
            return {}
        names = self._read_json(CONCEPTS, {"names": dict})["names"]
        if not all(key.isdecimal() and isinstance(name, str) for key, name in names.items()):
            raise _damaged(self.path / CONCEPTS, "expected a JSON object that maps concept numbers to names")
        return {int(key): name for key, name in names.items()}

    def _read_json(self, name: str, expected: Mapping[str, type]) -> dict[str, Any]:
        """Read a JSON object that has these keys with values of these types."""
        path = self.path / name
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path}: cannot be read ({error}); the run is damaged") from None
        for key, kind in expected.items():
            if not isinstance(content, dict) or not isinstance(content.get(key), kind):
                raise _damaged(path, f"has no {key!r}, or of a wrong type")
        return content


def _check_texts(texts: Iterable[Any], path: Path, what: str) -> None:
    """Refuse names and labels that are not text."""
    for text in texts:
        if not isinstance(text, str):
            raise _damaged(path, f"the {what} {text!r} is not text")


def _damaged(path: Path, fault: str) -> CheckpointError:
    """Return the error for a file that cannot be used."""
    return CheckpointError(f"{path}: {fault}; the run is damaged, restore the file or train again")
