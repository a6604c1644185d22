from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from safetensors import SafetensorError
from torch import Tensor

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.data.splits import SplitRule, Weights
from itransf.data.vocabulary import Vocabulary
from itransf.errors import CheckpointError, UsageError, WriteError
from itransf.records import WEIGHTS, parse_json
from itransf.storage import TRIPLES, RunFolder
from sealing import put, put_tensors, reseal

if TYPE_CHECKING:
    from conftest import Configure


@pytest.fixture
def graph() -> Graph:
    made = Graph.from_names(
        "small", [("Zürich", "in", "CH"), ("Bern", "in", "CH")], valid=[("CH", "has", "Bern")], test=[]
    )
    return made.labelled({"CH": "Switzerland", "in": "lies in"})


@pytest.fixture
def config(configure: Configure) -> Config:
    return configure("itransf", "training.learning_rate=0.05")


@pytest.fixture
def folder(tmp_path: Path, graph: Graph, config: Config) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    made.create(graph, config)
    made.commit()
    return made


class TestRoundTrip:
    def test_graph_settings_and_summary_come_back(self, folder: RunFolder, graph: Graph, config: Config) -> None:
        read = folder.read_graph()
        assert (read.name, read.notes) == (graph.name, graph.notes)
        assert read.entities == graph.entities
        assert read.relations == graph.relations
        for split in ("train", "valid", "test"):
            assert np.array_equal(read.split(split), graph.split(split))
            assert read.split(split).shape == graph.split(split).shape
            assert read.split(split).dtype == np.int64
        assert folder.read_config() == config
        assert folder.read_record().graph == "small"

    def test_tensors_and_triples_come_back(self, folder: RunFolder) -> None:
        tensors = {"a": torch.randn(2, 3), "b.c": torch.arange(4), "none": torch.zeros(0, 3)}
        triples = {"epoch": 3, "best": None, "loss": 0.1, "list": [{"x": 1}]}
        put_tensors(folder.path, WEIGHTS, {**tensors, "turned": tensors["a"].t()}, triples)
        read, told = folder.read_tensors(WEIGHTS)
        assert told == triples
        assert all(torch.equal(read[name], tensor) for name, tensor in tensors.items())
        assert torch.equal(read["turned"], tensors["a"].t())

    def test_weights_come_back_however_large_but_not_if_they_are_no_numbers(
        self, tmp_path: Path, graph: Graph, config: Config
    ) -> None:
        folder = RunFolder(tmp_path / "weighted")
        folder.create(replace(graph, weights=Weights(graph.train, np.array([0.0, 1e20]))), config)
        folder.commit()
        found = folder.read_graph().weights
        assert found is not None
        assert found.of(graph.train).tolist() == [0.0, 1e20]
        tensors, meta = folder.read_tensors(TRIPLES)
        for wrong in ([1.0, np.nan], [1.0, np.inf], [1.0, -1.0], [1.0]):
            put_tensors(folder.path, TRIPLES, {**tensors, "weights": torch.tensor(wrong, dtype=torch.float64)}, meta)
            with pytest.raises(CheckpointError, match="has no weights of its 2 weighted triples"):
                folder.read_graph()

    def test_the_rule_of_the_split_comes_back(self, tmp_path: Path, config: Config) -> None:
        rows = [(f"e{n % 7}", "in", f"e{n % 5}") for n in range(30)]
        folder = RunFolder(tmp_path / "split")
        folder.create(Graph.from_triples(rows, seed=5, test_share=0.2), config)
        folder.commit()
        assert folder.read_graph().rule == SplitRule(5, 0.1, 0.2)
        put_tensors(folder.path, TRIPLES, folder.read_tensors(TRIPLES)[0], {"rule": {"seed": -1}})
        with pytest.raises(CheckpointError, match=r"graph\.safetensors: .*rule of its split .*seed is -1"):
            folder.read_graph()

    def test_labels_of_equal_names_stay_apart(self, tmp_path: Path, configure: Configure) -> None:
        entities, relations = (
            Vocabulary(("1", "2"), {"1": "Paris"}),
            Vocabulary(("1",), {"1": "capital of"}, "relation"),
        )
        triples = np.array([[0, 0, 1]])
        graph = Graph("g", entities, relations, triples, triples[:0], triples[:0])
        folder = RunFolder(tmp_path / "labels")
        folder.create(graph, configure("transe"))
        folder.commit()
        found = folder.read_graph()
        assert (found.entities.label(0), found.relations.label(0)) == ("Paris", "capital of")

    def test_history_comes_back_in_order(self, folder: RunFolder) -> None:
        assert folder.read_history() == []
        first, second = ({"phase": "training", "epoch": epoch, "loss": 0.5, "seconds": 0.1} for epoch in (1, 2))
        entries = [first, {**second, "metric": 0.1, "best": True}]
        folder.stage_history(entries)
        folder.commit()
        assert folder.read_history() == entries

    def test_nothing_temporary_is_left(self, folder: RunFolder) -> None:
        names = sorted(path.name for path in folder.path.iterdir())
        assert names == ["config.toml", "graph.safetensors", "run.json", "vocabulary.json"]


