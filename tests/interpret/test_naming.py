from __future__ import annotations

import numpy as np
import pytest

from itransf.data import Vocabulary
from itransf.errors import ConfigError
from itransf.interpret import Use, call_concept, check_names
from itransf.interpret.naming import LONGEST, check_name, name_by_sides, split_words, suggest_names
from itransf.models import Side


def use(label: str, weight: float = 1.0, side: Side = "head") -> Use:
    return Use(label, label, side, weight)


def test_words_are_parted_at_signs_and_humps_and_filling_ones_left_out() -> None:
    assert split_words("has_capital_of") == {"capital"}
    assert split_words("placeOfBirth/person") == {"place", "birth", "person"}
    assert split_words("首都") == {"首都"}


def test_words_its_relations_have_in_common_name_a_concept() -> None:
    relations = Vocabulary(["capital_of", "has_capital", "borders", "near", "city_in"], kind="relation")
    assert suggest_names([[use("capital_of"), use("has_capital", 0.9), use("near", 0.3)]], relations) == ["capital"]


def test_words_of_little_weight_do_not() -> None:
    relations = Vocabulary(["in_timezone", "drives_on", "official_language_of", "has_official_language"])
    users = [use("in_timezone"), use("drives_on"), use("official_language_of", 0.2), use("has_official_language", 0.1)]
    assert suggest_names([users], relations) == ["in_timezone (H) + drives_on (H)"]


def test_two_concepts_may_have_the_same_name() -> None:
    relations = Vocabulary(["member_of", "has_member"], kind="relation")
    first = [use("member_of"), use("has_member", 0.9, "tail")]
    second = [use("has_member"), use("member_of", 0.9, "tail")]
    assert suggest_names([first, second], relations) == ["member", "member"]


def test_a_concept_for_both_sides_of_a_relation_names_it_once_and_one_for_none_is_unused() -> None:
    assert name_by_sides([use("near", 1.0, "tail"), use("near")]) == "near (H, T)"
    assert name_by_sides([]) == "unused"


def test_long_labels_are_cut_at_their_beginning() -> None:
    name = name_by_sides([use("/a" * 60), use("/b" * 60)])
    assert len(name) <= LONGEST
    assert name.count("…") == 2


def test_a_name_is_tidied_and_refused_where_it_cannot_be_one() -> None:
    assert check_name(0, "  lies \n in ") == "lies in"
    assert check_name(0, " ") == ""
    for name in ("x" * (LONGEST + 1), "a\x00b"):
        with pytest.raises(ConfigError, match="printable"):
            check_name(0, name)


def test_names_are_kept_under_plain_numbers() -> None:
    found = check_names({np.int64(1): " lies  in", 0: ""}, 2)
    assert found == {1: "lies in", 0: ""}
    assert {type(concept) for concept in found} == {int}
    for number in (2, -1):
        with pytest.raises(ConfigError, match="numbered 0 to 1"):
            check_names({number: "x"}, 2)
    for concept in ("1", 1.0, True, None):
        with pytest.raises(ConfigError, match="number of a concept"):
            check_names({concept: "x"}, 2)
    with pytest.raises(ConfigError, match=r"concept 1 .*text, not None"):
        check_names({1: None}, 2)
    with pytest.raises(ConfigError, match=r"\['x'\] does not name concepts"):
        check_names(["x"], 2)


def test_a_concept_is_called_by_its_number_and_its_name() -> None:
    assert call_concept(3, {}) == "concept 3"
    assert call_concept(3, {3: "lies in"}) == "lies in (3)"
