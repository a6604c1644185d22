from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from itransf import __version__
from itransf.data.graph import Graph
from itransf.errors import CheckpointError, RunError
from itransf.records import Manifest, RunRecord, find_runs, format_sealed, hash_graph, read_manifest, write_manifest

if TYPE_CHECKING:
    from conftest import Configure


@pytest.fixture
def graph() -> Graph:
    return Graph.from_names("small", [("a", "in", "b"), ("c", "in", "b")], valid=[("a", "in", "c")])


@pytest.fixture
def record(graph: Graph, configure: Configure) -> RunRecord:
    return RunRecord.new(graph, configure("transe", "seed=7"), parent="its parent")


def test_a_run_knows_what_it_is_and_where_it_came_from(record: RunRecord, graph: Graph, tmp_path: Path) -> None:
    write_manifest(tmp_path, Manifest(record))
    text = (tmp_path / "run.json").read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert read_manifest(tmp_path) == Manifest(record)
    assert (record.version, record.graph, record.model, record.seed) == (__version__, "small", "transe", 7)
    assert (record.parent, record.data_hash) == ("its parent", hash_graph(graph))
    assert uuid.UUID(record.id).version == 4
    assert datetime.fromisoformat(record.created).utcoffset() is not None


def test_other_names_or_triples_have_another_hash(graph: Graph) -> None:
    assert hash_graph(graph) == hash_graph(replace(graph, name="other")) == hash_graph(graph.labelled({"a": "A"}))
    others = [
        replace(graph, train=graph.train[::-1]),
        replace(graph, train=graph.train[:1], valid=np.concatenate([graph.train[1:], graph.valid])),
        Graph.from_names("small", [("a", "in", "b"), ("d", "in", "b")], valid=[("a", "in", "d")]),
    ]
    assert len({hash_graph(each) for each in (graph, *others)}) == 4


def test_the_time_and_the_best_validation_come_from_the_history(record: RunRecord) -> None:
    history = [
        {"phase": "training", "epoch": 1, "seconds": 0.5, "metric": 0.1, "best": True},
        {"phase": "training", "epoch": 2, "seconds": 0.25, "metric": 0.3, "best": True},
        {"phase": "training", "epoch": 3, "seconds": 0.25, "metric": 0.2, "best": False},
    ]
    found = record.with_history(history, "mrr")
    assert (found.seconds, found.metrics["valid"]["epoch"], found.validation) == (1.0, 2, ("mrr", 0.3))
    assert record.with_history(history[:0], "mrr").validation is None


def test_a_run_of_an_older_version_is_refused_with_the_version_that_reads_it(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"format": 1, "itransf": "0.1.0", "graph": "world", "notes": []}')
    with pytest.raises(CheckpointError, match=r"run\.json: .*format 1, .*itransf 0\.1"):
        read_manifest(tmp_path)
    (tmp_path / "run.json").write_text('{"format": 99}')
    with pytest.raises(CheckpointError, match=r"format 99, .*newer version"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"id": 5},
        {"notes": [1]},
        {"metrics": 3},
        {"seconds": "long"},
        {"notes": 3},
        {"format": True},
        {"seconds": 10**30},
        {"files": {"../x.json": {}}},
        {"files": {"config.toml": {"size": -1, "crc32": ""}}},
        {"seed": True},
    ],
)
def test_values_of_another_type_are_damage(record: RunRecord, tmp_path: Path, change: dict[str, object]) -> None:
    content = {"format": 2, **record.to_dict(), "files": {}, "commit": "x", **change}
    (tmp_path / "run.json").write_text(format_sealed(content))
    with pytest.raises(CheckpointError, match=r"run\.json: .*damaged"):
        read_manifest(tmp_path)


def test_a_missing_run_is_named_with_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no such run.*itransf train DATA --out .*none"):
        read_manifest(tmp_path / "none")
    (tmp_path / "other").write_text("x")
    with pytest.raises(RunError, match=r"no run\.json"):
        read_manifest(tmp_path)


def test_runs_are_found_best_first(record: RunRecord, tmp_path: Path) -> None:
    def put(name: str, graph: str, **valid: float) -> None:
        metrics = {"valid": {"phase": "training", "epoch": 1, **valid}} if valid else {}
        (tmp_path / name).mkdir(parents=True)
        write_manifest(tmp_path / name, Manifest(replace(record, graph=graph, metrics=metrics)))

    put("worse", "world", mrr=0.5)
    put("deep/better", "world", mrr=0.75)
    put("deep/better/.hidden", "world", mrr=0.9)
    put("unknown", "world")
    put("high", "a", mr=30.0)
    put("low", "a", mr=20.0)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "run.json").write_text('{"format": 1}')
    found, faults = find_runs(tmp_path)
    names = [str(path.relative_to(tmp_path)) for path, _ in found]
    assert names == ["low", "high", "deep/better", "worse", "unknown"]
    assert len(faults) == 1
    assert "itransf 0.1" in faults[0]
    with pytest.raises(RunError, match="no such folder"):
        find_runs(tmp_path / "none")
