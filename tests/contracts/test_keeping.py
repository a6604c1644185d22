from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import itransf
from contracts.cases import CASES, MODEL_CASES, make_model, random_triples
from itransf.models import MODELS, SIDES, ProjectingConcepts, Sizes
from itransf.records import Manifest, RunRecord, write_manifest
from itransf.registry import REGULARIZERS
from itransf.run import resolve_config
from itransf.storage import RunFolder
from itransf.training.trainer import load_weights, weights

RECORD = RunRecord("id", "2026-01-01", "0", "graph", "hash", "model", 0)


@pytest.mark.parametrize(("name", "case"), MODEL_CASES)
def test_weights_saved_and_loaded_are_bit_equal(name: str, case: dict[str, Any], tmp_path: Path) -> None:
    model, other = make_model(name, case).float(), make_model(name, case, seed=9).float()
    triples = random_triples(12)
    assert not torch.equal(model.score(*triples), other.score(*triples))
    folder = RunFolder(tmp_path)
    write_manifest(tmp_path, Manifest(RECORD))
    folder.stage_tensors("model.safetensors", weights(model), {"why": "test"})
    folder.commit()
    stored, told = folder.read_tensors("model.safetensors")
    load_weights(other, stored)
    assert told == {"why": "test"}
    assert set(stored) == set(weights(model))
    for key, tensor in weights(model).items():
        assert torch.equal(weights(other)[key], tensor), key
    assert torch.equal(model.score(*triples), other.score(*triples))
    assert torch.equal(model.score_tails(*triples[:2]), other.score_tails(*triples[:2]))


@pytest.mark.parametrize(("name", "case"), MODEL_CASES)
def test_weights_name_every_parameter_once(name: str, case: dict[str, Any]) -> None:
    model = make_model(name, case)
    places = [tensor.data_ptr() for tensor in weights(model).values()]
    assert len(places) == len(set(places))
    assert {tensor.data_ptr() for tensor in model.parameters()} <= set(places)


@pytest.mark.parametrize(("name", "case"), MODEL_CASES)
def test_constraints_of_some_rows_leave_other_rows_alone(name: str, case: dict[str, Any]) -> None:
    model, whole = make_model(name, case), make_model(name, case)
    before = {key: tensor.clone() for key, tensor in weights(model).items()}
    entities, relations = torch.tensor([5, 1, 5]), torch.tensor([2])
    model.constrain(entities, relations)
    whole.constrain(None, None)
    for table, touched in (("entities", entities), ("relations", relations)):
        rows = model.embeddings().get(table)
        if rows is not None:
            others = [row for row in range(len(rows)) if row not in touched.tolist()]
            assert torch.equal(rows[others], before[table][others]), table
            torch.testing.assert_close(rows[touched], whole.embeddings()[table][touched])


@pytest.mark.parametrize(("name", "case"), MODEL_CASES)
def test_a_model_is_built_from_a_graph_with_its_own_defaults(name: str, case: dict[str, Any]) -> None:
    graph = itransf.Graph.from_names("tiny", train=[("a", "r", "b"), ("b", "s", "c"), ("c", "r", "a")])
    config = resolve_config(graph, settings=[f"model.name={name}"], device="cpu")
    model = MODELS[name].build(graph, config.model)
    assert model.sizes == Sizes(3, 2)
    found = {key: len(table) for key, table in model.embeddings().items()}
    assert found.items() <= {"entities": 3, "relations": 2}.items()


@pytest.mark.parametrize(("name", "case"), CASES)
def test_regularizers_apply_to_the_factors_of_every_model(name: str, case: dict[str, Any]) -> None:
    model, triples = make_model(name, case), random_triples(6)
    factors = model.factors(*triples)
    assert all(factor.shape[0] == 6 and factor.dim() == 2 for factor in factors)
    wanted = {
        "n3": sum(abs(value) ** 3 for factor in factors for value in factor.flatten().tolist()) / 6,
        "l2": sum(value**2 for factor in factors for value in factor.flatten().tolist()) / 6,
        "l1": sum(abs(value) for factor in factors for value in factor.flatten().tolist()) / 6,
    }
    assert set(wanted) == set(REGULARIZERS.names)
    for key, value in wanted.items():
        assert float(REGULARIZERS[key](factors).detach()) == pytest.approx(value)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_concept_models_score_each_concept_alone(name: str, case: dict[str, Any]) -> None:
    model = make_model(name, case)
    if isinstance(model, ProjectingConcepts):
        for side in SIDES:
            assert model.single_concept_scores(*random_triples(3), side).shape == (3, len(model.concepts))
