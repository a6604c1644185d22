from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import torch

from itransf.data import Graph, load
from itransf.evaluation import RuleList, blend_with_rules, evaluate, rank_triples
from itransf.evaluation.rules import SHRINKAGE, WEIGHTS, WithRules, choose_weights, mine_rules
from itransf.models import SIDES, DistMult, Model, Sizes, TransE
from itransf.models.base import Pool
from itransf.models.ensemble import measure_scores

Rule = tuple[int, int, bool]


def mine_slowly(graph: Graph, least: float) -> dict[Rule, float]:
    """Return the confidence of (head, body, swapped), counted triple by triple."""
    train = {tuple(triple) for triple in graph.train.tolist()}
    found: dict[Rule, float] = {}
    for head in range(len(graph.relations)):
        for body in range(len(graph.relations)):
            for swapped in (False, True):
                own = swapped and head == body  # a loop is no evidence of symmetry
                triples = [triple for triple in train if triple[1] == body and not (own and triple[0] == triple[2])]
                right = sum(((t, head, h) if swapped else (h, head, t)) in train for h, _, t in triples)
                if right and right / len(triples) >= least and (head != body or swapped):
                    found[head, body, swapped] = right / len(triples)
    return found


def score_slowly(graph: Graph, rules: dict[Rule, float], head: int, relation: int, tail: int) -> float:
    train = {tuple(triple) for triple in graph.train.tolist()}
    return max(
        (
            confidence
            for (implied, body, swapped), confidence in rules.items()
            if implied == relation and ((tail, body, head) if swapped else (head, body, tail)) in train
        ),
        default=0.0,
    )


@pytest.fixture(scope="module")
def graph(number_graph: Any) -> Graph:
    """Return a graph of an inverse pair (0, 1), a symmetric relation (2), a part of it (3), and one of no kind (4)."""
    generator = np.random.default_rng(0)
    pairs = {(int(h), int(t)) for h, t in generator.integers(0, 12, size=(60, 2)) if h != t}
    triples = []
    for place, (h, t) in enumerate(sorted(pairs)):
        triples += [[(h, 0, t), (t, 1, h)], [(h, 2, t), (t, 2, h)], [(h, 2, t), (h, 3, t)], [(h, 4, t)]][place % 4]
    shuffled = [triples[place] for place in generator.permutation(len(triples))]
    distinct = list(dict.fromkeys(shuffled))
    return number_graph(distinct[:-20], distinct[-20:-15], distinct[-15:], entities=14)


@pytest.mark.parametrize("least", [0.0, 0.2, 0.6])
def test_rules_equal_those_counted_triple_by_triple(graph: Graph, least: float) -> None:
    rules = mine_rules(graph, least)
    columns = (rules.heads.tolist(), rules.bodies.tolist(), rules.swapped.tolist())
    found = dict(zip(zip(*columns, strict=True), rules.confidences.tolist(), strict=True))
    assert len(found) == len(rules.heads)
    assert found == pytest.approx(mine_slowly(graph, least))
    assert (np.diff(rules.heads) >= 0).all()


def test_the_planted_rules_are_found(graph: Graph) -> None:
    rules = mine_slowly(graph, 0.5)
    assert {(0, 1, True), (1, 0, True), (2, 2, True), (2, 3, False)} <= set(rules)


def test_scores_equal_a_slow_loop(graph: Graph) -> None:
    rules = mine_slowly(graph, 0.2)
    model = RuleList(graph, 0.2)
    entities = torch.arange(14)
    for relation in range(5):
        relations = torch.full_like(entities, relation)
        expected = torch.tensor([[score_slowly(graph, rules, h, relation, t) for t in range(14)] for h in range(14)])
        torch.testing.assert_close(model.score_tails(entities, relations), expected)
        torch.testing.assert_close(model.score_heads(relations, entities), expected.T)
        torch.testing.assert_close(model.score(entities, relations, entities.flip(0)), expected.fliplr().diagonal())
        pool = Pool(torch.tensor([7, 3]))
        torch.testing.assert_close(model.score_pool(entities, relations, "tail", pool), expected[:, [7, 3]])


def test_ranks_are_filtered_and_ties_count_half(graph: Graph) -> None:
    rules = mine_slowly(graph, 0.01)
    known = {tuple(triple) for split in ("train", "valid", "test") for triple in graph.split(split).tolist()}
    ranks = rank_triples(RuleList(graph), graph.test, graph.known).ranks("tail").tolist()
    for (head, relation, tail), rank in zip(graph.test.tolist(), ranks, strict=True):
        own = score_slowly(graph, rules, head, relation, tail)
        rivals = [t for t in range(14) if t != tail and (head, relation, t) not in known]
        scores = [score_slowly(graph, rules, head, relation, t) for t in rivals]
        above, tied = sum(score > own + 1e-9 for score in scores), sum(abs(score - own) <= 1e-9 for score in scores)
        assert rank == 1 + above + tied / 2


def test_loops_are_no_evidence_of_symmetry(number_graph: Any) -> None:
    graph = number_graph([(each, 0, each) for each in range(6)] + [(each, 0, each + 1) for each in range(4)])
    assert len(mine_rules(graph, 0.01).heads) == 0


