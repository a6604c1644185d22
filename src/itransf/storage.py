"""The run folder: what lies where, written so that a crash never leaves half a file.

run.json                what the run is: format, version, graph, progress
config.toml             every setting
vocabulary.json         names and labels of entities and relations
graph.safetensors       train, valid and test as numbers
history.jsonl           one line per epoch
checkpoint.safetensors  where training stands (weights, optimiser, random state)
model.safetensors       the weights a finished run is used with
concepts.json           names a person gave to concepts, by number; only where there are any
.replaced/              a run that is being overwritten, until the new one has something to show
.lock                   held while a training is at work here

Anything else that lies in the folder is not the run's, and is left alone.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from itransf.config import Config, build_config, format_toml, read_layer
from itransf.data.graph import SPLITS, Graph
from itransf.data.vocabulary import Vocabulary
from itransf.errors import CheckpointError, ConfigError, RunError, WriteError
from itransf.files import lock, make_folder, replacing, write_text

FORMAT = 1
WEIGHTS = "model.safetensors"
CHECKPOINT = "checkpoint.safetensors"
CONCEPTS = "concepts.json"
BEGINNING = (
    "vocabulary.json",
    "graph.safetensors",
    "config.toml",
    "run.json",
)  # written first, in this order
OWN = (*BEGINNING, "history.jsonl", CHECKPOINT, WEIGHTS, CONCEPTS)
HALF_WRITTEN = tuple(f".{name}." for name in OWN)
LOCK, ASIDE = ".lock", ".replaced"


class RunFolder:
    """Reads and writes one run folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def is_occupied(self) -> bool:
        """Whether anything lies here already."""
        if not self.path.is_dir():
            return self.path.exists()
        return any(entry.name != LOCK for entry in self.path.iterdir())

    @property
    def has_checkpoint(self) -> bool:
        """Whether training can be continued from here."""
        return (self.path / "run.json").is_file() and (self.path / CHECKPOINT).is_file()

    @property
    def is_barely_begun(self) -> bool:
        """Whether nothing is lost by starting here: nothing lies here, or only what is written before training."""
        if not self.is_occupied:
            return True
        if not self.path.is_dir():
            return False
        names = {entry.name for entry in self.path.iterdir()} - {LOCK}
        written = {name for name in names if not name.startswith(HALF_WRITTEN)}
        # Names come first: a config.toml alone is somebody's own.
        return written <= {*BEGINNING} and (not written or BEGINNING[0] in written)

    @property
    def is_replaceable(self) -> bool:
        """Whether what lies here, if anything, is a run, or what is left of one."""
        return (self.path / "run.json").is_file() or (self.path / ASIDE).is_dir() or self.is_barely_begun

    def refuse(self) -> RunError:
        """Return why no run is begun here, and what can be done, whichever way it was asked for."""
        if not self.is_replaceable:
            return RunError(
                f"{self.path}: does not look like a run, so it is left alone; "
                "choose another folder, or remove it yourself"
            )
        can_go_on = self.has_checkpoint or self.is_barely_begun
        found = "a run; resume it (--resume)," if can_go_on else "a run, without a checkpoint to go on from;"
        return RunError(f"{self.path}: already holds {found} overwrite it (--overwrite) or choose another folder")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other trainings out of the folder while the block runs.

        Raises:
            RunError: One is at work here already.
        """
        if self.path.exists() and not self.path.is_dir():
            raise self.refuse()
        make_folder(self.path)
        try:
            with lock(self.path / LOCK) as is_ours:
                if not is_ours:
                    raise RunError(f"{self.path}: another training is at work here; wait, or choose another folder")
                yield
        finally:
            self._remove_empty()

    @contextmanager
    def making_way(self, overwrite: bool) -> Iterator[None]:
        """Make room for a new run, which the block writes.

        A run that lies here is refused unless it may be overwritten, and comes back if the block fails before the new
        one has weights or a checkpoint.
        """
        if self.is_occupied and (not overwrite or not self.is_replaceable):
            raise self.refuse()
        self._set_aside()
        try:
            yield
        except BaseException:
            if not self._is_usable:
                self._bring_back()
            raise
        finally:
            shutil.rmtree(self.path / ASIDE, ignore_errors=True)

    @property
    def _is_usable(self) -> bool:
        """Whether a run lies here that can be opened or gone on with."""
        return self.has_checkpoint or (self.path / WEIGHTS).is_file()

    def _list_own(self) -> list[Path]:
        """Return the run's own files, half written ones among them."""
        entries = self.path.iterdir() if self.path.is_dir() else ()
        return [entry for entry in entries if entry.name in OWN or entry.name.startswith(HALF_WRITTEN)]

    def _set_aside(self) -> None:
        """Put away a run that can be used; one that was put away before and never replaced stays there."""
        aside, is_usable = self.path / ASIDE, self._is_usable
        try:
            if is_usable:
                shutil.rmtree(aside, ignore_errors=True)
                aside.mkdir()
            for file in self._list_own():
                if is_usable:
                    file.replace(aside / file.name)
                else:
                    file.unlink()
        except OSError as error:
            raise WriteError(f"{self.path} cannot be replaced: {error.strerror}; choose another folder") from None

    def _bring_back(self) -> None:
        """Have the run that was put away lie here again."""
        for file in self._list_own():
            file.unlink()
        if (self.path / ASIDE).is_dir():
            for file in (self.path / ASIDE).iterdir():
                file.replace(self.path / file.name)

    def clear(self) -> None:
        """Remove a run; anything that does not look like one is refused."""
        if not self.is_occupied:
            return
        if not self.is_replaceable:
            raise self.refuse()
        try:
            for file in self._list_own():
                file.unlink()
            shutil.rmtree(self.path / ASIDE, ignore_errors=True)
        except OSError as error:
            raise WriteError(f"{self.path} cannot be replaced: {error.strerror}; choose another folder") from None
        self._remove_empty()

    def _remove_empty(self) -> None:
        """Remove the folder if nothing lies in it."""
        with suppress(OSError):
            self.path.rmdir()

    def remove(self, name: str) -> None:
        """Remove one file, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def write_names(self, graph: Graph) -> None:
        """Write the names of entities and relations, and their labels."""
        vocabulary = {
            "entities": graph.entities.names,
            "relations": graph.relations.names,
            "labels": dict(graph.entities.labels),
            "relation_labels": dict(graph.relations.labels),
        }
        write_text(self.path / "vocabulary.json", json.dumps(vocabulary, ensure_ascii=False))

    def create(self, graph: Graph, config: Config, version: str) -> None:
        """Write what does not change during training."""
        make_folder(self.path)
        self.write_names(graph)
        self.write_tensors(
            "graph.safetensors",
            {split: torch.from_numpy(np.ascontiguousarray(graph.split(split))) for split in SPLITS},
            {},
        )
        self.write_config(config)
        self.write_summary({"format": FORMAT, "itransf": version, "graph": graph.name, "notes": list(graph.notes)})

    def write_config(self, config: Config) -> None:
        """Write the settings."""
        write_text(self.path / "config.toml", format_toml(config.to_dict()))

    def write_summary(self, content: Mapping[str, Any]) -> None:
        """Write run.json, the file that makes the folder a run."""
        write_text(self.path / "run.json", json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def read_summary(self) -> dict[str, Any]:
        """Read run.json."""
        path = self.path / "run.json"
        if not path.is_file():
            if self.is_occupied:
                raise RunError(
                    f"{self.path}: is not a run folder (it has no run.json); give one that 'itransf train' made"
                )
            raise RunError(f"{self.path}: there is no such run; 'itransf train DATA --out {self.path}' makes one")
        summary = self._read_json("run.json", {"format": int})
        if summary.get("format") != FORMAT:
            raise CheckpointError(
                f"{path}: has format {summary.get('format')!r}, this version reads format {FORMAT}; "
                "open it with the version of itransf that wrote it"
            )
        return self._read_json("run.json", {"graph": str, "notes": list})

    def read_config(self, model_configs: Mapping[str, type]) -> Config:
        """Read the settings."""
        try:
            return build_config([read_layer(self.path / "config.toml")], model_configs)
        except ConfigError as error:
            raise CheckpointError(f"{error} (the run's own config cannot be used)") from None

    def read_graph(self) -> Graph:
        """Read the graph the run was trained on."""
        names = self._read_json("vocabulary.json", {"entities": list, "relations": list, "labels": dict})
        splits, _ = self.read_tensors("graph.safetensors")
        summary = self.read_summary()
        return Graph(
            summary["graph"],
            Vocabulary(names["entities"], names["labels"], kind="entity"),
            Vocabulary(names["relations"], names.get("relation_labels", names["labels"]), kind="relation"),
            train=splits["train"].numpy(),
            valid=splits["valid"].numpy(),
            test=splits["test"].numpy(),
            notes=tuple(summary["notes"]),
        )

    def write_tensors(self, name: str, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Write tensors and plain facts into one file."""
        plain = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
        try:
            with replacing(self.path / name) as temporary:
                safetensors.torch.save_file(plain, temporary, {"facts": json.dumps(facts)})
        except SafetensorError as error:  # what a full disk is called there
            raise WriteError(f"{self.path / name} cannot be written: {error}; choose another place") from None

    def read_tensors(self, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Read tensors and the facts written with them."""
        path = self.path / name
        try:
            with safe_open(path, "pt") as file:
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
                facts = json.loads((file.metadata() or {}).get("facts", "{}"))
        except FileNotFoundError:
            raise CheckpointError(f"{path}: is missing; the run is not complete") from None
        except (OSError, SafetensorError, ValueError) as error:
            raise CheckpointError(f"{path}: cannot be read ({error}); restore it or train again") from None
        return tensors, facts

    def write_history(self, entries: list[dict[str, Any]]) -> None:
        """Write the history, one JSON object per line."""
        write_text(self.path / "history.jsonl", "".join(json.dumps(entry) + "\n" for entry in entries))

    def read_history(self) -> list[dict[str, Any]]:
        """Read the history."""
        path = self.path / "history.jsonl"
        if not path.is_file():
            return []
        try:
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path}: cannot be read ({error}); remove it to do without it") from None

    def write_concept_names(self, names: Mapping[int, str]) -> None:
        """Write what people call concepts; without any, the file goes."""
        if not names:
            self.remove(CONCEPTS)
            return
        content = {"names": {str(concept): names[concept] for concept in sorted(names)}}
        write_text(self.path / CONCEPTS, json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def read_concept_names(self) -> dict[int, str]:
        """Read what people call concepts, by number."""
        if not (self.path / CONCEPTS).is_file():
            return {}
        names = self._read_json(CONCEPTS, {"names": dict})["names"]
        if not all(key.isdecimal() and isinstance(name, str) for key, name in names.items()):
            raise CheckpointError(f"{self.path / CONCEPTS}: holds something else than a name for each number; mend it")
        return {int(key): name for key, name in names.items()}

    def _read_json(self, name: str, expected: Mapping[str, type]) -> dict[str, Any]:
        """Read a JSON object that must hold these keys with values of these types."""
        path = self.path / name
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path}: cannot be read ({error}); the run is damaged") from None
        for key, kind in expected.items():
            if not isinstance(content, dict) or not isinstance(content.get(key), kind):
                raise CheckpointError(f"{path}: holds no {key!r} as a run's file does; the run is damaged")
        found: dict[str, Any] = content
        return found
