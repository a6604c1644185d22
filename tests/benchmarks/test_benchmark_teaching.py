from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.sections.teaching import BEGIN, END, put_figures, render, summarise
from benchmarks.teaching import hold_out

from itransf.data.graph import Graph


def figure(relation: str, facts: int, draw: int, method: str, mrr: float, seconds: float = 1.0) -> dict[str, Any]:
    named = {"relation": relation, "facts": facts, "draw": draw, "method": method}
    return {**named, "seconds": seconds, "asked": 9, "mrr": mrr, "head mrr": mrr, "tail mrr": mrr}


def make_figures() -> list[dict[str, Any]]:
    rows = []
    for relation, gain in (("a", 0.0), ("b", 0.2)):
        for method, mrr in (("learned", 0.4), ("retrained", 0.5), ("translation", 0.2), ("random", 0.3)):
            rows.append(figure(relation, 20, 0, method, mrr + gain))
        rows.append(figure(relation, 20, 1, "learned", 0.9, seconds=3.25))
    return rows


def test_methods_are_compared_on_the_draws_they_share() -> None:
    (row,) = summarise(make_figures())
    assert row["learned"] == pytest.approx(0.5)
    assert row["retrained"] == pytest.approx(0.6)
    assert row["share"] == pytest.approx(0.5 / 0.6)
    assert row["slowest"] == 3.25


def test_what_was_not_retrained_yet_is_left_out() -> None:
    assert summarise([figure("a", 5, 0, "learned", 0.5)]) == []


def test_figures_are_rendered_and_put_between_the_marks() -> None:
    record = {
        "config": {"dataset": "world"},
        "command": "python -m benchmarks.teaching",
        "date": "2026-01-02T00:00:00+00:00",
        "git": {"commit": "abcdef0123456"},
        "hardware": {"cores": 2, "cpu": "some"},
        "figures": make_figures(),
    }
    shown = render({"teaching": record, "peers": {}})
    assert "| 20 | 0.500 | 0.600 | 83 % | 0.300 | 0.400 | 3.2 |" in shown
    assert "| a | 0.400 | 0.500 | 0.200 | 0.300 |" in shown
    page = put_figures(f"# Page\n\n{BEGIN}\nold\n{END}\nrest\n", shown)
    assert "old" not in page
    assert page.endswith(f"{END}\nrest\n")
    assert put_figures(page, shown) == page
    assert render({}) == "Nothing is stored yet.\n"


def test_a_relation_is_taken_out_of_every_split() -> None:
    facts = [(f"e{n}", ("a", "b", "c")[n % 3], f"e{n + 1}") for n in range(240)]
    graph = Graph.from_names("g", facts[:200], facts[200:220], facts[220:])
    held = hold_out(graph, "b")
    assert held.graph.relations.names == ("a", "c")
    assert len(held.facts) == 80
    assert set(held.facts[:, 1].tolist()) == {2}
    assert sum(len(held.graph.split(split)) for split in ("train", "valid", "test")) == 160
    names = {(graph.entities.name(h), graph.entities.name(t)) for h, _, t in held.graph.train.tolist()}
    assert names == {(h, t) for h, r, t in facts[:200] if r != "b"}
    assert held.known.contains(held.facts).all()
    assert not np.array_equal(held.draw(0), held.draw(1))
    assert held.name_pairs(held.facts[:1]) == [("e1", "e2")]
    with pytest.raises(SystemExit, match="at least 60"):
        hold_out(Graph.from_names("g", facts[:90]), "b")
