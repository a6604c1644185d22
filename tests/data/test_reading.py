from __future__ import annotations

import gzip
import io
import re
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from itransf.data import load
from itransf.data.layout import Form, Request, Table, detect_layout, find_columns
from itransf.data.reading import read_columns, read_labels
from itransf.errors import DataError

TRIPLES = [("a", "r", "b"), ("c", "s", "d")]


def read(content: str | bytes, name: str = "triples.txt", **options: Any) -> Table:
    form = Form(**{name: options.pop(name) for name in list(options) if name not in ("wanted", "optional", "extra")})
    content = content.encode() if isinstance(content, str) else content
    return read_columns(name, Request(**options, form=form), content)


def rows_of(table: Table) -> list[tuple[str, ...]]:
    return table.rows()


@pytest.mark.parametrize("separator", ["\t", ",", ";", "|", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["triples.txt", "triples.tsv", "triples.csv"])
def test_separator_and_line_ends_are_detected(separator: str, end: str, name: str) -> None:
    content = end.join(separator.join(triple) for triple in TRIPLES)
    assert rows_of(read(content, name)) == TRIPLES
    assert rows_of(read(content + end, name)) == TRIPLES
    assert rows_of(read(content + end * 3, name)) == TRIPLES


def test_byte_order_mark_is_no_part_of_a_name() -> None:
    assert rows_of(read(b"\xef\xbb\xbfa\tr\tb\nc\ts\td\n")) == TRIPLES
    assert rows_of(read(b"\xef\xbb\xbfhead\trelation\ttail\na\tr\tb\n")) == TRIPLES[:1]


def test_names_stay_text_and_blanks_around_them_go() -> None:
    table = read("00260881\tNA\tnull\n1e5\ttrue\t2024-01-01\n  x \ty\tz z\n")
    assert rows_of(table) == [("00260881", "NA", "null"), ("1e5", "true", "2024-01-01"), ("x", "y", "z z")]


def test_quotes_are_plain_in_tsv_and_group_in_csv() -> None:
    assert rows_of(read('a"\tr\t"b\nc\ts\td"\n')) == [('a"', "r", '"b'), ("c", "s", 'd"')]
    assert rows_of(read('"a, b",r,"say ""hi"""\nc,s,d\n', "f.csv")) == [
        ("a, b", "r", 'say "hi"'),
        ("c", "s", "d"),
    ]
    assert rows_of(read('"x",r,z\n', "f.csv.gz")) == [("x", "r", "z")]


def test_tab_wins_over_commas_inside_names() -> None:
    assert rows_of(read("a,b\tr\tc,d\n")) == [("a,b", "r", "c,d")]


@pytest.mark.parametrize(
    "header", ["head\trelation\ttail", "Subject\tPredicate\tObject", "h\tr\tt", "source\trelation\ttarget"]
)
def test_plain_headers_are_skipped(header: str) -> None:
    table = read(f"\n{header}\n\na\tr\tb\n")
    assert rows_of(table) == TRIPLES[:1]
    assert table.locate(0) == "triples.txt, line 4"
    assert table.notes == ()


def test_header_says_the_order_of_the_columns() -> None:
    table = read("source,target,relation\na,b,r\n", "f.csv")
    assert rows_of(table) == TRIPLES[:1]
    (note,) = table.notes
    assert note.startswith("f.csv: ")
    assert "head, tail, relation" in note


@pytest.mark.parametrize(
    "header",
    ["Head Entity,Relation Type,Tail Entity", "head-id, relation-id ,tail-id", '"Subject","Predicate","Object"'],
)
@pytest.mark.parametrize("name", ["f.csv", "f.txt"])
def test_headers_may_have_blanks_hyphens_and_quotes(header: str, name: str) -> None:
    assert rows_of(read(f"{header}\na,r,b\n", name)) == TRIPLES[:1]


@pytest.mark.parametrize(
    ("content", "others"),
    [
        ("head,relation,tail,weight\na,r,b,1\nc,s,d,\n", "weight"),
        (",head,relation,tail\n0,a,r,b\n1,c,s,d\n", "one without a name"),
        ("head,source,relation,tail,h\na,x y z,r,b,u v w\nc,x y z,s,d,u v w\n", "source, h"),
        ("id,subject,predicate,object,from\n1,a,r,b,x\n2,c,s,d,y\n", "id, from"),
        ('h,r,t,text\na,r,b,"two\nlines, one name"\nc,s,d,x\n', "text"),
    ],
)
def test_a_header_picks_three_of_many_columns(content: str, others: str) -> None:
    table = read(content, "f.csv")
    assert rows_of(table) == TRIPLES
    (note,) = table.notes
    assert note.startswith("f.csv: ")
    assert note.endswith(f"left out: {others}.")


def test_columns_left_out_are_listed_up_to_a_point_and_order_is_reported() -> None:
    names = ["tail", *(f"x{number}" for number in range(10)), "head", "relation"]
    table = read("\t".join(names) + "\n" + "\t".join(["b", *"0123456789", "a", "r"]) + "\n")
    assert rows_of(table) == TRIPLES[:1]
    order, others = table.notes
    assert "tail, head, relation" in order
    assert others.endswith("left out: x0, x1, x2, x3, x4, x5, x6, x7, ....")


def test_a_header_tells_the_separator_whatever_names_contain() -> None:
    table = read("head,relation,tail,weight\nNew York City,in,USA,1\nSan Juan Capistrano,in,USA,1\n", "f.csv")
    assert rows_of(table) == [("New York City", "in", "USA"), ("San Juan Capistrano", "in", "USA")]


@pytest.mark.parametrize("header", [None, True, False])
def test_many_columns_need_a_header_that_names_them(header: bool | None) -> None:
    with pytest.raises(DataError, match=r"^f\.csv, line [12]: 4 columns instead of 3 .* header"):
        read("one,two,three,four\na,r,b,1\nc,s,d,2\n", "f.csv", header=header)


RING = "".join(f"e{number}\tknows\te{number + 1}\n" for number in range(12))


@pytest.mark.parametrize(
    ("first", "triples", "told"),
    [
        ("start\tedge\tend", RING, True),
        ("start\tknows\tend", RING, False),  # a relation that occurs again
        ("e0\tedge\tend", RING, False),
        ("start\tedge\tstart", RING, False),
        ("start\tedge\tend", "a\tknows\tb\n", False),  # too few triples to tell
        ("head\trelation\ttail", RING, False),  # a header, and skipped
    ],
)
def test_a_first_line_that_may_be_a_header_is_reported(first: str, triples: str, told: bool) -> None:
    table = read(f"{first}\n{triples}", "triples.tsv")
    words = (
        "triples.tsv: line 1 looks like a header: start, edge, end. It was read as a triple; if it names the columns, "
        "give --header (header=True), otherwise --no-header (header=False)."
    )
    assert table.notes == ((words,) if told else ())
    for header in (True, False):
        assert read(f"{first}\n{triples}", "triples.tsv", header=header).notes == ()


@pytest.mark.parametrize("name", ["triples.tsv", "triples.csv"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_blanks_are_skipped_as_empty(name: str, end: str) -> None:
    mark = "," if name.endswith("csv") else "\t"
    lines = [mark.join("abc"), "   ", mark.join("bcd"), "", mark.join("cde"), "  "]
    table = read(end.join(lines), name)
    assert table.data.column("head").to_pylist() == ["a", "b", "c"]
    assert table.locate(2) == f"{name}, line 5"
    with pytest.raises(DataError, match=r"line 4: 2 columns .*3"):
        read(end.join([*lines[:3], mark.join("ab")]), name)


def test_header_given_by_the_user() -> None:
    assert rows_of(read("who\thow\twhom\na\tr\tb\n", header=True)) == TRIPLES[:1]
    assert rows_of(read("who\thow\twhom\n")) == [("who", "how", "whom")]
    assert rows_of(read("head\trelation\ttail\n", header=False)) == [("head", "relation", "tail")]
    assert find_columns(["head", "head", "tail"], Request()) is None
    assert find_columns(["head", "tail"], Request()) is None


@pytest.mark.parametrize("columns", ["who,how,what", "who, how, 4", [1, "how", 4], "1,3,4"])
@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_columns_given_by_the_user(columns: Any, separator: str) -> None:
    lines = [["who", "when, where", "how", "what"], ["a", "1, x", "r", "b"], ["c", "2, y", "s", "d"]]
    content = "\n".join(separator.join(f'"{word}"' for word in line) for line in lines)
    table = read(content, "f.csv", columns=columns, header=True)
    assert rows_of(table) == TRIPLES
    assert table.notes == ()
    if columns != "1,3,4":
        assert rows_of(read(content, "f.csv", columns=columns)) == TRIPLES


def test_columns_by_number_in_a_file_without_a_header() -> None:
    assert rows_of(read("b\t1\ta\tr\nd\t2\tc\ts\n", columns=(3, 4, 1))) == TRIPLES
    assert rows_of(read("tail,head,relation\nb,a,r\n", columns="2,3,1")) == TRIPLES[:1]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("who,how", "gives 2 columns; give 3: head, relation, tail"),
        ("when,how,thing", r"f\.csv: there is no column 'thing'; its columns: who, when, how, what, who"),
        ("when,how,9", "there is no column '9'"),
        ("when,how,waht", "there is no column 'waht'.* Did you mean 'what'"),
        ("who,how,what", "2 columns are called 'who'; give the number of one"),
    ],
)
def test_columns_that_are_not_there(columns: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read("who,when,how,what,who\na,1,r,b,x\n", "f.csv", columns=columns)


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("head,relation,tail,Confidence\na,r,b,0.5\nc,s,d,\n", {}),
        ("head,trust,relation,tail\na,0.5,r,b\nc,,s,d\n", {"weight": "trust"}),
        ("a,0.5,r,b\nc,,s,d\n", {"weight": 2}),
        ("what,trust,who,how\nb,0.5,a,r\nd,,c,s\n", {"columns": "who,how,what", "weight": "trust"}),
    ],
)
def test_extra_columns_are_read_where_they_are_named(content: str, options: dict[str, Any]) -> None:
    table = read(content, "f.csv", extra=("weight",), **options)
    assert rows_of(table) == [("a", "r", "b", "0.5"), ("c", "s", "d", "")]
    assert table.data.column_names == ["head", "relation", "tail", "weight"]


