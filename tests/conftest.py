"""What many tests need: small graphs, and settings that depend on no default."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch

# Read when triton is first imported: without a GPU its kernels run one operation at a time, on tensors of the CPU.
os.environ.setdefault("TRITON_INTERPRET", "0" if torch.cuda.is_available() else "1")

from fresh import Interpreters
from itransf.config import Config, Layer, assignments_layer, build_config
from itransf.data.graph import Graph
from itransf.data.splits import Weights
from itransf.data.vocabulary import Vocabulary
from itransf.models import MODELS
from itransf.run import Run, train
from itransf.training.fused import plan

Triple = tuple[int, int, int]
GraphMaker = Callable[..., Graph]
Configure = Callable[..., Config]

FAMILY: dict[str, Any] = {"dim": 4, "p_norm": 1, "entity_constraint": "unit", "projected_constraint": "unit"}
CONCEPTS: dict[str, Any] = {
    "concepts": 5,
    "support_size": 2,
    "temperature": 0.25,
    "attention": "sparse",
    "l1_weight": 0.001,
    "concept_init": "identity",
}
SETTINGS: dict[str, Any] = {
    "seed": 0,
    "training": {
        "epochs": 3,
        "batch_size": 8,
        "block_size": 1,
        "optimizer": "sgd",
        "learning_rate": 0.1,
        "lr_decay": "none",
        "max_minutes": 0.0,
        "deterministic": False,
    },
    "loss": {"name": "hinge", "margin": 1.0, "adversarial_temperature": 1.0, "scale": 1.0, "candidates": 0},
    "negatives": {"per_triple": 1, "sampler": "bernoulli", "domain": 0.0, "filtered": True, "tries": 5},
    "assignment": {
        "every": 0,
        "start": 1,
        "stop": 1.0,
        "accept": "if_better",
        "triples": 0,
        "negatives": 1,
    },
    "warm_start": {"epochs": 0, "learning_rate": 0.0, "run": ""},
    "validation": {"every": 0, "metric": "mrr", "patience": 0, "triples": 0},
    "checkpoint": {"minutes": 0.0, "epochs": 0},
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Measure coverage until every value of every parameter of a test has occurred.

    Tracing all cases would add half to the time of the tests of gradients, and nothing that is not traced elsewhere but
    combinations of values.
    """
    seen: set[tuple[str, str, str]] = set()
    for item in items:
        spec = getattr(item, "callspec", None)
        test = item.nodeid.partition("[")[0]
        values = {(test, name, repr(value)) for name, value in spec.params.items()} if spec else set()
        if values and values <= seen:
            item.add_marker("no_cover")
        seen |= values


@pytest.fixture(scope="session")
def configure() -> Configure:
    """Return a function from a model's name and `a.b=value` strings to settings that are all written out."""

    def build(name: str = "itransf", *assignments: str) -> Config:
        own = {entry.name for entry in fields(MODELS[name].Config)}
        chosen = {key: value for key, value in {**FAMILY, **CONCEPTS}.items() if key in own}
        model = {"name": name, **chosen}
        layers = [Layer("test", {"model": model, **SETTINGS})]
        if MODELS[name].is_random:  # other losses are refused
            layers.append(Layer("test", {"loss": {"name": "cross_entropy"}}))
        layers.append(assignments_layer(assignments))
        return build_config(layers)

    return build


@pytest.fixture(scope="session")
def number_graph() -> GraphMaker:
    """Return a function that makes a graph from triples given as numbers."""

    def make(
        train: Sequence[Triple],
        valid: Sequence[Triple] = (),
        test: Sequence[Triple] = (),
        entities: int = 0,
        relations: int = 0,
    ) -> Graph:
        splits = [np.array(list(triples), dtype=np.int64).reshape(-1, 3) for triples in (train, valid, test)]
        everything = np.concatenate(splits)
        entities = max(entities, int(everything[:, [0, 2]].max()) + 1)
        relations = max(relations, int(everything[:, 1].max()) + 1)
        return Graph(
            "numbers",
            Vocabulary([f"e{number}" for number in range(entities)], kind="entity"),
            Vocabulary([f"r{number}" for number in range(relations)], kind="relation"),
            *splits,
        )

    return make


@pytest.fixture(scope="session")
def random_graph(number_graph: GraphMaker) -> GraphMaker:
    """Return a function that makes a graph of random triples, the same for the same sizes."""

    def make(entities: int = 15, relations: int = 3, *, train: int = 50, valid: int = 10, test: int = 10) -> Graph:
        cells = np.random.default_rng(0).permutation(entities * relations * entities)[: train + valid + test]
        triples = np.stack(np.unravel_index(cells, (entities, relations, entities)), axis=1)
        splits = np.split(triples, [train, train + valid])
        return number_graph(*(part.tolist() for part in splits), entities=entities, relations=relations)

    return make


@pytest.fixture(scope="session")
def weigh() -> Callable[[Graph], Graph]:
    """Return a function that gives the triples of a graph random weights, one of them zero."""

    def make(graph: Graph) -> Graph:
        triples = np.concatenate([graph.train, graph.valid, graph.test])
        values = np.random.default_rng(0).exponential(5.0, len(triples))
        values[3] = 0.0
        return replace(graph, weights=Weights(triples, values))

    return make


@pytest.fixture(scope="session")
def short(configure: Configure) -> Callable[..., Run]:
    """Return a function from a graph, a model's name and settings to a training of less than a second."""

    def run(graph: Graph, name: str = "itransf", *settings: str, **options: Any) -> Run:
        config = configure(name, "validation.every=1", *settings).to_dict()
        return train(graph, config=config, **{"device": "cpu", "progress": False, **options})

    return run


@pytest.fixture(scope="session")
def signed_run(random_graph: GraphMaker) -> Run:
    """Return a trained IComplEx, whose relations have one part with signed weights."""
    graph = random_graph(entities=20, relations=6, train=160, valid=40, test=40)
    settings = ["model.name=icomplex", "model.dim=8", "model.concepts=5", "model.support_size=3"]
    settings += ["training.epochs=2", "warm_start.epochs=2"]
    return train(graph, settings=settings, device="cpu", progress=False)


@pytest.fixture(scope="session")
def interpreters() -> Iterator[Interpreters]:
    """Return fresh interpreters."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    running = Interpreters()
    yield running
    running.close()


@pytest.fixture
def single_batch_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let fused engines plan one batch at a time, so that every batch is seen from outside."""
    monkeypatch.setattr(plan, "PLANNED_ROWS", {"cpu": 1, "cuda": 1})
