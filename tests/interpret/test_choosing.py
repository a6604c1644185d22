from __future__ import annotations

import numpy as np
import pytest

from golden.attentions import make_attention
from itransf.data import Vocabulary
from itransf.errors import ConfigError, DataError
from itransf.interpret import Attention, choose_relations
from itransf.interpret.choosing import is_within

NAMES = ("/film/film/genre", "/films/x", "/film/actor/film./film/performance", "/people/person/place_of_birth")


def make_freebase() -> Attention:
    weights = np.ones((2, len(NAMES), 1), dtype=np.float32)
    relations = Vocabulary(NAMES, kind="relation")
    supports = np.zeros((2, len(NAMES), 1), dtype=np.int64)
    return Attention(weights, relations, supports, np.array([5, 9, 7, 1], dtype=np.int64))


def test_without_filters_all_come_most_frequent_first() -> None:
    assert choose_relations(make_attention()) == ["near", "city_in", "capital_of", "has_capital", "P37"]


def test_names_labels_and_patterns_choose_each_relation_once() -> None:
    chosen = choose_relations(make_attention(), ["has official language", "*capital*", "capital_of"])
    assert chosen == ["P37", "capital_of", "has_capital"]
    assert choose_relations(make_attention(), ["has*"]) == ["has_capital", "P37"]  # by name, and by label


def test_a_domain_ends_where_a_word_does() -> None:
    assert choose_relations(make_freebase(), domain="/film") == [NAMES[2], NAMES[0]]
    assert is_within("/film", "/film")
    assert is_within("http://x.org/a", "http://x.org/")
    assert not is_within("/film/film", "")


def test_the_most_frequent_of_those_that_fit_are_kept_in_their_order() -> None:
    assert choose_relations(make_attention(), top=2) == ["near", "city_in"]
    assert choose_relations(make_attention(), ["has_capital", "P37", "near"], top=2) == ["has_capital", "near"]
    with pytest.raises(ConfigError, match="top must be a whole number of at least 1, not -1"):
        choose_relations(make_attention(), top=-1)


@pytest.mark.parametrize(
    ("patterns", "domain", "message"),
    [
        (["neer"], None, "Did you mean 'near'"),
        (["*nothing*"], None, "no relation fits"),
        ([], "/music", "there are /film, /films, /people"),
    ],
)
def test_what_fits_nothing_is_said(patterns: list[str], domain: str | None, message: str) -> None:
    attention = make_freebase() if domain else make_attention()
    with pytest.raises(DataError, match=message):
        choose_relations(attention, patterns, domain)


def test_names_without_slashes_are_shown_by_an_example() -> None:
    with pytest.raises(DataError, match="names look like 'capital_of'"):
        choose_relations(make_attention(), domain="/film")
