from __future__ import annotations

from dataclasses import replace

import pytest

from golden.explanations import finish, make_explanation, make_loser, make_plain
from itransf.interpret.explanations import RunnerUp
from itransf.interpret.sentences import name_lead, name_place, tell, tell_briefly, tell_users
from itransf.interpret.sharing import Use


def test_an_answer_that_is_ahead() -> None:
    assert tell(make_explanation()) == (
        "Paris – capital_of – France [state] (not in the graph): France [state] comes first of 1,200 candidates for "
        "the tail, far ahead of Belgium, above all through concept 1 on the head side (shared with the tails of "
        "has_capital, the heads of city_in and 2 more); the training triple most like it is Madrid – capital_of – "
        "Spain, and the one that backs it most is France [state] – has_capital – Paris."
    )


def test_an_answer_that_is_behind() -> None:
    assert tell(make_loser()) == (
        "Paris – capital_of – France [state] (a training triple): Paris comes 3rd of 1,234 candidates for the head, "
        "behind Lyon, which leads above all through concept 1 on the head side (shared with the tails of has_capital, "
        "the heads of city_in and 2 more); the training triple most like it, which also backs it most, is Madrid – "
        "capital_of – Spain."
    )


def test_an_answer_without_a_rival() -> None:
    plain = make_plain()
    assert plain.lead is None
    assert str(plain) == (
        "Paris – capital_of – France [state] (a triple held out for test): France [state] is the only candidate for "
        "the tail that is not known already."
    )
    assert plain.short == ""


def test_a_lead_nobody_can_see_is_no_lead() -> None:
    level = finish(replace(make_explanation(), runner_up=RunnerUp("Q31", "Belgium", 1.25)))
    assert "level with Belgium; the training" in level.sentence


def test_names_of_concepts_are_told() -> None:
    named = finish(replace(make_explanation(), concept_names={1: "is a place"}))
    assert "above all through concept 1 (is a place) on the head side" in named.sentence


def test_parts_that_are_no_concepts() -> None:
    explanation = make_explanation()
    for place, words in ((1, "the translation of capital_of;"), (2, "the tail side;")):
        parts = [replace(part, favour=0.0) for part in explanation.contributions]
        parts[place] = replace(parts[place], favour=0.75, concept=None)
        changed = finish(replace(explanation, contributions=tuple(parts)))
        assert f"above all through {words}" in changed.sentence
        assert changed.short.startswith(("translation; ", "tail side; "))


def test_evidence_of_one_kind() -> None:
    explanation = make_explanation()
    like, backing = (
        "most like it is Madrid – capital_of – Spain.",
        "backs it most is France [state] – has_capital – Paris.",
    )
    assert tell(replace(explanation, supporting=())).endswith(like)
    assert tell(replace(explanation, nearest=())).endswith(backing)


def test_the_short_form_names_two_parts_and_the_triples() -> None:
    assert tell_briefly(make_explanation()) == (
        "concept 1 (H) and concept 0 (T); like Madrid – capital_of – Spain; "
        "backed by France [state] – has_capital – Paris"
    )
    assert make_loser().short == "translation; like Madrid – capital_of – Spain"


@pytest.mark.parametrize(
    ("rank", "name"),
    [
        (1, "first"),
        (2, "2nd"),
        (3, "3rd"),
        (11, "11th"),
        (21, "21st"),
        (112, "112th"),
        (1.5, "about 1.5th"),
        (1003, "1,003rd"),
    ],
)
def test_places(rank: float, name: str) -> None:
    assert name_place(rank) == name


@pytest.mark.parametrize(
    ("lead", "words"),
    [
        (0.0, "level with"),
        (0.01, "just ahead of"),
        (0.1, "ahead of"),
        (0.5, "far ahead of"),
        (-0.01, "just behind"),
        (-0.5, "behind"),
    ],
)
def test_leads(lead: float, words: str) -> None:
    assert name_lead(lead, 1.0) == words
    assert name_lead(lead, 0.0) == "level with"


def test_one_user_and_more() -> None:
    users = [Use(f"r{place}", f"r{place}", "head", 0.5) for place in range(4)]
    assert tell_users(users[:1]) == "shared with the heads of r0"
    assert tell_users(users[:2]) == "shared with the heads of r0 and the heads of r1"
    assert tell_users(users) == "shared with the heads of r0, the heads of r1 and 2 more"
