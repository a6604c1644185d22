from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import call
from golden.comparing import check_golden, make_paper
from golden.explanations import make_explanation, make_plain, make_product
from itransf.cli.concepts import show_explanation, show_profile
from itransf.interpret import RelationProfile, explanation
from itransf.interpret.attention import ConceptWeight
from itransf.interpret.similarity import MinedRole, RelatedRelation


def test_what_people_see() -> None:
    console, paper = make_paper(100)
    show_explanation(make_explanation(), console, parts=True)
    check_golden("explanation.txt", paper.getvalue())


def test_what_people_see_without_concepts_and_rivals() -> None:
    console, paper = make_paper()
    show_explanation(make_plain(), console, parts=True)
    check_golden("explanation_plain.txt", paper.getvalue())


def test_many_parts_are_shown_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanation, "MOST_PARTS", 1)
    console, paper = make_paper()
    show_explanation(make_explanation(), console, parts=True)
    line = next(line for line in paper.getvalue().splitlines() if line.startswith("tail") and "2 more" in line)
    assert line.split() == ["tail", "2", "more", "-0.125", "+0.125", "+0.250"]


def test_a_removal_that_changes_nothing_is_shown() -> None:
    console, paper = make_paper(120)
    explanation = make_explanation()
    removals = tuple(replace(removal, rank=1.0) for removal in explanation.removals)
    show_explanation(replace(explanation, removals=removals), console, parts=True)
    assert all(words in paper.getvalue() for words in ("city_in (T) (0) on the tail side", "stays at rank 1"))


def test_products_are_told_by_their_scores() -> None:
    console, paper = make_paper(120)
    show_explanation(make_product(), console, parts=True)
    shown = paper.getvalue()
    assert "distance" not in shown.lower()
    assert all(words in shown for words in ("The score as a sum of parts", "Cosine", "the lead depends"))
    assert "without capital (1), France [state] goes from rank 1 to 17" in shown


def test_parts_are_shown_on_request() -> None:
    console, paper = make_paper(120)
    show_explanation(make_product(), console)
    assert "sum of parts" not in paper.getvalue()
    assert "Reasons in train" in paper.getvalue()


@pytest.mark.parametrize("model", ["icomplex", "complex", "distmult"])
def test_commands_on_products(model: str, data: Path, tmp_path: Path) -> None:
    settings = (f"model.name={model}", "model.dim=8", "training.epochs=2")
    if model == "icomplex":
        settings += ("warm_start.epochs=2", "model.concepts=4", "model.support_size=2")
    run, new = tmp_path / "run", tmp_path / "new"
    given = [f"--set={setting}" for setting in settings]
    assert call("train", data, "--out", run, *given, "--device", "cpu", "--quiet").code == 0
    shown = json.loads(call("explain", run, "Italy", "P36", "Roma", "--json").out)
    assert sum(part["value"] for part in shown["contributions"]) == pytest.approx(shown["score"], abs=1e-6)
    assert shown["distance"] is None
    profile = json.loads(call("relation", run, "near", "--json").out)
    assert bool(profile["concepts"]) == (model == "icomplex")
    assert "cosines of relation vectors" in " ".join(call("relation", run, "near").out.split())
    (tmp_path / "pairs.tsv").write_text("Lyon\tMilano\nParis\tMadrid\n", encoding="utf-8")
    learned = call("learn", run, tmp_path / "pairs.tsv", "--relation", "twin", "--out", new)
    assert learned.code == 0, learned.err
    assert ("  concepts  " in learned.out) == (model == "icomplex")
    if model == "icomplex":
        used = profile["concepts"][0]["concept"]
        edited = call("edit", run, "--forbid", f"near={used}", "--epochs", "1", "--out", tmp_path / "edited", "--quiet")
        assert edited.code == 0, edited.err
        after = json.loads(call("relation", tmp_path / "edited", "near", "--json").out)
        assert used not in [each["concept"] for each in after["concepts"]]
        assert "RELATION=CONCEPT" in call("edit", run, "--pin", "near", "--out", tmp_path / "more").err


def test_a_triple_by_names_and_labels(run: Path, opened: Any) -> None:
    done = call("explain", run, "Italy", "has capital", "Rome")
    expected = opened.explain("Italy", "P36", "Roma")
    assert done.code == 0, done.err
    assert " ".join(done.out.split()).startswith(expected.sentence)
    assert expected.known == "train"
    shown = json.loads(call("explain", run, "Italy", "P36", "Roma", "--json").out)
    assert shown == json.loads(json.dumps(expected.to_dict()))
    assert sum(part["value"] for part in shown["contributions"]) == pytest.approx(shown["distance"], abs=1e-9)


