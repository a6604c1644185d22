from __future__ import annotations

from dataclasses import replace

import pytest

from golden.explanations import make_explanation, make_loser, make_plain, make_product
from itransf.interpret.explanation import RunnerUp, describe_concepts, describe_paths, name_lead, tabulate_split
from itransf.interpret.paths import Path
from itransf.interpret.sentences import list_words, name_rank


def test_an_answer_that_is_ahead() -> None:
    assert make_explanation().sentence == (
        "Paris – capital_of – ?: France [state] ranks first of 1,200 candidates, far ahead of Belgium; the triple is "
        "not in the graph. The best reason in train: France [state] – has_capital – Paris; 9 of 11 other pairs "
        "connected like this are also linked by capital_of. The most similar training triple is Madrid – capital_of – "
        "Spain. Without the concept has official language (H) + city_in (T) (0) on the tail side, it would rank 17th."
    )


def test_an_answer_that_is_behind() -> None:
    sentence = make_loser().sentence
    assert sentence.startswith("? – capital_of – France [state]: Paris ranks 3rd of 1,234 candidates, behind Lyon; ")
    assert "the triple is in train, so the model was shown it. No simple pattern in train supports it." in sentence
    assert sentence.count("Madrid – capital_of – Spain") == 1  # most similar and most supporting at once


def test_an_answer_without_a_rival() -> None:
    plain = make_plain()
    assert plain.lead is None
    assert "held out for test" in str(plain)
    assert "only candidate" in str(plain)


def test_a_lead_of_zero_is_level() -> None:
    level = replace(make_explanation(), runner_up=RunnerUp("Q31", "Belgium", -1.25, 1.25))
    assert "level with Belgium;" in level.sentence


def test_a_product_is_told_by_its_score_and_its_concepts() -> None:
    product = make_product()
    assert product.lead == 1.5
    assert "far ahead of Belgium;" in product.sentence
    assert product.sentence.endswith("Without the concept capital (1), it would rank 17th.")
    assert "distance" not in product.sentence
    columns, rows = tabulate_split(product)
    assert [row[0] for row in rows] == ["antisymmetric", "symmetric", "sum"]
    assert rows[-1][1:] == ["score", "", "+2.500", "+1.000", "+1.500"]
    assert len(columns) == len(rows[0])


def test_no_concept_is_said_to_matter_if_its_removal_changes_nothing() -> None:
    explanation = make_explanation()
    same = tuple(replace(removal, rank=explanation.rank) for removal in explanation.removals)
    told = describe_concepts(replace(explanation, removals=same))
    assert told == "No single concept decides it: without any one of them, it still ranks first"
    better = (*explanation.removals[1:], replace(explanation.removals[0], rank=2.0))
    told = describe_concepts(replace(explanation, removals=better, ranks={"head": 1.0, "tail": 3.0}))
    assert told == "Without the concept lies in (4) on the tail side, it would rank first"


def test_without_removals_concepts_are_named_only() -> None:
    told = replace(make_explanation(), removals=(), concept_names={0: "state", 1: "city", 4: "lies in"})
    assert describe_concepts(told) == "Concepts of capital_of: city (1), state (0) and lies in (4)"
    assert describe_concepts(make_plain()) == ""


def test_evidence_of_one_kind() -> None:
    explanation = replace(make_explanation(), paths=(), removals=(), sharing=None)
    like, backing = (
        "most similar training triple is Madrid – capital_of – Spain.",
        "The training triple that supports it most is France [state] – has_capital – Paris.",
    )
    assert replace(explanation, supporting=()).sentence.endswith(like)
    assert replace(explanation, nearest=()).sentence.endswith(backing)
    assert f"{like[:-1]}; {backing[0].lower()}{backing[1:]}" in explanation.sentence
    assert backing[:30] not in make_explanation().sentence  # the path has it already


def test_a_probability_is_told_where_there_is_one() -> None:
    likely = replace(make_explanation(), probability=0.994)
    told = "far ahead of Belgium; the triple is not in the graph and has a probability of >99 %"
    assert f"{told}. " in likely.sentence
    assert f"{told}. " in replace(likely, answer_probability=0.995).sentence
    assert f"{told} (72 % as an answer to this query). " in replace(likely, answer_probability=0.72).sentence


def test_reasons_for_a_runner_up_and_weak_ones() -> None:
    loser = make_loser()
    rare = Path(1, 100, 6, text="Paris – near – Lyon")
    rival = RunnerUp("Q90", "Lyon", -1.25, 1.25, (Path(2, 4, 4, text="Lyon – city_in – France"),))
    few = replace(loser, paths=(Path(1, 2, 2, text="Paris – near – Lyon"),), runner_up=None)
    assert describe_paths(few).startswith("The best reason in train, a weak one: ")
    told = describe_paths(replace(loser, paths=(rare,), runner_up=rival))
    assert told == (
        "The best reason in train, a weak one: Paris – near – Lyon; 6 of 100 other pairs connected like this are also "
        "linked by capital_of. For Lyon: Lyon – city_in – France; all 4 other pairs connected like this at least 2 "
        "times are also linked by capital_of"
    )


def test_entities_that_do_not_fit() -> None:
    unfit = replace(make_explanation(), unfit=("head", "tail"))
    told = f"{unfit.head_label} is unlike the heads and {unfit.tail_label} is unlike the tails of capital_of in train."
    assert f"the graph. {told} The best" in unfit.sentence


def test_an_answer_that_train_has_already() -> None:
    taken = replace(make_explanation(), taken=("Spain",))
    assert "the graph. Train has Spain already, and capital_of allows one answer. The best" in taken.sentence


def test_lists_of_words() -> None:
    assert list_words(["a"], 2) == "a"
    assert list_words(["a", "b"], 2) == "a and b"
    assert list_words(["a", "b", "c", "d"], 3) == "a, b and 2 more"


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
