"""The page on interpretation says what the records say, and of what is missing that it is."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.interpretation_page import COMMANDS, OUTDATED, render
from benchmarks.recipes import RECIPES

from itransf.interpret.measures.structure import Finding, report_missing

SETTING = {
    "command": "python -m benchmarks.interpretation --dataset wn18",
    "date": "2000-01-01T00:00:00+00:00",
    "seed": 0,
    "git": {"commit": "abc", "dirty": False},
    "hardware": {"cpu": "chip", "gpu": None, "cores": 2, "memory_bytes": 0, "platform": "any", "load_before": 0.0},
    "versions": {"python": "3"},
}


def find(
    value: float, p: float, statistic: str = "average precision", interval: tuple[float, float] = (0.9, 1.0)
) -> Finding:
    return Finding("inverse pairs", statistic, value, *interval, 0.1, p, 7, "gold pairs among 153", (value,))


def describe(name: str, runs: int, *findings: Finding, **more: Any) -> dict[str, Any]:
    return {"name": name, "runs": runs, "findings": [one.to_dict() for one in findings], **more}


def make_run(model: str, seed: int, mrr: float, **more: Any) -> dict[str, Any]:
    figures = {"mrr": mrr, "hits@10": 0.9}
    return {"model": model, "seed": seed, "epochs": 5, "seconds": 7.4, "valid": figures, "test": figures, **more}


@pytest.fixture
def record() -> dict[str, Any]:
    unmeasured = report_missing("domains by top concept", "purity", "names tell no domain")
    return {
        **SETTING,
        "config": {"dataset": "wn18", "settings": ["training.epochs=3"]},
        "recipe": {
            "preset": "wn18/itransf",
            "settings": ["training.epochs=9", "loss.margin=1.0"],
            "remark": "One is short.",
        },
        "settings": {model: {"training": {"epochs": 5}} for model in ("itransf", "stranse", "l1")},
        "complete": True,
        "runs": [
            make_run("itransf", 0, 0.5),
            make_run("itransf", 1, 0.7),
            make_run("stranse", 0, 0.4),
            {"model": "l1", "seed": 0, "error": "no memory\nat all"},
        ],
        "models": [
            describe("ITransF", 2, find(0.987, 0.0005), find(0.2, 0.3, "other"), unmeasured),
            describe("dense attention", 1, find(0.5, 0.2), find(0.4, 0.2, "other")),
            describe("STransE", 1, find(0.25, 0.2)),
        ],
    }


def test_figures_stand_beside_each_other(record: dict[str, Any]) -> None:
    page = render({"wn18": record})
    assert "| measure | ITransF, 2 seeds | 95 % | by chance | p | of | STransE | dense attention |" in page
    row = "| inverse pairs, average precision | 0.987 | 0.900 to 1.000 | 0.100 | 0.0005 | 7 gold pairs among 153 "
    assert row + "| 0.250 (0.100) | 0.500 (0.100) |" in page
    assert "| 0.200 | 0.900 to 1.000 | 0.100 | 0.3 | 7 gold pairs among 153 | - | 0.400 (0.100) |" in page


def find_item(page: str, start: str) -> str:
    (line,) = (line for line in page.splitlines() if line.startswith(f"- {start}"))
    return line


def test_the_summary_follows_from_the_figures(record: dict[str, Any]) -> None:
    page = render({"wn18": record})
    assert "average precision" in find_item(page, "ITransF has the highest")
    assert "inverse pairs, other" in find_item(page, "Not distinguished")
    assert "other (dense attention)" in find_item(page, "Others are higher")
    assert "names tell no domain" in find_item(page, "domains by top concept")
    assert "Not everything" not in page


def test_an_interval_below_zero_is_a_loss_and_one_below_the_null_is_worse_than_chance(record: dict[str, Any]) -> None:
    findings = [
        find(-0.030, 1.0, "gain", (-0.047, -0.015)),
        find(0.05, 1.0, "share", (0.04, 0.06)),
        find(-0.01, 0.7, "difference", (-0.03, 0.2)),
    ]
    page = render({"wn18": {**record, "models": [describe("ITransF", 5, *findings)]}})
    assert find_item(page, "A loss").endswith("inverse pairs, gain.")
    assert find_item(page, "Worse than chance").endswith("inverse pairs, share.")
    assert find_item(page, "Not distinguished").endswith("inverse pairs, difference.")


def test_accuracy_and_failures_are_reported(record: dict[str, Any]) -> None:
    page = render({"wn18": record})
    assert "| ITransF | 2 | 0.600 ± 0.141 | 0.900 ± 0.000 |" in page
    assert "| STransE | 1 | 0.400 | 0.900 | 0.400 | 0.900 | 5 | 7 |" in page
    assert "| dense + l1 | failed: no memory | - |" in page


def test_the_recipe_is_shown_with_settings_of_the_command(record: dict[str, Any]) -> None:
    page = render({"wn18": record})
    recipe = find_item(page, "Recipe")
    assert "`wn18/itransf`" in recipe
    assert "`training.epochs=3 loss.margin=1.0`" in recipe
    assert "\n- One is short.\n\n" in page


def test_a_recipe_that_has_changed_since_is_shown(record: dict[str, Any]) -> None:
    assert OUTDATED in render({"wn18": record})
    assert OUTDATED not in render({"wn18": {**record, "recipe": RECIPES["wn18"]}})


def test_a_training_that_was_stopped_is_named(record: dict[str, Any]) -> None:
    record["runs"][2]["epochs"] = 3
    assert "3 of 5 epochs" in find_item(render({"wn18": record}), "STransE")


def test_an_unfinished_record_says_so(record: dict[str, Any]) -> None:
    unfinished = {**record, "complete": False, "recipe": RECIPES["wn18"]}
    assert "Not everything is measured; the same command continues" in render({"wn18": unfinished})
    assert "Not everything is measured; the same" in render({"wn18": {**unfinished, "models": []}})
    assert "Not everything is measured.\n" in render({"wn18": {**record, "complete": False}})  # by an earlier recipe


def test_a_page_without_records_has_the_commands() -> None:
    page = render({})
    assert all(f"`{command}`" in page for command in COMMANDS.values())


def test_planted_sizes_have_tables_of_their_own(record: dict[str, Any]) -> None:
    sizes = {size: find(size / 4, 0.01) for size in (1, 2)}
    runs = [make_run("itransf", 0, 0.5, **{"support size": size}) for size in sizes]
    models = [describe("ITransF", 1, found, **{"support size": size}) for size, found in sizes.items()]
    page = render({"planted": {**record, "config": {}, "recipe": {}, "runs": runs, "models": models}})
    first, second = page.split("### At most ")[1:]
    assert first.startswith("1 concept on")
    assert "| 0.250 |" in first
    assert second.startswith("2 concepts on")
    assert "| 0.500 |" in second
    assert "- Recipe: defaults\n" in page


def test_explanations_are_rendered_beside_the_rest() -> None:
    finding = Finding("faithful explanations", "ratio", 4.5, 3.0, 6.0, 1.0, 0.001, 100, "predictions", (), "as it is")
    page = render({"named-triples": {**SETTING, "finding": finding.to_dict(), "complete": False}})
    assert "| faithful explanations, ratio | 4.500 | 3.000 to 6.000 | 1.000 | 0.001 | 100 predictions |" in page
    assert find_item(page, "faithful explanations, ratio").endswith("as it is.")
    assert "Not everything" in page
