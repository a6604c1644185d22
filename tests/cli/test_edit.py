from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import itransf
from cli.conftest import call
from golden.comparing import check_golden, make_paper
from itransf.cli import edit
from itransf.cli.edit import parse_place, show_edit


def figures(mrr: float) -> dict[str, float]:
    return {"mr": 12.5, "mrr": mrr, "hits@1": 0.25, "hits@3": 0.4, "hits@10": 0.75, "queries": 2074}


FOUND: dict[str, Any] = {
    "run": "runs/edited",
    "changes": ["Concept 3 was forbidden to the heads of borders.", "The concepts were pruned to 12."],
    "concepts": [16, 12],
    "epochs": 5,
    "valid": {"before": figures(0.75), "edited": figures(0.5), "refitted": figures(0.7)},
}


def test_what_people_see() -> None:
    console, paper = make_paper()
    show_edit(FOUND, console)
    check_golden("edit.txt", paper.getvalue())


def test_without_validation_it_is_said() -> None:
    console, paper = make_paper()
    show_edit({**FOUND, "valid": None, "concepts": [16, 16]}, console)
    assert "There are no validation triples to measure it on." in paper.getvalue()
    assert "where there were" not in paper.getvalue()


def test_each_step_is_measured_and_the_rules_are_kept(run: Path, opened: Any, tmp_path: Path) -> None:
    used = int(opened.model.project_head.support[0, 0])
    asked = ("--forbid", f"city_in.head={used}", "--pin", f"has capital.tail={used}", "--epochs", 2)
    done = call("edit", run, "--out", tmp_path / "new", *asked, "--json", "--quiet")
    assert done.code == 0, done.err
    shown = json.loads(done.out)
    assert list(shown["valid"]) == ["before", "edited", "refitted"]
    assert shown["valid"]["before"]["mrr"] == opened.evaluate("valid")["mrr"]
    new = itransf.open(tmp_path / "new", device="cpu")
    assert used not in new.model.project_head.support[new.graph.relations.index("city_in")].tolist()
    assert used in new.model.project_tail.support[new.graph.relations.index("P36")].tolist()
    assert new.evaluate("valid")["mrr"] == shown["valid"]["refitted"]["mrr"]
    assert [line["phase"] for line in new.history][-2:] == ["re-fit"] * 2
    assert shown["changes"][0] == f"Concept {used} was forbidden to the heads of city_in."


def test_merging_and_pruning_without_a_refit(run: Path, tmp_path: Path) -> None:
    done = call("edit", run, "--out", tmp_path / "new", "--merge", "0, 1", "--prune", 2, "--epochs", 0)
    assert done.code == 0, done.err
    assert "There are 2 concepts, numbered 0 to 1, where there were 4." in done.out
    assert "re-fitted" not in done.out
    assert itransf.open(tmp_path / "new", device="cpu").config.model.concepts == 2


def test_names_may_hold_dots_and_equals_signs() -> None:
    assert parse_place("/a.b/c=d.head=3", "--pin") == ("/a.b/c=d", "head", "3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "nothing is to be changed"),
        (("--forbid", "near.head"), "--forbid 'near.head': write it as RELATION.SIDE=CONCEPT"),
        (("--forbid", "near=3"), "write it as RELATION.SIDE=CONCEPT"),
        (("--pin", "neer.head=1"), "Did you mean 'near'"),
        (("--pin", "near.haed=1"), "no side 'haed'"),
        (("--pin", "near.head=9"), "there is no concept 9"),
        (("--merge", "1"), "--merge '1': write it as A,B"),
        (("--merge", "1,1"), "cannot be merged with itself"),
        (("--prune", "4"), "cannot be pruned to 4"),
    ],
)
def test_mistakes_are_misuse(options: tuple[str, ...], message: str, run: Path, tmp_path: Path) -> None:
    done = call("edit", run, "--out", tmp_path / "new", *options)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
    assert not (tmp_path / "new").exists()


def test_a_model_without_concepts_is_refused(transe_run: Path, tmp_path: Path) -> None:
    done = call("edit", transe_run, "--out", tmp_path / "new", "--prune", 1)
    assert done.code == 2
    assert "a transe model has no concepts" in done.err


@pytest.mark.parametrize("is_file", [False, True])
def test_a_place_in_use_is_refused_before_any_work(
    is_file: bool, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edit, "open_run", lambda *_: pytest.fail("the run was opened"))
    taken = tmp_path / "taken"
    if is_file:
        taken.write_text("mine", encoding="utf-8")
    done = call("edit", run, "--out", taken if is_file else run, "--prune", 1)
    assert done.code == 2
    assert "is in use already; --overwrite replaces a run, another --out leaves it alone" in done.err


def test_what_is_no_run_is_never_overwritten(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    done = call("edit", run, "--out", tmp_path, "--prune", 2, "--epochs", 0, "--overwrite")
    assert done.code == 2
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"
