from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from itransf.data.labels import read_labels
from itransf.errors import DataError


def write(folder: Path, content: str | bytes, name: str = "labels.txt") -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def test_tab_separated_with_more_columns_and_quotes(tmp_path: Path) -> None:
    file = write(tmp_path, '\ufeff1\tone "1"\tthe first\r\n\r\n2\ttwo, 2\r\n1\tagain\r\n3\t\r\n')
    assert read_labels(file) == {"1": 'one "1"', "2": "two, 2"}


@pytest.mark.parametrize("separator", [",", ";", "|"])
def test_other_separators_with_quotes(tmp_path: Path, separator: str) -> None:
    file = write(tmp_path, f'KR{separator}"Korea{separator} Republic of"\nFR{separator}France\n', "labels.csv")
    assert read_labels(file) == {"KR": f"Korea{separator} Republic of", "FR": "France"}


def test_compressed(tmp_path: Path) -> None:
    assert read_labels(write(tmp_path, gzip.compress(b"a\tb\n"), "labels.tsv.gz")) == {"a": "b"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("KR,Korea, Republic of\n", "line 1: 3 columns instead of 2"),
        ("a\tb\nc\n", "line 2: 1 column instead of 2"),
        ("", "the label file is empty"),
        ("word\n", "line 1: no separator found"),
        (b"a\tb\nc\t\xff\n", "line 2: byte 0xff is not UTF-8"),
    ],
)
def test_faults_are_named(tmp_path: Path, content: str | bytes, told: str) -> None:
    file = write(tmp_path, content)
    with pytest.raises(DataError, match=told) as caught:
        read_labels(file)
    assert str(file) in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*nothing\.tsv; check the path"):
        read_labels(tmp_path / "nothing.tsv")
