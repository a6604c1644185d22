"""Explanations: the split of a score, ranks and runner-up, removals, and models that cannot be explained."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from contracts.cases import SIZES, TRANSLATION_CASES, all_triples, make_model
from itransf.data import Graph
from itransf.errors import ConfigError, DataError
from itransf.evaluation import rank_triples
from itransf.interpret import Explanation, explain, explaining, profile_relation, read_model
from itransf.interpret.explaining import find_runner_up, find_taken, try_removals
from itransf.models import MODELS, SIDES, Side, Sizes, Translation
from itransf.models.projection import DiagonalProjection, NoProjection
from itransf.models.translation import TranslationConfig, split_projection
from prediction.conftest import LOOPING, RELATIONS, Case, make_case, make_graph, make_products, name_triple
from stubs import MatrixTransH, TransH

NAMES = [name for name in MODELS if issubclass(MODELS[name], Translation)]
TRIPLE = (1, 0, 12)
ROWS = np.array([TRIPLE])
MEMORY = 2**28
MODULES = ("prediction.search", "interpret.explaining", "interpret.evidence")  # with a limit of memory


def geometry(norm: int, projected: str) -> dict[str, Any]:
    return {"dim": 5, "p_norm": norm, "projected_constraint": projected}


def triples_of(relation: int) -> np.ndarray[Any, Any]:
    triples = torch.stack(all_triples(), dim=1).numpy()
    return triples[triples[:, 1] == relation]


def score(model: Any, triples: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with torch.no_grad():
        return model.score(*torch.tensor(triples).unbind(1)).double().numpy()


@pytest.mark.parametrize(("name", "case"), TRANSLATION_CASES)
def test_the_parts_sum_to_the_distance(name: str, case: dict[str, Any]) -> None:
    model = make_model(name, case)
    for relation in range(SIZES.relations):
        triples = triples_of(relation)
        split = model.split_scores(torch.tensor(triples))
        assert split.values.shape == (len(triples), len(split.parts))
        assert split.is_distance
        assert (split.values.sum(1) - split.totals).abs().max() < 1e-9
        assert np.abs(split.totals.numpy() + score(model, triples)).max() < 1e-9


@pytest.mark.parametrize(("name", "case"), TRANSLATION_CASES)
def test_single_precision_agrees_to_its_tolerance(name: str, case: dict[str, Any]) -> None:
    model = make_model(name, case).float()
    triples = triples_of(1)
    split = model.split_scores(torch.tensor(triples))
    scores = score(model, triples)
    assert np.allclose(split.values.sum(1), -scores, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "parts"), [("distmult", 1), ("complex", 2), ("icomplex", 3)])
def test_the_parts_of_a_product_sum_to_the_score(name: str, parts: int) -> None:
    sizes = {"concepts": 6, "support_size": 3} if name == "icomplex" else {}
    model = make_model(name, {"dim": 5, **sizes})
    for relation in range(SIZES.relations):
        triples = triples_of(relation)
        split = model.split_scores(torch.tensor(triples))
        back = model.split_scores(torch.tensor(triples[:, [2, 1, 0]]))
        assert not split.is_distance
        assert split.values.shape == (len(triples), parts)
        assert np.abs(split.values.sum(1).numpy() - score(model, triples)).max() < 1e-9
        for number, part in enumerate(split.parts):
            sign = {"symmetric": 1, "antisymmetric": -1}[part.symmetry]
            torch.testing.assert_close(back.values[:, number], sign * split.values[:, number])


def test_each_concept_of_a_product_gives_what_the_formula_says() -> None:
    model: Any = make_model("icomplex", {"dim": 5, "concepts": 6, "support_size": 3})
    head, relation, tail = 2, 3, 5
    split = model.split_scores(torch.tensor([[head, relation, tail]]))
    h, t = (torch.complex(*model.entities[entity].detach().chunk(2)) for entity in (head, tail))
    weights = model.attention.attention()[relation].detach()
    assert [part.concept for part in split.parts] == weights.nonzero().squeeze(1).tolist()
    for part, value in zip(split.parts, split.values[0], strict=True):
        concept = model.concepts[part.concept].detach() * (1 if part.concept < 3 else 1j)
        expected = weights[part.concept] * (h * concept * t.conj()).sum().real
        assert float(value) == pytest.approx(float(expected), abs=1e-9)
        assert np.sign(part.weight) == np.sign(float(weights[part.concept]))


@pytest.mark.parametrize("kind", ["sparse", "dense", "l1"])
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("projected", ["unit", "ball", "none"])
def test_each_concept_gives_what_the_formula_says(kind: str, norm: int, projected: str) -> None:
    model: Any = make_model(
        "itransf",
        {**geometry(norm, projected), "concepts": 6, "support_size": 2, "attention": kind},
    )
    head, relation, tail = 2, 3, 5
    split = model.split_scores(torch.tensor([[head, relation, tail]]))
    h, t = model.entities[head].detach().numpy(), model.entities[tail].detach().numpy()
    concepts = model.concepts.detach().numpy()
    summands, names = [], []
    for side, entity, sign in (("head", h, 1.0), ("tail", t, -1.0)):
        attention = model.concept_attention(side).attention()[relation].detach().numpy()
        whole = sum(a * (d @ entity) for a, d in zip(attention, concepts, strict=True))
        length = np.linalg.norm(whole)
        factor = {"unit": 1 / length, "ball": 1 / max(length, 1.0), "none": 1.0}[projected]
        for concept in np.flatnonzero(attention):
            summands.append(sign * factor * attention[concept] * (concepts[concept] @ entity))
            names.append((side, int(concept)))
    translation = model.relations[relation].detach().numpy()
    residual = sum(summands) + translation
    direction = np.sign(residual) if norm == 1 else residual / np.linalg.norm(residual)
    expected = {name: float(direction @ vector) for name, vector in zip(names, summands, strict=True)}
    expected["translation", None] = float(direction @ translation)
    found = {(part.side, part.concept): value for part, value in zip(split.parts, split.values[0], strict=True)}
    assert found.keys() == expected.keys()
    assert all(abs(found[key] - expected[key]) < 1e-9 for key in expected)


@pytest.mark.parametrize("norm", [1, 2])
def test_a_distance_of_zero_splits_into_zeros(norm: int) -> None:
    model: Any = make_model("transe", geometry(norm, "none"))
    with torch.no_grad():
        model.relations.zero_()
    split = model.split_scores(torch.tensor([[4, 0, 4]]))
    assert split.totals[0] == 0
    assert (split.values == 0).all()
    assert [part.side for part in split.parts] == ["head", "translation", "tail"]


def test_a_matrix_of_its_own_is_one_part() -> None:
    for name in set(NAMES) - {"itransf", "ilineare", "pitransf", "transd"}:
        model: Any = make_case(name).model
        for side in SIDES:
            parts, matrices = split_projection(model, 1, side)
            assert [(part.side, part.concept) for part in parts] == [(side, None)]
            is_diagonal = isinstance(model.projection(side), NoProjection | DiagonalProjection)
            assert matrices.shape == ((1, 8) if is_diagonal else (1, 8, 8))


def rival_score(case: Case, triple: tuple[int, int, int], side: str) -> float:
    """Return the best score of another candidate whose triple is not known."""
    head, relation, tail = triple
    others = [(head, relation, e) if side == "tail" else (e, relation, tail) for e in range(len(case.scores))]
    allowed = [other for other in others if other != triple and other not in case.known and other[0] != other[2]]
    return max(float(case.scores[other]) for other in allowed)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("side", ["head", "tail"])
def test_values_and_favours_sum_to_what_they_split(name: str, norm: int, side: str) -> None:
    case = make_case(name, norm)
    triple = (3, 1, 8)
    found = explain(case.model, case.graph, "e3", "Relation One", "e8", side=side)
    values = sum(part.value for part in found.contributions)
    assert values == pytest.approx(found.distance, abs=1e-9)
    assert found.score == pytest.approx(float(case.scores[triple]), abs=1e-9)
    assert found.runner_up is not None
    assert found.runner_up.distance == pytest.approx(-rival_score(case, triple, side), abs=1e-9)
    assert sum(part.favour or 0.0 for part in found.contributions) == pytest.approx(found.lead, abs=1e-9)
    assert (found.head_label, found.relation_label) == ("e3", "Relation One")
    assert (found.rank == 1) == ((found.lead or 0.0) > 0)
    assert json.loads(json.dumps(found.to_dict()))["sentence"] == found.sentence == str(found)
    has_concepts = name in ("itransf", "ilineare", "pitransf")
    assert (found.sharing is not None) == has_concepts
    assert bool(found.removals) == has_concepts


@pytest.mark.parametrize("name", ["distmult", "complex", "icomplex"])
@pytest.mark.parametrize("side", ["head", "tail"])
def test_favours_of_products_sum_to_the_lead(name: str, side: str) -> None:
    case = make_products(name)
    found = explain(case.model, case.graph, "e3", "Relation One", "e8", side=side)
    assert sum(part.value for part in found.contributions) == pytest.approx(found.score, abs=1e-9)
    assert found.score == pytest.approx(float(case.scores[3, 1, 8]), abs=1e-9)
    assert found.runner_up is not None
    assert found.runner_up.score == pytest.approx(rival_score(case, (3, 1, 8), side), abs=1e-9)
    assert sum(part.favour or 0.0 for part in found.contributions) == pytest.approx(found.lead, abs=1e-9)
    assert found.distance is None
    assert found.runner_up.distance is None
    assert "distance" not in found.sentence
    assert (found.sharing is not None) == bool(found.removals) == (name == "icomplex")
    assert json.loads(json.dumps(found.to_dict()))["sentence"] == found.sentence
    if name == "icomplex":
        worst = max(found.removals, key=lambda removal: abs(removal.rank - found.rank))
        called = f"{found.concept_names[worst.concept]} ({worst.concept})"
        assert (f"Without the concept {called}, it would rank" in found.sentence) == (worst.rank != found.rank)
        assert {removal.side for removal in found.removals} == {"relation"}


def test_without_a_concept_a_score_loses_what_the_concept_gave() -> None:
    case = make_products("icomplex")
    found = explain(case.model, case.graph, "e3", "Relation One", "e8")
    given = {part.concept: part.value for part in found.contributions}
    assert len(found.removals) == len(given) == 2
    for removal in found.removals:
        assert removal.score == pytest.approx(found.score - given[removal.concept], abs=1e-9)


def test_a_relation_without_weights_is_explained_by_nothing() -> None:
    case = make_products("icomplex")
    with torch.no_grad():
        case.model.get_parameter("attention.scores").zero_()
    found = explain(case.model, case.graph, "e3", "Relation One", "e8")
    assert (found.score, found.contributions, found.removals) == (0.0, (), ())
    assert "level with" in found.sentence


def test_known_triples_are_marked_as_known() -> None:
    case = make_case("itransf")
    for split in ("train", "valid", "test"):
        head, relation, tail = case.graph.split(split)[3].tolist()
        found = explain(case.model, case.graph, f"e{head}", f"r{relation}", f"e{tail}", removals=False, evidence=1)
        assert found.known == split
        assert len(found.nearest) <= 1
        assert found.removals == ()
    free = next(t for t in range(17) if (2, 1, t) not in case.known)
    assert explain(case.model, case.graph, "e2", "r1", f"e{free}").known is None


def test_what_does_not_fit_in_memory_is_done_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    case = make_case("itransf", norm=2)
    asked = ("e3", "r1", "e8")
    expected = explain(case.model, case.graph, *asked)
    for module in MODULES:
        monkeypatch.setattr(f"itransf.{module}.DEFAULT_MEMORY", 1)
    assert explain(case.model, case.graph, *asked) == expected


def test_an_answer_without_rivals(number_graph: Any) -> None:
    case = make_case("stranse")
    graph = number_graph([(0, 0, tail) for tail in range(1, 17)], entities=17, relations=4)
    found = explain(case.model, graph, "e0", "r0", "e3")
    assert found.runner_up is None
    assert all(part.favour is None and part.rival is None for part in found.contributions)
    assert "only candidate" in found.sentence


def test_single_precision_and_names_of_concepts() -> None:
    case = make_case("itransf", norm=2)
    model = case.model.float()
    with torch.no_grad():
        score = float(model.score(*torch.tensor([[3], [1], [8]])))
    found = explain(model, case.graph, "e3", "r1", "e8", names={0: "zero"})
    assert sum(part.value for part in found.contributions) == pytest.approx(-score, abs=1e-5)
    assert found.concept_names[0] == "zero"
    assert len(found.concept_names) == len(model.concepts)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_evidence_is_found_where_gradients_are_off(mode: Callable[[], Any]) -> None:
    case = make_case("itransf")
    wanted = explain(case.model, case.graph, "e1", "r1", "e8")
    with mode():
        assert explain(case.model, case.graph, "e1", "r1", "e8") == wanted


def test_mistakes_are_reported() -> None:
    case = make_case("itransf")
    with pytest.raises(DataError, match=r"unknown entity 'Entity Onee'.* 'Entity One'"):
        explain(case.model, case.graph, "Entity Onee", "r1", "e8")
    with pytest.raises(DataError, match="unknown relation"):
        explain(case.model, case.graph, "e1", "r9", "e8")
    with pytest.raises(ConfigError, match=r"there is no side 'tial'.*Did you mean 'tail'"):
        explain(case.model, case.graph, "e1", "r1", "e8", side="tial")
    with pytest.raises(ConfigError, match=r"evidence .*at least 0, not -1"):
        explain(case.model, case.graph, "e1", "r1", "e8", evidence=-1)


def stand(case: Any, triple: tuple[int, int, int], side: str) -> tuple[float, int, int | None]:
    """Return rank, number of candidates and best rival by going through all entities."""
    head, relation, tail = triple
    scores = {}
    for entity in range(len(case.scores)):
        other = (head, relation, entity) if side == "tail" else (entity, relation, tail)
        looping = other[0] == other[2] and relation != LOOPING
        if other != triple and other not in case.known and not looping:
            scores[entity] = case.scores[other]
    own = case.scores[triple]
    rank = 1 + sum(score > own for score in scores.values()) + 0.5 * sum(score == own for score in scores.values())
    return rank, len(scores) + 1, max(scores, key=lambda entity: scores[entity]) if scores else None


@pytest.mark.parametrize("name", ["transe", "stranse", "itransf"])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("memory", [1, MEMORY])
def test_ranks_and_the_runner_up_equal_going_through_all(
    name: str, side: Any, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in MODULES:
        monkeypatch.setattr(f"itransf.{module}.DEFAULT_MEMORY", memory)
    case = make_case(name, norm=2)
    triples = [*map(tuple, case.graph.train[:6].tolist()), *((h, r, 16 - h) for r in range(RELATIONS) for h in (0, 5))]
    for triple in triples:
        names = name_triple(triple)
        found = explain(case.model, case.graph, *names, side=side, removals=False, evidence=0)
        rival = None if found.runner_up is None else int(found.runner_up.name[1:])
        assert (found.rank, found.candidates[side], rival) == stand(case, triple, side)


def test_the_only_candidate_has_no_runner_up(number_graph: Any) -> None:
    case = make_case("transe")
    graph = number_graph([(0, 0, tail) for tail in range(1, 17)], entities=17, relations=4)
    assert find_runner_up(case.model, graph, (0, 0, 3), "tail") is None
    found = explain(case.model, graph, "e0", "r0", "e3")
    assert (found.rank, found.candidates["tail"]) == (1.0, 1)


def test_a_tie_counts_half() -> None:
    case = make_case("transe")
    case.model.entities.data[5] = case.model.entities.data[6]  # type: ignore[union-attr,index]
    triple = next(
        (h, 0, 5) for h in range(17) if h not in (5, 6) and not case.graph.known.contains(np.array([[h, 0, 6]]))[0]
    )
    assert explain(case.model, case.graph, *name_triple(triple)).rank % 1 == 0.5


def make_concepts(kind: str, concepts: int = 5, support: int = 3, projected: str = "unit") -> Any:
    torch.manual_seed(2)
    config = MODELS["itransf"].Config(
        dim=6, concepts=concepts, support_size=support, attention=kind, projected_constraint=projected
    )
    model = MODELS["itransf"](Sizes(17, 4), config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.5)
    return model


def rank_with(model: Any, attention: dict[str, torch.Tensor]) -> tuple[float, float]:
    """Return score and rank with this attention, by a model that holds it as free weights."""
    config = MODELS["itransf"].Config(
        dim=6, concepts=5, attention="l1", projected_constraint=model.config.projected_constraint
    )
    free: Any = MODELS["itransf"](Sizes(17, 4), config).double()
    with torch.no_grad():
        for name in ("entities", "relations", "concepts"):
            getattr(free, name).copy_(getattr(model, name))
        for side in ("head", "tail"):
            free.concept_attention(side).scores.copy_(model.concept_attention(side).attention())
            free.concept_attention(side).scores[TRIPLE[1]] = attention[side]
    graph = make_graph()
    ranks = rank_triples(free, ROWS, graph.known, loops=graph.statistics.allows_loops, keep_scores=True)
    assert ranks.scores is not None
    return float(ranks.scores[1, 0]), float(ranks.ranks("tail")[0])


@pytest.mark.parametrize("kind", ["sparse", "dense", "l1"])
@pytest.mark.parametrize("projected", ["unit", "none"])
def test_a_removal_equals_a_model_whose_weights_are_renormalised(kind: str, projected: str) -> None:
    model = make_concepts(kind, projected=projected)
    found = try_removals(model, make_graph(), ROWS, "tail")
    attention = {side: model.concept_attention(side).attention()[TRIPLE[1]].detach() for side in ("head", "tail")}
    assert len(found) == sum(int((weights != 0).sum()) for weights in attention.values())
    for removal in found:
        changed = {side: weights.clone() for side, weights in attention.items()}
        changed[removal.side][removal.concept] = 0.0
        if kind != "l1":
            changed[removal.side] /= changed[removal.side].sum()
        assert removal.weight == pytest.approx(float(attention[removal.side][removal.concept]))
        score, rank = rank_with(model, changed)
        assert removal.score == pytest.approx(score, abs=1e-6)
        assert removal.rank == rank
    assert [removal.rank for removal in found] == sorted((removal.rank for removal in found), reverse=True)


def test_a_lone_concept_and_a_matrix_of_its_own_cannot_go() -> None:
    lone = make_concepts("sparse", support=1)
    assert try_removals(lone, make_graph(), ROWS, "tail") == []
    for name in ("transe", "stranse"):
        case = make_case(name)
        assert try_removals(case.model, case.graph, ROWS, "tail") == []


def test_of_many_concepts_only_the_heaviest_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "MOST_REMOVED", 2)
    model = make_concepts("dense")
    found = try_removals(model, make_graph(), ROWS, "head")
    assert len(found) == 4
    for side in ("head", "tail"):
        weights = model.concept_attention(side).attention()[0]
        heaviest = set(weights.topk(2).indices.tolist())
        assert {removal.concept for removal in found if removal.side == side} == heaviest


def make_hyperplanes(kind: type[TransH]) -> tuple[TransH, Graph]:
    torch.manual_seed(0)
    return kind(Sizes(17, 4), TranslationConfig(dim=8)).double(), make_graph()


def test_a_projection_without_matrices_is_one_part_of_each_side_and_not_taken_for_the_identity() -> None:
    model, graph = make_hyperplanes(TransH)
    given, _ = make_hyperplanes(MatrixTransH)
    found, wanted = (explain(each, graph, "e1", "r1", "e8") for each in (model, given))
    assert [part.side for part in found.contributions] == ["head", "translation", "tail"]
    for part, other in zip(found.contributions, wanted.contributions, strict=True):
        assert part.value == pytest.approx(other.value, abs=1e-9)
    with pytest.raises(ConfigError, match=r"model TransH have neither matrices nor vectors"):
        profile_relation(model, graph, "r1")
    with pytest.raises(ConfigError, match="concepts nor matrices"):
        read_model(model, graph, "transh")


def test_a_projection_of_another_kind_is_explained_exactly_by_its_matrices() -> None:
    model, graph = make_hyperplanes(MatrixTransH)
    plain, _ = make_hyperplanes(TransH)
    found: Explanation = explain(model, graph, "e1", "r1", "e8")
    with torch.no_grad():
        score = float(plain.score(*torch.tensor([[1], [1], [8]])))
    assert found.score == pytest.approx(score, abs=1e-9)
    assert sum(part.value for part in found.contributions) == pytest.approx(-score, abs=1e-9)
    assert found.removals == ()
    assert profile_relation(model, graph, "r1").inverse[0].matrices < 0.999


def test_a_score_without_parts_is_explained_by_its_rank_and_runner_up() -> None:
    case = make_case("table")
    found = explain(case.model, case.graph, "e3", "r1", "e8")
    assert (found.score, found.contributions, found.distance) == (case.scores[3, 1, 8], (), None)
    assert found.runner_up is not None
    assert found.runner_up.score == rival_score(case, (3, 1, 8), "tail")
    assert (found.nearest, found.supporting) == ((), ())  # its entities have no vectors
    with pytest.raises(ConfigError, match="model TableModel have neither matrices nor vectors"):
        profile_relation(case.model, case.graph, "r1")


def test_a_score_without_parts_has_evidence_where_entities_have_vectors() -> None:
    case = make_case("ntn")
    found = explain(case.model, case.graph, "e3", "r1", "e8")
    assert (found.contributions, found.distance, len(found.nearest)) == ((), None, 3)
    assert found.lead == pytest.approx(case.scores[3, 1, 8] - rival_score(case, (3, 1, 8), "tail"))
    assert found.supporting
    vectors: Any = case.model.get_parameter("entities").detach().numpy()
    own = vectors[[3, 8]].ravel()
    for near in found.nearest:
        theirs = vectors[[int(near.head[1:]), int(near.tail[1:])]].ravel()
        cosine = own @ theirs / np.linalg.norm(own) / np.linalg.norm(theirs)
        assert near.value == pytest.approx(cosine, abs=1e-9)


def test_other_answers_in_train_are_told_where_there_is_one() -> None:
    triples = [(f"c{place}", "capital_of", f"s{place}") for place in range(9)]
    triples += [(f"s{place}", "borders", f"s{other}") for place in range(4) for other in range(4) if place != other]
    graph = Graph.from_triples(triples, valid_share=0.0, test_share=0.0)

    def find(head: str, relation: str, tail: str, side: Side = "tail") -> tuple[str, ...]:
        triple = graph.entities.index(head), graph.relations.index(relation), graph.entities.index(tail)
        return find_taken(graph, triple, side)

    assert find("c1", "capital_of", "s2") == ("s1",)
    assert find("c1", "capital_of", "s2", "head") == ("c2",)
    assert find("c1", "capital_of", "s1") == ()
    assert find("s8", "capital_of", "s1") == ()
    assert find("s1", "borders", "s8") == ()
    model = MODELS["distmult"].build(graph, MODELS["distmult"].Config(dim=4))
    assert explain(model, graph, "c1", "capital_of", "s2").unfit == ()
    assert explain(model, graph, "c1", "capital_of", "c2").unfit == ("tail",)
    assert explain(model, graph, "s1", "capital_of", "c2").unfit == ("head", "tail")


@pytest.mark.parametrize("side", SIDES)
def test_a_runner_up_has_paths_only_if_it_is_ahead(side: str) -> None:
    case = make_products("icomplex")
    for tail in range(4, 12):
        found = explain(case.model, case.graph, "e3", "r1", f"e{tail}", side=side, removals=False)
        assert found.runner_up is not None
        ahead = found.runner_up.score > found.score
        name = found.runner_up.name
        triple = ("e3", "r1", name) if side == "tail" else (name, "r1", f"e{tail}")
        wanted = explain(case.model, case.graph, *triple, side=side, removals=False).paths[:1]
        assert found.runner_up.paths == (wanted if ahead else ())
