from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import itransf
from itransf.data import Graph
from itransf.demo import find_discoveries, list_gaps, run_demo
from itransf.errors import WriteError

PEOPLE = "abcdefgh"
Result = tuple[dict[str, Any], itransf.Run, str]

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
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run_demo(tmp_path_factory.mktemp("demo"), progress=False, settings=QUICK)


def test_three_models_are_measured_on_test(result: Result) -> None:
    found, run, _ = result
    assert [model["model"] for model in found["models"]] == ["distmult", "complex", "icomplex"]
    evaluation = run.evaluate()
    last = {**found["models"][-1], "seconds": 0.0}
    metrics = {key: evaluation[key] for key in ("mr", "mrr", "hits@1", "hits@3", "hits@10")}
    assert last == {
        "model": "icomplex", **metrics, "hits@10_rare": evaluation.buckets[-1]["hits@10"], "seconds": 0.0
    }  # fmt: skip


def test_hidden_triples_are_those_ranked_first(result: Result) -> None:
    found, run, _ = result
    graph, ranks = run.graph, run.score(found["recovered"])
    assert 0 < len(ranks) <= 6
    assert [(triple.known, triple.tail_rank) for triple in ranks] == [("test", 1.0)] * len(ranks)
    assert len({triple.relation for triple in ranks}) == len(ranks)
    scored = run.score(
        [
            (*(graph.entities.name(h), graph.relations.name(r)), graph.entities.name(t))
            for h, r, t in graph.test.tolist()
        ]
    )
    first = [rank == 1.0 for triple in scored for rank in (triple.head_rank, triple.tail_rank)]
    assert found["hidden"]["hits@1"] == pytest.approx(sum(first) / len(first))
    assert found["hidden"]["hits@1"] <= found["hidden"]["hits@10"] <= 1.0


def test_the_heat_map_and_the_run_are_kept(result: Result) -> None:
    pytest.importorskip("matplotlib")
    found, _, _ = result
    assert Path(found["heatmap"]).read_bytes().startswith(b"\x89PNG")
    run = itransf.open(found["run"])
    assert run.evaluate()["mrr"] == pytest.approx(found["models"][-1]["mrr"])


def test_everything_can_be_json(result: Result) -> None:
    content = json.loads(json.dumps(result[0]))
    assert content["graph"] == "world"
    assert content["rare_relations"] == 11
    assert content["attention"] == result[1].concepts().to_dict()


def test_a_second_demo_replaces_the_first_and_needs_no_matplotlib(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    again, _, missing = run_demo(Path(result[0]["run"]).parent, progress=False, settings=QUICK)
    assert again["heatmap"] is None
    assert "pip install '.[plots]'" in missing
    assert again["models"][-1]["mrr"] == result[0]["models"][-1]["mrr"]


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


def test_relations_with_gaps_have_one_answer_for_some() -> None:
    likes = [(PEOPLE[i], "likes", PEOPLE[(i + step) % 8]) for i in range(8) for step in (1, 2)]  # two answers each
    ages = [(person, "has_age", "young" if person < "d" else "old") for person in PEOPLE]  # all have one
    spouses = [(PEOPLE[i], "married_to", PEOPLE[i ^ 1]) for i in range(6)]  # six of eight
    king = [("a", "crowned_in", "london")]  # one of eight
    graph = Graph.from_names("people", likes + ages + spouses + king)
    assert [graph.relations.name(relation) for relation in list_gaps(graph)] == ["married_to"]
    shares = {name: graph.share_answered(number) for number, name in enumerate(graph.relations.names)}
    assert (shares["has_age"], shares["married_to"]) == (1.0, 0.75)
    assert np.isnan(shares["likes"])  # which has two answers


def test_new_triples_are_of_relations_with_gaps_and_have_reasons(tmp_path: Path) -> None:
    run = itransf.train("world", settings=["training.epochs=3", "warm_start.epochs=5"], progress=False)
    found = find_discoveries(run, count=3)
    gaps = {run.graph.relations.name(relation) for relation in list_gaps(run.graph)}
    assert "largest_city_of" in gaps
    assert len(found) == 3
    assert {triple.relation for triple in found} <= gaps
    assert [each.known for each in run.score(found)] == [None] * 3
    assert all(triple.reason and " – " in triple.reason for triple in found)
    assert [triple.probability for triple in found] == sorted((triple.probability for triple in found), reverse=True)
