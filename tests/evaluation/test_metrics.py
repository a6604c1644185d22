from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from itransf.data.graph import Graph
from itransf.data.statistics import CATEGORIES
from itransf.errors import ConfigError, DataError
from itransf.evaluation import (
    METRICS,
    Evaluation,
    evaluate,
    format_metric,
    measure_skill,
    rank_as_predicted,
    ranking,
    summarise,
)
from itransf.models import SIDES
from stubs import TableModel

if TYPE_CHECKING:
    from conftest import GraphMaker

COLUMNS = {*METRICS, "queries"}
SIDED = {"both", "head", "tail"}


def test_metrics_by_hand() -> None:
    ranks, rivals = np.array([1.0, 2.0, 4.0, 11.0]), np.array([10, 10, 20, 20])
    found = summarise(ranks, rivals)
    assert found["mr"] == pytest.approx(4.5)
    assert found["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 4 + 1 / 11) / 4)
    assert (found["hits@1"], found["hits@3"], found["hits@10"]) == pytest.approx((0.25, 0.5, 0.75))
    assert found["queries"] == 4
    # A guess would stand (5 + 5 + 10 + 10) / 4 places below the first.
    assert found["amri"] == pytest.approx(1 - 3.5 / 7.5)
    assert list(found) == [*METRICS, "queries"]


def test_a_tie_for_the_first_place_is_no_hit_at_one() -> None:
    assert summarise(np.array([1.5]), np.array([9]))["hits@1"] == 0.0


def test_the_adjusted_index_is_one_for_the_perfect_and_zero_for_a_guess() -> None:
    rivals = np.full(20_000, 50)
    assert summarise(np.ones(20_000), rivals)["amri"] == pytest.approx(1.0)
    guesses = np.random.default_rng(0).integers(1, 52, 20_000).astype(float)
    assert summarise(guesses, rivals)["amri"] == pytest.approx(0.0, abs=0.02)
    assert summarise(np.full(20_000, 26.0), rivals)["amri"] == pytest.approx(0.0)  # all tied, realistic
    assert summarise(np.full(20_000, 51.0), rivals)["amri"] == pytest.approx(-1.0)


def test_weights_say_how_much_a_query_counts() -> None:
    ranks, rivals = np.array([1.0, 4.0]), np.array([10, 10])
    found = summarise(ranks, rivals, np.array([3.0, 1.0]))
    assert found["mr"] == pytest.approx(1.75)
    assert found["hits@1"] == pytest.approx(0.75)
    assert found["queries"] == 2


def test_no_queries_have_no_metrics() -> None:
    found = summarise(np.zeros(0), np.zeros(0, dtype=np.int64))
    assert found["queries"] == 0
    assert all(math.isnan(found[metric]) for metric in METRICS)


def test_without_rivals_there_is_no_index() -> None:
    assert math.isnan(summarise(np.ones(2), np.zeros(2, dtype=np.int64))["amri"])


def test_metrics_are_written_with_their_units() -> None:
    values = {"mr": 1234.56, "mrr": 0.12345, "amri": -0.5, "hits@1": 0.5, "hits@3": 1.0, "hits@10": 0.1234}
    written = {METRICS[name]: format_metric(name, value) for name, value in values.items()}
    assert list(written) == ["MR", "MRR", "AMRI", "Hits@1", "Hits@3", "Hits@10"]
    assert list(written.values()) == ["1,234.6", "0.123", "-0.500", "50.0", "100.0", "12.3"]
    assert format_metric("mr", None) == format_metric("hits@1", math.nan) == "–"


@pytest.fixture
def graph(number_graph: GraphMaker) -> Graph:
    """Relations 0 .. 3 with 8, 4, 2 and 1 training triples; 0 is 1-N, 1 is N-1, 2 and 3 are 1-1."""
    train = [(0, 0, tail) for tail in range(1, 9)]
    train += [(head, 1, 9) for head in range(4)]
    train += [(4, 2, 5), (6, 2, 7), (1, 3, 8)]
    test = [(0, 0, 9), (9, 0, 1), (5, 1, 9), (5, 2, 4), (6, 3, 7), (7, 3, 6), (8, 3, 1)]
    return number_graph(train, test=test, entities=10)


def evaluate_table(graph: Graph, **options: Any) -> Evaluation:
    shape = (len(graph.entities), len(graph.relations), len(graph.entities))
    table = np.random.default_rng(5).integers(0, 6, shape)
    return evaluate(TableModel(table), graph, **options)


def relation_ranks(found: Evaluation, relation: int) -> tuple[Any, Any]:
    rows = found.ranks.triples[:, 1] == relation
    ranks = np.concatenate([found.ranks.ranks(side)[rows] for side in SIDES])
    return ranks, found.ranks.rivals[0][:, rows].reshape(-1)


def test_the_json_has_the_promised_shape(graph: Graph) -> None:
    content = evaluate_table(graph).to_dict()
    assert {"split", "ties", "filtered", "raw", "relations", "buckets", "categories"} <= set(content)
    assert (content["split"], content["ties"]) == ("test", "realistic")
    for protocol in ("filtered", "raw"):
        assert set(content[protocol]) == SIDED
        for side in SIDED:
            assert set(content[protocol][side]) == COLUMNS
            assert 0 <= content[protocol][side]["hits@10"] <= 1
    assert content["filtered"]["both"]["queries"] == 14
    assert content["filtered"]["head"]["queries"] == content["raw"]["tail"]["queries"] == 7


def test_the_json_is_json_even_where_nothing_was_ranked(graph: Graph) -> None:
    """NaN is no JSON: categories and buckets without queries must not bring it in."""
    content = evaluate_table(graph).to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content


def test_overall_numbers_are_those_of_the_ranks(graph: Graph) -> None:
    for ties in ("realistic", "optimistic", "pessimistic"):
        found = evaluate_table(graph, ties=ties)
        for protocol, filtered in enumerate((True, False)):
            name = "filtered" if filtered else "raw"
            for number, side in enumerate(SIDES):
                wanted = summarise(
                    found.ranks.ranks(side, filtered, ties),  # type: ignore[arg-type]
                    found.ranks.rivals[protocol, number],
                )
                assert found.overall[name][side] == pytest.approx(wanted)
        assert found["mrr"] == found.overall["filtered"]["both"]["mrr"]
        sides = [found.overall["filtered"][side]["mr"] for side in SIDES]
        assert found["mr"] == pytest.approx(sum(sides) / 2)


def test_other_tie_policies_stand_beside_the_chosen_one(graph: Graph) -> None:
    content = evaluate_table(graph).to_dict()
    best, worst = content["optimistic"]["both"], content["pessimistic"]["both"]
    assert best["mr"] < content["filtered"]["both"]["mr"] < worst["mr"]
    assert best == pytest.approx(evaluate_table(graph, ties="optimistic").overall["filtered"]["both"])


def test_relations_are_listed_from_the_most_frequent(graph: Graph) -> None:
    found = evaluate_table(graph)
    assert [line["relation"] for line in found.relations] == ["r0", "r1", "r2", "r3"]
    assert [line["train_triples"] for line in found.relations] == [8, 4, 2, 1]
    assert [line["category"] for line in found.relations] == ["1-N", "N-1", "1-1", "1-1"]
    assert [line["both"]["queries"] for line in found.relations] == [4, 2, 2, 6]
    for number, line in enumerate(found.relations):
        assert line["both"] == pytest.approx(summarise(*relation_ranks(found, number)))
        assert set(line) == {"relation", "label", "train_triples", "category", *SIDED, "typed", "skill"}


def test_typed_metrics_are_those_of_the_rule_of_predictions(graph: Graph) -> None:
    found = evaluate_table(graph, ties="pessimistic")
    table = TableModel(np.random.default_rng(5).integers(0, 6, (10, 4, 10)))
    ranks = rank_as_predicted(table, graph, graph.test)
    for number, side in enumerate(SIDES):
        assert found.typed[side] == pytest.approx(summarise(ranks.ranks(side), ranks.rivals[0, number]))
    assert found.to_dict()["typed"]["both"]["mrr"] != found["mrr"]
    skills = measure_skill(table, graph, "test")
    for line in found.relations:
        skill = skills[graph.relations.index(line["relation"])]
        assert line["skill"] == skill.to_dict()
        assert line["typed"]["mrr"] <= skill.model  # ties count half there, and are in random order here


def test_relations_that_are_not_in_the_split_are_not_listed(graph: Graph, number_graph: GraphMaker) -> None:
    other = number_graph(graph.train.tolist(), test=[(0, 2, 1)], entities=10)
    found = evaluate_table(other)
    assert [line["relation"] for line in found.relations] == ["r2"]


def test_buckets_of_equal_count_weigh_relations_equally(graph: Graph) -> None:
    found = evaluate_table(graph, buckets=2)
    assert [line["bucket"] for line in found.buckets] == [0, 1]
    assert [line["relations"] for line in found.buckets] == [2, 2]
    assert [line["ranked_relations"] for line in found.buckets] == [2, 2]
    assert [line["train_triples"] for line in found.buckets] == [[4, 8], [1, 2]]
    assert {line["weighting"] for line in found.buckets} == {"relation"}
    for line, relations in zip(found.buckets, ((0, 1), (2, 3)), strict=True):
        each = [summarise(*relation_ranks(found, relation)) for relation in relations]
        for metric in ("mr", "mrr", "hits@1", "hits@3", "hits@10"):
            assert line[metric] == pytest.approx(sum(one[metric] for one in each) / 2), metric
    assert [line["queries"] for line in found.buckets] == [6, 8]


def test_buckets_can_weigh_queries_equally(graph: Graph) -> None:
    found = evaluate_table(graph, buckets=2, bucket_weighting="query")
    for line, relations in zip(found.buckets, ((0, 1), (2, 3)), strict=True):
        ranks, rivals = (
            np.concatenate(parts) for parts in zip(*(relation_ranks(found, r) for r in relations), strict=True)
        )
        wanted = summarise(ranks, rivals)
        assert {metric: line[metric] for metric in wanted} == pytest.approx(wanted)


def test_buckets_can_be_cut_by_the_logarithm_of_frequency(number_graph: GraphMaker) -> None:
    train = [(0, relation, tail) for relation, triples in enumerate((8, 7, 6, 1)) for tail in range(1, triples + 1)]
    graph = number_graph(train, test=[(1, relation, 0) for relation in range(4)])
    by_count, by_log = (evaluate_table(graph, buckets=2, bucket_edges=edges) for edges in ("count", "log"))
    assert [line["train_triples"] for line in by_count.buckets] == [[7, 8], [1, 6]]
    assert [line["train_triples"] for line in by_log.buckets] == [[6, 8], [1, 1]]
    assert [line["relations"] for line in by_log.buckets] == [3, 1]


def test_a_bucket_without_relations_is_left_out(number_graph: GraphMaker) -> None:
    train = [(0, 0, tail) for tail in range(1, 9)] + [(1, 1, 2)]
    found = evaluate_table(number_graph(train, test=[(1, 1, 3)], entities=9), bucket_edges="log", buckets=3)
    assert [line["bucket"] for line in found.buckets] == [0, 2]
    assert [line["relations"] for line in found.buckets] == [1, 1]
    assert [line["queries"] for line in found.buckets] == [0, 2]


def test_more_buckets_than_relations_give_one_for_each(graph: Graph) -> None:
    found = evaluate_table(graph, buckets=1000)
    assert [line["train_triples"] for line in found.buckets] == [[8, 8], [4, 4], [2, 2], [1, 1]]


def test_categories_gather_their_relations(graph: Graph) -> None:
    found = evaluate_table(graph)
    assert [line["category"] for line in found.categories] == list(CATEGORIES)
    assert [line["both"]["queries"] for line in found.categories] == [8, 4, 2, 0]
    ranks, rivals = (
        np.concatenate(parts) for parts in zip(relation_ranks(found, 2), relation_ranks(found, 3), strict=True)
    )
    assert found.categories[0]["both"] == pytest.approx(summarise(ranks, rivals))


def test_an_empty_split_and_unknown_ways_and_metrics_are_refused(graph: Graph) -> None:
    with pytest.raises(DataError, match="no valid triples"):
        evaluate_table(graph, split="valid")
    with pytest.raises(ConfigError, match=r"ties .*'half'.*realistic"):
        evaluate_table(graph, ties="half")
    with pytest.raises(ConfigError, match=r"bucket_weighting .*'foo'.*relation, query"):
        evaluate_table(graph, bucket_weighting="foo")
    for wrong in ({"memory": -5}, {"buckets": 0}, {"buckets": 2.5}):
        with pytest.raises(ConfigError, match="at least 1"):
            evaluate_table(graph, **wrong)
    with pytest.raises(ConfigError, match=r"metric 'MRR'.*mrr"):
        evaluate_table(graph)["MRR"]


def test_triples_that_are_also_in_train_are_counted(graph: Graph) -> None:
    leaked = evaluate_table(replace(graph, test=np.concatenate([graph.test, graph.train[:2]])))
    assert (leaked.also_in_train, leaked.to_dict()["also_in_train"]) == (2, 2)
    for found in (evaluate_table(graph), evaluate_table(graph, split="train")):
        assert "also_in_train" not in found.to_dict()


def test_a_sample_is_ranked_as_the_whole_is(graph: Graph) -> None:
    test = graph.split("test")
    whole, some = evaluate_table(graph, triples=0), evaluate_table(graph, triples=3)
    assert (whole.sampled_from, some.sampled_from) == (0, len(test))
    assert (whole.to_dict().get("sampled_from"), some.to_dict()["sampled_from"]) == (None, len(test))
    rows = [test.tolist().index(triple) for triple in some.ranks.triples.tolist()]
    assert len(rows) == 3
    assert rows == sorted(rows)
    np.testing.assert_array_equal(some.ranks.above, whole.ranks.above[:, :, rows])


def test_a_sample_is_taken_where_ranking_all_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    triples = np.arange(3 * 5000).reshape(-1, 3)
    monkeypatch.setattr(ranking, "MOST_SCORES", 10**7)
    assert len(ranking.sample_triples(triples, 2000)) == 5000
    assert len(ranking.sample_triples(triples, 4000)) == 2500
    assert len(ranking.sample_triples(triples, 10**6)) == ranking.FEWEST_RANKED
    assert len(ranking.sample_triples(triples, 10**6, 0)) == 5000


def test_it_reads_as_a_mapping_of_its_metrics(graph: Graph) -> None:
    found = evaluate_table(graph)
    assert dict(found) == found.overall["filtered"]["both"]
    assert set(found) == set(found.keys()) == COLUMNS
    assert len(found) == len(COLUMNS)
    assert "mr" in found
    assert not any(wrong in found for wrong in ("MRR", 3, ["mr"]))


def test_it_shows_itself_in_a_line(graph: Graph) -> None:
    found = evaluate_table(graph)
    assert re.fullmatch(r"Evaluation\(test: MR [\d.]+, MRR [\d.]+, Hits@10 [\d.]+ %, \d+ queries\)", repr(found))


def test_an_unknown_split_is_refused(graph: Graph) -> None:
    with pytest.raises(DataError, match="split 'tests'"):
        evaluate_table(graph, split="tests")


def test_memory_does_not_change_the_result(graph: Graph) -> None:
    assert evaluate_table(graph, memory=1).overall == evaluate_table(graph, memory=1 << 30).overall
