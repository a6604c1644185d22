from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from itransf.errors import ConfigError, DataError, WriteError
from itransf.prediction import outputs, write_rows, write_table

TABLE = pa.table(
    {
        "query": pa.array([1, 1, 2]),
        "head": ["Korea, South", 'the "rest"', "Åland"],
        "score": pa.array([-0.1, 2.5, -1e-9], pa.float32()),
        "known": [True, False, None],
    }
)


def test_csv_quotes_what_needs_it(tmp_path: Path) -> None:
    path = write_table(TABLE, tmp_path / "new" / "t.csv")
    assert path.read_text(encoding="utf-8").splitlines() == [
        "query,head,score,known",
        '1,"Korea, South",-0.1,true',
        '1,"the ""rest""",2.5,false',
        "2,Åland,-1e-9,",
    ]
    with path.open(encoding="utf-8", newline="") as file:
        assert [row["head"] for row in csv.DictReader(file)] == TABLE.column("head").to_pylist()


def test_names_with_line_breaks_survive_csv(tmp_path: Path) -> None:
    names = ["two\nlines", 'a "b", c\r\nd', ""]
    path = write_table(pa.table({"na,me": names}), tmp_path / "t.csv")
    with path.open(encoding="utf-8", newline="") as file:
        assert [row[0] if row else "" for row in csv.reader(file)] == ["na,me", *names]


def test_tsv_quotes_nothing(tmp_path: Path) -> None:
    path = write_table(TABLE, str(tmp_path / "t.TSV"))
    assert path.read_text(encoding="utf-8").splitlines()[2] == '1\tthe "rest"\t2.5\tfalse'


def test_a_name_with_a_tab_is_refused_in_tsv(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("old")
    with pytest.raises(DataError, match=r"t.tsv: .*'a\\tb'.*.tsv"):
        write_table(pa.table({"head": ["fine", "a\tb"]}), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_parquet_comes_back_as_it_was(tmp_path: Path) -> None:
    assert pq.read_table(write_table(TABLE, tmp_path / "t.parquet")).equals(TABLE)


def test_json_lines_have_an_object_per_row(tmp_path: Path) -> None:
    lines = write_rows(TABLE.to_pylist(), tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == TABLE.to_pylist()


def test_objects_become_columns_and_lists_json(tmp_path: Path) -> None:
    rows = [{"name": "a", "both": {"mrr": 0.5, "n": {"k": 1}}}, {"name": "b", "seen": ["x", "y"]}]
    assert write_rows(rows, tmp_path / "t.csv").read_text(encoding="utf-8").splitlines() == [
        "name,both.mrr,both.n.k,seen",
        "a,0.5,1,",
        'b,,,"[""x"", ""y""]"',
    ]
    assert pq.read_table(write_rows(rows, tmp_path / "t.parquet")).column("both.n.k").to_pylist() == [1, None]
    lines = write_rows(rows, tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0]) == {**rows[0], "seen": None}


def test_no_rows_are_an_empty_file(tmp_path: Path) -> None:
    assert write_rows([], tmp_path / "t.csv").read_text() == ""
    assert pq.read_table(write_rows([], tmp_path / "t.parquet")).num_rows == 0


def test_long_tables_are_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "_ROWS_AT_ONCE", 3)
    table = pa.table({"n": list(range(10))})
    assert write_table(table, tmp_path / "t.csv").read_text().split() == ["n", *map(str, range(10))]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("t.xlsx", "'.xlsx'.*.csv, .tsv, .parquet or .jsonl"),
        ("t.parqet", "Did you mean '.parquet'"),
        ("t", "without a suffix"),
    ],
)
def test_other_endings_are_refused(tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        write_table(TABLE, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"cannot be written: .*; choose another place"):
        write_table(TABLE, tmp_path / "file" / "t.csv")
