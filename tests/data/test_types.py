from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import itransf
from itransf.config import NegativesConfig
from itransf.data.graph import Graph
from itransf.errors import CheckpointError, DataError, RunError
from itransf.storage import TRIPLES, RunFolder
from itransf.training.negatives import make_sampler
from sealing import put_tensors

if TYPE_CHECKING:
    from conftest import GraphMaker

TRAIN = [("Ann", "lives_in", "Rome"), ("Bob", "lives_in", "Oslo"), ("Rome", "in", "Italy"), ("Oslo", "in", "Norway")]
VALID = [("Cid", "lives_in", "Bern"), ("Bern", "in", "Rex")]
TYPES = {
    **dict.fromkeys(("Ann", "Bob", "Cid"), ("person",)),
    **dict.fromkeys(("Rome", "Oslo", "Bern"), ("city", "place")),
    **dict.fromkeys(("Italy", "Norway"), ("country", "place")),
}


def write(path: Path, rows: list[tuple[str, ...]]) -> Path:
    path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def types(tmp_path: Path) -> Path:
    rows = [(name, kind) for name, kinds in TYPES.items() for kind in kinds]
    return write(tmp_path / "types.csv", [("entity", "type"), *rows])


def list_fitting(graph: Graph, relation: str, side: str) -> set[str]:
    number = graph.relations.index(relation)
    names = {graph.entities.name(each) for each in graph.typing.candidates(number, side).tolist()}
    slow = {
        name
        for name in graph.entities.names
        if number in graph.typing.relations(*(graph.entities.index(part) for part in put(name, graph, number, side)))
    }
    assert slow == names
    return names


def put(name: str, graph: Graph, relation: int, side: str) -> tuple[str, str]:
    """Return a pair of names of which the other one occurs in train."""
    own = graph.train[graph.train[:, 1] == relation][0]
    return (name, graph.entities.name(own[2])) if side == "head" else (graph.entities.name(own[0]), name)


def test_types_come_before_the_learned_rule(types: Path) -> None:
    graph = Graph.from_names("towns", TRAIN, VALID).typed(types)
    assert list_fitting(graph, "lives_in", "head") == {"Ann", "Bob", "Cid", "Rex"}  # nothing is known of Rex
    assert list_fitting(graph, "in", "head") == {"Rome", "Oslo", "Bern", "Italy", "Norway", "Rex"}  # places all
    assert "Cid" not in list_fitting(graph, "lives_in", "tail")
    assert any("1 rows of unknown names were left out" in note for note in graph.notes)  # the header


def test_given_domains_come_before_the_types_of_train(types: Path, tmp_path: Path) -> None:
    domains = write(
        tmp_path / "domains.csv", [("relation", "head", "tail"), ("in", "city", "country"), ("lives_in", "", "city")]
    )
    graph = Graph.from_names("towns", TRAIN, VALID).typed(types, domains)
    assert list_fitting(graph, "in", "head") == {"Rome", "Oslo", "Bern", "Rex"}
    assert list_fitting(graph, "in", "tail") == {"Italy", "Norway", "Rex"}
    assert list_fitting(graph, "lives_in", "tail") == {"Rome", "Oslo", "Bern", "Rex"}
    assert list_fitting(graph, "lives_in", "head") == {"Ann", "Bob", "Cid", "Rex"}


def test_wrong_tables_are_named_with_their_line(types: Path, tmp_path: Path) -> None:
    graph = Graph.from_names("towns", TRAIN, VALID)
    with pytest.raises(DataError, match=r"domains\.csv, line 2: no entity has the type 'citty'.* Did you mean 'city'"):
        graph.typed(types, write(tmp_path / "domains.csv", [("in", "city", ""), ("lives_in", "person", "citty")]))
    with pytest.raises(DataError, match=r"other\.csv: no name in it is known; .*entity names, such as 'Ann'"):
        graph.typed(write(tmp_path / "other.csv", [("x", "city"), ("y", "city")]))
    with pytest.raises(DataError, match="give them with --types"):
        itransf.load(TRAIN, domains=types)


def test_negatives_are_drawn_from_the_types(types: Path) -> None:
    graph = Graph.from_names("towns", TRAIN, VALID).typed(types)
    config = NegativesConfig(per_triple=1, sampler="uniform", domain=100.0, filtered=False, tries=1)
    sampler = make_sampler(graph, config, torch.device("cpu"))
    sampler.tail.domain_chance[:] = sampler.head.domain_chance[:] = 1.0
    drawn = sampler.corrupt(torch.tensor([0] * 200), 1, torch.Generator().manual_seed(0))
    for heads, side in ((True, "head"), (False, "tail")):
        rows = drawn.replaces_head == heads
        names = {graph.entities.name(each) for each in drawn.replacements[rows].flatten().tolist()}
        assert names == list_fitting(graph, "lives_in", side)


def test_types_are_stored_with_the_run(short: Any, random_graph: GraphMaker, tmp_path: Path) -> None:
    graph = random_graph(entities=12, train=30, valid=8, test=8)
    names = graph.entities.names
    typed = graph.typed(
        write(tmp_path / "t.csv", [(name, "even" if number % 2 else "odd") for number, name in enumerate(names[2:])]),
        write(tmp_path / "d.csv", [(graph.relations.name(0), "odd", "even")]),
    )
    run = short(typed, "icomplex", "training.epochs=1", out=tmp_path / "run")
    found = itransf.open(tmp_path / "run", device="cpu")
    assert np.array_equal(found.graph.typing.candidates(0, "tail"), typed.typing.candidates(0, "tail"))
    assert not np.array_equal(found.graph.typing.candidates(0, "tail"), graph.typing.candidates(0, "tail"))
    assert found.evaluate().typed == run.evaluate().typed
    with pytest.raises(RunError, match="other triples"):
        short(graph, "icomplex", "training.epochs=1", out=tmp_path / "run", resume=True)
    tensors, meta = RunFolder(tmp_path / "run").read_tensors(TRIPLES)
    for name, wrong in (("types", tensors["types"] + 10), ("sides", tensors["sides"][0]), ("sides", torch.zeros(2, 3))):
        put_tensors(tmp_path / "run", TRIPLES, {**tensors, name: wrong}, meta)
        with pytest.raises(CheckpointError, match=f"has .*'{name}'"):
            itransf.open(tmp_path / "run", device="cpu")