def test_separator_given_by_the_user() -> None:
    assert rows_of(read("a:r:b\nc:s:d", separator=":")) == TRIPLES
    assert rows_of(read("a,x\tr\tb", separator="\\t")) == [("a,x", "r", "b")]
    for word, mark in (("tab", "\t"), ("comma", ","), ("pipe", "|")):
        assert rows_of(read(f"a{mark}r{mark}b", separator=word)) == TRIPLES[:1]
    with pytest.raises(DataError, match=r"separator 'comme' .*Did you mean 'comma'"):
        read("a,r,b", separator="comme")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("columns", [None, "1,2,3"])
def test_blanks_are_part_of_names_where_every_line_has_another_separator(mark: str, columns: str | None) -> None:
    content = f"New York{mark}Los Angeles\nSan Francisco{mark}San Diego\n"
    with pytest.raises(DataError, match="2 columns"):
        read(content, "f.csv", columns=columns)
    labels = f"m1{mark}New York\nm2{mark}Rome{mark}Italy\nm3{mark}San{mark}Diego\n"
    with pytest.raises(DataError, match=r"f\.csv: 2 bad lines(?s:.*)\n  Correct them$"):
        read(labels, "f.csv", wanted=("name", "label"))


@pytest.mark.parametrize("content", ["", "\n", "\r\n\r\n", "head,relation,tail", "head,relation,tail\n\n"])
def test_no_triples(content: str) -> None:
    assert len(read(content, "f.csv")) == 0


