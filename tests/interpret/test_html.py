from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from golden.attentions import make_attention, make_inverse_attention, make_signed_attention
from interpret.pages_checking import check_page
from itransf.data import Vocabulary
from itransf.interpret import Attention, build_sharing_graph
from itransf.interpret.heatmap import collect_heatmap, count_relations, make_heatmap_page
from itransf.interpret.html import embed, format_metric, read_asset, render, soften
from itransf.interpret.html.circle import SIZE, choose_links, choose_members, draw_circle
from itransf.interpret.sharing import SharingGraph
from itransf.run.report import choose_ticks, draw_training

EVIL = "</script><script>alert(1)</script>"


def make_many(relations: int, concepts: int = 20, kind: Any = "sparse") -> Attention:
    weights = np.zeros((2, relations, concepts), dtype=np.float32)
    for relation in range(relations):
        weights[:, relation, relation % concepts] = 0.75
        weights[1, relation, (relation * 7 + 1) % concepts] += 0.25
    names = Vocabulary([f"/domain/{number}/relation" for number in range(relations)], kind="relation")
    supports = np.zeros((2, relations, 1), dtype=np.int64)
    return Attention(weights, names, supports, np.arange(relations)[::-1] + 1, kind)


def make_graph(relations: int) -> SharingGraph:
    attention = make_many(relations)
    return build_sharing_graph(attention, np.arange(relations) >= relations * 2 / 3)


def test_text_is_escaped_and_names_may_be_broken() -> None:
    assert soften("/a_<b>") == "/<wbr>a_&lt;b&gt;"
    page = render("page.html", title=EVIL, scripts=())
    assert "<script>alert" not in page
    assert "&lt;/script&gt;" in page


def test_no_data_can_end_its_element() -> None:
    held = embed({"name": EVIL, "line": "\u2028"}, "data")
    assert held.count("<") == 2
    assert json.loads(re.sub(r"^<script[^>]*>|</script>$", "", held)) == {"name": EVIL, "line": "\u2028"}


@pytest.mark.parametrize("name", ["tables.js", "heatmap.js", "circle.js", "page.css"])
def test_assets_come_with_the_package_and_cannot_end_their_element(name: str) -> None:
    text = read_asset(name)
    assert len(text) > 500
    assert "</script" not in text
    assert "</style" not in text


def test_the_map_holds_the_weights_of_the_attention() -> None:
    attention = make_attention()
    data = collect_heatmap(attention, {1: "city"}, {number: f"suggested {number}" for number in range(6)})
    assert [relation[2] for relation in data["relations"]] == sorted(attention.counts.tolist(), reverse=True)
    assert sorted(concept for concept, _, _ in data["concepts"]) == [0, 1, 3, 4]
    assert [1, "city", "suggested 1"] in data["concepts"]
    found = np.zeros_like(attention.weights)
    for relation, side, flat in data["rows"]:
        number = attention.relations.index(data["relations"][relation][1])
        for column, weight in zip(flat[::2], flat[1::2], strict=True):
            found[side, number, data["concepts"][column][0]] = weight
    np.testing.assert_allclose(found, attention.weights, atol=1e-4)


def test_a_page_of_the_map_stands_alone_and_names_cannot_break_it() -> None:
    weights = np.ones((2, 1, 1), dtype=np.float32)
    relations = Vocabulary([EVIL], kind="relation")
    attention = Attention(weights, relations, np.zeros((2, 1, 1), dtype=np.int64), np.ones(1, dtype=np.int64))
    reader = check_page(make_heatmap_page(attention, {0: EVIL}))
    assert reader.tags.count("script") == 3  # the data and two scripts
    signed = make_heatmap_page(make_signed_attention())
    assert "below zero" in "".join(check_page(signed).text)


def test_a_large_dense_map_keeps_to_the_most_frequent_relations() -> None:
    attention = make_many(50, 30, "dense")
    attention.weights[:] = 1 / 30
    assert count_relations(attention, 600) == 10
    assert count_relations(attention, 1) == 1
    assert count_relations(make_many(50), 10**6) == 50


