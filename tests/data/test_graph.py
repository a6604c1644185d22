from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from itransf.data import SPLITS, Graph, load
from itransf.errors import DataError

TRAIN = [("Paris", "capital_of", "France"), ("France", "borders", "Spain"), ("Spain", "borders", "France")]


def test_numbers_follow_first_appearance_with_train_first() -> None:
    graph = Graph.from_names("g", TRAIN, [("Madrid", "capital_of", "Spain")], [("Rome", "in", "Italy")])
    # heads of train, tails of train, heads of valid, ...
    assert graph.entities.names == ("Paris", "France", "Spain", "Madrid", "Rome", "Italy")
    assert graph.relations.names == ("capital_of", "borders", "in")
    assert graph.train.tolist() == [[0, 0, 1], [1, 1, 2], [2, 1, 1]]
    assert graph.train.dtype == np.int64
    assert graph.train.flags.c_contiguous
    assert [len(graph.split(split)) for split in SPLITS] == [3, 1, 1]
    assert repr(graph) == "Graph('g': 6 entities, 3 relations, 3 train, 1 valid, 1 test)"


def test_a_graph_without_faults_has_no_notes() -> None:
    graph = Graph.from_names("g", TRAIN, [("France", "borders", "Paris")], [("Spain", "borders", "Spain")])
    assert graph.notes == ()


def test_duplicates_are_dropped_and_counted() -> None:
    train = [TRAIN[0], TRAIN[1], TRAIN[0], TRAIN[2], TRAIN[0]]
    graph = Graph.from_names("g", train, [TRAIN[1]], [TRAIN[1], ("Spain", "borders", "Spain")])
    assert graph.train.tolist() == [[0, 0, 1], [1, 1, 2], [2, 1, 1]]
    dropped, *overlaps = graph.notes
    assert dropped.startswith("2 duplicate rows")
    assert "first: train, triple 3" in dropped
    for note, (split, earlier) in zip(
        overlaps, (("valid", "train"), ("test", "train"), ("test", "valid")), strict=True
    ):
        assert f"1 triple of {split} " in note
        assert f"in {earlier} " in note
    assert "(first: valid, triple 1)" in overlaps[0]


def test_unknown_names_are_kept_counted_and_refused_when_strict() -> None:
    valid = [("France", "borders", "Italy"), ("Italy", "borders", "Malta")]
    test = [("Paris", "near", "France")]
    graph = Graph.from_names("g", TRAIN, valid, test)
    entities, relations = graph.notes
    assert all(words in entities for words in ("2 entities", "2 valid and 0 test", "'Italy' in valid, triple 1"))
    assert all(words in relations for words in ("1 relation", "0 valid and 1 test", "'near' in test, triple 1"))
    assert len(graph.entities) == 5
    with pytest.raises(DataError, match=r"2 entities .*'Italy' in valid, triple 1.*--strict, strict=True"):
        Graph.from_names("g", TRAIN, valid, test, strict=True)
    with pytest.raises(DataError, match=r"1 relation .*'near' in test, triple 1"):
        Graph.from_names("g", TRAIN, (), test, strict=True)


def test_empty_splits() -> None:
    graph = Graph.from_names("g", TRAIN)
    assert graph.valid.shape == graph.test.shape == (0, 3)
    assert len(graph.notes) == 2
    assert all(f"no {split} triples" in note for split, note in zip(("valid", "test"), graph.notes, strict=True))
    with pytest.raises(DataError, match=r"train: .*no triples"):
        Graph.from_names("g", [], TRAIN)


@pytest.mark.parametrize(
    ("triple", "told"),
    [
        (("a", "b"), r"train, triple 2: \('a', 'b'\) .*three names"),
        ("abc", "train, triple 2: 'abc' "),
        (3, "train, triple 2: 3 "),
        ({"h": 1, "r": 2, "t": 3}, "train, triple 2: .* is not a triple"),
        (("a", "b", 3), "train, triple 2: .*tail 3 "),
        (("a", " ", "c"), "train, triple 2: .*relation is empty"),
        (("a\ud800", "b", "c"), "train, triple 2: .*head .*half a character"),
    ],
)
def test_bad_triples_are_named(triple: object, told: str) -> None:
    with pytest.raises(DataError, match=told):
        Graph.from_names("g", [TRAIN[0], triple])  # type: ignore[list-item]


@pytest.mark.parametrize("kind", [list, np.array, iter])
def test_a_triple_is_any_row_of_three_names(kind: Callable[[tuple[str, ...]], Any]) -> None:
    graph = Graph.from_names("g", [kind(triple) for triple in TRAIN])
    assert graph.train.tolist() == Graph.from_names("g", TRAIN).train.tolist()
    assert graph.entities == Graph.from_names("g", TRAIN).entities


def test_unknown_split() -> None:
    with pytest.raises(DataError, match=r"no split 'tset'.*Did you mean 'test'"):
        Graph.from_names("g", TRAIN).split("tset")
    with pytest.raises(DataError, match=r"no split None.*'train'"):
        Graph.from_names("g", TRAIN).split(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [None, 5, [TRAIN[0]], Path("x.csv"), "a\ud800"])
