from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pytest
import torch

from itransf.data import Graph, Vocabulary, typing
from itransf.models import MODELS, Model, Sizes
from stubs import TableModel

ENTITIES, RELATIONS = 17, 4
# One model for each way to score: l1 and projections, dot, affine and modulus of queries, no queries, paths, and ties.
# That all models score alike in every way is tested with their contract.
VARIED = ("transe", "itransf", "icomplex", "tucker", "rotate", "ntn", "randomwalk", "table")
LOOPING = 2  # the relation half of whose triples are of an entity with itself


@dataclass
class Case:
    """A model, its graph, and the score of every possible triple."""

    model: Model
    graph: Graph
    scores: np.ndarray  # (e, r, e)

    @property
    def known(self) -> set[tuple[int, int, int]]:
        triples = np.concatenate([self.graph.train, self.graph.valid, self.graph.test])
        return {(int(h), int(r), int(t)) for h, r, t in triples}

    def split(self, triple: tuple[int, int, int]) -> str | None:
        for name in ("train", "valid", "test"):
            if list(triple) in self.graph.split(name).tolist():
                return name
        return None


@pytest.fixture(autouse=True)
def _strict_typing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let fewer entities fit: in a small random graph, all would."""
    monkeypatch.setattr(typing, "LEAST_LIFT", 0.0)


def make_graph(seed: int = 0) -> Graph:
    generator = np.random.default_rng(seed)
    pairs = [(h, r, t) for h in range(ENTITIES) for r in range(RELATIONS) for t in range(ENTITIES)]
    triples = np.array([(h, r, t) for h, r, t in pairs if h != t or r == LOOPING], dtype=np.int64)
    triples = triples[generator.permutation(len(triples))[:230]]
    loops = triples[:, 0] == triples[:, 2]
    others = np.flatnonzero(~loops & (triples[:, 1] == LOOPING))[loops.sum() :]
    kept = np.flatnonzero(~loops & ~np.isin(np.arange(len(triples)), others))
    triples = np.concatenate([triples[loops], triples[kept]])  # the loops belong to train
    assert loops.sum() > 2
    # Domains that leave entities out: only some entities are heads and tails of the last relation.
    triples = triples[(triples[:, 1] != RELATIONS - 1) | ((triples[:, 0] < 6) & (triples[:, 2] > 10))]
    names = [f"e{number}" for number in range(ENTITIES)]
    labels = {"e1": "Entity One", "r1": "Relation One"}
    return Graph(
        "random",
        Vocabulary(names, labels, kind="entity"),
        Vocabulary([f"r{number}" for number in range(RELATIONS)], labels, kind="relation"),
        triples[:80],
        triples[80:100],
        triples[100:],
    )


def make_model(name: str, norm: int = 1) -> Model:
    torch.manual_seed(0)
    sizes = Sizes(ENTITIES, RELATIONS)
    if name == "table":
        return TableModel(torch.randint(0, 4, (ENTITIES, RELATIONS, ENTITIES)))  # few distinct scores: many ties
    wanted = {"dim": 8, "p_norm": norm, "concepts": 5, "support_size": 2, "slices": 2}
    own = {field.name for field in fields(MODELS[name].Config)}
    model = MODELS[name](sizes, MODELS[name].Config(**{key: wanted[key] for key in wanted.keys() & own}))
    # Twice the precision: the order of scores then does not hang on the way they are computed.
    return model.double().eval()


@pytest.fixture(params=VARIED)
def case(request: pytest.FixtureRequest) -> Case:
    return make_case(request.param)


@pytest.fixture
def table_case() -> Case:
    return make_case("table")


@pytest.fixture
def itransf_case() -> Case:
    return make_case("itransf", norm=2)


def make_case(name: str, norm: int = 1, deviation: float = 0.0) -> Case:
    model = make_model(name, norm)
    places = torch.cartesian_prod(*(torch.arange(size) for size in (ENTITIES, RELATIONS, ENTITIES)))
    with torch.no_grad():
        for parameter in model.parameters() if deviation else ():
            parameter.normal_(0.0, deviation)
        scores = model.score(*places.unbind(1)).view(ENTITIES, RELATIONS, ENTITIES).numpy()
    return Case(model, make_graph(), scores)


def make_products(name: str) -> Case:
    """Return a model that multiplies, with scores that are far from level."""
    return make_case(name, deviation=0.8)


@pytest.fixture
def looping() -> int:
    return LOOPING


def name_triple(triple: Sequence[int]) -> tuple[str, str, str]:
    """Return the names of a triple of numbers."""
    head, relation, tail = triple
    return f"e{head}", f"r{relation}", f"e{tail}"
