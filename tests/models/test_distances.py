"""What is particular to single models: soft constraints, clusters, variances, starts, and settings without sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import itransf
from contracts.cases import make_model, random_triples
from itransf.config import Layer, build_config
from itransf.errors import ConfigError
from itransf.models import MODELS, Sizes
from itransf.models.ctransr import FEWEST, find_centres
from itransf.models.transh import TOLERANCE


def test_the_soft_constraints_of_transh_by_hand() -> None:
    model: Any = make_model("transh", {"dim": 5, "constraint_weight": 0.3})
    heads, relations, tails = random_triples(7)
    total = 0.0
    for head, relation, tail in zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True):
        for entity in (head, tail):
            total += max(0.0, float((model.entities.detach()[entity] ** 2).sum()) - 1)
        normal, vector = (table[relation].detach().numpy() for table in (model.project_head.normals, model.relations))
        cosine = normal @ vector / np.linalg.norm(normal) / np.linalg.norm(vector)
        total += max(0.0, cosine**2 - TOLERANCE**2)
    assert float(model.penalty(heads, relations, tails).detach()) == pytest.approx(0.3 * total / 7)
    assert make_model("transh", {"dim": 5}).penalty(heads, relations, tails) is None


@pytest.mark.parametrize("name", ["unstructured", "se"])
def test_a_new_relation_of_a_model_without_translations_has_none(name: str) -> None:
    model: Any = make_model(name, {"dim": 5})
    model.start_relation(torch.tensor([1, 2]), torch.tensor([3, 4]))
    assert not model.relations.any()
    assert "relations" not in model.embeddings()


def test_transd_starts_from_transe_in_the_first_half_of_its_rows() -> None:
    model: Any = make_model("transd", {"dim": 5})
    start: Any = make_model("transe", {"dim": 5}, seed=3)
    others = model.entities[:, 5:].clone()
    model.start_from(start, torch.ones(4))
    assert torch.equal(model.entities, torch.cat([start.entities, others], dim=1))
    assert torch.equal(model.relations, start.relations)


def test_kg2e_starts_from_transe_with_the_same_ranking() -> None:
    model: Any = make_model("kg2e", {"dim": 5})
    start: Any = make_model("transe", {"dim": 5, "p_norm": 2}, seed=3)
    with torch.no_grad():
        for table in (model.entities, model.relations):
            table[:, 5:] = 0.5  # as in a new model
    model.start_from(start, torch.ones(4))
    assert torch.equal(model.entities, torch.cat([start.entities, torch.full_like(start.entities, 0.5)], dim=1))
    everything = torch.arange(len(model.entities))
    for relation in range(4):
        queries = torch.full_like(everything, relation), everything
        orders = [each.score(torch.zeros_like(everything), *queries).argsort().tolist() for each in (model, start)]
        assert orders[0] == orders[1]


def test_variances_stay_within_their_bounds_and_means_within_their_length() -> None:
    model: Any = make_model("kg2e", {"dim": 5, "min_variance": 0.2, "max_variance": 0.9, "entity_constraint": "ball"})
    before = model.relations.clone()
    model.constrain(None, torch.tensor([1]))
    for table in (model.entities.detach(), model.relations.detach()[1:2]):
        assert (table[:, 5:] == table[:, 5:].clamp(0.2, 0.9)).all()
        assert table[:, :5].norm(dim=1).max() <= 1 + 1e-12
    assert torch.equal(model.relations[[0, 2, 3]], before[[0, 2, 3]])


def test_means_of_relations_are_not_stretched_to_unit_length() -> None:
    model: Any = make_model("kg2e", {"dim": 5, "entity_constraint": "unit"})
    with torch.no_grad():
        model.relations[0, :5], model.relations[1, :5] = 0.1, 3.0
    model.constrain(None, None)
    lengths = model.relations.detach()[:2, :5].norm(dim=1)
    torch.testing.assert_close(lengths, torch.tensor([0.1 * 5**0.5, 1.0]).to(lengths))
    torch.testing.assert_close(model.entities.detach()[:, :5].norm(dim=1), torch.ones_like(model.entities[:, 0]))


def test_a_new_relation_of_kg2e_has_the_moments_of_its_triples() -> None:
    model: Any = make_model("kg2e", {"dim": 2, "max_variance": 1.0})
    with torch.no_grad():
        model.entities[:3] = torch.tensor([[1.0, 2.0, 0.1, 0.9], [3.0, 1.0, 0.2, 0.8], [0.0, 0.5, 0.4, 0.3]])
    model.start_relation(torch.tensor([0, 1]), torch.tensor([2, 2]))
    torch.testing.assert_close(model.relations[-1].detach(), torch.tensor([2.0, 1.0, 0.55, 1.0]).double())


def test_k_means_finds_clusters_that_are_far_apart_and_fewer_where_points_are_few() -> None:
    generator = torch.Generator().manual_seed(1)
    places = torch.tensor([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    points = (places[:, None] + 0.1 * torch.randn(3, 40, 2, generator=generator)).flatten(0, 1)
    found = find_centres(points, 3)
    assert sorted(torch.cdist(places, found).argmin(1).tolist()) == [0, 1, 2]
    assert torch.cdist(places, found).min(1).values.max() < 0.1
    few = find_centres(points[: 2 * FEWEST - 1], 3)
    torch.testing.assert_close(few, points[: 2 * FEWEST - 1].mean(0).expand(3, 2))


def test_ctransr_starts_with_the_clusters_of_the_offsets_of_transe() -> None:
    triples = [(f"a{i}", "r", f"{end}{i}") for i in range(2 * FEWEST) for end in ("b", "c")]
    graph = itransf.Graph.from_names("clusters", train=triples)
    config = MODELS["ctransr"].Config(dim=2, clusters=2)
    model: Any = MODELS["ctransr"].build(graph, config)
    start: Any = MODELS["transe"](Sizes(len(graph.entities), 1), MODELS["transe"].Config(dim=2))
    places = {"a": [0.0, 0.0], "b": [1.0, 0.0], "c": [0.0, 1.0]}
    with torch.no_grad():
        start.entities.copy_(torch.tensor([places[name[0]] for name in graph.entities.names]))
    model.start_from(start, torch.tensor([len(triples)]))
    found = (model.relations + model.clusters.view(2, 2)).detach()
    torch.testing.assert_close(found[found[:, 1].argsort()], torch.tensor([places["b"], places["c"]]))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("ctransr", {"clusters": 0}, "clusters"),
        ("irn", {"steps": 0}, "steps must be at least 1"),
        ("nodelink", {"paths": 0}, "paths must be at least 1"),
        ("ntn", {"slices": 0}, "slices must be at least 1"),
        ("pitransf", {"fan_out": 0}, "fan_out must be at least 1"),
        ("rotate", {"span": 0.0}, "span must be above zero"),
        ("tucker", {"hidden_dropout": 1.0}, "hidden_dropout must be below one"),
        ("kg2e", {"min_variance": 0.0}, "min_variance"),
        ("kg2e", {"min_variance": 2.0, "max_variance": 1.0}, "max_variance"),
    ],
)
def test_settings_without_sense_are_refused(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_config([Layer("test", {"model": {"name": name, **settings}})])


@pytest.mark.parametrize("name", ["kg2e", "transd"])
def test_entities_are_compared_by_their_first_vectors(name: str) -> None:
    model = make_model(name, {"dim": 4})
    assert model.embeddings()["entities"].shape[1] == 8
    torch.testing.assert_close(model.entity_vectors(), model.embeddings()["entities"].detach()[:, :4])