@pytest.mark.parametrize(
    ("content", "name", "told"),
    [
        (
            "a\tr\tb\n\na\tr\n",
            "f.txt",
            "f.txt, line 3: 2 columns .*3 .*separator: tab",
        ),
        ("a\tr\tb\tx\n" * 3, "f.txt", "f.txt, line 1: 4 columns .*3"),
        ("a,r,b\nc,s,d,e\n", "f.csv", "f.csv, line 2: 4 columns .*3"),
        ("head,relation,tail\na,r,b\njust words\n", "f.csv", "f.csv, line 3: 1 column .*3"),
        ("a\tr\tb\nc\t\td\n", "f.txt", "f.txt, line 2: .*relation is empty; .*remove"),
        ("a\tr\tb\n \tr\td\n", "f.txt", "f.txt, line 2: .*head is empty"),
        ("target,source,relation\nb,a,r\n,c,s\n", "f.csv", "f.csv, line 3: .*tail is empty"),
        ('a,r,b\nc,"s,d\ne,f,g\n', "f.csv", "f.csv, line 2: .*quote .*not closed"),
        ('a,r,"b\nc,s,d\n', "f.csv", "f.csv, line 1: .*quote .*on this line"),
        ('a,r,b\n"x\r\ny",r,z\n', "f.csv", "f.csv, line 2: .*quote"),
        (
            "head,relation,tail,x\na,r,b,1\nc,s,d\n",
            "f.csv",
            "f.csv, line 3: 3 columns .*4 .*head, relation, tail, x; separator: comma",
        ),
        ("x,head,relation,tail\n1,a,r,b\n2,c,,d\n", "f.csv", "f.csv, line 3: .*relation is empty"),
        ('h,r,t,x\na,r,"b,1\nc,s,d,2\n', "f.csv", "f.csv, line 2: .*quote"),
        ("nonsense\n", "f.txt", "f.txt, line 1: no separator .*'nonsense'"),
    ],
)
def test_faults_name_file_line_and_cure(content: str, name: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read(content, name)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a\tr\tb\nc\ts\td\xe9\n", "f.txt, line 2: byte 0xe9 .*save .*UTF-8"),
        ("a\tr\tb\n".encode("utf-16"), "f.txt, line 1: .*UTF-16"),
    ],
)
def test_bad_encoding(content: bytes, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read(content, "f.txt")


BAD = 'a,r,b\nc,s\n,s,d\n\nx,"y,z\nc,s\nc,s,d\n'


def test_all_bad_lines_are_listed_by_kind() -> None:
    with pytest.raises(DataError) as caught:
        read(BAD, "f.csv", skip_bad=False)
    first, *kinds, cure = str(caught.value).splitlines()
    assert first == "f.csv: 4 bad lines"
    assert [kind.partition(":")[0] for kind in kinds] == ["  f.csv, line 2, 6", "  f.csv, line 3", "  f.csv, line 5"]
    assert all(word in kind for word, kind in zip(("2 columns", "head is empty", "quote"), kinds, strict=True))
    assert "--skip-bad" in cure
    with pytest.raises(DataError, match=r"f.csv, line 1, .*, 20 and 30 more: 4 columns"):
        read("a,r,b,x\n" * 50 + "a,r,b\n" * 51, "f.csv")


@pytest.mark.parametrize("name", ["f.csv", "f.txt"])
def test_bad_lines_are_skipped_on_demand(name: str) -> None:
    content = (BAD if name == "f.csv" else BAD.replace('"', "").replace(",z", "")).encode() + b"\xe9,r,z\nu,r,v\n"
    table = read(content, name, skip_bad=True)
    assert rows_of(table) == [*TRIPLES, ("u", "r", "v")]
    assert [table.locate(row) for row in range(3)] == [f"{name}, line {line}" for line in (1, 7, 9)]
    (note,) = table.notes
    assert note.startswith(f"5 bad lines of {name} were left out:\n  {name}, line 2, ")
    assert "line 8: byte 0xe9" in note
    assert len(read("a,,b\n", "f.csv", skip_bad=True)) == 0


@pytest.mark.parametrize("end", ["# the end, really", "# the end", "#\n# the end\n\n"])
def test_comments_at_the_end_are_no_bad_lines(end: str) -> None:
    table = read(f"a,r,b\nc,s,d\n{end}", "f.csv")
    assert (rows_of(table), table.notes) == (TRIPLES, ())
    with pytest.raises(DataError, match="line 2"):
        read(f"a,r,b\n{end}\nc,s,d\n", "f.csv")
    with pytest.raises(DataError, match=r"^f.csv, line 2: 2 columns"):
        read(f"a,r,b\nc,s\n{end}", "f.csv")


def test_a_comment_before_a_bad_last_line_hides_nothing() -> None:
    content = "a,r,b\nc,s,d\n# a comment\ne,t\n"
    with pytest.raises(DataError, match=r"2 bad lines\n  f\.csv, line 3: 1 column .*\n  f\.csv, line 4: 2 columns "):
        read(content, "f.csv")
    table = read(content, "f.csv", skip_bad=True)
    assert rows_of(table) == TRIPLES
    assert "2 bad lines" in table.notes[0]


WIDE = """sku,colour,parts,text
1,red,wheel; frame ;,"long,
 text"
,,,

2,,frame,
2,blue,,
"""


def test_a_wide_table_has_a_relation_per_column() -> None:
    table = read(WIDE, "f.csv", wide=True, key="sku", split=";")
    assert rows_of(table) == [
        ("1", "text", "long, text"),  # where a row begins depends on its entity
        ("1", "colour", "red"),
        ("1", "parts", "wheel"),
        ("1", "parts", "frame"),
        ("2", "parts", "frame"),
        ("2", "colour", "blue"),
    ]
    assert [table.locate(row) for row in (0, 5)] == ["f.csv, line 2", "f.csv, line 7"]
    assert table.notes == ()
    assert ("1", "parts", "wheel; frame ;") in rows_of(read(WIDE, "f.csv", wide=True))
    assert rows_of(read(WIDE, "f.csv", wide=True, columns="colour"))[1] == ("2", "colour", "blue")
    assert rows_of(read(WIDE, "f.csv", wide=True, key=2, columns=["sku"], skip_bad=True))[0] == ("red", "sku", "1")


def test_a_relation_that_is_never_held_out_is_noted(tmp_path: Path) -> None:
    rows = [f"P{row},{relation},{row % 3}\n" for row in range(60) for relation in ("r", "s")]
    (tmp_path / "f.csv").write_text("head,relation,tail\n" + "".join(rows))
    notes = load(tmp_path / "f.csv", literals="keep").notes
    assert "No triples of r are held out: each is the first of an entity. Shuffle the rows to evaluate." in notes


def test_rows_that_repeat_the_header_are_left_out() -> None:
    table = read("head,relation,tail\na,r,b\nhead,relation,tail\nc,r,tail\n", "f.csv")
    assert rows_of(table) == [("a", "r", "b"), ("c", "r", "tail")]
    assert table.notes == ("1 row repeats the header; left out (first: f.csv, line 3).",)
    assert table.locate(1) == "f.csv, line 4"


def test_every_relation_of_a_wide_table_has_held_out_triples() -> None:
    tails = {name: list("abcde") * 20 for name in ("r", "s", "t")}
    frame = pa.table({"sku": [f"P{row}" for row in range(100)], **tails})
    graph = load(frame, wide=True)
    assert set(graph.test[:, 1].tolist()) == {0, 1, 2}


@pytest.mark.parametrize(
    ("content", "options", "told"),
    [
        (WIDE, {"key": "sku"}, r"--key .* is for wide tables; give --wide"),
        (WIDE, {"split": ";"}, r"--split .* is for wide tables"),
        (WIDE, {"wide": True, "key": "skv"}, "no column 'skv'; .*Did you mean 'sku'"),
        (WIDE, {"wide": True, "header": False}, "give numbers"),
        (WIDE.replace("text\n", "parts\n", 1), {"wide": True}, "two columns are called 'parts'"),
        (WIDE, {"wide": True, "columns": "sku"}, "no column beside 'sku'"),
        (WIDE + ",x,,\n", {"wide": True}, "f.csv, line 8: the sku is empty"),
        (WIDE + "3,x\n", {"wide": True}, r"f.csv, line 8: 2 columns instead of 4 \(sku, colour, parts, text"),
    ],
)
def test_bad_wide_tables(content: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        read(content, "f.csv", **options)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ('"a",r,"b"\n"c",s,d\n', "a"),
        ('head\trelation\ttail\n"a"\tr\tb\nc\ts\td\n', '"a"'),
    ],
)
def test_standard_input_is_read_as_a_file(content: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    table = read_columns("-")
    assert rows_of(table) == [(name, "r", "b"), TRIPLES[1]]
    assert table.locate(1).startswith("standard input, line ")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(write_parquet(x=["a"], y=["r"], z=["b"]))))
    assert repr(load("-")) == "Graph('stdin': 2 entities, 1 relation, 1 train, 0 valid, 0 test)"


