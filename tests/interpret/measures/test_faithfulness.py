"""Measures that rank triples again: faithful weights, rare relations, and all of them together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from interpret.measures.readings import make_reading, sure
from itransf.data.graph import Graph
from itransf.evaluation import rank_triples
from itransf.interpret.measures import interpret_runs, judge
from itransf.interpret.measures.faithfulness import (
    choose_rare,
    choose_triples,
    count_hits,
    find_rare,
    find_transferred,
    list_places,
    measure_faithfulness,
    measure_gain,
    measure_transfer,
    remove_each,
    shuffle_within,
)
from itransf.interpret.measures.reading import Reading, read_model
from itransf.models import SIDES
from itransf.run import Run

DRAWS = 100


@pytest.fixture(scope="module")
def graph(random_graph: Callable[..., Graph]) -> Graph:
    return random_graph(entities=20, relations=6, train=120, valid=40, test=40)


@pytest.fixture(scope="module")
def runs(graph: Graph, short: Callable[..., Run]) -> list[Run]:
    settings = ("model.concepts=6", "model.support_size=3", "training.epochs=5", "training.learning_rate=2.0")
    found = [short(graph, "itransf", *settings, f"seed={seed}") for seed in (0, 1)]
    for run in found:
        for side in SIDES:
            scores = getattr(run.model, f"project_{side}").scores
            with torch.no_grad():
                scores.copy_(torch.randn(scores.shape, generator=torch.Generator().manual_seed(0)))
    return found


@pytest.fixture(scope="module")
def readings(runs: list[Run]) -> list[Reading]:
    return [read_model(run.model, run.graph, "itransf") for run in runs]


@pytest.fixture(scope="module")
def stranse(graph: Graph, short: Callable[..., Run]) -> Reading:
    return read_model(short(graph, "stranse", "training.epochs=2").model, graph, "stranse")


def rank_without(run: Run, side: str, relation: int, place: int, triples: np.ndarray) -> tuple[float, float]:
    """Return the weight of one concept of one side and the MRR of triples without it, by changing the model itself."""
    projection = getattr(run.model, f"project_{side}")
    weights = projection.attention()[relation].detach()
    concept = int(weights.argsort(descending=True)[place])
    kept = projection.scores.detach().clone()
    with torch.no_grad():
        projection.scores[relation, concept] = -torch.inf
    ranks = rank_triples(run.model, triples, run.graph.known)
    with torch.no_grad():
        projection.scores.copy_(kept)
    return float(weights[concept]), float(np.mean([1 / ranks.ranks(end) for end in SIDES]))


def test_removals_equal_changing_one_side_at_a_time(runs: list[Run], readings: list[Reading], graph: Graph) -> None:
    removals = remove_each(readings[0], 0)
    row = 0
    for side in SIDES:
        for relation in range(6):
            triples = graph.valid[graph.valid[:, 1] == relation]
            if not len(triples):
                continue
            ranks = rank_triples(runs[0].model, triples, graph.known)
            before = float(np.mean([1 / ranks.ranks(end) for end in SIDES]))
            for place in range(3):
                weight, after = rank_without(runs[0], side, relation, place, triples)
                assert removals.weights[row, place] == pytest.approx(weight, abs=1e-6)
                assert removals.losses[row, place] == pytest.approx(before - after, abs=1e-9)
            row += 1
    assert len(removals.losses) == row
    assert (removals.lightest == 2).all()


def test_faithfulness_is_made_of_removals(readings: list[Reading], monkeypatch: pytest.MonkeyPatch) -> None:
    removals = [remove_each(reading, 0) for reading in readings]
    removals = [replace(found, losses=np.abs(found.losses) + 1e-3) for found in removals]  # there is a ratio
    given = iter(removals)
    monkeypatch.setattr("itransf.interpret.measures.faithfulness.remove_each", lambda *_: next(given))
    ratio, correlation = measure_faithfulness(readings, most_triples=0, draws=DRAWS)
    heavy, light = (np.mean([found.losses[:, place].mean() for found in removals]) for place in (0, 2))
    assert ratio.value == pytest.approx(heavy / light)
    assert ratio.remark.startswith(f"the heaviest costs {heavy:.4f} MRR, the lightest {light:.4f}")
    assert len(ratio.runs) == len(correlation.runs) == 2
    for found in (ratio, correlation):
        assert sure(found.low) <= sure(found.value) <= sure(found.high)
        assert found.n == len(removals[0].losses)


def test_weights_that_tell_the_loss_are_faithful(readings: list[Reading], monkeypatch: pytest.MonkeyPatch) -> None:
    real = remove_each(readings[0], 0)
    telling = replace(real, losses=real.weights**2)
    monkeypatch.setattr("itransf.interpret.measures.faithfulness.remove_each", lambda *_: telling)
    ratio, correlation = measure_faithfulness(readings[:1], draws=DRAWS)
    assert correlation.value == pytest.approx(1.0)
    assert correlation.p == ratio.p == pytest.approx(1 / (DRAWS + 1))
    assert ratio.value == pytest.approx((real.weights[:, 0] ** 2).mean() / (real.weights[:, 2] ** 2).mean())
    assert ratio.null == pytest.approx(1.0, abs=0.4)


@pytest.mark.parametrize("least", [-0.01, 0.00009])
def test_a_lightest_concept_that_costs_nothing_gives_no_ratio(
    readings: list[Reading], monkeypatch: pytest.MonkeyPatch, least: float
) -> None:
    real = remove_each(readings[0], 0)
    losses = np.tile([0.3, 0.1, least], (len(real.losses), 1))
    telling = replace(real, losses=losses)
    monkeypatch.setattr("itransf.interpret.measures.faithfulness.remove_each", lambda *_: telling)
    ratio, correlation = measure_faithfulness(readings[:1], draws=DRAWS)
    assert (ratio.value, ratio.low, ratio.p, judge(ratio)) == (None, None, None, "")
    assert ratio.remark == "the heaviest costs 0.3000 MRR, the lightest nothing"
    assert correlation.value is not None
    losses[0, 2] = 0.3  # the mean is a loss now, but not that of all resamplings
    ratio = measure_faithfulness(readings[:1], draws=DRAWS)[0]
    assert ratio.value == pytest.approx(0.3 / losses[:, 2].mean())
    assert (ratio.high, judge(ratio)) == (None, "good")


def test_what_cannot_be_removed_is_not_measured(stranse: Reading, graph: Graph, readings: list[Reading]) -> None:
    assert [found.remark for found in measure_faithfulness([stranse])] == ["each side has one matrix"] * 2
    alone = make_reading(graph, np.tile([1.0, 0.0], (2, 6, 1)))
    assert "two concepts" in measure_faithfulness([alone])[0].remark
    assert measure_transfer([stranse]).value is None


def test_places_are_even_and_hold_both_ends() -> None:
    shares = np.zeros((2, 2, 20))
    shares[0, 0, :3] = 0.5, 0.2, 0.3
    shares[0, 1, 0] = 1.0
    shares[1, 0] = np.linspace(0.01, 0.09, 20)
    shares[1, 1, :8] = np.linspace(0.2, 0.05, 8)
    order, places = list_places(shares)
    assert order[0, 0, :3].tolist() == [0, 2, 1]
    assert places[0, 0].tolist() == [0, 1, 2, -1, -1, -1, -1, -1]
    assert places[0, 1].tolist() == [-1] * 8
    assert places[1, 0].tolist() == [0, 3, 5, 8, 11, 14, 16, 19]
    assert places[1, 1].tolist() == list(range(8))


def test_triples_are_chosen_for_each_relation(graph: Graph) -> None:
    counts = np.bincount(graph.valid[:, 1], minlength=6)
    chosen = np.bincount(choose_triples(graph.valid, 4)[:, 1], minlength=6)
    np.testing.assert_array_equal(chosen, np.minimum(counts, 4))
    assert choose_triples(graph.valid[:0], 4).shape == (0, 3)


def test_shuffling_stays_within_a_side() -> None:
    losses = np.array([[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]])
    seen = {tuple(shuffle_within(losses, np.random.default_rng(seed)).ravel().tolist()[:2]) for seed in range(20)}
    assert seen == {(1.0, 2.0), (2.0, 1.0)}
    assert sorted(shuffle_within(losses, np.random.default_rng(0))[1]) == [3.0, 4.0, 5.0]


def macro_hits(model: torch.nn.Module, graph: Graph, triples: np.ndarray) -> float:
    by_relation = []
    for relation in np.unique(triples[:, 1]):
        ranks = rank_triples(model, triples[triples[:, 1] == relation], graph.known)  # type: ignore[arg-type]
        by_relation.append(np.mean([ranks.ranks(side) <= 10 for side in SIDES]))
    return float(np.mean(by_relation))


def test_the_gain_is_a_difference_of_macro_averages(readings: list[Reading], stranse: Reading, graph: Graph) -> None:
    found = measure_gain(readings, stranse, draws=DRAWS)
    rare = np.flatnonzero(find_rare(stranse))
    triples = graph.test[np.isin(graph.test[:, 1], rare)]
    ours = [macro_hits(reading.model, graph, triples) for reading in readings]
    assert found.value == pytest.approx(np.mean(ours) - macro_hits(stranse.model, graph, triples))
    assert found.statistic == "Hits@10 gained over stranse"
    assert found.null == pytest.approx(0.0, abs=0.1)
    same = measure_gain([stranse], stranse, draws=DRAWS)
    assert (same.value, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)


def test_borrowed_concepts_are_those_that_others_taught(graph: Graph) -> None:
    rare = find_rare(make_reading(graph, np.ones((2, 6, 2))))
    first, second = np.flatnonzero(rare)
    weights = np.zeros((2, 6, 3))
    weights[:, ~rare, 0] = 1.0
    weights[:, [first, second], 0] = 0.5
    weights[:, first, 1] = weights[:, second, 2] = 0.5  # concepts of their own
    reading = make_reading(graph, weights)
    gone = find_transferred(reading)
    assert gone[:, rare, 0].all()
    assert gone.sum() == 2 * rare.sum()
    found = measure_transfer([reading], draws=DRAWS)
    triples = choose_rare(reading)
    assert found.n == len(np.unique(triples[:, 1]))
    assert "learned from others hold 50%" in found.remark


def test_rare_relations_without_triples_say_so(readings: list[Reading], stranse: Reading, graph: Graph) -> None:
    empty = [replace(reading, graph=replace(graph, test=graph.test[:0])) for reading in (readings[0], stranse)]
    assert "no test triples" in measure_gain(empty[:1], empty[1]).remark
    assert "no test triples" in measure_transfer(empty[:1]).remark
    assert count_hits(stranse.model, stranse, graph.test[:3]).shape == (3,)


def test_everything_beside_its_baselines(readings: list[Reading], stranse: Reading) -> None:
    found = interpret_runs(readings, [stranse], draws=20, most_triples=2)
    assert [(each.name, each.runs) for each in found] == [("itransf", 2), ("stranse", 1), ("random", 1)]
    main = found[0]
    assert main.findings[0].name == "sparse attention, at most 3 weights, sum 1"
    assert main.findings[0].value == 1.0
    assert {finding.measure for finding in main.findings} >= {"stability over seeds", "rare relations"}
    gains = [[f for f in each.findings if f.statistic.startswith("Hits@10 gained")] for each in found]
    assert [len(gain) for gain in gains] == [1, 0, 0]
    assert found[0].to_dict()["findings"][0]["measure"] == "sparse attention"
    quick = interpret_runs([stranse], ranked=False, draws=20)
    assert {finding.measure for finding in quick[0].findings}.isdisjoint({"faithful weights", "rare relations"})
    dense = interpret_runs([replace(readings[0], model=stranse.model)], ranked=False, draws=20)
    assert dense[0].findings[0].statistic == "at most 6 weights, sum 1"


def test_products_are_measured_like_the_rest(graph: Graph, short: Callable[..., Run]) -> None:
    run = short(graph, "icomplex", "model.concepts=6", "model.support_size=3")
    plain = read_model(short(graph, "complex").model, graph, "complex")
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(0))
    reading = read_model(run.model, graph, "icomplex")
    costs, model = remove_each(reading, 0), run.model
    relation, attention = int(graph.valid[0, 1]), model.get_submodule("attention")
    triples = graph.valid[graph.valid[:, 1] == relation]
    row = int((np.unique(graph.valid[:, 1]) < relation).sum())
    for place, concept in enumerate(np.argsort(-reading.shares[0, relation])[:3].tolist()):
        before = rank_triples(model, triples, graph.known)
        with torch.no_grad():
            kept = attention.scores[relation, concept].clone()  # type: ignore[index]
            attention.scores[relation, concept] = 0  # type: ignore[index]
            after = rank_triples(model, triples, graph.known)
            attention.scores[relation, concept] = kept  # type: ignore[index]
        lost = np.mean([1 / before.ranks(end) - 1 / after.ranks(end) for end in SIDES])
        assert costs.losses[row, place] == pytest.approx(lost)
    found = interpret_runs([reading], [plain], draws=20, most_triples=2)
    assert [each.name for each in found] == ["icomplex", "complex", "random"]
    measured = [finding for finding in found[0].findings if finding.measure == "faithful weights"]
    assert all(finding.value is not None or "the lightest nothing" in finding.remark for finding in measured)
