from __future__ import annotations

import pickle

import numpy as np
import pytest

from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError

COUNTRIES = ("France", "Germany", "Spain", "Niger", "Nigeria")


def test_names_and_numbers_go_both_ways() -> None:
    vocabulary = Vocabulary(COUNTRIES)
    assert len(vocabulary) == 5
    assert [vocabulary.index(name) for name in COUNTRIES] == [0, 1, 2, 3, 4]
    assert [vocabulary.name(number) for number in range(5)] == list(COUNTRIES)
    assert vocabulary.names == COUNTRIES


def test_other_processes_get_names_and_labels() -> None:
    vocabulary = Vocabulary(COUNTRIES, {"Niger": "République du Niger"}, kind="relation")
    copied = pickle.loads(pickle.dumps(vocabulary))
    assert copied == vocabulary
    assert copied.index("République du Niger") == 3


def test_label_is_shown_and_found_but_the_name_wins() -> None:
    vocabulary = Vocabulary(("Q1", "Q2", "Q3"), {"Q1": "Universe", "Q2": "Q3", "Q9": "nobody"})
    assert [vocabulary.label(number) for number in range(3)] == ["Universe", "Q3", "Q3"]
    assert vocabulary.find("Universe") == 0
    assert vocabulary.find("Q3") == 2  # a name before a label
    assert vocabulary.find("nobody") is None
    assert dict(vocabulary.labels) == {"Q1": "Universe", "Q2": "Q3"}


def test_ambiguous_label_lists_the_names() -> None:
    vocabulary = Vocabulary(("Q1", "Q2", "Q3"), {"Q1": "Paris", "Q3": "Paris"})
    with pytest.raises(DataError, match=r"2 entities: 'Q1', 'Q3'.*Give one"):
        vocabulary.index("Paris")


def test_near_misses_of_names_and_labels() -> None:
    vocabulary = Vocabulary(COUNTRIES, {"Spain": "Kingdom of Spain"})
    with pytest.raises(DataError, match=r"unknown entity 'Frnace'.* 'France'"):
        vocabulary.index("Frnace")
    with pytest.raises(DataError, match=r"Did you mean 'Niger' or 'Nigeria'\?"):
        vocabulary.index("niger")
    with pytest.raises(DataError, match="Did you mean 'Kingdom of Spain'"):
        vocabulary.index("kingdom of spayn")


def test_small_vocabulary_lists_what_there_is() -> None:
    with pytest.raises(DataError, match=r"unknown relation 'xyz'.*: 'likes', 'hates'"):
        Vocabulary(("likes", "hates"), kind="relation").index("xyz")


def test_large_vocabulary_says_how_to_search_it_when_nothing_is_near() -> None:
    with pytest.raises(DataError, match=r"'ÖÖÖ'.* 1,000 entities; 'itransf find RUN TEXT' searches"):
        Vocabulary([f"name{number}" for number in range(1000)]).index("ÖÖÖ")


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(DataError, match=r"entity 'b' .*more than once"):
        Vocabulary(("a", "b", "c", "b"))


def test_with_labels_adds_and_replaces_without_touching_the_old() -> None:
    old = Vocabulary(("a", "b"), {"a": "one"})
    new = old.with_labels({"a": "ONE", "b": "two"})
    assert (old.label(0), old.label(1)) == ("one", "b")
    assert (new.label(0), new.label(1)) == ("ONE", "two")
    assert old != new
    assert old == Vocabulary(("a", "b"), {"a": "one"})
    assert hash(old) == hash(new)
    assert old != "a"


def test_contains_and_repr() -> None:
    vocabulary = Vocabulary(("a", "b"), {"a": "one"})
    assert "a" in vocabulary
    assert "one" in vocabulary
    assert "z" not in vocabulary
    assert 0 not in vocabulary
    assert list(vocabulary) == ["a", "b"]
    with pytest.raises(DataError, match=r"^unknown entity 3.*text"):
        vocabulary.index(3)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"^unknown entity \['a'\].*text"):
        vocabulary.index(["a"])  # type: ignore[arg-type]
    assert vocabulary.find(["a"]) is None  # type: ignore[arg-type]
    assert not vocabulary.has_name(["a"])  # type: ignore[arg-type]
    assert repr(vocabulary) == "Vocabulary(2 names, 1 labels, kind='entity')"


@pytest.mark.parametrize("nothing", [None, float("nan"), np.float32("nan"), ""])
def test_a_missing_label_is_none(nothing: object) -> None:
    assert dict(Vocabulary(("a", "b"), {"a": nothing, "b": "nan"}).labels) == {"b": "nan"}  # type: ignore[dict-item]


def test_labels_cannot_be_changed_from_outside() -> None:
    with pytest.raises(TypeError):
        Vocabulary(("a",), {"a": "one"}).labels["a"] = "two"  # type: ignore[index]
