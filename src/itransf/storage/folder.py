"""Reading and writing what a run consists of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from itransf.config import Config, build_config, format_toml, read_layer
from itransf.data.graph import SPLITS, Graph
from itransf.data.vocabulary import Vocabulary
from itransf.errors import CheckpointError, ConfigError, DataError, RunError, WriteError
from itransf.files import make_folder, replacing, write_text
from itransf.storage.checking import check_history, check_texts, check_triples, damaged
from itransf.storage.names import CONCEPTS, FORMAT
from itransf.storage.place import RunPlace


class RunFolder(RunPlace):
    """Reads and writes one run folder."""

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
        summary = self._read_json("run.json", {"graph": str, "notes": list})
        check_texts(summary["notes"], path, "the note")
        return summary

    def read_config(self, model_configs: Mapping[str, type]) -> Config:
        """Read the settings."""
        try:
            return build_config([read_layer(self.path / "config.toml")], model_configs)
        except ConfigError as error:
            raise CheckpointError(f"{error} (the run's own config cannot be used)") from None

    def read_graph(self) -> Graph:
        """Read the graph the run was trained on."""
        entities, relations = self._read_names()
        splits, _ = self.read_tensors("graph.safetensors")
        triples = check_triples(splits, len(entities), len(relations), self.path / "graph.safetensors")
        summary = self.read_summary()
        return Graph(summary["graph"], entities, relations, **triples, notes=tuple(summary["notes"]))

    def _read_names(self) -> tuple[Vocabulary, Vocabulary]:
        """Read the names of entities and relations, and their labels."""
        path = self.path / "vocabulary.json"
        names = self._read_json(path.name, {"entities": list, "relations": list, "labels": dict})
        labels = {"entities": names["labels"], "relations": names.get("relation_labels", names["labels"])}
        for kind, given in labels.items():
            check_texts(names[kind], path, "the name")
            check_texts(given.values(), path, "the label")
        try:
            return (
                Vocabulary(names["entities"], labels["entities"], kind="entity"),
                Vocabulary(names["relations"], labels["relations"], kind="relation"),
            )
        except DataError as error:
            raise damaged(path, str(error).partition(";")[0]) from None

    def write_tensors(self, name: str, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Write tensors and plain values into one file."""
        plain = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
        try:
            with replacing(self.path / name) as temporary:
                safetensors.torch.save_file(plain, temporary, {"meta": json.dumps(meta)})
        except SafetensorError as error:  # what a full disk is called there
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
        return check_history(entries, path)

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
