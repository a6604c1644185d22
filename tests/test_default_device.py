"""Whoever uses this may have told torch to make tensors elsewhere: nothing may rely on where they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

import itransf
from itransf.data.graph import Graph
from itransf.evaluation import RuleList, blend_with_rules
from itransf.models import MODELS
from itransf.run import Run

if TYPE_CHECKING:
    from conftest import GraphMaker

ELSEWHERE = "meta"  # holds no numbers, so that nothing made there can be used
TRAININGS = [
    ("transe", "training.optimizer=adam"),
    ("transr", "loss.name=cross_entropy"),
    ("stranse", "loss.name=self_adversarial", "negatives.per_triple=3", "negatives.shared=true"),
    ("itransf", "warm_start.epochs=1", "assignment.every=1", "training.weight_averaging=0.5", "negatives.domain=0.5"),
    ("itransf", "model.attention=dense", "training.optimizer=adagrad", "loss.name=cross_entropy", "loss.candidates=3"),
    ("itransf", "model.attention=l1", "training.lr_decay=linear"),
    ("itransf", "model.concept_init=mixed", "assignment.init=mirrored"),
    ("itransf", "assignment.every=1", "assignment.search=pairs", "assignment.accept=always"),
]
QUESTIONS: dict[str, Callable[[Run], Any]] = {
    "evaluate": lambda run: run.evaluate("valid").to_dict(),
    "predict": lambda run: run.predict(relation=run.graph.relations.name(0), top=2),
    "score": lambda run: run.score([name_triple(run)]),
    "explain": lambda run: run.explain(*name_triple(run)).to_dict(),
    "cards": lambda run: [card.to_dict() for card in run.cards()],
    "relation": lambda run: run.relation(run.graph.relations.name(0)).to_dict(),
    "sharing": lambda run: run.sharing().to_dict(),
    "learn_relation": lambda run: read_weights(run.learn_relation("new", [name_triple(run)[::2]])),
    "learn_entity": lambda run: read_weights(run.learn_entity("new", [("new", *name_triple(run)[1:])])),
    "edit": lambda run: read_weights(run.edit(merge=[(0, 1)], prune=3)),
    "refit": lambda run: read_weights(run.refit(1)),
}


@pytest.fixture(scope="module")
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=40, valid=8, test=8)


@contextmanager
def making_tensors_elsewhere() -> Iterator[None]:
    torch.set_default_device(ELSEWHERE)
    try:
        yield
    finally:
        torch.set_default_device(None)


def name_triple(run: Run) -> tuple[str, str, str]:
    head, relation, tail = run.graph.valid[0].tolist()
    return run.graph.entities.name(head), run.graph.relations.name(relation), run.graph.entities.name(tail)


def read_weights(run: Run) -> dict[str, Any]:
    return {name: tensor.tolist() for name, tensor in run.model.state_dict().items()}


@pytest.mark.parametrize("settings", TRAININGS, ids=" ".join)
def test_trainings_end_the_same(settings: tuple[str, ...], graph: Graph, short: Callable[..., Run]) -> None:
    with making_tensors_elsewhere():
        elsewhere = short(graph, *settings)
    assert read_weights(elsewhere) == read_weights(short(graph, *settings))


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_trained_and_ranked_the_same(model: str, graph: Graph, short: Callable[..., Run]) -> None:
    settings = ("warm_start.epochs=1",) if MODELS[model].starts_from else ()
    with making_tensors_elsewhere():
        elsewhere = short(graph, model, *settings)
        measured = elsewhere.evaluate("valid").to_dict()
    run = short(graph, model, *settings)
    assert read_weights(elsewhere) == read_weights(run)
    assert measured == run.evaluate("valid").to_dict()


@pytest.mark.parametrize("model", ["icomplex", "ilineare"])
@pytest.mark.parametrize("question", ["learn_relation", "edit"])
def test_codes_are_the_same(question: str, model: str, graph: Graph, short: Callable[..., Run]) -> None:
    run = short(graph, model)
    with making_tensors_elsewhere():
        elsewhere = QUESTIONS[question](run)
    assert elsewhere == QUESTIONS[question](run)


def test_a_model_is_blended_with_rules_the_same(graph: Graph, short: Callable[..., Run]) -> None:
    run = short(graph, "transe")
    with making_tensors_elsewhere():
        elsewhere = blend_with_rules(run.model, graph, RuleList(graph))
    assert elsewhere.weights.tolist() == blend_with_rules(run.model, graph, RuleList(graph)).weights.tolist()


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_the_same(question: str, graph: Graph, short: Callable[..., Run]) -> None:
    run = short(graph)
    with making_tensors_elsewhere():
        elsewhere = QUESTIONS[question](run)
    assert elsewhere == QUESTIONS[question](run)


def test_a_run_is_kept_and_opened(graph: Graph, short: Callable[..., Run], tmp_path: Path) -> None:
    run = short(graph)
    with making_tensors_elsewhere():
        run.save(tmp_path / "run")
        run.export(tmp_path / "tables")
        run.report(tmp_path / "report.html")
        opened = itransf.open(tmp_path / "run", device="cpu")
    assert read_weights(opened) == read_weights(run)