def test_the_other_side_and_more_evidence(run: Path) -> None:
    shown = json.loads(call("explain", run, "Italy", "P36", "Lyon", "--side", "head", "--triples", 1, "--json").out)
    assert (shown["side"], shown["known"], len(shown["nearest"])) == ("head", None, 1)
    assert f"{shown['ranks']['head']:g}" in call("explain", run, "Italy", "P36", "Lyon", "--side", "head").out


def test_a_model_without_concepts_is_explained_too(transe_run: Path) -> None:
    done = call("explain", transe_run, "Italy", "P36", "Roma")
    assert done.code == 0, done.err
    assert "concept" not in done.out
    assert json.loads(call("explain", transe_run, "Italy", "P36", "Roma", "--json").out)["sharing"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Itly", "P36", "Roma"), "Did you mean 'Italy'"),
        (("Italy", "neer", "Roma"), "Did you mean 'near'"),
        (("Italy", "P36", "Rom"), "'Rome'"),
        (("Italy", "P36", "Roma", "--side", "middle"), "'middle'"),
        (("Italy", "P36"), "Missing argument 'TAIL'"),
    ],
)
def test_mistakes_are_misuse(arguments: tuple[str, ...], message: str, run: Path) -> None:
    done = call("explain", run, *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""


class TestPredict:
    def test_reasons_follow_the_answers(self, run: Path, opened: Any) -> None:
        asked = ("predict", run, "--head", "Italy", "--relation", "P36", "--top", 2, "--more", "--explain")
        told = " ".join(call(*asked).out.split())
        (best, _), path = opened.predict(head="Italy", relation="P36", top=2), opened.explain("Italy", "P36", "Roma")
        assert f"Reasons Italy – has capital – {best.tail_label}: {opened.give_reasons([best])[0]}" in told
        assert opened.give_reasons([("Italy", "P36", "Rome")]) == [path.paths[0].describe("has capital")]
        found = json.loads(call(*asked, "--json").out)["predictions"]
        assert [each["reason"] for each in found] == opened.give_reasons(found)

    def test_without_it_nothing_is_explained(self, run: Path) -> None:
        asked = ("predict", run, "--head", "Italy", "--relation", "P36", "--json")
        assert "reason" not in json.loads(call(*asked).out)["predictions"][0]

    def test_answers_to_a_file_of_questions_have_reasons(self, run: Path, opened: Any, tmp_path: Path) -> None:
        (tmp_path / "q.csv").write_text("head,relation,tail\nItaly,P36,?\n?,near,Rome\n", encoding="utf-8")
        asked = ("predict", run, "--queries", tmp_path / "q.csv", "--top", 2, "--explain")
        found = json.loads(call(*asked, "--json").out)["predictions"]
        assert [each["reason"] for each in found] == opened.give_reasons(found)
        assert found[0]["reason"] in " ".join(call(*asked).out.split())


def make_profile() -> RelationProfile:
    kin = [
        RelatedRelation("has_capital", "has capital", 0.96, 0.98, 0.94, 0.9, 0.97),
        RelatedRelation("near", "near", 0.3, 0.7, -0.1, None),
    ]
    head, tail = (ConceptWeight(1, 0.9), ConceptWeight(3, 0.1)), (ConceptWeight(0, 1.0),)
    mined = (MinedRole("inverse", "has_capital", "has capital", 0.97), MinedRole("part of", "near", "near", 0.85))
    return RelationProfile(
        "capital_of", "capital of", head, tail, 0.25, tuple(kin), tuple(kin[1:]), tuple(kin[1:]), (), mined=mined
    )


def test_what_people_see_of_relations() -> None:
    console, paper = make_paper()
    show_profile(make_profile().to_dict(), {1: "lies in"}, console)
    check_golden("relation.txt", paper.getvalue())


def test_a_relation_by_label(run: Path, opened: Any) -> None:
    expected = opened.relation("P36", top=2)
    done = call("relation", run, "has capital", "--top", 2)
    assert done.code == 0, done.err
    assert " ".join(done.out.split()).startswith(expected.sentence)
    shown = json.loads(call("relation", run, "P36", "--top", 2, "--json").out)
    assert len(shown.pop("concept_names")) == len(opened.model.concepts)
    assert shown == json.loads(json.dumps(expected.to_dict()))


def test_a_model_without_concepts_shows_none(transe_run: Path) -> None:
    done = call("relation", transe_run, "near")
    assert done.code == 0, done.err
    assert "Head concepts" not in done.out
    assert "attention" not in done.out.lower()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("neer",), "Did you mean 'near'"), (("near", "--top", "0"), "top must be"), ((), "Missing argument 'NAME'")],
)
def test_mistakes_about_relations_are_misuse(arguments: tuple[str, ...], message: str, run: Path) -> None:
    done = call("relation", run, *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
