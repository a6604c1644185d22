from __future__ import annotations

from dataclasses import replace

import pytest

from golden.explanations import make_explanation, make_loser, make_plain, make_product
from itransf.interpret.explanation import RunnerUp
from itransf.interpret.sentences import describe_users, name_lead, name_rank, tabulate_split
from itransf.interpret.sharing import Use


def test_an_answer_that_is_ahead() -> None:
    assert make_explanation().sentence == (
        "Paris – capital_of – France [state] (not in the graph): France [state] ranks first of 1,200 candidates for "
        "the tail, far ahead of Belgium, mainly through concept 1 on the head side (shared with the tails of "
        "has_capital, the heads of city_in and 2 more); the most similar training triple is Madrid – capital_of – "
        "Spain, and the one that supports it most is France [state] – has_capital – Paris."
    )


def test_an_answer_that_is_behind() -> None:
    sentence = make_loser().sentence
    assert "(a training triple): Paris " in sentence
    assert all(words in sentence for words in ("3rd of 1,234", "for the head", "behind Lyon", "concept 1 on the head"))
    assert sentence.count("Madrid – capital_of – Spain") == 1  # most similar and most supporting at once


def test_an_answer_without_a_rival() -> None:
    plain = make_plain()
    assert plain.lead is None
    assert "held out for test" in str(plain)
    assert "only candidate" in str(plain)
    assert plain.short == ""


def test_a_lead_of_zero_is_level() -> None:
    level = replace(make_explanation(), runner_up=RunnerUp("Q31", "Belgium", -1.25, 1.25))
    assert "level with Belgium;" in level.sentence


def test_a_product_is_told_by_its_score_and_the_users_of_its_concept() -> None:
    product = make_product()
    assert product.lead == 1.5
    assert "far ahead of Belgium, mainly through concept 1 (antisymmetric, shared with has_capital" in product.sentence
    assert "has_capital with the opposite sign and city in)" in product.sentence
    assert "distance" not in product.sentence
    assert product.short.startswith("concept 1; ")
    columns, rows = tabulate_split(product, {})
    assert [row[0] for row in rows] == ["antisymmetric", "symmetric", "sum"]
    assert rows[-1][1:] == ["score", "", "+2.500", "+1.000", "+1.500"]
    assert len(columns) == len(rows[0])


def test_parts_that_are_halves_of_a_vector_or_a_whole_one() -> None:
    product = make_product()
    halves = tuple(replace(part, concept=None, weight=None) for part in product.contributions)
    split = replace(product, contributions=halves, sharing=None)
    assert "mainly through the antisymmetric part of the relation;" in split.sentence
    whole = replace(split, contributions=halves[:1])
    assert "mainly" not in whole.sentence
    assert whole.short.startswith("like ")


def test_names_of_concepts_are_shown() -> None:
    named = replace(make_explanation(), concept_names={1: "is a place"})
    assert "concept 1 (is a place)" in named.sentence


def test_parts_that_are_no_concepts() -> None:
    explanation = make_explanation()
    for place, words in ((1, "the translation;"), (2, "the tail side;")):
        parts = [replace(part, favour=0.0) for part in explanation.contributions]
        parts[place] = replace(parts[place], favour=0.75, concept=None)
        changed = replace(explanation, contributions=tuple(parts))
        assert f"mainly through {words}" in changed.sentence
        assert changed.short.startswith(("the translation; ", "the tail side; "))


def test_evidence_of_one_kind() -> None:
    explanation = make_explanation()
    like, backing = (
        "most similar training triple is Madrid – capital_of – Spain.",
        "supports it most is France [state] – has_capital – Paris.",
    )
    assert replace(explanation, supporting=()).sentence.endswith(like)
    assert replace(explanation, nearest=()).sentence.endswith(backing)


def test_the_short_form_names_two_parts_and_the_triples() -> None:
    parts, like, supported = make_explanation().short.split("; ")
    assert parts == "concept 1 on the head side and concept 0 on the tail side"
    assert like.endswith("Madrid – capital_of – Spain")
    assert supported.endswith("France [state] – has_capital – Paris")
    assert make_loser().short.split("; ") == ["the translation", like]


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
    assert name_rank(rank) == name


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
    assert describe_users(users[:1]) == "shared with the heads of r0"
    assert describe_users(users[:2]) == "shared with the heads of r0 and the heads of r1"
    assert describe_users(users) == "shared with the heads of r0, the heads of r1 and 2 more"
