from __future__ import annotations

import csv
import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import call
from golden.attentions import make_attention, make_inverse_attention
from golden.comparing import check_golden, make_paper
from itransf.cli.concepts import show_attention, show_sharing, show_sharing_graph
from itransf.cli.output import format_uses
from itransf.interpret import ConceptCard, SharingGraph, Use
from itransf.interpret.ablation import Ablation
from itransf.interpret.sharing import Donor, Link, Member
from itransf.run import Run, open_run


def test_the_concepts_of_relations_and_who_shares_them() -> None:
    console, paper = make_paper()
    show_attention(make_attention().to_dict(), console, {1: "place", 3: "near"})
    show_sharing(make_attention(), ["near", "has official language"], console)
    check_golden("concepts.txt", paper.getvalue())


def test_weak_and_surplus_concepts_are_left_out() -> None:
    uses = [{"concept": place, "weight": 0.3 - place / 20} for place in range(5)]
    assert format_uses(uses, {1: "city"}, 2) == "concept 0 0.30, city (1) 0.25 and 3 more"
    assert (
        format_uses([{"concept": 1, "weight": -0.5}, {"concept": 2, "weight": 0.01}], {1: "city"}) == "city (1) -0.50"
    )


def test_many_relations_are_cut_and_the_rest_counted() -> None:
    entry = {"relation": "r", "label": "r", "train_triples": 1, "head": [], "tail": []}
    console, paper = make_paper()
    show_attention({"relations": [entry] * 100}, console, {})
    assert "40 more relations" in paper.getvalue()


def test_without_a_plot_a_text_heat_map_is_shown(run: Path) -> None:
    done = call("concepts", run)
    assert done.code == 0
    assert "has capital (T)" in done.out
    assert "█ to 1" in done.out


def test_json_is_the_attention(run: Path, opened: Any) -> None:
    content = json.loads(call("concepts", run, "--relation", "has capital", "--json").out)
    assert content["relations"] == opened.concepts().to_dict(["P36"])["relations"]
    assert content["plot"] is None


@pytest.mark.parametrize("name", ["map.png", "map.svg", "map.html"])
def test_a_plot_is_written(name: str, run: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = call("concepts", run, "--relation", "near", "--plot", tmp_path / name)
    assert done.code == 0, done.err
    assert (tmp_path / name).stat().st_size > 1000
    assert f"The heat map is in {tmp_path / name}" in done.out
    assert "concepts of near" in done.out
    assert "█" not in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--relation", "neer"), "Did you mean 'near'"),
        (("--relation", "*x*"), "no relation matches"),
        (("--plot", "map.jpg"), ".png, .svg or .html"),
        (("--table", "weights.xls"), "'.xls'"),
        (("--card", "9"), "there is no concept 9"),
        (("--rename", "9=x"), "there is no concept 9"),
        (("--rename", "three=x"), "write it as number=name"),
        (("--card", "1", "--sharing"), "exclude each other"),
    ],
)
def test_mistakes_are_misuse(arguments: tuple[str, ...], message: str, run: Path) -> None:
    done = call("concepts", run, *arguments)
    assert done.code == 2
    assert message in done.err


def test_a_model_without_concepts_says_so(transe_run: Path) -> None:
    done = call("concepts", transe_run)
    assert done.code == 2
    assert "no concepts" in done.err


def test_relations_are_chosen_by_pattern_and_frequency(run: Path) -> None:
    def chosen(*options: str) -> list[str]:
        return [entry["relation"] for entry in json.loads(call("concepts", run, "--json", *options).out)["relations"]]

    assert chosen("--relation", "*capital*") == ["capital_of", "P36"]
    assert chosen("--top", "2") == ["city_in", "near"]
    assert call("concepts", run, "--top", "0").code == 2


@pytest.mark.parametrize("name", ["weights.csv", "weights.jsonl"])
def test_the_table_behind_the_heat_map_is_written(name: str, run: Path, opened: Any, tmp_path: Path) -> None:
    done = call("concepts", run, "--relation", "near", "--table", tmp_path / name)
    assert done.code == 0, done.err
    assert str(tmp_path / name) in done.out
    text = (tmp_path / name).read_text(encoding="utf-8")
    lines = text.splitlines()
    rows = list(map(json.loads, lines)) if name.endswith("jsonl") else list(csv.DictReader(lines))
    row = opened.concepts().row(opened.graph.relations.index("near"), "head")
    found = {int(line["concept"]): float(line["weight"]) for line in rows if line["side"] == "head"}
    assert found == pytest.approx({use.concept: use.weight for use in row})


def test_a_card_tells_what_a_concept_is(run: Path) -> None:
    done = call("concepts", run, "--card", 1)
    assert done.code == 0, done.err
    for word in ("Concept 1: ", "used by", "without it", "moves", "nearest"):
        assert word in done.out
    (card,) = json.loads(call("concepts", run, "--card", 1, "--json").out)["cards"]
    assert card["concept"] == 1


