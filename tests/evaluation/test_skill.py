from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.random import default_rng
from scipy import stats

import itransf
from itransf.data import Graph, typing
from itransf.evaluation import Skill, measure_skill
from itransf.evaluation.skill import BETTER, NO_BETTER, TOO_FEW, Popularity, bound_mean, expect_reciprocal_ranks
from stubs import TableModel

if TYPE_CHECKING:
    from conftest import GraphMaker


def find_fitting(graph: Graph, triple: list[int], column: int) -> list[int]:
    """Return the rivals of the answer in a column (0 or 2) and the answer itself, by the rule of `predict`."""
    known = {tuple(row) for split in ("train", "valid", "test") for row in graph.split(split).tolist()}
    of_relation = [row for row in graph.train.tolist() if row[1] == triple[1]]
    allows_loops = 2 * sum(row[0] == row[2] for row in of_relation) >= max(len(of_relation), 1)
    found = []
    for entity in range(len(graph.entities)):
        other = tuple(entity if place == column else value for place, value in enumerate(triple))
        is_new = other not in known and (other[0] != other[2] or allows_loops)
        fits = graph.typing.fits(entity, triple[1], "head" if column == 0 else "tail")
        if entity == triple[column] or (is_new and fits):
            found.append(entity)
    return found


def test_means_equal_a_slow_count(random_graph: GraphMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typing, "LEAST_LIFT", 0.0)  # else all entities of so small a graph fit
    graph = random_graph(entities=12, relations=3, train=50, valid=20, test=5)
    table = default_rng(0).permutation(12 * 3 * 12).reshape(12, 3, 12).astype(float)  # no ties
    found = measure_skill(TableModel(table), graph)
    values: dict[int, dict[str, list[float]]] = {}
    for triple in graph.valid.tolist():
        own = values.setdefault(triple[1], {"model": [], "popularity": [], "chance": []})
        for column in (0, 2):
            fitting = find_fitting(graph, triple, column)
            scores = {e: table[tuple(e if p == column else v for p, v in enumerate(triple))] for e in fitting}
            own["model"].append(1 / (1 + sum(scores[e] > scores[triple[column]] for e in fitting)))
            frequency = {
                e: sum(row[1] == triple[1] and row[column] == e for row in graph.train.tolist()) for e in fitting
            }
            above = sum(frequency[e] > frequency[triple[column]] for e in fitting)
            level = sum(frequency[e] == frequency[triple[column]] for e in fitting)
            own["popularity"].append(np.mean([1 / (above + place) for place in range(1, level + 1)]))
            own["chance"].append(np.mean([1 / place for place in range(1, len(fitting) + 1)]))
    assert found.keys() == values.keys()
    for relation, own in values.items():
        skill = found[relation]
        assert skill.queries == len(own["model"])
        for name, wanted in own.items():
            assert getattr(skill, name) == pytest.approx(np.mean(wanted))
        assert skill.low <= skill.gain <= skill.high
        assert skill.to_dict()["gain"] == skill.model - skill.popularity


def test_reciprocal_ranks_are_means_over_all_orders() -> None:
    for above, tied in ((0, 0), (2, 0), (0, 3), (3, 2)):
        orders = list(permutations(range(tied + 1)))
        expected = np.mean([1 / (above + 1 + order.index(0)) for order in orders])
        assert expect_reciprocal_ranks(np.array([above]), np.array([tied]))[0] == pytest.approx(expected)


def test_popularity_does_not_gain_over_itself(random_graph: GraphMaker) -> None:
    graph = random_graph(entities=12, relations=3, train=50, valid=20, test=5)
    assert [skill.gain for skill in measure_skill(Popularity(graph), graph).values()] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("count", [3, 5, 30, 1000])
def test_intervals_are_those_of_students_t(count: int) -> None:
    values = default_rng(count).normal(0.2, 0.1, count)
    more = np.append(values, 0.0)
    half = stats.t.ppf(0.975, count) * more.std(ddof=1) / np.sqrt(count + 1)
    low, high = bound_mean(values)
    assert (high + low) / 2 == pytest.approx(more.mean())
    assert (high - low) / 2 == pytest.approx(half, rel=0.05 if count < 5 else 0.01)
    same = bound_mean(np.full(count, 0.4))
    assert same[0] < 0.4 < same[1]


@pytest.mark.parametrize(
    ("queries", "low", "high", "verdict"),
    [
        (10, 0.01, 0.9, BETTER),
        (10, -0.01, 0.2, NO_BETTER),
        (10, -0.5, -0.1, NO_BETTER),
        (10, -0.01, 0.3, TOO_FEW),
        (8, 0.01, 0.9, TOO_FEW),
    ],
)
def test_verdicts(queries: int, low: float, high: float, verdict: str) -> None:
    assert Skill(queries, 0.5, 0.4, 0.1, low, high).verdict == verdict


def make_teams(seed: int) -> Graph:
    """Return people in teams: three relations follow from the teams, two are drawn at random."""
    rng = default_rng(seed)
    triples: list[tuple[str, str, str]] = []
    for person in range(120):
        team = person % 12
        triples += [(f"p{person}", "member_of", f"t{team}"), (f"t{team}", "has_member", f"p{person}")]
        mates = rng.choice(np.arange(team, 120, 12), 5, replace=False)
        triples += [(f"p{person}", "works_with", f"p{mate}") for mate in mates if mate != person]
        triples += [(f"p{person}", "likes", f"p{other}") for other in rng.choice(120, 3) if other != person]
        triples += [(f"p{person}", "owns", f"thing{thing}") for thing in rng.choice(40, 3)]
    return Graph.from_triples(sorted(set(triples)), "teams", valid_share=0.15, test_share=0.05, seed=seed)


def test_relations_of_pure_noise_are_marked_and_learned_ones_are_not() -> None:
    graph = make_teams(0)
    settings = ["model.name=complex", "model.dim=16", "training.epochs=30", "validation.every=0"]
    run: Any = itransf.train(graph, settings=settings, seed=0, device="cpu", progress=False)
    found = {graph.relations.name(number): skill for number, skill in measure_skill(run.model, graph).items()}
    assert {name for name, skill in found.items() if skill.verdict == NO_BETTER} == {"likes", "owns"}
    assert {name for name, skill in found.items() if skill.verdict == BETTER} == {
        "member_of",
        "has_member",
        "works_with",
    }
