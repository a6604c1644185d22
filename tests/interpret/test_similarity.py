from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from itransf.data import Graph
from itransf.errors import ConfigError, DataError
from itransf.interpret import profile_relation, similarity
from itransf.interpret.similarity import RelatedRelation
from itransf.models import MODELS, Sizes
from prediction.conftest import make_case, make_products

NAMES = ("base", "inverse", "twin", "wider", "symmetric", "other", "another")
DIM = 5


def make_graph() -> Graph:
    graph = Graph.from_names("kin", [("a", name, "b") for name in NAMES])
    return graph.labelled({"inverse": "the inverse"})


def make_stranse() -> Any:
    """Return a model whose relations stand in the roles they are named after."""
    torch.manual_seed(5)
    model: Any = MODELS["stranse"](
        Sizes(2, len(NAMES)), MODELS["stranse"].Config(dim=DIM, projected_constraint="none")
    ).double()
    place = {name: make_graph().relations.index(name) for name in NAMES}
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
        heads, tails, vectors = model.project_head.weight, model.project_tail.weight, model.relations
        base, inverse, twin, wider = (place[name] for name in NAMES[:4])
        heads[inverse], tails[inverse], vectors[inverse] = tails[base], heads[base], -vectors[base]
        heads[twin], tails[twin], vectors[twin] = heads[base], tails[base], vectors[base]
        shrink = torch.diag(torch.tensor([1.0, 1.0, 0.9, 0.8, 0.0]).double())
        heads[wider] = (shrink @ heads[base].view(DIM, DIM)).flatten()
        tails[wider] = (shrink @ tails[base].view(DIM, DIM)).flatten()
        vectors[wider] = shrink @ vectors[base]
        tails[place["symmetric"]] = heads[place["symmetric"]]
        vectors[place["symmetric"]] = 0.0
    return model


def scores(found: tuple[RelatedRelation, ...]) -> dict[str, float]:
    return {related.relation: related.score for related in found}


def test_roles_that_were_built_in_are_found() -> None:
    profile = profile_relation(make_stranse(), make_graph(), "base", top=9)
    assert profile.inverse[0].label == "the inverse"
    assert profile.inverse[0].score == pytest.approx(1.0)
    assert profile.equivalent[0].relation == "twin"
    assert profile.equivalent[0].score == pytest.approx(1.0)
    broader, narrower = scores(profile.broader), scores(profile.narrower)
    assert broader["wider"] == pytest.approx(1.0, abs=1e-6)
    assert narrower["wider"] < 0.999
    assert broader["other"] < 0.9
    assert len(profile.inverse) == len(profile.broader) == len(NAMES) - 1
    assert (profile.head, profile.tail) == ((), ())
    assert profile.inverse[0].attention is None
    assert "In the model, base looks like the inverse of" in str(profile)
    assert "inverse of the inverse (1.00)" in str(profile)
    assert "similar to twin (1.00)" in str(profile)
    assert json.loads(json.dumps(profile.to_dict()))["sentence"] == profile.sentence


def test_a_symmetric_relation_is_its_own_inverse() -> None:
    model = make_stranse()
    found = {name: profile_relation(model, make_graph(), name).symmetric for name in NAMES}
    assert found["symmetric"] == pytest.approx(1.0)
    assert all(score < 0.75 for name, score in found.items() if name != "symmetric")
    assert profile_relation(model, make_graph(), "symmetric").sentence.endswith("looks symmetric (1.00).")


def make_family() -> Graph:
    """Return a graph with an inverse pair, a symmetric relation, a part of another, and one that is alone."""
    pairs = [(f"e{i}", f"f{i}") for i in range(8)]
    triples = [triple for a, b in pairs for triple in ((a, "parent", b), (b, "child", a))]
    triples += [triple for a, b in pairs for triple in ((a, "near", b), (b, "near", a))]
    triples += [(a, "father", b) for a, b in pairs[:3]] + [("f0", "owns", "e1"), ("e0", "owns", "e1")]
    triples += [("e9", "sees", "e8"), ("f1", "half", "e1"), ("f1", "half", "e8")]
    return Graph.from_triples(triples, valid_share=0.1, test_share=0.1)


