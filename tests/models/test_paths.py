"""Paths: mining against plain loops, and what models learn from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import itransf
from contracts.cases import make_model, numpy_weights
from contracts.references import TRAIN, add_steps, find_paths
from contracts.references import measure as find_length
from contracts.references.pitransf import path_energy
from itransf.config import Layer, build_config
from itransf.data.graph import Graph
from itransf.errors import ConfigError
from itransf.models import MODELS
from itransf.models import paths as path_module
from itransf.models.paths import PathConfig, PathModel
from itransf.teaching.fit_rows import rebuild

GraphMaker = Callable[..., Graph]
USING = [name for name in MODELS if MODELS[name].uses]
Path = tuple[int, int, int]


def walk(
    triples: list[tuple[int, int, int]], relations: int, fan_out: int
) -> Iterator[tuple[int, int, int, int, float]]:
    """Yield head, first step, second step, tail and share of the head's resource of every walk of two steps."""
    links = defaultdict[tuple[int, int], set[int]](set)
    for h, r, t in triples:
        if h != t:
            links[h, 2 * r + 2].add(t)
            links[t, 2 * r + 3].add(h)
    for entity in {e for h, _, t in triples for e in (h, t)}:
        links[entity, 0].add(entity)
    for (head, first), middles in list(links.items()):
        for middle in middles if first != 0 and len(middles) <= fan_out else ():
            for second in range(2 * relations + 2):
                ends = links.get((middle, second), set())
                for tail in ends if len(ends) <= fan_out else ():
                    if tail != head:
                        yield head, first, second, tail, 1 / (len(middles) * len(ends))


def build(graph: Graph, **settings: Any) -> PathModel:
    model = MODELS["randomwalk"].build(graph, PathConfig(**settings))
    assert isinstance(model, PathModel)
    return model


@pytest.fixture
def composed(number_graph: GraphMaker) -> Graph:
    """r2 = r0 then r1: each of 24 entities leads to one of 6 by r0, and these to one of 3 by r1; r2 is mostly known.

    Entities are mixed, so that nothing but the path tells their r2.
    """
    order = np.random.default_rng(0).permutation(24)
    first = [(e, 0, 24 + int(order[e]) % 6) for e in range(24)]
    second = [(24 + middle, 1, 30 + middle % 3) for middle in range(6)]
    third = [(e, 2, 30 + int(order[e]) % 6 % 3) for e in range(24)]
    return number_graph([*first, *second, *third[:12]], valid=third[12:18], test=third[18:])


@pytest.mark.parametrize("fan_out", [1, 2, 100])
def test_mined_paths_are_those_of_plain_loops(number_graph: GraphMaker, fan_out: int) -> None:
    model = build(number_graph(TRAIN), paths=400, fan_out=fan_out)
    sums, totals = defaultdict[Path, float](float), defaultdict[tuple[int, int], float](float)
    for head, first, second, tail, share in walk(TRAIN, 4, fan_out):
        totals[first, second] += share
        for relation in {r for h, r, t in TRAIN if (h, t) == (head, tail)}:
            sums[relation, first, second] += share
    found = {
        (r, *map(int, steps)): float(model.confidence[r, slot])
        for r in range(4)
        for slot, steps in enumerate(model.paths[r])
        if steps[0] > 1
    }
    expected = {key: value / totals[key[1:]] for key, value in sums.items() if key[1:] != (2 * key[0] + 2, 0)}
    assert found == pytest.approx(expected)
    for relation in range(4):
        values = [sums[(relation, *map(int, steps))] for steps in model.paths[relation] if steps[0] > 1]
        assert values == pytest.approx(sorted(values, reverse=True))


def test_confidence_counts_all_that_a_path_reaches(number_graph: GraphMaker) -> None:
    links = [(head, 0, 10 + head) for head in range(10)] + [(10 + head, 1, 20 + head) for head in range(10)]
    model = build(number_graph([*links, (0, 2, 20), (1, 2, 21)]), paths=1)
    assert model.paths[2, 0].tolist() == [2, 4]
    assert float(model.confidence[2, 0]) == pytest.approx(0.2)  # it leads on from ten heads, two of which have r2


def test_the_best_paths_are_kept(number_graph: GraphMaker) -> None:
    graph = number_graph(TRAIN)
    assert torch.equal(build(graph, paths=400).paths[:, :3], build(graph, paths=3).paths)


def test_a_triple_is_no_path_of_its_own(number_graph: GraphMaker) -> None:
    model = build(number_graph([(0, 0, 1), (2, 0, 3), (2, 1, 3)]))
    heads, relations, tails = torch.tensor([[0, 0, 1], [2, 0, 3], [2, 1, 3]]).T
    assert model.connect(heads, relations, tails).rows.tolist() == [1, 2]  # each by the other relation


