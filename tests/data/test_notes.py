from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from itransf.data import Graph, load
from itransf.data.readers import read_table

LOGGER = "itransf.data"
TRAIN = [("a", "likes", "b"), ("b", "likes", "c"), ("a", "likes", "b")]


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """All that is logged about data."""
    caplog.set_level(logging.INFO, logger=LOGGER)
    return caplog


def levels(heard: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    assert all(record.name == LOGGER for record in heard.records)
    return [(record.levelname, record.getMessage()) for record in heard.records]


def test_what_from_names_finds_is_logged_once(heard: pytest.LogCaptureFixture) -> None:
    graph = Graph.from_names("100%s", TRAIN, [("a", "likes", "z")])
    assert [message for _, message in levels(heard)] == list(graph.notes)
    assert [level for level, _ in levels(heard)] == ["WARNING", "WARNING", "INFO"]
    assert "test is empty" in graph.notes[2]


def test_what_load_finds_is_logged_once(heard: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    (tmp_path / "triples.csv").write_text("tail,head,relation,weight\nb,a,likes,1\nc,b,likes,1\nb,a,likes,2\n")
    graph = load(tmp_path / "triples.csv", labels={"a": "Anna", "x": "nobody"})
    assert [message for _, message in levels(heard)] == list(graph.notes)
    assert [level for level, _ in levels(heard)] == ["INFO", "INFO", "WARNING", "INFO", "WARNING"]
    assert "columns stand in the order" in graph.notes[0]
    assert "was split" in graph.notes[3]


def test_a_missing_file_may_be_a_mistake(heard: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a\tlikes\tb\n")
    (tmp_path / "valid.txt").write_text("")
    load(tmp_path)
    assert [level for level, _ in levels(heard)] == ["INFO", "WARNING"]


def test_notes_stay_plain_text() -> None:
    graph = Graph.from_triples(TRAIN)
    assert json.loads(json.dumps(graph.notes)) == list(graph.notes)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('a\tr\t"5"" disk"\n', "1 name stands in double quotes, .* as part of the name (first: f.tsv, line 1)"),
        ('a\tr\tb\n\n"x"\tr\tz\n"x"\t"r"\tz\n', "3 names stand in double quotes, .* (first: f.tsv, line 3)"),
    ],
)
def test_quotes_that_mean_nothing_are_told(content: str, told: str) -> None:
    (note,) = read_table(content.encode(), "f.tsv", "f.tsv").notes
    start, _, end = told.partition(".*")
    assert note.startswith(f"f.tsv: {start}")
    assert end in note
    assert note.endswith("let the file's name end in .csv: only there do quotes have a meaning.")
    assert read_table(content.encode(), "f.csv", "f.csv").notes == ()


def test_a_stray_quote_is_not_worth_a_note() -> None:
    assert read_table(b'a"\tr\t"b\nc\t"\tsay "hi"\n', "f.tsv", "f.tsv").notes == ()