@pytest.mark.parametrize(
    ("relation", "roles", "words"),
    [
        (
            "parent",
            {("inverse", "child"), ("part of", "near"), ("reversed in", "near")},
            "parent is the inverse of child",
        ),
        (
            "near",
            {("symmetric", "near")},
            "In train, valid and test, near is symmetric (100% of its triples hold reversed).",
        ),
        (
            "father",
            {(kind, of) for kind in ("part of", "reversed in") for of in ("near",)}
            | {("part of", "parent")}
            | {("reversed in", "child")},
            "implies child reversed (100%; child has more triples)",
        ),
        ("half", set(), "has no inverse and is not symmetric (at most 50% of its triples are reversed in another "),
        ("sees", set(), "(none of its triples is reversed in any relation)"),
    ],
)
def test_roles_in_the_triples(relation: str, roles: set[tuple[str, str]], words: str) -> None:
    graph = make_family()
    torch.manual_seed(0)
    model = MODELS["distmult"](Sizes(len(graph.entities), len(graph.relations)), MODELS["distmult"].Config(dim=4))
    profile = profile_relation(model, graph, relation, top=1)
    assert {(role.role, role.relation) for role in profile.mined} == roles
    assert words in profile.sentence
    if relation == "parent":
        assert {"child", "near"} <= {each.relation for each in profile.inverse}  # whatever the model says
        assert {each.relation: each.triples for each in profile.inverse}["child"] == 1.0


def cosine(left: Any, right: Any) -> float:
    a, b = np.ravel(left), np.ravel(right)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


@pytest.mark.parametrize("name", ["transr", "stranse", "lineare", "itransf"])
@pytest.mark.parametrize("limit", [1, 2**26])
def test_scores_are_those_of_the_formulas(name: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_MATRIX_BYTES", limit)
    case = make_case(name, norm=2)
    model: Any = case.model
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
        everyone = torch.arange(4)
        head, tail = (p.matrices(everyone).numpy() for p in (model.project_head, model.project_tail))
        if name == "lineare":
            head, tail = (np.stack([np.diag(row) for row in rows]) for rows in (head, tail))
    v = model.relations.detach().numpy()
    profile = profile_relation(model, case.graph, "r2", top=9)
    for other, score in scores(profile.inverse).items():
        s = int(other[1:])
        sides = (cosine(head[2], tail[s]) + cosine(tail[2], head[s])) / 4
        assert score == pytest.approx(sides - cosine(v[2], v[s]) / 2)
    for other, score in scores(profile.equivalent).items():
        s = int(other[1:])
        sides = (cosine(head[2], head[s]) + cosine(tail[2], tail[s])) / 4
        assert score == pytest.approx(sides + cosine(v[2], v[s]) / 2)
    lengths = (v**2).sum(1)
    q = np.sort(lengths)[1]  # torch takes the lower of two medians
    small = (q - lengths[2]) / (q + lengths[2])
    assert profile.symmetric == pytest.approx(cosine(head[2], tail[2]) / 2 + small / 2)
    for found, is_broader in ((profile.broader, True), (profile.narrower, False)):
        for other, score in scores(found).items():
            narrow, wide = (2, int(other[1:])) if is_broader else (int(other[1:]), 2)
            narrow_map, wide_map = (np.concatenate([head[i], -tail[i]], axis=1) for i in (narrow, wide))
            left, values, right = np.linalg.svd(wide_map @ np.linalg.pinv(narrow_map))
            a = left @ np.diag(np.minimum(values, 1.0)) @ right
            share = 1 - np.sum((wide_map - a @ narrow_map) ** 2) / np.sum(wide_map**2)
            assert score == pytest.approx(share / 2 + cosine(a @ v[narrow], v[wide]) / 2, abs=1e-5)


def test_concepts_and_attention_stand_beside_the_scores() -> None:
    case = make_case("itransf")
    model: Any = case.model
    profile = profile_relation(model, case.graph, "Relation One")
    attention = [p.attention().detach().numpy() for p in (model.project_head, model.project_tail)]
    assert {use.concept for use in profile.head} == set(np.flatnonzero(attention[0][1]).tolist())
    weights = [abs(use.weight) for use in profile.tail]
    assert weights == sorted(weights, reverse=True)
    best = profile.inverse[0]
    s = int(best.relation[1:])
    swapped = (cosine(attention[0][1], attention[1][s]) + cosine(attention[1][1], attention[0][s])) / 2
    assert best.attention == pytest.approx(swapped)


def test_translations_alone_decide_where_there_are_no_matrices() -> None:
    case = make_case("transe")
    model: Any = case.model
    with torch.no_grad():
        model.relations[3] = -2.0 * model.relations[1]
    best = profile_relation(model, case.graph, "r1").inverse[0]
    assert (best.relation, best.score, best.matrices) == ("r3", pytest.approx(1.0), pytest.approx(1.0))
    with torch.no_grad():
        model.relations.zero_()
    assert profile_relation(model, case.graph, "r1").symmetric == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["distmult", "complex", "icomplex"])
