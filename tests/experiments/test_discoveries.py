from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import torch

from itransf.config import Config
from itransf.data import Graph
from itransf.experiments.discoveries import choose_diverse, find_discoveries, measure_leads, open_relations
from itransf.fitting import build_model
from itransf.prediction import ScoredTriple
from itransf.run import Run

PEOPLE = "abcdefgh"


def make_run(configure: Callable[..., Config]) -> Run:
    """Return an untrained run: what it believes is random, but always the same."""
    circle = [(PEOPLE[i], "likes", PEOPLE[(i + step) % 8]) for i in range(8) for step in (1, 2)]
    knows = [(PEOPLE[i], "knows", PEOPLE[(i + step) % 8]) for i in range(8) for step in (3, 5)]
    ages = [(person, "has_age", "young" if person < "d" else "old") for person in PEOPLE]
    graph = Graph.from_names("people", circle + knows + ages)
    config = configure("itransf")
    return Run(graph, config, build_model(graph, config, torch.device("cpu")), [])


def make_triple(head: str, relation: str, tail: str) -> ScoredTriple:
    return ScoredTriple(head, relation, tail, head, relation, tail, 0.0, None, 1.0, 1.0, 100.0)


def test_a_relation_with_one_answer_each_is_not_open(configure: Callable[..., Config]) -> None:
    assert open_relations(make_run(configure).graph) == ["likes", "knows"]


def test_leads_equal_a_search_over_all_rivals(configure: Callable[..., Config]) -> None:
    run = make_run(configure)
    graph = run.graph
    triples = run.score([("a", "likes", "d"), ("b", "knows", "d"), ("h", "likes", "old")])
    known = {tuple(row) for row in graph.train.tolist()}

    def score(head: int, relation: int, tail: int) -> float:
        with torch.no_grad():
            return float(run.model.score(*(torch.tensor([number]) for number in (head, relation, tail))))

    for triple, lead in zip(triples, measure_leads(run, triples), strict=True):
        relation = graph.relations.index(triple.relation)
        head, tail = graph.entities.index(triple.head), graph.entities.index(triple.tail)
        count = range(len(graph.entities))
        tails = [(head, relation, other) for other in count if other != tail]
        heads = [(other, relation, tail) for other in count if other != head]
        # No relation here has triples of an entity with itself, so such are no rivals.
        best = [
            max(score(*rival) for rival in rivals if rival not in known and rival[0] != rival[2])
            for rivals in (tails, heads)
        ]
        assert lead == pytest.approx((triple.score - sum(best) / 2) / abs(triple.score), rel=1e-4)


def test_no_triples_have_no_leads(configure: Callable[..., Config]) -> None:
    assert measure_leads(make_run(configure), []) == []


def test_discoveries_are_new_and_sorted_and_have_concepts(configure: Callable[..., Config]) -> None:
    run = make_run(configure)
    found = find_discoveries(run, run.concepts(), count=4)
    assert len(found) == 4
    assert [discovery.lead for discovery in found] == sorted((d.lead for d in found), reverse=True)
    for discovery in found:
        assert discovery.triple.known is None
        assert discovery.triple.relation in ("likes", "knows")
        assert discovery.concepts["head"]
        assert discovery.concepts["tail"]
        assert json.loads(json.dumps(discovery.to_dict()))["head"] == discovery.triple.head


def test_choice_spreads_over_relations_heads_and_pairs() -> None:
    triples = [
        make_triple("a", "likes", "b"),
        make_triple("a", "knows", "c"),  # the head was there
        make_triple("b", "knows", "a"),  # the two were there
        make_triple("c", "likes", "b"),
        make_triple("d", "likes", "b"),  # the relation was there twice
        make_triple("d", "knows", "b"),
        make_triple("e", "knows", "b"),  # enough
    ]
    chosen = choose_diverse(triples, count=3, per_relation=2)
    assert [triple.head for triple in chosen] == ["a", "c", "d"]
    assert [triple.relation for triple in chosen] == ["likes", "likes", "knows"]
