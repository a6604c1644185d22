from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import itransf
from itransf.data.graph import Graph
from itransf.data.splits import Weights
from itransf.errors import DataError, RunError
from itransf.evaluation.metrics import evaluate, summarise
from itransf.records import hash_graph

if TYPE_CHECKING:
    from conftest import GraphMaker

ROWS = [
    ("a", "r", "b", "0.5"),
    ("b", "r", "c", "1"),
    ("c", "s", "a", "0"),
    ("a", "r", "b", "2.5"),
    ("c", "r", "a", "1e-1"),
]
TRIPLE = st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 5))


def write(path: Path, rows: list[tuple[str, ...]], header: str = "head,relation,tail,confidence") -> Path:
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return path


def name_weights(graph: Graph) -> dict[tuple[str, str, str], float]:
    assert graph.weights is not None
    names = [
        (graph.entities.name(h), graph.relations.name(r), graph.entities.name(t))
        for h, r, t in graph.weights.triples.tolist()
    ]
    return dict(zip(names, graph.weights.values.tolist(), strict=True))


@pytest.mark.parametrize("word", ["weight", "Confidence", "count"])
def test_weights_are_read_from_the_column_of_a_header(tmp_path: Path, word: str) -> None:
    graph = itransf.load(write(tmp_path / "x.csv", ROWS, f"head,relation,tail,{word}"))
    assert name_weights(graph) == {("a", "r", "b"): 2.5, ("b", "r", "c"): 1, ("c", "s", "a"): 0, ("c", "r", "a"): 0.1}
    assert "Each triple counts in the loss by its weight, from 0 to 2.5." in graph.notes


def test_a_column_of_another_name_is_given(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", ROWS, "head,relation,tail,sureness")
    assert itransf.load(path).weights is None
    assert len(name_weights(itransf.load(path, weight="sureness"))) == 4
    path.write_text("a,r,b,3\nb,r,a,1\na,r,b,4\n", encoding="utf-8")
    assert name_weights(itransf.load(path, weight=4)) == {("a", "r", "b"): 7, ("b", "r", "a"): 1}  # counts add up
    with pytest.raises(DataError, match="no column 'sure'"):
        itransf.load(path, weight="sure")


def test_folders_and_frames_have_weights(tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    write(tmp_path / "g" / "train.csv", ROWS)
    write(tmp_path / "g" / "test.csv", [("b", "s", "a", "0.25")])
    (tmp_path / "g" / "valid.csv").write_text("b,s,c\n", encoding="utf-8")
    graph = itransf.load(tmp_path / "g")
    assert graph.weights is not None
    assert graph.weights.of(graph.test).tolist() == [0.25]
    assert graph.weights.of(graph.valid).tolist() == [np.mean([2.5, 1, 0, 0.1, 0.25])]  # as much as others
    columns = [list(column) for column in zip(*ROWS, strict=True)]
    names = ["head", "relation", "tail", "weight"]
    assert name_weights(Graph.from_triples(pa.table(columns, names=names))) == name_weights(
        itransf.load(write(tmp_path / "x.csv", ROWS))
    )


@pytest.mark.parametrize("bad", ["-1", "", "nan", "inf", "high", "0x1", "1e999", "1,5"])
def test_a_bad_weight_is_named_with_its_line(tmp_path: Path, bad: str) -> None:
    path = write(tmp_path / "x.csv", [*ROWS[:2], ("c", "s", "a", f'"{bad}"')])
    with pytest.raises(DataError, match=rf"x\.csv, line 4: the weight '{bad}' is not a number from 0 on; correct"):
        itransf.load(path)


def test_all_bad_weights_are_listed(tmp_path: Path) -> None:
    rows = [("a", "r", f"b{number}", "high" if number % 2 else "1") for number in range(60)]
    with pytest.raises(DataError) as caught:
        itransf.load(write(tmp_path / "x.csv", rows))
    first, *told = str(caught.value).splitlines()
    assert first.endswith("x.csv: 30 bad weights; correct them, or choose another column with --weight (weight=...)")
    assert len(told) == 20
    assert told[-1].endswith("x.csv, line 41: the weight 'high' is not a number from 0 on")


def test_weights_of_which_none_counts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x\.csv: no weight is greater than 0"):
        itransf.load(write(tmp_path / "x.csv", [(*row[:3], "0") for row in ROWS]))


@given(st.dictionaries(TRIPLE, st.floats(0, 10), min_size=1), st.lists(TRIPLE))
def test_weights_are_found_by_triple(
    known: dict[tuple[int, int, int], float], asked: list[tuple[int, int, int]]
) -> None:
    weights = Weights(np.array(list(known)), np.array(list(known.values())))
    mean = np.mean(list(known.values()))
    found = weights.of(np.array(asked, dtype=np.int64).reshape(-1, 3))
    assert found.tolist() == [pytest.approx(known.get(triple, mean)) for triple in asked]


def test_weights_are_stored_with_the_run(
    short: Any, random_graph: GraphMaker, weigh: Callable[[Graph], Graph], tmp_path: Path
) -> None:
    graph = random_graph(entities=12, train=30, valid=8, test=8)
    heavy = weigh(graph)
    short(heavy, "icomplex", out=tmp_path / "run")
    found = itransf.open(tmp_path / "run", device="cpu")
    assert found.graph.weights is not None
    assert heavy.weights is not None
    assert np.array_equal(found.graph.weights.of(heavy.train), heavy.weights.of(heavy.train))
    assert hash_graph(found.graph) == hash_graph(heavy) != hash_graph(graph)
    for other in (graph, replace(graph, weights=Weights(heavy.weights.triples, heavy.weights.values + 1))):
        with pytest.raises(RunError, match="other triples"):
            short(other, "icomplex", out=tmp_path / "run", resume=True)
    assert short(heavy, "icomplex", out=tmp_path / "run", resume=True).record.id == found.record.id


def test_an_evaluation_counts_triples_by_their_weights(
    short: Any, random_graph: GraphMaker, weigh: Callable[[Graph], Graph]
) -> None:
    graph = weigh(random_graph(entities=12, train=30, valid=8, test=20))
    run = short(graph, "distmult", "training.epochs=1")
    plain, heavy = run.evaluate(), run.evaluate(weighted=True)
    assert graph.weights is not None
    own = graph.weights.of(graph.test)
    ranks = [plain.ranks.ranks(side) for side in ("head", "tail")]
    assert heavy["mrr"] == pytest.approx(sum(own @ (1 / part) for part in ranks) / (2 * own.sum()))
    assert heavy["mrr"] != pytest.approx(plain["mrr"], rel=1e-3)
    assert heavy.to_dict()["weighted"] is True
    relation = heavy.relations[0]
    rows = graph.test[:, 1] == graph.relations.index(relation["relation"])
    assert relation["head"]["mrr"] == pytest.approx(
        summarise(ranks[0][rows], plain.ranks.rivals[0, 0][rows], own[rows])["mrr"]
    )
    with pytest.raises(DataError, match="have no weights"):
        short(replace(graph, weights=None), "distmult", "training.epochs=1").evaluate(weighted=True)
    light = replace(graph, weights=Weights(graph.test, np.zeros(20)))
    with pytest.raises(DataError, match="all test triples have weight 0"):
        evaluate(run.model, light, weighted=True)
    with pytest.raises(DataError, match="all training triples have weight 0"):
        short(light, "distmult", "training.epochs=1")