def test_products_are_compared_by_their_vectors(name: str) -> None:
    case = make_products(name)
    model: Any = case.model
    table = model.relation_table().detach().numpy()
    inverse = table * np.where(np.arange(table.shape[1]) < 8, 1, -1)
    profile = profile_relation(model, case.graph, "r2", top=9)
    assert scores(profile.equivalent) == pytest.approx({f"r{s}": cosine(table[2], table[s]) for s in (0, 1, 3)})
    assert scores(profile.inverse) == pytest.approx({f"r{s}": cosine(table[2], inverse[s]) for s in (0, 1, 3)})
    antisymmetric = (table[2, 8:] ** 2).sum() / (table[2] ** 2).sum()
    assert profile.symmetric == pytest.approx(1 - 2 * antisymmetric)
    assert profile.broader == profile.narrower == profile.head == ()
    assert profile.inverse[0].matrices is profile.inverse[0].translation is None
    assert (profile.inverse[0].attention is None) == (name != "icomplex")
    assert bool(profile.concepts) == (name == "icomplex")


def test_inverse_products_are_found() -> None:
    case = make_products("icomplex")
    model: Any = case.model
    with torch.no_grad():
        model.attention.support[3] = model.attention.support[1] = torch.tensor([0, 4])
        model.attention.scores[3] = model.attention.scores[1] * torch.tensor([1, 1, 1, -1, -1])
    best = profile_relation(model, case.graph, "r1").inverse[0]
    assert (best.relation, best.score, best.attention) == ("r3", pytest.approx(1.0), pytest.approx(1.0))


def test_a_single_relation_has_no_similar_ones() -> None:
    graph = Graph.from_names("one", [("a", "likes", "b")])
    torch.manual_seed(0)
    profile = profile_relation(MODELS["stranse"](Sizes(2, 1), MODELS["stranse"].Config(dim=3)), graph, "likes")
    assert profile.inverse == profile.equivalent == profile.broader == profile.narrower == ()
    alone = replace(profile, symmetric=0.0)
    assert "no likely inverse" in alone.sentence
    assert repr(alone) == f"RelationProfile({alone.sentence[:-1]})"


def test_mistakes_are_reported() -> None:
    with pytest.raises(DataError, match=r"unknown relation 'bas'.* 'base'"):
        profile_relation(make_stranse(), make_graph(), "bas")
    for top in (-1, 0, 2.5):
        with pytest.raises(ConfigError, match=r"top .*at least 1, not"):
            profile_relation(make_stranse(), make_graph(), "base", top)  # type: ignore[arg-type]
    table = make_case("table")
    with pytest.raises(ConfigError, match="cannot be compared"):
        profile_relation(table.model, table.graph, "r1")


def test_matrices_of_zeros_can_be_compared() -> None:
    model = MODELS["lineare"](Sizes(entities=4, relations=2), MODELS["lineare"].Config(dim=3))  # untrained
    shares, cosines = similarity.compare_width(model, torch.tensor([0]), torch.tensor([1]))
    assert bool(shares.isfinite().all())
    assert bool(cosines.isfinite().all())
