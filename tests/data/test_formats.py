from __future__ import annotations

from pathlib import Path

import pytest

from itransf.data import load
from itransf.data.readers import read_table
from itransf.errors import DataError


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
    with pytest.raises(DataError) as caught:
        read_table(b"a,r,b\n", name, name)
    assert str(caught.value) == (
        f"{name}: {kind} files are not read; write the triples as a table of three columns "
        "(head, relation, tail): Parquet, CSV or TSV"
    )


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
    with pytest.raises(DataError, match=r"triples\.txt: RDF \(N-Triples\) files are not read"):
        load(path)


@pytest.mark.parametrize("line", ["<a>\t<b>\t<c>", '<a>\t<b>\t"so."', "a\tb\tc.", "<a b>\t<c>\t<d>"])
def test_names_in_angle_brackets_are_names(line: str) -> None:
    assert len(read_table(line.encode(), "triples.tsv", "triples.tsv")) == 1
