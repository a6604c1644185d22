from __future__ import annotations

import difflib
import pickle
from typing import Any

import numpy as np
import pytest

from itransf import errors
from itransf.errors import ConfigError, ITransFError, MissingExtraError, check_count, did_you_mean


@pytest.mark.parametrize(
    "name", ["DataError", "ConfigError", "CheckpointError", "RunError", "WriteError", "FetchError", "MissingExtraError"]
)
def test_all_errors_have_one_root(name: str) -> None:
    assert issubclass(getattr(errors, name), ITransFError)


def test_misuse_and_failure_are_different_errors() -> None:
    misuse = {errors.DataError, errors.ConfigError, errors.RunError}
    failures = {errors.CheckpointError, errors.DivergenceError, errors.WriteError, errors.FetchError, MissingExtraError}
    assert all(issubclass(kind, errors.UsageError) for kind in misuse)
    assert not any(issubclass(kind, errors.UsageError) for kind in failures)


def test_a_missing_extra_names_the_cure() -> None:
    message = str(MissingExtraError("a heat map", "plots"))
    assert message.startswith("a heat map ")
    assert message.endswith("pip install '.[plots]'")


@pytest.mark.parametrize("error", [MissingExtraError("a heat map", "plots"), errors.RunError("taken")])
def test_errors_can_be_sent_from_one_process_to_another(error: ITransFError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_a_count_becomes_a_plain_number(value: Any) -> None:
    assert check_count("top", value, least=1) == 3
    assert type(check_count("top", value)) is int


@pytest.mark.parametrize("value", [2.5, 3.0, True, None, "3", [3], 0, -1, np.float64(2.0), np.True_])
def test_values_that_are_not_counts_are_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"^top .*at least 1, not "):
        check_count("top", value, least=1)


def test_a_count_may_have_a_largest() -> None:
    assert check_count("draws", 20, most=20) == 20
    with pytest.raises(ConfigError, match=r"^draws .*at most 1,000, not 1,001$"):
        check_count("draws", 1001, most=1000)


def test_upper_and_lower_case_are_alike_in_suggestions() -> None:
    presets = ["wn18/transe", "wn18/itransf", "wn18/stranse"]
    assert did_you_mean("WN18/ITransF", presets).startswith(" Did you mean 'wn18/itransf'")
    assert did_you_mean("portugal", ["Portugal", "Port-au-Prince"]) == " Did you mean 'Portugal'?"


def test_near_misses_are_suggested_nearest_first() -> None:
    assert did_you_mean("epoch", ["epochs", "seed"]) == " Did you mean 'epochs'?"
    assert did_you_mean("valit", ["valid", "valids", "test"]) == " Did you mean 'valid' or 'valids'?"
    assert did_you_mean("dimm", ["dim"], "model.") == " Did you mean 'model.dim'?"
    assert did_you_mean("aaaa", ["aaab", "aaac", "aaad", "aaae"]).count(" or ") == 2


def test_nothing_near_gives_nothing() -> None:
    assert did_you_mean("zzz", ["epochs"]) == ""
    assert did_you_mean("epochs", []) == ""


def test_suggestions_among_many_choices_keep_the_right_one() -> None:
    names = [f"{number:06d}-{number * 7919 % 100003:05d}" for number in range(200_000)] + ["Liechtenstein"]
    assert did_you_mean("Lichtenstein", names) == " Did you mean 'Liechtenstein'?"


def test_the_shortlist_agrees_with_comparing_all() -> None:
    names = [f"node {number * 37 % 1000:03d} of ring {number % 7}" for number in range(1000)]
    word = "node 123 of rnig 4"
    ratios = {name: difflib.SequenceMatcher(None, word, name).ratio() for name in names}
    suggested = did_you_mean(word, names).split("'")[1]
    assert ratios[suggested] == max(ratios.values())


@pytest.mark.parametrize(("word", "choices"), [("", ("a",)), ("  ", ("a",)), ("a", ()), ("abc", ("xyz",))])
def test_without_a_near_choice_there_is_no_suggestion(word: str, choices: tuple[str, ...]) -> None:
    assert did_you_mean(word, choices) == ""