def test_unclosed_quote_over_a_huge_rest() -> None:
    with pytest.raises(DataError, match=r"f.csv, line 2: .*quote"):
        read('a,r,b\nc,"s,d\n' + "x,y,z\n" * 60_000, "f.csv")


@pytest.mark.parametrize("name", ["f.csv", "f.txt"])
def test_rows_are_located_past_blank_lines(name: str) -> None:
    table = read("\na,r,b\n\r\nx,r,z\nc,s,d\n", name)
    assert [table.locate(row) for row in range(3)] == [f"{name}, line {line}" for line in (2, 4, 5)]
    with pytest.raises(IndexError):
        table.locate(3)


def test_a_bad_line_among_good_ones_does_not_confuse_detection() -> None:
    content = "a b,r s,c\n" * 20 + "x y z\n"
    assert detect_layout(content.encode(), "f.txt", Request()).separator == ","


def test_large_content_is_sampled() -> None:
    content = ("entity\trelation\tother\n" * 60_000).encode()
    assert len(read(content)) == 60_000


def write_parquet(**columns: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def test_parquet_by_place_by_name_and_from_numbers() -> None:
    assert rows_of(read(write_parquet(x=["a"], y=["r"], z=["b"]), "f.parquet")) == [("a", "r", "b")]
    table = read(write_parquet(tail=["b", "d"], head=["a", "c"], relation=["r", "s"]), "f.parquet")
    assert rows_of(table) == TRIPLES
    (note,) = table.notes
    assert note.startswith("f.parquet: ")
    assert "tail, head, relation" in note
    assert table.locate(1) == "f.parquet, row 2"
    encoded = pa.array(["r", "r"]).dictionary_encode()
    assert rows_of(
        read(write_parquet(x=[1, 2], y=encoded, z=pa.array(["b", "c"], pa.large_string())), "f.parquet")
    ) == [
        ("1", "r", "b"),
        ("2", "r", "c"),
    ]


def test_wide_parquet() -> None:
    content = write_parquet(sku=[1, 2], price=[19.5, None], made=[date(2024, 5, 6), None], name=["a", "b"])
    assert rows_of(read(content, "f.parquet", wide=True)) == [
        ("1", "name", "a"),
        ("1", "price", "19.5"),
        ("1", "made", "2024-05-06"),
        ("2", "name", "b"),
    ]


def test_parquet_with_more_columns() -> None:
    columns = {"tail": ["b", "d"], "weight": [1, 2], "head": ["a", "c"], "relation": ["r", "s"]}
    table = read(write_parquet(**columns, __index_level_0__=[5, 6]), "f.parquet")
    assert rows_of(table) == TRIPLES
    order, others = table.notes
    assert "tail, head, relation" in order
    assert others.endswith("left out: weight, __index_level_0__.")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (write_parquet(a=["a"], b=["b"]), "f.parquet: 2 columns .*3"),
        (write_parquet(a=["a", "a"], b=["b", None], c=["c", "c"]), "f.parquet, row 2: 'b' is empty"),
        (write_parquet(a=["a", " "], b=["b", "b"], c=["c", "c"]), "f.parquet, row 2: 'a' is empty"),
        (write_parquet(a=["a"], b=[["b"]], c=["c"]), "column 'b' holds list"),
        (b"no parquet", "f.parquet is not .*Parquet"),
    ],
)
def test_bad_parquet(content: bytes, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read(content, "f.parquet")


def test_a_name_may_be_very_long() -> None:
    assert rows_of(read(f"a,r,{'b' * 200_000}\n", "triples.csv")) == [("a", "r", "b" * 200_000)]


@pytest.mark.parametrize("content", ["", "\n\n", "  \n"])
def test_an_empty_file_has_no_triples(content: str) -> None:
    assert len(read(content)) == 0


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('a\tr\t"5"" disk"\n', r"f.tsv: 1 name .*quotes.*first: f.tsv, line 1\)"),
        ('a\tr\tb\n\n"x"\tr\tz\n"x"\t"r"\tz\n', r"f.tsv: 3 names .*quotes.*first: f.tsv, line 3\)"),
    ],
)
def test_quotes_in_a_plain_file_are_noted(content: str, told: str) -> None:
    (note,) = read(content, "f.tsv").notes
    assert re.match(told, note)
    assert "end in .csv" in note
    assert read(content, "f.csv").notes == ()


