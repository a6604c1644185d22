from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import torch
from reproduction.rules import RuleList, mine_rules

from itransf.data import Graph, load
from itransf.evaluation import evaluate, rank_triples

Rule = tuple[int, int, bool]


def mine_slowly(graph: Graph, least: float) -> dict[Rule, float]:
    """Return the confidence of (head, body, swapped), counted triple by triple."""
    train = {tuple(triple) for triple in graph.train.tolist()}
    found: dict[Rule, float] = {}
    for head in range(len(graph.relations)):
        for body in range(len(graph.relations)):
            for swapped in (False, True):
                triples = [triple for triple in train if triple[1] == body]
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
    assert len(found) == len(rules)
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


def test_without_rules_all_answers_are_tied(number_graph: Any) -> None:
    graph = number_graph([(0, 0, 1), (1, 1, 2)], test=[(0, 0, 2)], entities=7)
    model = RuleList(graph)
    assert len(model.mined) == 0
    assert evaluate(model, graph)["mr"] == pytest.approx((1 + 5 / 2 + 1 + 6 / 2) / 2)  # (0, 0, 1) is no rival


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
