from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import itransf
from cli.conftest import call, write_triples
from golden.comparing import check_golden, make_paper
from itransf.cli import teach
from itransf.cli.teach import parse_place, show_edit, show_learned, show_update

RELATION: dict[str, Any] = {
    "run": "runs/new places",
    "seconds": 1.25,
    "triples": 20,
    "kind": "relation",
    "name": "twinned with",
    "head": [{"concept": 3, "weight": 0.91}, {"concept": 0, "weight": 0.09}],
    "tail": [{"concept": 3, "weight": 1.0}],
    "concept_names": {0: "near", 3: "city"},
    "ask": ["--head", "Lyon", "--relation", "twinned with"],
}
ENTITY: dict[str, Any] = {
    "run": "runs/new",
    "seconds": 0.5,
    "triples": 1,
    "kind": "entity",
    "name": "Nantes",
    "closest": [{"label": "Lyon", "cosine": 0.934}, {"label": "Lille", "cosine": 0.9}],
    "ask": ["--head", "Nantes", "--relation", "city_in"],
}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("Lyon\tMilano\nLille\tRome\nParis\tMadrid\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("found", "name"), [(RELATION, "learned_relation.txt"), (ENTITY, "learned_entity.txt")])
def test_what_people_see(found: dict[str, Any], name: str) -> None:
    console, paper = make_paper()
    show_learned(found, console)
    check_golden(name, paper.getvalue())


def test_a_relation_from_pairs(run: Path, pairs: Path, tmp_path: Path) -> None:
    done = call("learn", run, pairs, "--relation", "twin", "--out", tmp_path / "new")
    assert done.code == 0, done.err
    assert "relation twin from 3 triples" in done.out.splitlines()[0]
    opened = itransf.open(tmp_path / "new", device="cpu")
    assert opened.graph.relations.names[-1] == "twin"
    assert opened.graph.entities.label(int(opened.graph.train[-2, 2])) == "Rome"  # by its label
    asked = done.out.splitlines()[-2].split()
    assert call(*asked[1:], "--json").code == 0
    told = call("info", tmp_path / "new").err
    assert "'twin'" in told
    assert "3 triples" in told


def test_as_json_and_overwriting(run: Path, pairs: Path, tmp_path: Path) -> None:
    asked = ("learn", run, pairs, "--relation", "twin", "--out", tmp_path / "new", "--json")
    shown = json.loads(call(*asked).out)
    assert (shown["kind"], shown["name"], shown["triples"]) == ("relation", "twin", 3)
    assert sum(use["weight"] for use in shown["head"]) == pytest.approx(1.0)
    again = call(*asked)
    assert again.code == 2
    assert "--overwrite" in again.err
    assert call(*asked, "--overwrite").code == 0


@pytest.mark.parametrize(
    ("command", "arguments"),
    [("learn", ("new.tsv", "--relation", "twin")), ("update", ("new.tsv",)), ("edit", ("--prune", "3"))],
)
def test_a_folder_that_is_no_run_is_refused_before_any_work(
    command: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("notes", encoding="utf-8")
    done = call(command, "no-run", *arguments, "--out", tmp_path, "--overwrite")
    assert done.code == 2
    assert "is not a run and is not overwritten" in done.err


def test_a_relation_of_transe_has_no_concepts(transe_run: Path, tmp_path: Path) -> None:
    triples = write_triples(tmp_path / "triples.tsv", [("Lyon", "twin", "Milano"), ("Lille", "twin", "Roma")])
    done = call("learn", transe_run, triples, "--relation", "twin", "--out", tmp_path / "new")
    assert done.code == 0, done.err
    assert "concepts" not in done.out


@pytest.mark.parametrize("side", ["head", "tail"])
def test_an_entity(run: Path, tmp_path: Path, side: str) -> None:
    known = [("Nantes", "city_in", "France"), ("Nantes", "near", "Lille")]
    triples = write_triples(
        tmp_path / "triples.tsv", [*known, *([("Lyon", "near", "Nantes")] if side == "tail" else [])]
    )
    done = call("learn", run, triples, "--entity", "Nantes", "--out", tmp_path / "new")
    assert done.code == 0, done.err
    assert "close to" in done.out
    assert f"--{side} Nantes" in done.out
    assert itransf.open(tmp_path / "new", device="cpu").graph.entities.names[-1] == "Nantes"


@pytest.mark.parametrize(
    ("options", "lines", "message"),
    [
        (("--relation", "twin"), "Lyon\tMilan\n", "line 1: .*'Milan'.*'Milano'"),
        (("--relation", "near"), "Lyon\tMilano\n", "relation 'near' .*already"),
        (("--relation", "has capital"), "Lyon\tMilano\n", "the label of 'P36'"),
        (("--relation", "twin"), "Lyon\tnear\tMilano\n", "line 1: .*'near'"),
        (("--entity", "Lyon"), "Lyon\tnear\tMilano\n", "entity 'Lyon' .*already"),
        (("--entity", "Nice"), "Lyon\tnear\tMilano\n", "line 1: .*'Nice'"),
        (("--entity", "Nice"), "Nice\tneer\tMilano\n", "Did you mean 'near'"),
        ((), "Lyon\tMilano\n", "either --relation .* --entity"),
        (("--entity", "Nice", "--relation", "twin"), "Lyon\tMilano\n", "either --relation"),
    ],
)
def test_mistakes_are_misuse(options: tuple[str, ...], lines: str, message: str, run: Path, tmp_path: Path) -> None:
    (tmp_path / "triples.tsv").write_text(lines, encoding="utf-8")
    done = call("learn", run, tmp_path / "triples.tsv", *options, "--out", tmp_path / "new")
    assert done.code == 2
    assert re.search(message, done.err)
    assert done.out == ""
    assert not (tmp_path / "new").exists()


def test_models_with_matrices_of_their_own_are_refused(data: Path, pairs: Path, tmp_path: Path) -> None:
    quick = ("--set", "training.epochs=1", "--set", "model.dim=4", "--set", "model.name=stranse", "--quiet")
    labels = ("--labels", data.parent / "labels.tsv")
    assert call("train", data, "--out", tmp_path / "old", *labels, *quick).code == 0
    done = call("learn", tmp_path / "old", pairs, "--relation", "twin", "--out", tmp_path / "new")
    assert done.code == 2
    assert "stranse" in done.err
    assert "parameters" in done.err


def figures(mrr: float) -> dict[str, float]:
    return {"mr": 12.5, "mrr": mrr, "hits@1": 0.25, "hits@3": 0.4, "hits@10": 0.75, "queries": 2074}


FOUND: dict[str, Any] = {
    "run": "runs/edited",
    "changes": ["The concept city (3) was forbidden to the heads of borders.", "The concepts were pruned to 12."],
    "concepts": [16, 12],
    "epochs": 5,
    "valid": {"before": figures(0.75), "edited": figures(0.5), "refitted": figures(0.7)},
}


def test_what_people_see_of_edits() -> None:
    console, paper = make_paper()
    show_edit(FOUND, console)
    check_golden("edit.txt", paper.getvalue())


def test_missing_validation_is_reported() -> None:
    console, paper = make_paper()
    show_edit({**FOUND, "valid": None, "concepts": [16, 16]}, console)
    assert "no validation triples" in paper.getvalue()
    assert "instead of" not in paper.getvalue()


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
    assert all(word in shown["changes"][0] for word in (f"({used}) was ", "forbidden", "heads of city_in"))


def test_merging_and_pruning_without_a_refit(run: Path, tmp_path: Path) -> None:
    done = call("edit", run, "--out", tmp_path / "new", "--merge", "0, 1", "--prune", 2, "--epochs", 0)
    assert done.code == 0, done.err
    assert "numbered 0 to 1" in done.out
    assert "re-fitted" not in done.out
    assert itransf.open(tmp_path / "new", device="cpu").config.model.concepts == 2


def test_names_may_hold_dots_and_equals_signs() -> None:
    assert parse_place("/a.b/c=d.head=3", "--pin", ("head", "tail")) == ("/a.b/c=d", "head", "3")
    for text in ("/a.b/c=d=3", "/a.b/c=d.relation=3"):
        assert parse_place(text, "--pin", ("relation",)) == ("/a.b/c=d", "relation", "3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "nothing to change"),
        (("--forbid", "near.head"), "--forbid 'near.head': .*RELATION.SIDE=CONCEPT"),
        (("--forbid", "near=3"), "RELATION.SIDE=CONCEPT"),
        (("--pin", "neer.head=1"), "Did you mean 'near'"),
        (("--pin", "near.haed=1"), "no side 'haed'"),
        (("--pin", "near.head=9"), "there is no concept 9"),
        (("--merge", "1"), "--merge '1': .*A,B"),
        (("--merge", "1,1"), "merged with itself"),
        (("--prune", "4"), "cannot be pruned to 4"),
        (("--prune", "0"), "--prune must be a whole number of at least 1, not 0"),
    ],
)
def test_mistakes_about_edits_are_misuse(options: tuple[str, ...], message: str, run: Path, tmp_path: Path) -> None:
    done = call("edit", run, "--out", tmp_path / "new", *options)
    assert done.code == 2
    assert re.search(message, done.err)
    assert done.out == ""
    assert not (tmp_path / "new").exists()


def test_a_model_without_concepts_cannot_be_edited(transe_run: Path, tmp_path: Path) -> None:
    done = call("edit", transe_run, "--out", tmp_path / "new", "--prune", 1)
    assert done.code == 2
    assert "TransE has no concepts" in done.err


@pytest.mark.parametrize("is_file", [False, True])
def test_a_place_in_use_is_refused_before_any_work(
    is_file: bool, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teach, "open_run", lambda *_: pytest.fail("the run was opened"))
    taken = tmp_path / "taken"
    if is_file:
        taken.write_text("mine", encoding="utf-8")
    done = call("edit", run, "--out", taken if is_file else run, "--prune", 1)
    assert done.code == 2
    assert ("is not a run and is not overwritten" if is_file else "--overwrite") in done.err


def test_what_is_no_run_is_never_overwritten(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    done = call("edit", run, "--out", tmp_path, "--prune", 2, "--epochs", 0, "--overwrite")
    assert done.code == 2
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"


UPDATED: dict[str, Any] = {
    "run": "runs/new places",
    "before": "runs/places",
    **{"added": 1200, "known": 1, "entities": 3, "relations": 1, "removed": 2, "absent": 0},
    "seconds": 1.25,
    "valid": {"before": figures(0.75), "after": figures(0.76)},
}


def test_what_people_see_of_updates() -> None:
    console, paper = make_paper()
    show_update(UPDATED, console)
    check_golden("update.txt", paper.getvalue())


@pytest.fixture
def more(tmp_path: Path) -> Path:
    return write_triples(tmp_path / "more.tsv", [("Nantes", "city_in", "France"), ("Lyon", "city_in", "France")])


def test_an_update_adds_removes_and_compares(run: Path, more: Path, tmp_path: Path) -> None:
    gone = write_triples(tmp_path / "gone.tsv", [("Torino", "city_in", "Italy"), ("Torino", "near", "Lyon")])
    asked = ("update", run, more, "--remove", gone, "--out", tmp_path / "new", "--epochs", 1, "--quiet", "--json")
    done = call(*asked)
    assert done.code == 0, done.err
    shown = json.loads(done.out)
    assert [shown[key] for key in ("added", "known", "entities", "removed", "absent")] == [1, 1, 1, 1, 1]
    assert (shown["new_entities"], shown["new_relations"]) == (["Nantes"], [])
    assert "Note: New entities: Nantes" in done.err
    assert f"{gone}, line 2: Torino near Lyon" in done.err
    new = itransf.open(tmp_path / "new", device="cpu")
    assert shown["valid"]["after"]["mrr"] == new.evaluate("valid")["mrr"]
    assert shown["valid"]["before"]["mrr"] == itransf.open(run, device="cpu").evaluate("valid")["mrr"]
    assert "Updated  1 time, last on 20" in call("info", tmp_path / "new").out
    assert call("diff", run, tmp_path / "new").code == 0


def test_an_alert_is_a_failure_after_the_run_is_written(
    run: Path, more: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(itransf.run, "compare_valid", lambda *_: {"before": figures(0.75), "after": figures(0.7)})
    asked = ("update", run, more, "--epochs", 0, "--quiet", "--alert")
    assert call(*asked, 0.06, "--out", tmp_path / "fine").code == 0
    done = call(*asked, 0.04, "--out", tmp_path / "low")
    assert done.code == 1
    assert "fell from 0.750 to 0.700" in done.err
    assert itransf.open(tmp_path / "low", device="cpu").graph.entities.has_name("Nantes")


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ("Lyon\tnear\n", (), "line 1"),
        ("Lyon\tnear\tParis\n", ("--overwrite", "--out", "RUN"), "is the run itself"),
        ("Lyon\tnear\tParis\n", ("--out", "RUN/../places"), "is the run itself"),
        ("Lyon\tnear\tParis\n", ("--epochs", "-1"), "epochs must be"),
        ("Lyon\tnear\tParis\n", ("--alert", "-1"), "--alert -1: give"),
        ("Lyon\tnear\tParis\n", ("--literals", "bin"), "must be drop or keep, not 'bin'"),
        ("Lyon\tnear\tParis\n", ("--remove", "nowhere.tsv"), "nowhere.tsv"),
    ],
)
def test_mistakes_about_updates_are_misuse(
    lines: str, options: tuple[str, ...], message: str, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "more.tsv").write_text(lines, encoding="utf-8")
    given = [option.replace("RUN", str(run)) for option in options]
    done = call("update", run, tmp_path / "more.tsv", "--out", tmp_path / "new", *given)
    assert done.code == 2
    assert re.search(message, done.err)
    assert done.out == ""
    assert not (tmp_path / "new").exists()
