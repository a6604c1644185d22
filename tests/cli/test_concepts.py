from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import call
from golden.attentions import make_attention
from golden.comparing import check_golden, make_paper
from itransf.cli.concepts import format_uses, show_attention, show_sharing


def test_the_concepts_of_relations_and_who_shares_them() -> None:
    console, paper = make_paper()
    show_attention(make_attention().to_dict(), console)
    show_sharing(make_attention(), ["near", "has official language"], console)
    check_golden("concepts.txt", paper.getvalue())


def test_weak_and_surplus_concepts_are_left_out() -> None:
    uses = [{"concept": place, "weight": 0.3 - place / 20} for place in range(5)]
    assert format_uses(uses, 2) == "0:0.30  1:0.25  and 3 more"
    assert format_uses([{"concept": 1, "weight": -0.5}, {"concept": 2, "weight": 0.01}]) == "1:-0.50"


def test_many_relations_are_cut_and_the_rest_counted() -> None:
    entry = {"relation": "r", "label": "r", "train_facts": 1, "head": [], "tail": []}
    console, paper = make_paper()
    show_attention({"relations": [entry] * 100}, console)
    assert "40 rarer relations are not listed" in paper.getvalue()


def test_without_a_plot_a_text_heat_map_is_shown(run: Path) -> None:
    done = call("concepts", run)
    assert done.code == 0
    assert "has capital (T)" in done.out
    assert "█ to 1" in done.out


def test_json_is_the_attention(run: Path, opened: Any) -> None:
    content = json.loads(call("concepts", run, "--relation", "has capital", "--json").out)
    assert content["relations"] == opened.concepts().to_dict(["P36"])["relations"]
    assert content["plot"] is None


@pytest.mark.parametrize("name", ["map.png", "map.svg"])
def test_a_plot_is_written(name: str, run: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = call("concepts", run, "--relation", "near", "--plot", tmp_path / name)
    assert done.code == 0, done.err
    assert (tmp_path / name).stat().st_size > 1000
    assert f"The heat map is in {tmp_path / name}" in done.out
    assert "Who shares the concepts of near" in done.out
    assert "█" not in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("--relation", "neer"), "Did you mean 'near'"), (("--plot", "map.jpg"), ".png or .svg")],
)
def test_mistakes_are_misuse(arguments: tuple[str, ...], message: str, run: Path) -> None:
    done = call("concepts", run, *arguments)
    assert done.code == 2
    assert message in done.err


def test_a_model_without_concepts_says_so(transe_run: Path) -> None:
    done = call("concepts", transe_run)
    assert done.code == 2
    assert "no concepts" in done.err
