from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from itransf.data import Graph, load
from itransf.data.frames import gather_triples
from itransf.data.layout import Form, Request
from itransf.errors import DataError

TRIPLES = [("a", "r", "b"), ("c", "s", "d")]
MANY = [(f"e{head}", f"r{relation}", f"e{tail}") for head in range(20) for relation in range(2) for tail in range(20)]


class Stream:
    """What pandas and polars hand out: columns as a stream of Arrow, and nothing else."""

    def __init__(self, **columns: Any) -> None:
        self.table = pa.table(columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class OldFrame:
    """A frame of an older pandas: rows only."""

    def __init__(self, columns: list[Any], rows: list[tuple[Any, ...]]) -> None:
        self.columns, self.rows = columns, rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self.columns)

    def itertuples(self, index: bool, name: None) -> Iterator[tuple[Any, ...]]:
        assert not index
        return iter(self.rows)


def rows_of(triples: Any) -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in gather_triples(triples, "f").data.to_pylist()]


@pytest.mark.parametrize(
    "frame",
    [
        pa.table({"head": ["a", "c"], "relation": ["r", "s"], "tail": ["b", "d"]}),
        Stream(head=["a", "c"], relation=["r", "s"], tail=[" b", "d "]),
        Stream(x=["a", "c"], y=["r", "s"], z=["b", "d"]),
        Stream(tail=["b", "d"], weight=[0.5, 1.0], head=["a", "c"], relation=["r", "s"]),
        Stream(x=["a", "c"], y=["r", "s"], z=["b", "d"], __index_level_0__=[3, 7]),
        Stream(x=pa.array(["a", "c"], pa.large_string()), y=pa.array(["r", "s"]).dictionary_encode(), z=["b", "d"]),
        OldFrame(["tail", "head", "relation"], [("b", "a", "r"), ("d", "c", "s")]),
        OldFrame([0, 1, 2], TRIPLES),
    ],
)
def test_columns_of_frames_are_triples(frame: Any) -> None:
    assert rows_of(frame) == TRIPLES
    assert Graph.from_names("g", frame).entities.names == ("a", "c", "b", "d")


@pytest.mark.skipif(not hasattr(pa, "string_view"), reason="this pyarrow has no views")
def test_columns_as_polars_hands_them_out() -> None:
    views = pa.array(["r", "s"], pa.string_view())
    category = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.uint32()), views)
    assert rows_of(Stream(x=pa.array(["a", "c"], pa.string_view()), y=category, z=["b", "d"])) == TRIPLES


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (Stream(head=["a"], tail=["b"]), r"train: 2 columns .*3 \(head, relation, tail\): head, tail"),
        (Stream(a=["a"], b=["b"], c=["c"], d=["d"]), "train: 4 columns .*3 .*: a, b, c, d"),
        (Stream(head=["a", None], relation=["r", "r"], tail=["b", "c"]), "train, row 2: 'head' is empty"),
        (Stream(head=["a"], relation=[["r"]], tail=["b"]), "train: .*'relation' holds list"),
        (
            OldFrame(["h", "r", "t"], [("a", "r", "b"), ("c", "s", 5)]),
            "train: .*cannot be read .* strings",
        ),
        (OldFrame(["h", "r", "t"], [("a", "r", float("nan"))]), "train, row 1: 't' is empty"),
        (pa.chunked_array([["a"]]), "train: .*cannot be read"),
        (pa.table({"head": [], "relation": [], "tail": []}), "train: .*no triples"),
        (
            "triples.csv",
            r"train: 'triples\.csv' holds no triples.*data frame.*itransf\.load",
        ),
        (Path("triples.csv"), "train: .*holds no triples"),
        (None, "train: None holds no triples"),
        ({"a": 1}, "train: {'a': 1} holds no triples"),
    ],
)
def test_what_holds_no_triples_is_refused(frame: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        Graph.from_names("g", frame)


def test_wide_frames_with_numbers_and_times() -> None:
    noon, midnight = datetime(2024, 5, 6, 12), datetime(2024, 5, 6)
    frame = Stream(
        sku=[7, 8],
        price=[19.5, float("nan")],
        size=pa.array([3.0, None]),
        made=pa.array([midnight, None], pa.timestamp("ns")),
        sold=pa.array([noon, midnight], pa.timestamp("us")),
        day=[date(2024, 5, 6), None],
        new=[True, None],
    )
    table = gather_triples(frame, "f", Request(form=Form(wide=True)))
    assert table.rows() == [
        ("7", "price", "19.5"),
        ("7", "size", "3"),
        ("7", "made", "2024-05-06"),
        ("7", "sold", "2024-05-06 12:00:00"),
        ("7", "day", "2024-05-06"),
        ("7", "new", "true"),
        ("8", "sold", "2024-05-06 00:00:00"),
    ]
    assert table.locate(6) == "f, row 2"
    assert len(load(frame, wide=True, columns="size,day", key="sku", literals="keep").train) == 2


def test_columns_and_bad_rows_of_frames() -> None:
    frame = Stream(what=["b", "", "d", None], who=["a", "x", "c", "x"], how=["r", "r", "s", "r"], trust=[0.5, 1, 2, 3])
    form = Form(columns="who,how,what", weight="trust")
    with pytest.raises(DataError, match=r"f: 2 bad rows\n  f, row 2, 4: 'what' is empty"):
        gather_triples(frame, "f", Request(extra=("weight",), form=form))
    with pytest.raises(DataError, match=r"--weight .* leave it out here"):
        gather_triples(frame, "f", Request(form=form))
    table = gather_triples(frame, "f", Request(extra=("weight",), form=replace(form, skip_bad=True)))
    assert table.rows() == [(*TRIPLES[0], "0.5"), (*TRIPLES[1], "2")]
    assert table.locate(1) == "f, row 3"
    assert table.notes[0].startswith("2 bad rows of f were left out:\n  f, row 2, 4: 'what' is empty")


def test_blanks_around_names_in_memory_go_as_those_in_files() -> None:
    assert Graph.from_names("g", [(" a", "r ", "b\n"), ("a", "r", "a")]).entities.names == ("a", "b")


def test_triples_in_memory_are_split_as_a_file_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text("\n".join("\t".join(triple) for triple in [*MANY, MANY[0]]), encoding="utf-8")
    file = load(path, seed=3, valid_share=0.2)
    graph = Graph.from_triples([*MANY, MANY[0]], name="mine", seed=3, valid_share=0.2)
    assert repr(graph) == repr(file)
    assert all(np.array_equal(graph.split(split), file.split(split)) for split in ("train", "valid", "test"))
    dropped, split = graph.notes
    assert dropped.startswith("1 duplicate row")
    assert "mine, triple 801" in dropped
    assert all(words in split for words in ("mine ", "seed 3", f"{len(graph.valid)} to valid"))


def test_load_takes_triples_in_memory() -> None:
    heads, relations, tails = zip(*MANY, strict=True)
    frame = Stream(head=heads, relation=relations, tail=tails)
    graph = load(frame, seed=1, test_share=0.25, labels={"e0": "zero"})
    assert repr(graph) == "Graph('triples': 20 entities, 2 relations, 539 train, 76 valid, 185 test)"
    assert graph.entities.label(0) == "zero"
    assert np.array_equal(graph.test, load(iter(MANY), seed=1, test_share=0.25).test)
    with pytest.raises(DataError, match="triples holds no triples"):
        load([])
