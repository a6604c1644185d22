from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import call
from golden.comparing import check_golden, make_paper
from itransf.cli.relation import show_profile
from itransf.interpret import RelationProfile
from itransf.interpret.attention import ConceptWeight
from itransf.interpret.similarity import RelatedRelation


def make_profile() -> RelationProfile:
    kin = [
        RelatedRelation("has_capital", "has capital", 0.96, 0.98, 0.94, 0.9),
        RelatedRelation("near", "near", 0.3, 0.7, -0.1, None),
    ]
    head, tail = (ConceptWeight(1, 0.9), ConceptWeight(3, 0.1)), (ConceptWeight(0, 1.0),)
    return RelationProfile("capital_of", "capital of", head, tail, 0.25, tuple(kin), tuple(kin[1:]), tuple(kin[1:]), ())


def test_what_people_see() -> None:
    console, paper = make_paper()
    show_profile(make_profile().to_dict(), console)
    check_golden("relation.txt", paper.getvalue())


def test_a_relation_by_label(run: Path, opened: Any) -> None:
    expected = opened.relation("P36", top=2)
    done = call("relation", run, "has capital", "--top", 2)
    assert done.code == 0, done.err
    assert " ".join(done.out.split()).startswith(expected.sentence)
    assert json.loads(call("relation", run, "P36", "--top", 2, "--json").out) == json.loads(
        json.dumps(expected.to_dict())
    )


def test_a_model_without_concepts_shows_none(transe_run: Path) -> None:
    done = call("relation", transe_run, "near")
    assert done.code == 0, done.err
    assert "Head concepts" not in done.out
    assert "attention" not in done.out.lower()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("neer",), "Did you mean 'near'"), (("near", "--top", "0"), "--top"), ((), "Missing argument 'NAME'")],
)
def test_mistakes_are_misuse(arguments: tuple[str, ...], message: str, run: Path) -> None:
    done = call("relation", run, *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