def test_a_stray_quote_is_not_noted() -> None:
    assert read(b'a"\tr\t"b\nc\t"\tsay "hi"\n', "f.tsv").notes == ()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("triples.json", "JSON"),
        ("triples.JSONL.gz", "JSON"),
        ("triples.ndjson", "JSON"),
        ("triples.xlsx", "Excel"),
        ("triples.xls", "Excel"),
        ("triples.nt", "RDF"),
        ("triples.ttl.bz2", "RDF"),
    ],
)
def test_files_that_hold_no_table_are_refused_by_name(name: str, kind: str) -> None:
    with pytest.raises(DataError, match=f"^{name}: {kind} files are not read"):
        read(b"a,r,b\n", name)


@pytest.mark.parametrize(
    "line",
    [
        "<http://a> <http://b> <http://c> .",
        "<http://a>\t<http://b>\t<http://c> .",
        '_:x <http://b> "some words"@en .',
        "<http://a> <http://b> <http://c> <http://graph> .",
    ],
)
def test_statements_are_refused_whatever_the_file_is_called(tmp_path: Path, line: str) -> None:
    path = tmp_path / "triples.txt"
    path.write_text(f"\n{line}\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"triples\.txt: RDF \(N-Triples\)"):
        load(path)


@pytest.mark.parametrize("line", ["<a>\t<b>\t<c>", '<a>\t<b>\t"so."', "a\tb\tc.", "<a b>\t<c>\t<d>"])
def test_names_in_angle_brackets_are_names(line: str) -> None:
    assert len(read(line, "triples.tsv")) == 1


def write_labels(folder: Path, content: str | bytes, name: str = "labels.txt") -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def test_labels_tab_separated_with_more_columns_and_quotes(tmp_path: Path) -> None:
    file = write_labels(tmp_path, '\ufeff1\tone "1"\tthe first\r\n\r\n2\ttwo, 2\r\n1\tagain\r\n3\t\r\n')
    assert read_labels(file) == {"1": 'one "1"', "2": "two, 2"}


@pytest.mark.parametrize("separator", [",", ";", "|"])
def test_labels_with_other_separators_and_quotes(tmp_path: Path, separator: str) -> None:
    file = write_labels(tmp_path, f'KR{separator}"Korea{separator} Republic of"\nFR{separator}France\n', "labels.csv")
    assert read_labels(file) == {"KR": f"Korea{separator} Republic of", "FR": "France"}


def test_compressed_labels(tmp_path: Path) -> None:
    assert read_labels(write_labels(tmp_path, gzip.compress(b"a\tb\n"), "labels.tsv.gz")) == {"a": "b"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("KR,Korea, Republic of\n", "line 1: 3 columns .*2"),
        ("a\tb\nc\n", "line 2: 1 column .*2"),
        ("", "no labels"),
        ("word\n", "line 1: no separator"),
        (b"a\tb\nc\t\xff\n", "line 2: byte 0xff "),
    ],
)
def test_faulty_labels_are_named(tmp_path: Path, content: str | bytes, told: str) -> None:
    file = write_labels(tmp_path, content)
    with pytest.raises(DataError, match=told) as caught:
        read_labels(file)
    assert str(file) in str(caught.value)


def test_missing_label_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file .*nothing\.tsv"):
        read_labels(tmp_path / "nothing.tsv")


def test_labels_in_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a\tb\tc", "d"], "text": ["one", None]}), tmp_path / "labels.parquet")
    assert read_labels(tmp_path / "labels.parquet") == {"a\tb\tc": "one"}