def test_a_small_circle_shows_every_relation_and_a_large_one_the_rare_and_their_donors() -> None:
    small, large = make_graph(12), make_graph(90)
    assert len(choose_members(small)) == 12
    chosen = {member.relation for member in choose_members(large)}
    assert len(chosen) == 60
    first = large.rare[0]
    assert {first.relation, *(donor.relation for donor in first.donors[:2])} <= chosen
    assert draw_circle(large)["left_out"] == 30
    assert draw_circle(small)["left_out"] == 0


def test_the_circle_is_drawn_the_same_every_time_and_within_its_frame() -> None:
    graph = make_graph(70)
    drawing = draw_circle(graph)
    assert drawing == draw_circle(graph)
    assert sum(node["rare"] for node in drawing["nodes"]) == sum(member.rare for member in choose_members(graph))
    assert len(drawing["links"]) >= len(choose_links(graph, choose_members(graph)))
    places = [float(node[axis]) for node in drawing["nodes"] for axis in "xy"]
    assert min(places) > 0
    assert max(places) < SIZE


def test_an_empty_graph_can_be_drawn() -> None:
    assert draw_circle(SharingGraph((), ()))["nodes"] == []


def test_training_is_drawn_over_the_epochs_of_all_phases() -> None:
    losses, metrics = (4.0, 2.0, 3.0, 1.0, 0.5), (None, None, 0.25, None, 0.5)
    phases = ("warm start", "warm start", "training", "training", "training")
    lines = [{"phase": phase, "loss": loss} for phase, loss in zip(phases, losses, strict=True)]
    history = [line if value is None else {**line, "metric": value} for line, value in zip(lines, metrics, strict=True)]
    loss, valid = draw_training(history, "hits@10")
    assert (loss["title"], valid["title"]) == ("Mean loss", "Hits@10 on valid, %")
    assert [text for _, text in loss["columns"]] == ["0", "1", "2", "3", "4", "5"]
    assert [text for _, text in loss["rows"]] == ["0", "1", "2", "3", "4"]
    assert [text for _, text in valid["rows"]] == ["25", "30", "35", "40", "45", "50"]
    assert loss["breaks"] == valid["breaks"] == [loss["columns"][2][0]]
    heights = {text: y for y, text in loss["rows"]}
    wanted = [(loss["columns"][epoch][0], heights[str(int(each))]) for epoch, each in enumerate(losses[:4], 1)]
    assert loss["line"].startswith("M" + "L".join(f"{x} {y}" for x, y in wanted))
    assert valid["line"].split("L")[1].split() == [valid["columns"][5][0], valid["rows"][-1][0]]
    assert loss["dots"].count("M") == 5
    assert [chart["title"] for chart in draw_training(lines, "mrr")] == ["Mean loss"]
    assert draw_training(history[:1], "mrr") == []


@pytest.mark.parametrize(
    ("low", "high", "whole", "wanted"),
    [
        (0.7849, 0.7894, False, [0.784, 0.785, 0.786, 0.787, 0.788, 0.789, 0.79]),
        (0, 30, True, [0, 10, 20, 30]),
        (0, 2, True, [0, 1, 2]),
        (0, 500, True, [0, 100, 200, 300, 400, 500]),
        (2.0, 2.0, False, [2.0, 2.5]),
        (0.0, 0.0, False, [0.0, 0.2]),
        (-3.0, 1.0, False, [-3.0, -2.0, -1.0, 0.0, 1.0]),
    ],
)
def test_ticks_are_round_and_enclose_the_values(low: float, high: float, whole: bool, wanted: list[float]) -> None:
    assert choose_ticks(low, high, whole=whole) == pytest.approx(wanted)


def test_metrics_are_written_as_people_do() -> None:
    shown = [
        format_metric(value, name) for name, value in (("MRR", 0.5), ("Hits@10", 0.5), ("MR", 1234.5), ("MR", None))
    ]
    assert shown == ["0.500", "50.0%", "1,234.5", "–"]


def test_a_map_of_relations_without_sides_marks_antisymmetric_concepts() -> None:
    attention = make_inverse_attention()
    data = collect_heatmap(attention, {}, {})
    assert data["parts"] == ("relation",)
    assert data["signed"]
    numbers = [concept for concept, _, _ in data["concepts"]]
    assert {number for number, mark in zip(numbers, data["antisymmetric"], strict=True) if mark} == {2, 3}
    assert len(data["rows"]) == 4
    text = "".join(check_page(make_heatmap_page(attention)).text)
    assert "a antisymmetric concept" in text
    assert "head" not in text
