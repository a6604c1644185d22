from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch

from golden.attentions import make_attention, make_inverse_attention, make_signed_attention
from itransf.data import Graph, Vocabulary
from itransf.errors import ConfigError, DataError
from itransf.interpret import Attention, ConceptWeight, choose_relations, make_cards, read_attention
from itransf.models import ITransF, Sizes, TransE
from itransf.models.itransf import ITransFConfig
from itransf.run import Run

TRIPLES = [("a", "likes", "b"), ("b", "likes", "c"), ("a", "knows", "c"), ("c", "likes", "a")]


def make_model(kind: str = "sparse") -> tuple[ITransF, Graph]:
    graph = Graph.from_names("small", TRIPLES)
    torch.manual_seed(0)
    config = ITransFConfig(dim=3, concepts=5, support_size=2, temperature=0.5, attention=kind)  # type: ignore[arg-type]
    model = ITransF(Sizes(3, 2), config)
    with torch.no_grad():
        for projection in (model.project_head, model.project_tail):
            projection.scores.copy_(torch.randn(2, 5))
    return model, graph


def naive_softmax(scores: list[float], support: list[int], temperature: float) -> list[float]:
    raised = {concept: float(np.exp(scores[concept] / temperature)) for concept in support}
    return [raised.get(concept, 0.0) / sum(raised.values()) for concept in range(len(scores))]


def test_attention_is_the_softmax_over_each_support_and_zero_elsewhere() -> None:
    model, graph = make_model()
    attention = read_attention(model, graph)
    assert attention.weights.shape == (2, 2, 5)
    for side, projection in enumerate((model.project_head, model.project_tail)):
        for relation in range(2):
            scores, support = projection.scores[relation].tolist(), projection.support[relation].tolist()
            expected = naive_softmax(scores, support, 0.5)
            np.testing.assert_allclose(attention.weights[side, relation], expected, rtol=1e-5)
            assert sorted(attention.supports[side, relation].tolist()) == sorted(support)
    assert attention.counts.tolist() == [3, 1]
    assert attention.kind == "sparse"


def test_attention_of_free_weights_keeps_their_signs() -> None:
    model, graph = make_model("l1")
    attention = read_attention(model, graph)
    np.testing.assert_array_equal(attention.weights[0], model.project_head.scores.detach().numpy())
    assert (attention.weights < 0).any()


def test_signed_weights_are_shares_of_what_each_concept_adds_to_the_relation(signed_run: Run) -> None:
    model, attention = signed_run.model, signed_run.concepts()
    assert (attention.kind, attention.parts, attention.weights.shape) == ("signed", ("relation",), (1, 6, 5))
    assert attention.symmetries == ("symmetric",) * 3 + ("antisymmetric",) * 2
    assert attention.antisymmetric == {3, 4}
    sizes = model.attention.attention().detach().numpy() * model.concepts.detach().norm(dim=1).numpy()
    np.testing.assert_allclose(attention.weights[0], sizes / np.abs(sizes).sum(axis=1, keepdims=True), rtol=1e-5)
    assert ((attention.weights != 0).sum(axis=2) <= 3).all()
    assert (attention.weights < 0).any()


def test_the_only_part_need_not_be_named() -> None:
    attention = make_inverse_attention()
    assert attention.row("has_part") == attention.row("has_part", "relation")
    assert attention.row("has_part") == (ConceptWeight(0, 0.5), ConceptWeight(2, -0.5))
    with pytest.raises(ConfigError, match="there is no part 'head'; use 'relation'"):
        attention.row("has_part", "head")
    with pytest.raises(ConfigError, match="use 'head' or 'tail'"):
        make_attention().row("near")


def test_to_dict_lists_the_only_part_as_concepts_and_tells_which_are_antisymmetric() -> None:
    content = json.loads(json.dumps(make_inverse_attention().choose(["has_part"]).to_dict()))
    (entry,) = content["relations"]
    assert (entry["relation"], entry["concepts"][1]) == ("has_part", {"concept": 2, "weight": -0.5})
    assert content["symmetries"][2] == "antisymmetric"
    assert "symmetries" not in make_attention().to_dict()


def test_relations_come_by_frequency_and_concepts_by_weight() -> None:
    attention = make_attention()
    assert [attention.relations.name(number) for number in attention.find()[:2]] == ["near", "city_in"]
    assert attention.row("city_in", "head") == (ConceptWeight(1, 0.625), ConceptWeight(0, 0.375))