def test_too_many_walks_at_once_are_followed_in_parts(
    number_graph: GraphMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build(number_graph(TRAIN))
    with torch.no_grad():
        model.get_parameter("relations").normal_()
    anchors, relations = torch.arange(7), torch.arange(7) % 4
    whole = model.score_tails(anchors, relations)
    monkeypatch.setitem(path_module.MOST_WALKS, "cpu", 5)
    torch.testing.assert_close(model.score_tails(anchors, relations), whole)


@pytest.mark.parametrize("name", USING)
def test_a_new_relation_leaves_the_scores_of_others_alone(name: str, number_graph: GraphMaker) -> None:
    small, large = (number_graph([*TRAIN, *more]) for more in ([], [(0, 4, 1), (1, 4, 2)]))
    model = MODELS[name].build(small, MODELS[name].Config())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    larger = rebuild(model, large, model.config)
    triples = torch.cartesian_prod(torch.arange(7), torch.arange(4), torch.arange(7)).T
    torch.testing.assert_close(larger.score(*triples), model.score(*triples))


@pytest.mark.parametrize(("key", "value"), [("paths", 0), ("fan_out", -1)])
def test_impossible_settings_are_refused(key: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"model.{key} must be at least 1, not {value}"):
        build_config([Layer("test", {"model": {"name": "randomwalk", key: value}})])


def measure(graph: Graph, name: str, *settings: str) -> float:
    common = ("training.epochs=20", "training.batch_size=16", "validation.every=0", "training.learning_rate=0.05")
    run = itransf.train(graph, settings=[f"model.name={name}", *common, *settings], progress=False, device="cpu")
    found: float = run.evaluate("test", progress=False)["mrr"]
    return found


def test_a_composed_relation_is_learned_from_paths(composed: Graph) -> None:
    plain = measure(composed, "transe")
    for name in USING:
        if MODELS[name].uses == "paths":
            assert measure(composed, name) > plain + 0.1, name


@pytest.mark.parametrize("name", USING)
def test_a_run_can_be_used_and_explained(name: str, composed: Graph, tmp_path: Any) -> None:
    settings = [f"model.name={name}", "training.epochs=2"]
    itransf.train(composed, settings=settings, out=tmp_path / "run", progress=False, device="cpu")
    run = itransf.open(tmp_path / "run")
    triple = ("e18", "r2", composed.entities.name(int(composed.test[0, 2])))
    explained = run.explain(*triple)
    assert explained.score == pytest.approx(run.score([triple])[0].score, abs=1e-4)
    assert sum(part.value for part in explained.contributions) == pytest.approx(
        explained.score if explained.distance is None else explained.distance, abs=1e-4
    )
    assert run.predict(head="e18", relation="r2", top=1)
    run.export(tmp_path / "tables")


def distance_by_hand(config: Any, *signed: tuple[int, Any]) -> float:
    """Return the length of a sum of vectors with signs."""
    columns = zip(*(vector for _, vector in signed), strict=True)
    return find_length([sum(sign * float(v) for (sign, _), v in zip(signed, c, strict=True)) for c in columns], config)


def path_loss_by_hand(model: Any, weights: Any, triple: Path, other: Path) -> float | None:
    """Return the mean loss of the paths of a triple, given the one that lends it another tail or relation."""
    (h, r, t), config, entities, relations = triple, model.config, weights["entities"], weights["relations"]
    found = find_paths(weights, config, h, r, t)
    total = 0.0
    for slot, share in found:
        p = add_steps(weights, r, slot)
        if model.name == "ptranse":
            near, far = (distance_by_hand(config, (1, p), (-1, relations[each])) for each in (r, other[1]))
            loss = max(0.0, config.path_margin + near - far) if r != other[1] else 0.0
        elif model.name == "rtranse":
            near, far = (
                distance_by_hand(config, (1, entities[h]), (1, p), (-1, entities[each])) for each in (t, other[2])
            )
            apart = distance_by_hand(config, (1, p), (-1, relations[r]))
            loss = max(0.0, config.path_margin + near - far) + config.composition_weight * apart
        else:
            near, far = (path_energy(weights, config, h, r, slot, each) for each in (t, other[2]))
            loss = max(0.0, config.path_margin + near - far)
        total += share * loss
    return total / sum(share for _, share in found) if found else None


PATH_CASES: list[tuple[str, dict[str, Any]]] = [
    ("ptranse", {}),
    ("rtranse", {"composition_weight": 0.3}),
    ("pitransf", {"concepts": 6, "support_size": 2, "path_attention": "own"}),
    ("pitransf", {"concepts": 6, "support_size": 2, "path_attention": "composed"}),
]


@pytest.mark.parametrize(("name", "case"), PATH_CASES)
@pytest.mark.parametrize("p_norm", [1, 2])
def test_the_loss_of_paths_is_that_of_plain_loops(name: str, case: dict[str, Any], p_norm: int) -> None:
    model: Any = make_model(name, {"dim": 4, "paths": 6, "p_norm": p_norm, "path_weight": 0.7, **case})
    model.name = name
    weights, train = numpy_weights(model), sorted(TRAIN, key=lambda triple: triple[1])
    others = [train[place - len(train) // 2] for place in range(len(train))]
    found = [path_loss_by_hand(model, weights, *pair) for pair in zip(train, others, strict=True)]
    losses = [loss for loss in found if loss is not None]
    assert 0 < len(losses) < len(train)  # some triples have no path
    value = model.penalty(*torch.tensor(train).unbind(1))
    assert value.item() == pytest.approx(0.7 * sum(losses) / len(train))


@pytest.mark.parametrize(("name", "case"), PATH_CASES)
def test_triples_without_paths_have_no_loss_of_paths(name: str, case: dict[str, Any]) -> None:
    model: Any = make_model(name, {"dim": 4, "paths": 6, **case})
    heads = torch.arange(2)
    value = model.penalty(heads, torch.zeros_like(heads), heads)  # no path leads from an entity to itself
    value.backward()
    assert value.item() == 0.0
    assert all(not bool(p.grad.to_dense().any()) for p in model.parameters() if p.grad is not None)
