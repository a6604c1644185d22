from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from contracts.cases import MODEL_CASES, SIZES, make_model, random_triples
from itransf.models import SIDES
from itransf.storage import RunFolder
from itransf.training.trainer import load_weights, weights


@pytest.mark.parametrize(("name", "kind"), MODEL_CASES)
def test_weights_saved_and_loaded_are_bit_equal(name: str, kind: dict[str, Any], tmp_path: Path) -> None:
    model, other = make_model(name, kind).float(), make_model(name, kind, seed=9).float()
    triples = random_triples(12)
    assert not torch.equal(model.score(*triples), other.score(*triples))
    RunFolder(tmp_path).write_tensors("model.safetensors", weights(model), {"why": "test"})
    stored, told = RunFolder(tmp_path).read_tensors("model.safetensors")
    load_weights(other, stored)
    assert told == {"why": "test"}
    assert set(stored) == set(weights(model))
    for key, tensor in weights(model).items():
        assert torch.equal(weights(other)[key], tensor), key
    assert torch.equal(model.score(*triples), other.score(*triples))
    assert torch.equal(model.score_tails(*triples[:2]), other.score_tails(*triples[:2]))


@pytest.mark.parametrize(("name", "kind"), MODEL_CASES)
def test_weights_name_every_parameter_once(name: str, kind: dict[str, Any]) -> None:
    model = make_model(name, kind)
    places = [tensor.data_ptr() for tensor in weights(model).values()]
    assert len(places) == len(set(places))
    assert {tensor.data_ptr() for tensor in model.parameters()} <= set(places)


@pytest.mark.parametrize(("name", "kind"), MODEL_CASES)
def test_constrain_brings_touched_rows_to_unit_length_and_leaves_others_alone(name: str, kind: dict[str, Any]) -> None:
    model = make_model(name, kind)
    before = {key: tensor.clone() for key, tensor in weights(model).items()}
    touched = torch.tensor([5, 1, 5])
    model.constrain(touched)
    entities = weights(model)["entities"]
    assert torch.linalg.vector_norm(entities[touched], dim=1).tolist() == pytest.approx([1.0, 1.0, 1.0])
    directions = entities[touched] * torch.linalg.vector_norm(before["entities"][touched], dim=1, keepdim=True)
    torch.testing.assert_close(directions, before["entities"][touched])
    others = [row for row in range(SIZES.entities) if row not in touched.tolist()]
    assert torch.equal(entities[others], before["entities"][others])
    for key in before.keys() - {"entities"}:
        assert torch.equal(weights(model)[key], before[key]), key


@pytest.mark.parametrize(("name", "kind"), MODEL_CASES)
def test_constrain_of_everything_brings_every_row_to_unit_length(name: str, kind: dict[str, Any]) -> None:
    model = make_model(name, kind)
    model.constrain(None)
    lengths = torch.linalg.vector_norm(weights(model)["entities"], dim=1)
    torch.testing.assert_close(lengths, torch.ones_like(lengths))


@pytest.mark.parametrize(("name", "kind"), MODEL_CASES)
def test_models_have_supports_and_single_concept_scores_both_or_neither(name: str, kind: dict[str, Any]) -> None:
    model = make_model(name, kind)
    triples = random_triples(3)
    for side in SIDES:
        if model.supports(side) is not None:
            assert len(model.single_concept_scores(*triples, side)) == 3
        elif name != "itransf":
            with pytest.raises(NotImplementedError, match="has no concepts"):
                model.single_concept_scores(*triples, side)