def test_named_relations_keep_their_order_and_labels_name_them() -> None:
    attention = make_attention()
    found = [attention.relations.name(number) for number in attention.find(["has official language", "near"])]
    assert found == ["P37", "near"]
    assert attention.row("has official language", "head") == attention.row("P37", "head")


def test_a_model_without_concepts_is_refused() -> None:
    graph = Graph.from_names("small", [("a", "r", "b")])
    model = TransE.build(graph, TransE.Config(dim=2))
    for read in (lambda: read_attention(model, graph), lambda: make_cards(model, graph, make_attention())):
        with pytest.raises(ConfigError, match=r"TransE.*no concepts"):
            read()


def test_an_unknown_relation_is_refused_with_a_suggestion() -> None:
    with pytest.raises(DataError, match=r"'nera'.*Did you mean 'near'"):
        make_attention().row("nera", "head")


def test_the_largest_weight_in_size_comes_first_whatever_its_sign() -> None:
    row = make_signed_attention().row(0, "head")
    assert [use.concept for use in row] == [0, 1]
    tail = make_signed_attention().row(0, "tail")
    assert tail[0] == ConceptWeight(0, -0.5)


def test_a_row_is_found_by_number_name_or_label() -> None:
    model, graph = make_model()
    attention = read_attention(model, graph.labelled({"knows": "is a friend of"}))
    number = graph.relations.index("knows")
    wanted = attention.row(number, "tail")
    for relation in ("knows", "is a friend of", np.int64(number)):
        assert attention.row(relation, "tail") == wanted


def test_a_row_that_is_not_there_is_reported() -> None:
    attention = make_attention()
    with pytest.raises(DataError, match="unknown relation 'nothing'"):
        attention.row("nothing", "head")
    with pytest.raises(DataError, match=r"no relation 5; .*0 to 4"):
        attention.row(5, "head")
    for wrong in (-1, 1.5, None):
        with pytest.raises(ConfigError, match=r"number of a relation .*at least 0"):
            attention.row(wrong, "head")
    for side, hint in (("hed", " Did you mean 'head'?"), (0, "")):
        with pytest.raises(ConfigError, match=rf"there is no side {side!r}; use 'head' or 'tail'\.{re.escape(hint)}$"):
            attention.row(0, side)


def test_to_dict_holds_only_what_is_not_zero_and_can_be_json() -> None:
    content = json.loads(json.dumps(make_attention().to_dict()))
    assert content["concepts"] == 6
    assert content["used_concepts"] == [0, 1, 3, 4]
    by_name = {entry["relation"]: entry for entry in content["relations"]}
    assert by_name["capital_of"]["head"] == [{"concept": 1, "weight": 1.0}]
    assert [use["concept"] for use in by_name["capital_of"]["tail"]] == [0, 4]
    assert by_name["P37"]["label"] == "has official language"
    assert by_name["near"]["train_triples"] == 1012


def test_chosen_relations_keep_their_weights_labels_and_counts() -> None:
    attention = make_attention()
    chosen = attention.choose(["has official language", "capital_of"])
    assert chosen.relations.names == ("P37", "capital_of")
    assert chosen.relations.label(0) == "has official language"
    np.testing.assert_array_equal(chosen.weights, attention.weights[:, [4, 0]])
    np.testing.assert_array_equal(chosen.supports, attention.supports[:, [4, 0]])
    assert chosen.counts.tolist() == [33, 185]


def test_repr_counts_used_concepts() -> None:
    assert repr(make_attention()) == "Attention(sparse: 5 relations, 4 of 6 concepts used)"


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


def test_a_pattern_chooses_a_domain() -> None:
    assert choose_relations(make_freebase(), ["/film/*"]) == [NAMES[2], NAMES[0]]


def test_the_most_frequent_of_those_that_fit_are_kept_in_their_order() -> None:
    assert choose_relations(make_attention(), top=2) == ["near", "city_in"]
    assert choose_relations(make_attention(), ["has_capital", "P37", "near"], top=2) == ["has_capital", "near"]
    with pytest.raises(ConfigError, match=r"top .*at least 1, not -1"):
        choose_relations(make_attention(), top=-1)


@pytest.mark.parametrize(
    ("pattern", "message"), [("neer", "Did you mean 'near'"), ("*nothing*", "no relation matches")]
)
def test_patterns_without_a_match_are_refused(pattern: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        choose_relations(make_attention(), [pattern])
