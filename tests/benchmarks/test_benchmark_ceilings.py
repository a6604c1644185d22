from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks.ceilings import (
    Shape,
    cost_of_query,
    cost_of_triple,
    expect_relations,
    main,
    measure,
    measure_ranking,
    render,
    share_sides,
)

from benchmarks import ceilings

CPU = torch.device("cpu")
SHAPE = Shape(dim=2, concepts=10, support_size=3, batch_size=4)


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ceilings, "SIDE", {"cpu": 64})
        patch.setattr(ceilings, "COPIED", {"cpu": 1000})
        patch.setattr(ceilings, "SHAPES", (Shape(8, 10), Shape(12, 20)))
        return measure("world", "cpu", 0.01, 0)


def test_the_cost_of_a_triple_is_the_sum_of_its_parts() -> None:
    product = 2 * 2 * 2  # a vector times a matrix: d outputs, d multiplications and additions each
    rows = 3 * (product + 2 * product)  # forward; backward to the row and to the matrix
    composing = 2 * 2 * 3 * (2 * 2) * (2 + 4) / 4  # 2 relations, 2 sides, 3 concepts of 2 x 2, shared by 4 triples
    distances = 2 * (4 * 2 + 4 * 2)
    cost = cost_of_triple(SHAPE, relations=2)
    assert cost.flops == rows + composing + distances
    assert cost.bytes == 2 * 4 * (3 * 2 + 10 * 4 / 4)  # all ten concepts are in use: 2 relations have 12 places


def test_concepts_that_are_not_in_use_are_not_moved() -> None:
    few, many = (Shape(50, m) for m in (10, 3000))
    assert cost_of_triple(few, 7).flops == cost_of_triple(many, 7).flops
    assert cost_of_triple(many, 7).bytes == cost_of_triple(Shape(50, 70), 7).bytes > cost_of_triple(few, 7).bytes


def test_the_cost_of_a_query_shares_the_projected_table() -> None:
    alone, shared = (cost_of_query(SHAPE, entities=5, share=share) for share in (1.0, 0.5))
    table = 5 * 8 + 3 * 8
    assert alone.flops == 8 + 5 * 2 * 3 + table
    assert alone.flops - shared.flops == table / 2
    assert alone.bytes == 2 * shared.bytes == 5 * 2 * 4 * 3


def test_relations_of_a_batch_are_those_of_random_batches() -> None:
    generator = np.random.default_rng(0)
    relations = generator.choice(6, size=500, p=[0.5, 0.3, 0.1, 0.05, 0.04, 0.01])
    train = np.stack([relations, relations, relations], axis=1)
    seen = [len(np.unique(generator.choice(relations, 20))) for _ in range(4000)]
    assert expect_relations(train, 20) == pytest.approx(np.mean(seen), abs=0.05)


def test_sides_are_shared_by_all_queries() -> None:
    triples = np.array([[0, 1, 2], [3, 1, 4], [5, 7, 6]])
    assert share_sides(triples) == 2 * 2 / (2 * 3)
    assert share_sides(triples[:0]) == 0


def test_everything_is_measured_beside_the_ceilings(record: dict[str, Any]) -> None:
    assert [(found["activity"], found["dim"]) for found in record["measures"]] == [
        ("training", 8),
        ("ranking", 8),
        ("training", 12),
        ("ranking", 12),
    ]
    for found in record["measures"]:
        assert found["rate"] > 0
        assert found["counted"] > 0
        assert found["flops"] == found["rate"] * found["cost"]["flops"]
        assert found["of_product"] == found["flops"] / record["ceilings"]["product"]["flops"]
        assert found["of_copy"] == found["bytes"] / record["ceilings"]["copy"]["bytes"]


def test_the_record_says_what_ran_where(record: dict[str, Any]) -> None:
    assert record["command"] == "python -m benchmarks.ceilings --data world --device cpu --seconds 0.01 --seed 0"
    assert {"torch", "numba", "python", "itransf"} <= set(record["versions"])
    assert {"date", "seed", "config", "git", "hardware", "threads"} <= set(record)
    assert json.loads(json.dumps(record)) == record


def test_the_papers_recipe_is_measured() -> None:
    config = Shape(50, 30).configure(seed=3)
    assert [(shape.dim, shape.concepts) for shape in ceilings.SHAPES] == [(50, 30), (100, 300)]
    assert (config.model.dim, config.model.concepts, config.model.support_size) == (50, 30, 5)
    assert (config.training.batch_size, config.negatives.per_triple, config.seed) == (1000, 1, 3)
    found = (config.model.p_norm, config.loss.name, config.assignment.every, config.validation.every)
    assert found == (1, "hinge", 0, 0)


@pytest.mark.parametrize(("seconds", "ranked"), [(0.0, 100), (3.0, 400), (1e3, 700)])
def test_as_many_triples_are_ranked_as_the_time_allows(
    seconds: float, ranked: int, monkeypatch: pytest.MonkeyPatch, random_graph: Any
) -> None:
    sizes: list[int] = []

    def pretend(call: Any, device: torch.device) -> float:
        call()
        return sizes[-1] / 200  # a hundred triples take half a second

    monkeypatch.setattr(ceilings, "rank_triples", lambda model, triples, known: sizes.append(len(triples)))
    monkeypatch.setattr(ceilings, "time_call", pretend)
    found = measure_ranking(random_graph(100, train=50, test=700), Shape(4, 6), CPU, seconds, 0)
    assert found["counted"] == 2 * ranked
    assert found["rate"] == 400
    assert sizes[:2] == [100, 100]  # the first is not timed


def test_rates_and_shares_are_rendered(record: dict[str, Any]) -> None:
    found = record["measures"][0] | {"counted": 3000, "rate": 1e5, "flops": 4.5e9, "bytes": 1e8}
    found |= {"dim": 50, "concepts": 30, "cost": {"flops": 45000.0}, "of_product": 0.045, "of_copy": 0.005}
    (line,) = (line for line in render(record | {"measures": [found]}).splitlines() if "training, d 50, m 30" in line)
    assert line.endswith("| 3,000 triples | 100,000 triples/s | 45.0 | 4.50 | 4.5% | 0.10 | 0.5% |")


def test_the_record_is_written_and_no_time_is_refused(
    record: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ceilings, "measure", lambda *_: record)
    main(["--out", str(tmp_path / "record.json")])
    assert json.loads((tmp_path / "record.json").read_text(encoding="utf-8")) == record
    for seconds in ("0", "nan", "inf"):
        with pytest.raises(SystemExit):
            main(["--seconds", seconds])
        assert "above zero" in capsys.readouterr().err
