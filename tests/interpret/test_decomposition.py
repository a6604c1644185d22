from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from contracts.cases import SIZES, TRANSLATION_CASES, all_triples, make_model
from itransf.errors import ConfigError
from itransf.interpret.decomposition import split_distances
from itransf.interpret.spaces import open_space
from itransf.models import MODELS
from stubs import TableModel


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
        split = split_distances(model, triples)
        assert split.values.shape == (len(triples), len(split.parts))
        assert np.abs(split.values.sum(1) - split.distances).max() < 1e-9
        assert np.abs(split.distances + score(model, triples)).max() < 1e-9


@pytest.mark.parametrize(("name", "case"), TRANSLATION_CASES)
def test_single_precision_agrees_to_its_tolerance(name: str, case: dict[str, Any]) -> None:
    model = make_model(name, case).float()
    triples = triples_of(1)
    split = split_distances(model, triples)
    scores = score(model, triples)
    assert np.allclose(split.values.sum(1), -scores, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["sparse", "dense", "l1"])
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("projected", ["unit", "ball", "none"])
def test_each_concept_gives_what_the_formula_says(kind: str, norm: int, projected: str) -> None:
    model: Any = make_model(
        "itransf",
        {**geometry(norm, projected), "concepts": 6, "support_size": 2, "attention": kind},
    )
    head, relation, tail = 2, 3, 5
    split = split_distances(model, np.array([[head, relation, tail]]))
    h, t = model.entities[head].detach().numpy(), model.entities[tail].detach().numpy()
    concepts = model.concepts.detach().numpy()
    summands, names = [], []
    for side, entity, sign in (("head", h, 1.0), ("tail", t, -1.0)):
        attention = model.concept_projection(side).attention()[relation].detach().numpy()
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
    split = split_distances(model, np.array([[4, 0, 4]]))
    assert split.distances[0] == 0
    assert (split.values == 0).all()
    assert [part.side for part in split.parts] == ["head", "translation", "tail"]


def test_a_model_of_another_family_is_refused() -> None:
    with pytest.raises(ConfigError, match="TableModel model is no distance"):
        open_space(TableModel(torch.zeros(3, 1, 3)), 0)


def test_a_matrix_of_its_own_is_one_part() -> None:
    for name in set(MODELS) - {"itransf"}:
        space = open_space(make_model(name, geometry(1, "unit")), 1)
        assert [len(space.parts[side]) for side in ("head", "tail")] == [1, 1]
        assert space.without("head", 0) is None