class TestOccupation:
    def test_a_folder_is_free_when_it_is_missing_or_empty(self, tmp_path: Path, folder: RunFolder) -> None:
        assert not RunFolder(tmp_path / "none").is_occupied
        (tmp_path / "empty").mkdir()
        assert not RunFolder(tmp_path / "empty").is_occupied
        assert folder.is_occupied
        (tmp_path / "file").write_text("x")
        assert RunFolder(tmp_path / "file").is_occupied

    def test_only_runs_are_cleared(self, tmp_path: Path, folder: RunFolder) -> None:
        other = tmp_path / "photos"
        other.mkdir()
        (other / "me.jpg").write_text("x")
        with pytest.raises(CheckpointError, match="is not a run"):
            RunFolder(other).clear()
        assert (other / "me.jpg").exists()
        folder.clear()
        assert not folder.path.exists()
        RunFolder(tmp_path / "none").clear()

    def test_a_full_disk_is_not_reported_as_damage(self, folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise SafetensorError("I/O error: No space left on device")

        monkeypatch.setattr("safetensors.torch.save_file", fail)
        with pytest.raises(WriteError, match=r"cannot be written: .*No space left"):
            folder.stage_tensors(WEIGHTS, {"a": torch.zeros(2)}, {})

    def test_a_run_that_cannot_be_removed_is_reported(self, folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(path: Path, missing_ok: bool = False) -> None:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(Path, "unlink", fail)
        with pytest.raises(WriteError, match=r"run cannot .*: Permission denied; choose another"):
            folder.clear()

    def test_advice_fits_what_is_in_the_folder(self, tmp_path: Path, folder: RunFolder) -> None:
        both = ("--resume, resume=True", "--overwrite, overwrite=True")
        put_tensors(folder.path, WEIGHTS, {}, {})
        assert "--resume" not in str(folder.refuse())
        assert both[1] in str(folder.refuse())
        folder.write_checkpoint({}, {"history": []})
        assert all(option in str(folder.refuse()) for option in both)
        (tmp_path / "thesis.tex").write_text("x")
        told = str(RunFolder(tmp_path).refuse())
        assert "choose another folder" in told
        assert "--resume" not in told
        assert "--overwrite" not in told

    def test_a_file_in_the_way_is_reported(self, tmp_path: Path, graph: Graph, config: Config) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(WriteError, match=r"the folder .*file cannot be written: .*; choose another"):
            RunFolder(tmp_path / "file").create(graph, config)
        with pytest.raises(WriteError, match="cannot be written"):
            RunFolder(tmp_path / "file").stage_tensors(WEIGHTS, {}, {})


def open_everything(folder: RunFolder) -> None:
    folder.read_record()
    folder.read_config()
    folder.read_graph()
    folder.read_tensors("graph.safetensors")
    folder.read_history()


class TestDamage:
    @pytest.mark.parametrize("name", ["vocabulary.json", "graph.safetensors", "config.toml"])
    def test_a_missing_file_is_named(self, folder: RunFolder, name: str) -> None:
        (folder.path / name).unlink()
        with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
            open_everything(folder)

    @pytest.mark.parametrize(
        "name", ["run.json", "vocabulary.json", "graph.safetensors", "config.toml", "history.jsonl"]
    )
    @pytest.mark.parametrize(
        "damage", [lambda content: content[:-2], lambda content: b"\x00\xff" * 20], ids=["cut", "garbled"]
    )
    def test_a_damaged_file_is_named(self, folder: RunFolder, name: str, damage: Callable[[bytes], bytes]) -> None:
        folder.stage_history([{"phase": "training", "epoch": 1, "loss": 0.5, "seconds": 1.0}])
        folder.commit()
        path = folder.path / name
        path.write_bytes(damage(path.read_bytes()))
        with pytest.raises(CheckpointError, match=name.replace(".", r"\.")) as caught:
            open_everything(folder)
        assert not isinstance(caught.value, UsageError)  # nothing was asked wrongly

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("run.json", "[]"),
            ("run.json", '{"format": 1}'),
            ("vocabulary.json", "{}"),
            ("vocabulary.json", "3"),
        ],
    )
    def test_a_file_that_says_something_else_is_named(self, folder: RunFolder, name: str, content: str) -> None:
        (folder.path / name).write_text(content)
        if name != "run.json":
            reseal(folder.path)
        with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
            open_everything(folder)

    @pytest.mark.parametrize(
        ("key", "value", "fault"),
        [
            ("entities", ["Zürich", "CH", 5], "'entities'"),
            ("entities", ["Zürich", "CH", "CH"], "entity 'CH' .*more than once"),
            ("labels", {"CH": 5}, "'labels'"),
            ("relation_labels", {"in": None}, "'relation_labels'"),
        ],
    )
    def test_faulty_names_are_reported(self, folder: RunFolder, key: str, value: object, fault: str) -> None:
        path = folder.path / "vocabulary.json"
        put(path, json.dumps({**json.loads(path.read_text()), key: value}))
        with pytest.raises(CheckpointError, match=f"{re.escape(str(path))}: .*{fault}.*damaged"):
            folder.read_graph()

    @pytest.mark.parametrize(
        ("triples", "fault"),
        [
            (None, "has no table 'valid'"),
            (torch.zeros(4, 2, dtype=torch.int64), "has no table 'valid'"),
            (torch.zeros(4, 3), "has no table 'valid'"),
            (torch.tensor([[0, 0, 3]]), "entity 3 in 'valid', .*only 3"),
            (torch.tensor([[-1, 0, 0]]), "entity -1 in 'valid', .*only 3"),
            (torch.tensor([[0, 2, 0]]), "relation 2 in 'valid', .*only 2"),
        ],
    )
    def test_faulty_triples_are_reported(self, folder: RunFolder, triples: Tensor | None, fault: str) -> None:
        name = "graph.safetensors"
        tensors = {**folder.read_tensors(name)[0], "valid": triples}
        put_tensors(folder.path, name, {split: found for split, found in tensors.items() if found is not None}, {})
        with pytest.raises(CheckpointError, match=f"{re.escape(str(folder.path / name))}: .*{fault}.*damaged"):
            folder.read_graph()

    def test_triples_in_short_numbers_are_read(self, folder: RunFolder, graph: Graph) -> None:
        tensors, _ = folder.read_tensors("graph.safetensors")
        put_tensors(folder.path, TRIPLES, {split: triples.int() for split, triples in tensors.items()}, {})
        assert folder.read_graph().train.dtype == np.int64
        assert np.array_equal(folder.read_graph().train, graph.train)

    @pytest.mark.parametrize("line", ["{}", "[1]", '{"phase": "training", "epoch": "1", "loss": 0.5, "seconds": 1}'])
    def test_a_line_of_the_history_that_is_no_epoch_is_named(self, folder: RunFolder, line: str) -> None:
        good = {"phase": "training", "epoch": 1, "loss": 0.5, "seconds": 1}
        path = folder.path / "history.jsonl"
        put(path, f"{json.dumps(good)}\n{line}\n")
        with pytest.raises(CheckpointError, match=re.escape(f"{path}, line 2: ")):
            folder.read_history()

    def test_unknown_settings_of_a_run_name_its_config(self, folder: RunFolder) -> None:
        put(folder.path / "config.toml", "[training]\nepoch = 3\n")
        with pytest.raises(CheckpointError, match=r"config\.toml: .*'training.epoch'.*config of the run"):
            folder.read_config()

    def test_a_failed_writing_leaves_the_old_file(self, folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
        put_tensors(folder.path, WEIGHTS, {"a": torch.ones(2)}, {})

        def fail(*_: object) -> None:
            raise OSError("no space left")

        monkeypatch.setattr("safetensors.torch.save_file", fail)
        with pytest.raises(WriteError, match=r"model\.safetensors cannot be written: no space left"):
            folder.stage_tensors(WEIGHTS, {"a": torch.zeros(2)}, {})
        assert folder.read_tensors(WEIGHTS)[0]["a"].tolist() == [1.0, 1.0]
        assert not list(folder.path.glob("*.tmp")) + list(folder.path.glob(".*"))


class TestCommits:
    """What is staged belongs to the run from the commit on, whether its files have their names yet or not."""

    def stop_settling(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let processes die between run.json and the names of the other files."""
        monkeypatch.setattr(RunFolder, "_settle", lambda self: None)

    def test_before_the_commit_nothing_changes(self, folder: RunFolder, graph: Graph, configure: Configure) -> None:
        RunFolder(folder.path).create(graph.labelled({"CH": "Confederation"}), configure("transe"))
        assert folder.read_config().name == "itransf"
        assert folder.read_graph().entities.label(folder.read_graph().entities.index("CH")) == "Switzerland"
        with folder.locked():  # the next writer cleans up
            pass
        assert not list(folder.path.glob(".*"))

    def test_after_the_commit_files_are_found_under_both_names(
        self, folder: RunFolder, graph: Graph, configure: Configure, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            self.stop_settling(patch)
            writer = RunFolder(folder.path)
            writer.create(graph, configure("transe"))
            writer.commit()
        assert len(list(folder.path.glob(".*.new"))) == 3
        assert folder.read_config().name == "transe"
        folder.verify()
        with folder.locked():
            pass
        assert not list(folder.path.glob(".*"))
        assert folder.read_config().name == "transe"
        folder.verify()

    def test_a_new_run_takes_no_file_of_the_old_one_with_it(
        self, folder: RunFolder, graph: Graph, config: Config
    ) -> None:
        put_tensors(folder.path, WEIGHTS, {}, {})
        folder.create(graph, config)
        folder.commit()
        assert WEIGHTS not in folder.files
        assert not (folder.path / WEIGHTS).exists()

    def test_two_checkpoints_are_kept_and_the_older_one_is_used_if_the_last_is_damaged(
        self, folder: RunFolder, caplog: pytest.LogCaptureFixture
    ) -> None:
        for epoch in (1, 2, 3):
            meta = {"phase": "training", "progress": {"epoch": epoch}, "limits": [], "history": []}
            folder.write_checkpoint({"a": torch.full((2,), float(epoch))}, meta)
        assert folder.checkpoints == ["checkpoint-3.safetensors", "checkpoint-2.safetensors"]
        assert folder.read_checkpoint()[1]["progress"] == {"epoch": 3}
        path = folder.path / "checkpoint-3.safetensors"
        path.write_bytes(path.read_bytes()[:-1])
        assert folder.read_checkpoint()[1]["progress"] == {"epoch": 2}
        assert "checkpoint-3.safetensors" in caplog.text
        assert "epoch 2" in caplog.text
        (folder.path / "checkpoint-2.safetensors").unlink()
        with pytest.raises(CheckpointError, match="checkpoint-3"):
            folder.read_checkpoint()

    @pytest.mark.parametrize("name", ["config.toml", "vocabulary.json", "graph.safetensors", "run.json"])
    def test_every_flipped_bit_is_noticed(self, folder: RunFolder, name: str) -> None:
        path = folder.path / name
        content = path.read_bytes()
        for place in range(0, len(content), 7):
            damaged = bytearray(content)
            damaged[place] ^= 1 << (place % 8)
            path.write_bytes(damaged)
            with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
                folder.verify()
        path.write_bytes(content)
        folder.verify()

    def test_json_that_only_looks_the_same_is_refused(self, folder: RunFolder) -> None:
        path = folder.path / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text())))
        with pytest.raises(CheckpointError, match=r"run\.json: .*checksum.*itransf seal"):
            folder.read_record()


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": "\\ud800"}', '{"a": ' + "9" * 5000 + "}", "{", "\udcff"],
)
def test_json_is_read_strictly(text: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"x\.json: is not valid JSON"):
        parse_json(text.encode(errors="surrogateescape"), tmp_path / "x.json")
