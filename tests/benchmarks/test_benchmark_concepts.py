from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from benchmarks.records import read_records

import itransf
from benchmarks import concepts
from itransf.config import Config
from itransf.data import Graph
from itransf.models import IComplEx
from itransf.run.settings import resolve_config

SMALL = ("training.epochs=1", "warm_start.epochs=3", "model.dim=4", "model.concepts=6", "model.support_size=2")
CPU = torch.device("cpu")


@pytest.fixture
def graph() -> Graph:
    return itransf.load("world", progress=False)


@pytest.fixture
def config(graph: Graph) -> Config:
    return resolve_config(graph, settings=["model.name=icomplex", *SMALL], device="cpu")


def test_variants_are_stored_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concepts, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["concepts", "--seeds", "2", "--set", *SMALL])
    concepts.main()
    record = read_records(tmp_path)["concepts-world"]
    page = concepts.render(record)
    assert "default: m = 6, k = 2" in record["variants"]
    assert "m = 12" in record["variants"]
    assert all(f"| {name} |" in page for name in record["variants"])


def test_joint_training_keeps_the_largest_weights_and_moves_the_others(graph: Graph, config: Config) -> None:
    start = IComplEx.build(graph, config.model)
    model = concepts.JointIComplEx(start.sizes, config.model)
    torch.nn.init.normal_(model.attention.scores)
    vectors = model.train().relation_table()
    vectors.backward(torch.randn_like(vectors))
    sizes = model.attention.scores.abs() * model.concepts.norm(dim=1)
    assert torch.equal(model.is_supported("relation"), sizes >= sizes.topk(2).values[:, -1:])
    assert model.attention.scores.grad is not None
    assert bool(model.attention.scores.grad.all())  # those that are not supported have gradients, too
    kept = model.attention.scores.masked_fill(~model.is_supported("relation"), 0.0)
    assert torch.equal(vectors, model.compose(kept))


def test_supports_of_one_model_alone_are_those_of_its_own_codes(graph: Graph, config: Config) -> None:
    counts = concepts.count_triples(graph, CPU)
    full = concepts.train_complex(graph, config, CPU, 1)
    usual, found = (IComplEx.build(graph, config.model) for _ in range(2))
    assert isinstance(usual, IComplEx)
    assert isinstance(found, IComplEx)
    usual.start_from(full, counts)
    concepts.start_from_all(found, [full], counts)
    assert torch.equal(found.attention.support, usual.attention.support)
    torch.testing.assert_close(found.relation_table(), usual.relation_table())
