from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.held_out import choose_relations, find_companions, hold_out, list_pairs
from benchmarks.teaching import METHODS, RECIPE, render, summarise

import itransf
from benchmarks import teaching
from itransf.data.graph import Graph


def figure(relation: str, triples: int, draw: int, method: str, mrr: float, seconds: float = 1.0) -> dict[str, Any]:
    named = {"relation": relation, "triples": triples, "draw": draw, "method": method}
    return {**named, "seconds": seconds, "asked": 9, "mrr": mrr, "head mrr": mrr, "tail mrr": mrr}


def make_figures() -> list[dict[str, Any]]:
    rows = []
    for relation, gain in (("a", 0.0), ("b", 0.2)):
        for method, mrr in zip(METHODS, (0.4, 0.5, 0.2, 0.3), strict=True):
            rows.append(figure(relation, 20, 0, method, mrr + gain))
        rows.append(figure(relation, 20, 1, "learned", 0.9, seconds=3.25))
    return rows


def make_record(figures: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "benchmark": "teaching",
        "config": {"dataset": "world"},
        "command": "python -m benchmarks.teaching",
        "date": "2026-01-02T00:00:00+00:00",
        "seed": 0,
        "git": {"commit": "abcdef0123456", "dirty": False},
        "hardware": {"cores": 2, "cpu": "some", "platform": "any", "memory_bytes": None, "load_before": 0.1},
        "versions": {"torch": "2"},
        "recipe": RECIPE,
        "companions": ["mirror_of_a"],
        "base": {"valid mrr": 0.75, "seconds": 40.0},
        "figures": figures,
    }


@pytest.fixture
def graph() -> Graph:
    """Return a graph of three relations at different steps along a circle, and one whose tails no other has."""
    steps = {"a": 1, "b": 2, "c": 3}
    triples = [(f"e{n}", name, f"e{(n + step) % 70}") for n in range(70) for name, step in steps.items()]
    triples += [(f"e{n}", "kind", f"kind {n % 3}") for n in range(70)]
    return Graph.from_names("line", triples[5:], triples[:3], triples[3:5])


class TestHoldingOut:
    def test_relations_are_taken_out_of_every_split(self, graph: Graph) -> None:
        held = hold_out(graph, ["c", "a"])
        assert held.graph.relations.names == ("b", "kind")
        assert {name: set(triples[:, 1].tolist()) for name, triples in held.triples.items()} == {"c": {2}, "a": {3}}
        assert [len(held.answers[name]) for name in "ca"] == [70, 70]
        kept = sum(len(held.graph.split(split)) for split in ("train", "valid", "test"))
        assert kept == sum(len(graph.split(split)) for split in ("train", "valid", "test")) - 140
        pairs = {(f"e{n}", f"e{(n + 3) % 70}") for n in range(70)}
        assert set(held.name_pairs(held.answers["c"])) == pairs
        assert held.name_pairs(held.graph.train[held.graph.train[:, 1] == 1])[0][1].startswith("kind")

    def test_relations_that_mirror_or_repeat_a_held_out_one_are_held_out_as_well(self, graph: Graph) -> None:
        named = [(f"e{n}", f"e{(n + 1) % 70}") for n in range(70)]
        more = [(tail, "mirror", head) for head, tail in named] + [(head, "copy", tail) for head, tail in named]
        more += [(head, "part", tail) for head, tail in named[:10]]
        more += [(tail, "wide", head) for head, tail in named] + [(f"e{n}", "wide", f"e{n}") for n in range(40)]
        names = graph.entities.names
        known = [(names[h], graph.relations.name(r), names[t]) for h, r, t in graph.train.tolist()]
        # The mirror images are scattered over the splits: together they show what the graph is.
        larger = Graph.from_names("mirrored", known + more[::2], more[1::4], more[3::4])
        held = hold_out(larger, ["a", "c"])
        assert set(held.companions) == {"mirror", "copy", "part", "wide"}
        assert held.graph.relations.names == ("b", "kind")
        left = np.concatenate([held.graph.split(split) for split in ("train", "valid", "test")])
        pairs = {frozenset(pair) for pair in named}
        assert not any(frozenset(pair) in pairs for pair in held.name_pairs(left))
        assert set(held.triples) == {"a", "c"}
        assert set(held.put_back({}).relations.names) == {"a", "b", "c", "kind"}
        chosen = choose_relations(larger, 9, seed=0)
        assert not set(find_companions(list_pairs(larger), chosen)) & set(chosen)

    def test_the_inverses_of_the_measured_relations_of_world_are_held_out(self) -> None:
        held = hold_out(itransf.load("world", progress=False), teaching.WORLD)
        assert {"has_capital", "has_member"} <= set(held.companions)
        assert not held.short

    def test_triples_about_entities_that_the_rest_never_mentions_are_left_out(self, graph: Graph) -> None:
        held = hold_out(graph, ["kind"])
        assert len(held.triples["kind"]) == 0
        assert len(held.answers["kind"]) == 70

    def test_draws_are_orders_and_triples_come_back(self, graph: Graph) -> None:
        held = hold_out(graph, ["c", "a"])
        first = held.draw("c", 0)
        assert np.array_equal(first, held.draw("c", 0))
        assert not np.array_equal(first, held.draw("c", 1))
        again = held.put_back({"c": first[:5], "a": held.draw("a", 0)[:5]})
        assert again.relations.names == ("b", "kind", "c", "a")
        assert len(again.train) == len(held.graph.train) + 10
        assert set(again.train[-10:, 1].tolist()) == {2, 3}

    def test_random_relations_have_enough_to_ask(self, graph: Graph) -> None:
        chosen = choose_relations(graph, 2, seed=0)
        assert len(chosen) == 2
        assert "kind" not in chosen
        assert chosen == choose_relations(graph, 2, seed=0)


