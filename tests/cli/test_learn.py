from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import itransf
from cli.conftest import call, write_triples
from golden.comparing import check_golden, make_paper
from itransf.cli.learn import show_learned

RELATION: dict[str, Any] = {
    "run": "runs/new places",
    "seconds": 1.25,
    "triples": 20,
    "kind": "relation",
    "name": "twinned with",
    "head": [{"concept": 3, "weight": 0.91}, {"concept": 0, "weight": 0.09}],
    "tail": [{"concept": 3, "weight": 1.0}],
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
    assert done.out.startswith("Learned the relation twin from 3 triples in ")
    opened = itransf.open(tmp_path / "new", device="cpu")
    assert opened.graph.relations.names[-1] == "twin"
    assert opened.graph.entities.label(int(opened.graph.train[-2, 2])) == "Rome"  # by its label
    asked = done.out.splitlines()[-2].split()
    assert call(*asked[1:], "--json").code == 0
    assert "'twin' was learned from 3 triples" in call("info", tmp_path / "new").err


def test_as_json_and_overwriting(run: Path, pairs: Path, tmp_path: Path) -> None:
    asked = ("learn", run, pairs, "--relation", "twin", "--out", tmp_path / "new", "--json")
    shown = json.loads(call(*asked).out)
    assert (shown["kind"], shown["name"], shown["triples"]) == ("relation", "twin", 3)
    assert sum(use["weight"] for use in shown["head"]) == pytest.approx(1.0)
    again = call(*asked)
    assert again.code == 2
    assert "is in use already; --overwrite replaces a run" in again.err
    assert call(*asked, "--overwrite").code == 0


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
        (("--relation", "twin"), "Lyon\tMilan\n", "line 1: unknown entity 'Milan'. Did you mean 'Milano'"),
        (("--relation", "near"), "Lyon\tMilano\n", "the relation 'near' is in places already"),
        (("--relation", "has capital"), "Lyon\tMilano\n", "the label of 'P36'"),
        (("--relation", "twin"), "Lyon\tnear\tMilano\n", "line 1: its relation is 'near'"),
        (("--entity", "Lyon"), "Lyon\tnear\tMilano\n", "the entity 'Lyon' is in places already"),
        (("--entity", "Nice"), "Lyon\tnear\tMilano\n", "line 1: does not mention 'Nice'"),
        (("--entity", "Nice"), "Nice\tneer\tMilano\n", "Did you mean 'near'"),
        ((), "Lyon\tMilano\n", "give one of --relation NAME and --entity NAME"),
        (("--entity", "Nice", "--relation", "twin"), "Lyon\tMilano\n", "give one of --relation NAME"),
    ],
)
def test_mistakes_are_misuse(options: tuple[str, ...], lines: str, message: str, run: Path, tmp_path: Path) -> None:
    (tmp_path / "triples.tsv").write_text(lines, encoding="utf-8")
    done = call("learn", run, tmp_path / "triples.tsv", *options, "--out", tmp_path / "new")
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
    assert not (tmp_path / "new").exists()


def test_models_with_matrices_of_their_own_are_refused(data: Path, pairs: Path, tmp_path: Path) -> None:
    quick = ("--set", "training.epochs=1", "--set", "model.dim=4", "--set", "model.name=stranse", "--quiet")
    assert call("train", data, "--out", tmp_path / "old", *quick).code == 0
    done = call("learn", tmp_path / "old", pairs, "--relation", "twin", "--out", tmp_path / "new")
    assert done.code == 2
    assert "a stranse model has matrices of its own" in done.err