def test_a_name_that_is_no_text_is_refused(name: Any) -> None:
    for build in (lambda: Graph.from_names(name, TRAIN), lambda: Graph.from_triples(TRAIN, name)):
        with pytest.raises(DataError, match=r"the name .*Graph\.from_names\("):
            build()


def test_known_covers_all_splits_and_statistics_only_train() -> None:
    graph = Graph.from_names("g", TRAIN, [("France", "borders", "Italy")], [("France", "borders", "Malta")])
    france, borders = graph.entities.index("France"), graph.relations.index("borders")
    assert [graph.entities.name(tail) for tail in graph.known.answers([france], [borders], "tail")[1]] == [
        "Spain",
        "Italy",
        "Malta",
    ]
    assert graph.statistics.counts.tolist() == [1, 2]
    assert graph.known is graph.known


def test_known_answers_of_some_splits() -> None:
    graph = Graph.from_names("g", TRAIN, [("France", "borders", "Italy")], [("France", "borders", "Malta")])
    france, borders = graph.entities.index("France"), graph.relations.index("borders")

    def list_tails(*splits: str) -> list[str]:
        return [graph.entities.name(tail) for tail in graph.known_in(*splits).answers([france], [borders], "tail")[1]]

    assert list_tails("train", "valid") == ["Spain", "Italy"]
    assert list_tails("test") == ["Malta"]
    assert list_tails() == []
    assert graph.known_in("valid", "train") is graph.known_in("train", "valid")
    assert graph.known_in("test", "valid", "train") is graph.known
    with pytest.raises(DataError, match="no split 'tset'"):
        graph.known_in("tset")


def test_labels_from_a_mapping_and_a_file(tmp_path: Path) -> None:
    file = tmp_path / "labels.tsv"
    file.write_text("Paris\tCity of Light\nborders\tis next to\nMars\tred\n", encoding="utf-8")
    graph = Graph.from_names("g", TRAIN).labelled(file).labelled({"Spain": "España"})
    assert [graph.entities.label(number) for number in range(3)] == ["City of Light", "France", "España"]
    assert graph.relations.label(1) == "is next to"
    assert graph.entities.index("City of Light") == 0
    assert graph.notes[-1].startswith("1 of 3 labels")
    assert "'Mars'" in graph.notes[-1]
    assert graph.labelled({"Spain": "España"}).notes == graph.notes
    strangers = Graph.from_names("g", TRAIN).labelled({"Paris": "P", "X": "x", "Y": "y"})
    assert strangers.notes[-1].startswith("2 of 3 labels")
    assert "'X'" in strangers.notes[-1]


def test_labels_of_another_graph_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none of the 1 labels.*'g'.*'Paris'"):
        Graph.from_names("g", TRAIN).labelled({"Mars": "red"})


def test_labels_that_are_missing_or_no_text() -> None:
    graph = Graph.from_names("g", TRAIN)
    some = graph.labelled({"Paris": "P", "Spain": float("nan"), "France": None})  # type: ignore[dict-item]
    assert dict(some.entities.labels) == {"Paris": "P"}
    with pytest.raises(DataError, match=r"^entity 'Spain': .*5 is not text"):
        graph.labelled({"Spain": 5})  # type: ignore[dict-item]
    with pytest.raises(DataError, match=r"^relation 'borders': .*half a character"):
        graph.labelled({"borders": "a\ud800"})
    with pytest.raises(DataError, match=r"labels are a file or a mapping.*, not list"):
        graph.labelled(["Paris"])  # type: ignore[arg-type]


LOGGER = "itransf.data"
LIKES = [("a", "likes", "b"), ("b", "likes", "c"), ("a", "likes", "b")]


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """All that is logged about data."""
    caplog.set_level(logging.INFO, logger=LOGGER)
    return caplog


def levels(heard: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    assert all(record.name == LOGGER for record in heard.records)
    return [(record.levelname, record.getMessage()) for record in heard.records]


def test_what_from_names_finds_is_logged_once(heard: pytest.LogCaptureFixture) -> None:
    graph = Graph.from_names("100%s", LIKES, [("a", "likes", "z")])
    assert [message for _, message in levels(heard)] == list(graph.notes)
    assert [level for level, _ in levels(heard)] == ["WARNING", "WARNING", "INFO"]
    assert "test is empty" in graph.notes[2]


def test_what_load_finds_is_logged_once(heard: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    (tmp_path / "triples.csv").write_text("tail,head,relation,weight\nb,a,likes,1\nc,b,likes,1\nb,a,likes,2\n")
    graph = load(tmp_path / "triples.csv", labels={"a": "Anna", "x": "nobody"})
    assert [message for _, message in levels(heard)] == list(graph.notes)
    assert [level for level, _ in levels(heard)] == ["INFO", "WARNING", "INFO", "INFO", "WARNING"]
    assert "columns are in the order" in graph.notes[0]
    assert "was split" in graph.notes[3]


def test_a_missing_file_may_be_a_mistake(heard: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a\tlikes\tb\n")
    (tmp_path / "valid.txt").write_text("")
    load(tmp_path)
    assert [level for level, _ in levels(heard)] == ["INFO", "WARNING"]


def test_notes_stay_plain_text() -> None:
    graph = Graph.from_triples(LIKES)
    assert json.loads(json.dumps(graph.notes)) == list(graph.notes)
