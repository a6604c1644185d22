from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from itransf.data import Vocabulary
from itransf.errors import DataError
from itransf.prediction import Query, read_candidates, read_queries, read_triples


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.tsv", "head\trelation\ttail\nFrance\tborders\t\n\n?\tcapital of\tItaly\n"),
        ("q.csv", "head,relation,tail\nFrance,borders,\n\n?,capital of,Italy\n"),
        ("q.csv", 'head,relation,tail\r\nFrance,borders,?\r\n\r\n,"capital of",Italy\r\n'),
        ("q.txt", "\ufeffTail;Relation;Head\n;borders;France\n\nItaly ; capital of;\n"),
    ],
)
def test_queries_are_read(tmp_path: Path, name: str, content: str) -> None:
    path = write(tmp_path / name, content)
    assert read_queries(path) == [
        Query("France", "borders", None, f"{path}, line 2"),
        Query(None, "capital of", "Italy", f"{path}, line 4"),
    ]


@pytest.mark.parametrize("asked", ["", "?", " ? "])
def test_a_relation_may_be_asked_for(tmp_path: Path, asked: str) -> None:
    path = write(tmp_path / "q.tsv", f"head\trelation\ttail\nFrance\t{asked}\tParis\n")
    assert read_queries(path) == [Query("France", None, "Paris", f"{path}, line 2")]


def test_further_columns_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "q.csv", "id,relation,head,tail,note\n1,borders,France,?,x\n")
    assert read_queries(path) == [Query("France", "borders", None, f"{path}, line 2")]
    path = write(tmp_path / "q.csv", "head,relation,tail,note\nFrance,borders,?\n")
    with pytest.raises(DataError, match=r"line 2: 3 columns .*4 \(head, relation, tail, note"):
        read_queries(path)


def test_quotes_mean_something_in_csv_only(tmp_path: Path) -> None:
    quoted = read_queries(write(tmp_path / "q.csv", 'head,relation,tail\n"Korea, South",borders,\n'))
    assert quoted[0].head == "Korea, South"
    plain = read_queries(write(tmp_path / "q.tsv", 'head\trelation\ttail\n"Weird" Al\tborders\t\n'))
    assert plain[0].head == '"Weird" Al'


def test_blank_lines_above_the_header_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "q.tsv", "\n\nhead\trelation\ttail\na\tr\t\n")
    assert read_queries(path) == [Query("a", "r", None, f"{path}, line 4")]


def test_compressed_queries_are_read(tmp_path: Path) -> None:
    packed = gzip.compress(b"head,relation,tail\na,r,\n")
    assert read_queries(write(tmp_path / "q.csv.gz", packed))[0].head == "a"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "no queries"),
        ("head\trelation\ttail\n", "no queries"),
        ("France\tborders\t\n", "line 1: .*columns"),
        ("head\trelation\ttail\na\tr\t\na\tr\n", "line 3: 2 columns .*3"),
        ("head\trelation\ttail\na\tr\tb\n", "line 2: .*all given; leave exactly one"),
        ("head\trelation\ttail\n?\tr\t\n", "line 2: head and tail .*leave exactly one"),
        ("head\trelation\ttail\na\t\t\n", "line 2: relation and tail "),
        ("head\trelation\ttail\na\t?\t\n", "line 2: relation and tail "),
        (b"head\trelation\ttail\n\xe9\tr\t\n", "line 2: byte 0xe9 "),
    ],
)
def test_faulty_queries_are_reported_with_file_and_line(tmp_path: Path, content: str | bytes, told: str) -> None:
    path = write(tmp_path / "q.tsv", content)
    with pytest.raises(DataError, match=rf"q.tsv(, |: ).*{told}"):
        read_queries(path)


def test_a_query_asks_for_one_part() -> None:
    with pytest.raises(DataError, match=r"^head, .*all given"):
        Query("a", "r", "b")
    with pytest.raises(DataError, match=r"^head and tail .*asked for"):
        Query(None, "r", None)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    for read in (read_queries, read_candidates, read_triples):
        with pytest.raises(DataError, match=r"there is no file .*nowhere"):
            read(tmp_path / "nowhere.tsv")


def test_triples_are_read_with_their_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "f.tsv", "head\trelation\ttail\n\na\tr\tb\nb\tr\tc\n")
    triples, locate, notes = read_triples(path)
    assert triples == [("a", "r", "b"), ("b", "r", "c")]
    assert locate(1) == f"{path}, line 4"
    assert notes == ()
    (note,) = read_triples(write(path, "head\trelation\ttail\tweight\na\tr\tb\t2\n")).notes
    assert note.endswith("left out: weight.")
    with pytest.raises(DataError, match=r"f.tsv, line 2: 2 columns"):
        read_triples(write(path, "a\tr\tb\na\tr\n"))
    with pytest.raises(DataError, match=r"f.tsv: .*no triples"):
        read_triples(write(path, "head\trelation\ttail\n"))


def test_candidates_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "c.txt", "France\n\n  Korea, South \r\nItaly")
    assert read_candidates(path) == ["France", "Korea, South", "Italy"]
    assert read_candidates(path, Vocabulary(["Italy", "Korea, South", "France"])) == read_candidates(path)


def test_faulty_candidates_are_reported_with_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path / "c.txt", "France\n\nFrnace\n")
    with pytest.raises(DataError, match=r"c.txt, line 3: .*'Frnace'.* 'France'"):
        read_candidates(path, Vocabulary(["France", "Italy"]))
    with pytest.raises(DataError, match=r"c.txt, line 2: 2 columns .*1"):
        read_candidates(write(path, "France\nItaly\tRome\n"))
    with pytest.raises(DataError, match=r"c.txt: .*no names"):
        read_candidates(write(path, "\n \n"))
    with pytest.raises(DataError, match=r"c.txt, line 2: byte 0xe9 "):
        read_candidates(write(path, b"a\n\xe9\n"))


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
def test_pairs_or_triples(tmp_path: Path, name: str, text: str, expected: list[tuple[str, ...]]) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    triples = read_triples(tmp_path / name, pairs=True).names
    assert list(triples) == expected


def test_compressed_pairs_and_places(tmp_path: Path) -> None:
    path = tmp_path / "f.tsv.gz"
    path.write_bytes(gzip.compress(b"head\ttail\n\na\tb\nc\td\n"))
    triples, locate, _ = read_triples(path, pairs=True)
    assert triples == [("a", "b"), ("c", "d")]
    assert locate(1) == f"{path}, line 4"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\nc\n", r"f\.tsv, line 2: 1 column .*2"),
        ("a\tb\nc\t\n", "line 2: the tail is empty"),
        ("head\ttail\n", "no triples"),
        ("", "no triples.*: head, tail"),
        (" \n\n", "no triples.*: head, tail"),
        ("a\tb\tc\td\n", "4 columns instead of 3"),
        ("one\n", "no separator found"),
    ],
)
def test_faulty_pairs_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "f.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_triples(tmp_path / "f.tsv", pairs=True)


def test_triples_in_parquet(tmp_path: Path) -> None:
    table = pa.table({"head": ["a"], "relation": ["likes"], "tail": ["b"]})
    pq.write_table(table, tmp_path / "f.parquet")
    triples = read_triples(tmp_path / "f.parquet", pairs=True).names
    assert list(triples) == [("a", "likes", "b")]
