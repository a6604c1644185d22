from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from itransf.errors import DataError
from itransf.teaching import read_pairs


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("f.tsv", "a\tb\nc d\te\n", [("a", "b"), ("c d", "e")]),
        ("f.tsv", "head\ttail\na\tb\n", [("a", "b")]),
        ("f.tsv", "\ntail\thead\nb\ta\n", [("a", "b")]),
        ("f.csv", 'a,b\n"c, d",e\n', [("a", "b"), ("c, d", "e")]),
        ("f.txt", "a|b\n\n c | d \n", [("a", "b"), ("c", "d")]),
        ("f.txt", "a b\nc d\n", [("a", "b"), ("c", "d")]),
        ("f.txt", "a likes b\n", [("a", "likes", "b")]),
        ("f.tsv", "a\tlikes\tb\n", [("a", "likes", "b")]),
        ("f.csv", "head,relation,tail\na,likes,b\n", [("a", "likes", "b")]),
    ],
)
def test_two_or_three_columns(tmp_path: Path, name: str, text: str, expected: list[tuple[str, ...]]) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    triples = read_pairs(tmp_path / name).names
    assert list(triples) == expected


def test_compressed_files_and_places(tmp_path: Path) -> None:
    path = tmp_path / "f.tsv.gz"
    path.write_bytes(gzip.compress(b"head\ttail\n\na\tb\nc\td\n"))
    triples, locate, _ = read_pairs(path)
    assert triples == [("a", "b"), ("c", "d")]
    assert locate(1) == f"{path}, line 4"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\nc\n", r"f\.tsv, line 2: is not a head and a tail"),
        ("a\tb\nc\t\n", "line 2: is not a head and a tail"),
        ("head\ttail\n", "there is no triple in it"),
        ("", "there is no triple in it; write one per line: head, tail"),
        (" \n\n", "there is no triple in it; write one per line: head, tail"),
        ("a\tb\tc\td\n", "4 columns instead of 3"),
        ("one\n", "no separator found"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "f.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_pairs(tmp_path / "f.tsv")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        read_pairs(tmp_path / "none.tsv")


def test_triples_in_parquet(tmp_path: Path) -> None:
    table = pa.table({"head": ["a"], "relation": ["likes"], "tail": ["b"]})
    pq.write_table(table, tmp_path / "f.parquet")
    triples = read_pairs(tmp_path / "f.parquet").names
    assert list(triples) == [("a", "likes", "b")]
