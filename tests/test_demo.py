from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import itransf
from itransf.config import Config
from itransf.data import Graph
from itransf.demo import DemoResult, choose_diverse, find_discoveries, measure_leads, open_relations, run_demo
from itransf.errors import WriteError
from itransf.fitting import build_model
from itransf.prediction import ScoredTriple
from itransf.run import Run

PEOPLE = "abcdefgh"

# One epoch is enough to see that everything fits together.
QUICK = (
    "training.epochs=1",
    "training.batch_size=1000",
    "training.optimizer=adam",
    "training.learning_rate=0.01",
    "loss.name=hinge",
    "negatives.per_triple=1",
    "warm_start.epochs=0",
    "validation.every=0",
    "model.dim=16",
)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> DemoResult:
    return run_demo(tmp_path_factory.mktemp("demo"), progress=False, settings=QUICK)


def test_three_models_are_measured_on_test(result: DemoResult) -> None:
    assert [model.model for model in result.models] == ["distmult", "complex", "icomplex"]
    for model in result.models:
        row = model.to_dict()
        assert row["mr"] == model.evaluation["mr"]
        assert row["hits@10_rare"] == model.evaluation.buckets[-1]["hits@10"]
        assert model.evaluation["queries"] == 2 * len(result.graph.test)


def test_ten_new_triples_have_concepts_and_at_most_two_share_a_relation(result: DemoResult) -> None:
    triples = [discovery.triple for discovery in result.discoveries]
    assert len(triples) == 10
    assert all(triple.known is None for triple in triples)
    assert len({triple.head for triple in triples}) == 10
    relations = [triple.relation for triple in triples]
    assert max(relations.count(relation) for relation in relations) <= 2
    assert all(discovery.concepts["relation"] for discovery in result.discoveries)


def test_the_heat_map_and_the_run_are_kept(result: DemoResult) -> None:
    pytest.importorskip("matplotlib")
    assert result.heatmap is not None
    assert result.heatmap.read_bytes().startswith(b"\x89PNG")
    run = itransf.open(result.run_folder)
    assert run.evaluate()["mrr"] == pytest.approx(result.models[-1].evaluation["mrr"])


def test_everything_can_be_json(result: DemoResult) -> None:
    content = json.loads(json.dumps(result.to_dict()))
    assert content["graph"] == "world"
    assert content["rare_relations"] == 11
    assert len(content["discoveries"]) == 10
    assert content["run"] == str(result.run_folder)


def test_a_second_demo_replaces_the_first_and_needs_no_matplotlib(
    result: DemoResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    again = run_demo(result.run_folder.parent, progress=False, settings=QUICK)
    assert again.heatmap is None
    assert "itransf[plots]" in again.missing
    assert again.to_dict()["models"][-1]["mrr"] == result.to_dict()["models"][-1]["mrr"]


def test_places_that_cannot_be_used_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("precious")
    (tmp_path / "file").write_text("in the way")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nothing is trained before the place is known to be good")

    monkeypatch.setattr("itransf.demo.train", refuse)
    with pytest.raises(itransf.CheckpointError, match="run"):
        run_demo(tmp_path, progress=False, settings=QUICK)
    with pytest.raises(WriteError, match=r"file cannot be written"):
        run_demo(tmp_path / "file", progress=False, settings=QUICK)
    assert (tmp_path / "run" / "thesis.tex").read_text() == "precious"


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
        fits = graph.typing.fits
        tails = [(head, relation, other) for other in count if other != tail and fits(other, relation, "tail")]
        heads = [(other, relation, tail) for other in count if other != head and fits(other, relation, "head")]
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