def test_without_rules_all_answers_are_tied(number_graph: Any) -> None:
    graph = number_graph([(0, 0, 1), (1, 1, 2)], test=[(0, 0, 2)], entities=7)
    model = RuleList(graph)
    assert len(model.mined.heads) == 0
    assert evaluate(model, graph)["mr"] == pytest.approx((1 + 5 / 2 + 1 + 6 / 2) / 2)  # (0, 0, 1) is no rival


def make_model(graph: Graph, kind: type[Model] = DistMult) -> Model:
    torch.manual_seed(3)
    return kind(Sizes(len(graph.entities), len(graph.relations)), kind.Config(dim=4)).eval()


def blend_slowly(
    model: Model, graph: Graph, rules: dict[Rule, float], weights: list[float], triple: tuple[int, int, int]
) -> float:
    """Return the blended score of one triple."""
    own = model.score(*(torch.tensor([number]) for number in triple)).item()
    mean, scale = measure_scores(model).tolist()
    return (own - mean) / scale + weights[triple[1]] * score_slowly(graph, rules, *triple)


@pytest.mark.parametrize("kind", [DistMult, TransE])
def test_blended_scores_and_ranks_equal_a_slow_loop(graph: Graph, kind: type[Model]) -> None:
    model, weights, rules = make_model(graph, kind), [0.0, 1.0, 2.0, 4.0, 64.0], mine_slowly(graph, 0.01)
    blend = WithRules(model, RuleList(graph), torch.tensor(weights)).eval()
    known = {tuple(triple) for split in ("train", "valid", "test") for triple in graph.split(split).tolist()}
    ranks = rank_triples(blend, graph.test, graph.known)
    for row, (head, relation, tail) in enumerate(graph.test.tolist()[:4]):
        for side in SIDES:
            triples = [(e, relation, tail) if side == "head" else (head, relation, e) for e in range(14)]
            scores = {triple: blend_slowly(model, graph, rules, weights, triple) for triple in triples}
            own = (head, relation, tail)
            above = sum(scores[t] > scores[own] + 1e-5 for t in triples if t != own and t not in known)
            assert ranks.above[0, SIDES.index(side), row] == above
            anchor = torch.tensor([tail if side == "head" else head])
            expected = torch.tensor([list(scores.values())])
            options = {"atol": 1e-5, "rtol": 1e-5}
            relations, pool = torch.tensor([relation]), blend.pool(torch.tensor([5, 2]))
            torch.testing.assert_close(blend.scorer(relation, side)(anchor), expected, **options)
            torch.testing.assert_close(blend.score_pool(anchor, relations, side, blend.pool()), expected, **options)
            torch.testing.assert_close(blend.scorer(relation, side, pool)(anchor), expected[:, [5, 2]], **options)
            torch.testing.assert_close(blend.score(*torch.tensor(triples).T), expected[0], **options)


def test_weights_of_relations_are_those_of_a_slow_search(graph: Graph) -> None:
    model = make_model(graph)
    known, rules = graph.known_in("train", "valid"), mine_slowly(graph, 0.01)
    implied = sorted({head for head, _, _ in rules})
    triples = graph.valid[np.isin(graph.valid[:, 1], implied)]
    found: list[list[float]] = []
    for weight in WEIGHTS:
        ranks = rank_triples(WithRules(model, RuleList(graph), torch.full((5,), weight)), triples, known)
        found.append(((1 / ranks.ranks("head") + 1 / ranks.ranks("tail")) / 2).tolist())
    for relation, weight in enumerate(blend_with_rules(model, graph, RuleList(graph)).weights.tolist()):
        own = [place for place, triple in enumerate(triples.tolist()) if triple[1] == relation]
        values = [sum(row[place] for place in own) + SHRINKAGE * sum(row) / len(row) for row in found]
        best = max(range(len(WEIGHTS)), key=lambda place: (round(values[place], 9), -place))
        assert weight == WEIGHTS[best]


def test_few_triples_do_not_decide_against_many() -> None:
    against, in_favour = [[1.0], [0.0]], [[0.0] * 40, [1.0] * 40]
    found = np.concatenate([np.array(against), np.array(in_favour)], axis=1)
    assert choose_weights(found, np.array([0] + [1] * 40), 3).tolist() == [1, 1, 1]
    found = np.concatenate([np.tile(against, 12), np.array(in_favour)], axis=1)
    assert choose_weights(found, np.array([0] * 12 + [1] * 40), 3).tolist() == [0, 1, 1]


def test_rules_improve_a_model_that_learned_nothing(graph: Graph) -> None:
    model = make_model(graph)
    blend = blend_with_rules(model, graph, RuleList(graph))
    assert blend.weights.max() > 0
    assert evaluate(blend, graph)["mrr"] > evaluate(model, graph)["mrr"]


def test_without_validation_triples_rules_do_not_count(number_graph: Any) -> None:
    graph = number_graph([(0, 0, 1), (1, 0, 0)], test=[(1, 0, 2)])
    assert blend_with_rules(make_model(graph), graph, RuleList(graph)).weights.tolist() == [0.0]


@pytest.mark.skipif("ITRANSF_DATA" not in os.environ, reason="needs WN18 in $ITRANSF_DATA")
def test_wn18_is_given_away_by_rules() -> None:
    graph = load("wn18")
    found = evaluate(RuleList(graph), graph)
    assert {key: round(found[key], 3) for key in ("mrr", "hits@1", "hits@10")} == {
        "mrr": 0.937,
        "hits@1": 0.936,
        "hits@10": 0.938,
    }
    assert found["mr"] == pytest.approx(1261, abs=1)
