from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks.scaling import (
    AXES,
    BASE,
    Point,
    choose_axes,
    compare_ends,
    format_microseconds,
    list_axis,
    main,
    make_graph,
    measure_point,
    plan_points,
    render,
)
from benchmarks.scaling_figure import format_size, write_figure

from benchmarks import scaling

CPU = torch.device("cpu")
SMALL = Point(entities=30, relations=5, concepts=4, support_size=2, batch_size=10, dim=3, triples=40)
SMALL_AXES = {
    "concepts": [3, 4],
    "support_size": [1, 2],
    "batch_size": [10, 20],
    "entities": [30, 60],
    "relations": [2, 5, 7, 9],
}


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("scaling") / "benchmark-scaling.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scaling, "choose_axes", lambda device, quick: (SMALL, SMALL_AXES))
        main(["--device", "cpu", "--repetitions", "1", "--out", str(out)])
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def test_sizes_reach_as_far_as_is_claimed() -> None:
    assert choose_axes("cuda", False) == (BASE, {axis: list(sizes) for axis, sizes in AXES.items()})
    assert (AXES["entities"][0], AXES["entities"][-1]) == (10**4, 10**7)
    assert (AXES["relations"][0], AXES["relations"][-1]) == (10, 10**5)
    assert (AXES["concepts"][0], AXES["concepts"][-1]) == (15, 3000)
    assert (AXES["support_size"][0], AXES["support_size"][-1]) == (1, 10)
    assert (AXES["batch_size"][0], AXES["batch_size"][-1]) == (20, 8192)
    base, axes = choose_axes("cpu", True)
    assert base.triples < choose_axes("cpu", False)[0].triples < BASE.triples
    assert max(axes["entities"]) < max(choose_axes("cpu", False)[1]["entities"]) < max(AXES["entities"])


@pytest.mark.parametrize(("device", "quick"), [("cuda", False), ("cpu", False), ("cpu", True)])
def test_the_base_lies_on_every_axis(device: str, quick: bool) -> None:
    base, axes = choose_axes(device, quick)
    assert all(getattr(base, axis) in sizes for axis, sizes in axes.items())


def test_every_point_is_planned_once_and_ends_come_first() -> None:
    points = plan_points(SMALL, SMALL_AXES)
    assert len(points) == len(set(points)) == 1 + 4 + 2 + 1
    assert points[0] == SMALL
    assert points[-1] == replace(SMALL, relations=7)
    assert {point.relations for point in points} == {2, 5, 7, 9}


def test_triples_are_random_distinct_and_in_range() -> None:
    point = replace(SMALL, triples=500)
    graph = make_graph(point, seed=0)
    assert len(np.unique(graph.train, axis=0)) == len(graph.train) > 400
    assert graph.train.min() == 0
    assert (graph.train.max(axis=0) == [29, 4, 29]).all()
    assert (len(graph.entities), len(graph.relations), len(graph.test)) == (30, 5, 0)
    assert (make_graph(point, seed=0).train == graph.train).all()


def test_the_largest_graph_has_numbers_that_fit() -> None:
    graph = make_graph(Point(10**7, 1000, 15, 5, 20, 4, 1000), seed=1)
    assert graph.train.min() >= 0
    assert (graph.train.max(axis=0) < [10**7, 1000, 10**7]).all()


def test_the_record_has_every_point(record: dict[str, Any]) -> None:
    assert len(record["points"]) == len(plan_points(SMALL, SMALL_AXES))
    assert record["skipped"] == []
    assert record["flat"] == compare_ends(record)
    assert all(ratio >= 1 for ratio in record["flat"].values())
    for point in record["points"]:
        cost = point["seconds_per_1000_triples"]["median"]
        assert cost > point["epoch_seconds"][0] > 0  # there are fewer than a thousand triples
        assert point["parameter_bytes"] > 4 * 3 * point["entities"]
    assert [point["relations"] for point in list_axis(record, "relations")] == [2, 5, 7, 9]


def test_flatness_is_the_dearest_over_the_cheapest() -> None:
    points = [
        {**asdict(replace(SMALL, concepts=m)), "seconds_per_1000_triples": {"median": cost}}
        for m, cost in ((3, 4.0), (4, 2.0))
    ]
    made = {"base": asdict(SMALL), "axes": {"concepts": [3, 4], "batch_size": [10]}, "points": points}
    assert compare_ends(made) == {"concepts": 2.0, "batch_size": None}


def test_a_point_that_does_not_fit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("out of memory\nand a long story")

    monkeypatch.setattr(scaling, "start_training", fail)
    assert measure_point(SMALL, CPU, 1, 0) == {**asdict(SMALL), "error": "out of memory"}


def test_what_there_is_no_time_for_is_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(scaling, "choose_axes", lambda device, quick: (SMALL, SMALL_AXES))
    out = tmp_path / "benchmark-scaling.json"
    main(["--device", "cpu", "--limit-seconds", "0", "--out", str(out)])
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["points"] == []
    assert len(found["skipped"]) == len(plan_points(SMALL, SMALL_AXES))
    assert set(found["flat"].values()) == {None}
    assert "time was up" in render(found)
    write_figure(found, tmp_path / "empty.png")


def test_the_section_is_written_from_the_record(record: dict[str, Any], tmp_path: Path) -> None:
    page = render(record)
    assert f"{record['flat']['relations']:.2f} times the fastest" in page
    assert "(scaling-cpu.png)" in page
    for name in ("one.png", "two.png"):
        write_figure(record, tmp_path / name)
    picture = (tmp_path / "one.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert (tmp_path / "two.png").read_bytes() == picture


def test_numbers_are_short() -> None:
    assert [format_microseconds(cost) for cost in (0.01234, 0.5, 2.0, 34.56, 1234.5)] == [
        "0.0123",
        "0.500",
        "2.00",
        "34.6",
        "1,234",
    ]
    assert [format_size(size) for size in (8192, 10**4, 10**7, 25000)] == ["8192", "$10^{4}$", "$10^{7}$", "2e+04"]