class TestMeasuring:
    QUICK = ("training.epochs=1", "model.dim=4", "model.concepts=3", "model.support_size=2")

    @pytest.fixture
    def measure(self, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
        monkeypatch.setattr(itransf, "load", lambda name, progress: graph)

        def call(*more: str) -> dict[str, Any]:
            asked = ("--dataset", "line", "--counts", "3", "--asked", "8", "--draws", "1", "--seed", "1")
            places = ("--runs", str(tmp_path / "runs"), "--results", str(tmp_path))
            teaching.main([*asked, *places, "--settings", *self.QUICK, *more])
            found: dict[str, Any] = json.loads((tmp_path / "benchmark-teaching-line.json").read_text(encoding="utf-8"))
            return found

        return call

    def test_every_way_is_measured_on_the_same_triples(self, measure: Callable[..., dict[str, Any]]) -> None:
        record = measure("--relations", "a", "c")
        found = {(f["relation"], f["triples"], f["method"]) for f in record["figures"]}
        assert found == {(name, 3, method) for name in "ac" for method in METHODS}
        assert len(record["figures"]) == len(found)
        assert {f["asked"] for f in record["figures"]} == {8}
        assert all(0 < f["mrr"] <= 1 for f in record["figures"])
        assert record["settings"]["training"]["epochs"] == 1
        assert "--relations a c" in record["command"]
        assert "held-out" not in record["command"]

    def test_what_is_stored_is_not_measured_again(
        self, measure: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = measure("--held-out", "1", "--minutes", "1e-9")
        assert {f["method"] for f in first["figures"]} == {"learned", "translation", "random"}
        trained: list[str] = []
        monkeypatch.setattr(itransf, "train", _listening(itransf.train, trained))
        second = measure("--held-out", "1")
        assert second["figures"][: len(first["figures"])] == first["figures"]
        assert len(trained) == 1  # again with the triples; the base is not needed any more
        assert measure("--held-out", "1") == second
        assert len(trained) == 1
        assert "held-out 1" in second["command"]

    def test_a_relation_without_enough_triples_is_refused(self, measure: Callable[..., dict[str, Any]]) -> None:
        with pytest.raises(SystemExit, match=r"60 triples .* kind"):
            measure("--relations", "kind")


def _listening(train: Callable[..., Any], heard: list[str]) -> Callable[..., Any]:
    def call(graph: Graph, **options: Any) -> Any:
        heard.append(graph.name)
        return train(graph, **options)

    return call


class TestRendering:
    def test_methods_are_compared_on_the_draws_they_share(self) -> None:
        (row,) = summarise(make_figures())
        assert row["learned"] == pytest.approx(0.5)
        assert row["retrained"] == pytest.approx(0.6)
        assert row["share"] == pytest.approx(0.5 / 0.6)
        assert row["slowest"] == 3.25

    def test_what_was_not_retrained_yet_is_left_out(self) -> None:
        figures = [figure("a", 5, 0, "learned", 0.5)]
        assert summarise(figures) == []
        assert "retrained yet" in render(make_record(figures))

    def test_figures_are_rendered(self) -> None:
        shown = render(make_record(make_figures()))
        assert "| 20 | 0.500 | 0.600 | 0.300 | 0.400 | 83 % | 3.2 | 1 |" in shown
        assert "| a | 9 | 0.400 | 0.500 | 0.200 | 0.300 |" in shown
        assert "80 %: met; 2 of 2" in shown
        assert "mirror_of_a" in shown

    def test_results_with_leaking_relations_are_withdrawn(self) -> None:
        record = make_record(make_figures())
        del record["recipe"]
        shown = render(record)
        assert "Withdrawn" in shown
        assert "python -m benchmarks.teaching" in shown
        assert "|" not in shown

    def test_a_missed_target_is_shown(self) -> None:
        rows = [figure("a", 20, 0, method, 0.3 if method == "learned" else 0.5, 12.0) for method in METHODS]
        assert render(make_record(rows)).count("**missed**") == 3