def test_all_cards_or_those_of_some_relations_are_printed(run: Path, opened: Any) -> None:
    everything = json.loads(call("concepts", run, "--cards", "--json").out)["cards"]
    assert {card["concept"] for card in everything} == set(opened.concepts().used.nonzero()[0].tolist())
    some = json.loads(call("concepts", run, "--cards", "--relation", "near", "--json").out)["cards"]
    assert {card["concept"] for card in some} == set(opened.concepts().choose(["near"]).used.nonzero()[0].tolist())


def test_the_sharing_graph_is_printed(run: Path) -> None:
    done = call("concepts", run, "--sharing")
    assert done.code == 0, done.err
    assert "Rare relations" in done.out
    assert "has capital" in done.out
    graph = json.loads(call("concepts", run, "--sharing", "--relation", "near", "--json").out)
    assert [entry["relation"] for entry in graph["relations"]] == ["near"]
    assert "\nRelations and " in "\n" + call("concepts", run, "--sharing", "--relation", "near").out


def test_a_concept_is_renamed_and_the_name_is_read_everywhere(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    done = call("concepts", folder, "--rename", "0=lies in", "--rename", "1=x")
    assert done.code == 0, done.err
    assert "0 lies in, 1 x\n" in done.out
    call("concepts", folder, "--rename", "1=")
    shown = call("concepts", folder).out
    assert "lies in (0)" in shown
    assert "Concepts: 0 lies in" in shown  # below the heat map
    assert json.loads(call("concepts", folder, "--json").out)["names"] == {"0": "lies in"}
    assert "Concept 0: lies in" in call("concepts", folder, "--card", "0").out
    call("concepts", folder, "--plot", tmp_path / "map.html")
    assert "lies in" in (tmp_path / "map.html").read_text(encoding="utf-8")
    assert call("concepts", folder, "--rename", "0=").out == "Named concepts: none\n"


def test_a_picture_of_another_format_is_refused_before_any_work(run: Path) -> None:
    done = call("concepts", run, "--rename", "0=first", "--plot", "plot.jpg")
    assert done.code == 2
    assert "a heat map is written as .png, .svg or .html" in done.err
    assert 0 not in open_run(run).concept_names


def test_letters_without_a_font_are_reported(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("itransf.interpret.find_missing_letters", lambda *_: "首都" * 10)
    done = call("concepts", run, "--plot", tmp_path / "map.png", "--top", "2")
    assert "首都" * 6 + " and 8 more" in done.err


def test_long_lists_are_cut_and_counted() -> None:
    member = Member("r", "r", 1, True, 0.1, (Donor("donor", "donor", 9, 0.25),) * 5)
    link = Link("r", "r", 0.5, True, (1, 2))
    console, paper = make_paper()
    show_sharing_graph(SharingGraph((member,) * 40, (link,) * 50), console, {1: "city", 2: "state"})
    assert "city (1), state (2)" in paper.getvalue()
    assert "10 more relations" in paper.getvalue()
    assert "20 more links" in paper.getvalue()
    assert paper.getvalue().count("donor 25%") == 30 * 3


def test_a_card_counts_what_it_does_not_list() -> None:
    uses = tuple(Use(f"r{place}", f"r{place}", "head", 0.5) for place in range(10))
    card = ConceptCard(2, "city", "town", True, uses, 3, uses[:1], 0.5, (), (), (), Ablation(4, 4, 8, 0.5, 0.25))
    lines = dict(card.describe())
    assert lines["suggested"] == "town"
    assert lines["used by"].partition("r7 (H) 0.50; ")[2].startswith("2 more, 3 ")
    assert "falls by 0.125" in lines["without it"]
    assert "1 of them" in lines["without it"]
    assert "not known" in dict(dataclasses.replace(card, ablation=None).describe())["without it"]


@pytest.fixture(scope="module")
def signed(signed_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a model whose relations have no sides."""
    folder = tmp_path_factory.mktemp("signed") / "run"
    signed_run.save(folder)
    return folder


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("concepts",), "a antisymmetric"),
        (("concepts", "--relation", "r1"), "Who shares the concepts of r1"),
        (("concepts", "--cards"), "raises most"),
        (("concepts", "--sharing"), "Relations that share most"),
        (("report", "--out", "OUT"), "The report is in"),
    ],
)
def test_relations_without_sides_are_shown_without_a_word_on_them(
    words: tuple[str, ...], told: str, signed: Path, tmp_path: Path
) -> None:
    command, *options = (tmp_path / "report.html" if word == "OUT" else word for word in words)
    done = call(command, signed, *options)
    assert done.code == 0, done.err
    assert told in done.out
    assert "(H)" not in done.out
    assert "Head" not in done.out


def test_the_table_shows_signs() -> None:
    console, paper = make_paper()
    show_attention(make_inverse_attention().to_dict(), console, {0: "part", 2: "whole"})
    assert "part (0) 0.50, whole (2) -0.50" in paper.getvalue()
    assert "whole (2) 0.50" in paper.getvalue()
