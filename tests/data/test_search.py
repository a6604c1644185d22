from __future__ import annotations

import random
from difflib import SequenceMatcher

import pytest

from itransf.data import Graph, Vocabulary
from itransf.data.search import MATCHES, NameIndex, simplify
from itransf.errors import ConfigError, DataError

SYLLABLES = ("ba", "ko", "ri", "tan", "mel", "os", "ver", "lin", "qua", "zu", "den", "por", "gal", "mar", "ist")


def make_names(count: int) -> list[str]:
    generator = random.Random(0)
    names = set[str]()
    while len(names) < count:
        words = [
            "".join(generator.choices(SYLLABLES, k=generator.randint(2, 3))) for _ in range(generator.randint(1, 2))
        ]
        names.add(" ".join(words))
    return sorted(names)


def search(texts: list[str], text: str, top: int = 10) -> list[tuple[str, str]]:
    return [(texts[number], MATCHES[match]) for number, match, _ in NameIndex(texts).search(text, top)]


def test_exact_beginning_word_similar() -> None:
    texts = ["Papua New Guinea", "Guinean franc", "Guyana", "GUINEA", "Guneia", "Peru"]
    assert search(texts, "guinea") == [
        ("GUINEA", "exact"),
        ("Guinean franc", "beginning"),
        ("Papua New Guinea", "word"),
        ("Guneia", "similar"),
    ]
    assert search(texts, "guinea", top=2) == [("GUINEA", "exact"), ("Guinean franc", "beginning")]


@pytest.mark.parametrize("text", ["sao tome", "São-Tomé", "SAO_TOME", " são  tomé "])
def test_case_accents_and_punctuation_are_ignored(text: str) -> None:
    assert search(["Peru", "São Tomé"], text) == [("São Tomé", "exact")]


def test_exact_beginning_and_word_are_all_found() -> None:
    names = make_names(300)
    for text in ("ba", "tan", "galmar", "b", names[7], names[8][:4]):
        found = search(names, text, top=1000)
        exact = {name for name in names if name == text}
        beginning = {name for name in names if name.startswith(text)} - exact
        word = {name for name in names if f" {text}" in f" {name}"} - exact - beginning
        for match, expected in zip(MATCHES, (exact, beginning, word), strict=False):
            assert {name for name, kind in found if kind == match} == expected


def test_typos_are_found_as_by_comparing_every_letter() -> None:
    names, generator = make_names(400), random.Random(1)
    for name in generator.sample([name for name in names if len(name) > 7], 30):
        place = generator.randrange(1, len(name) - 2)
        typo = name[:place] + name[place + 1] + name[place] + name[place + 2 :]
        ratios = {other: SequenceMatcher(None, other, typo, autojunk=False).ratio() for other in names}
        (best, match), *_ = search(names, typo)
        assert ratios[best] == max(ratios.values())
        assert match == ("similar" if typo not in names else "exact")


@pytest.mark.parametrize(("texts", "text"), [([], "a"), (["a"], "xyz"), (["", "  ", "a"], "b"), (["\ud800"], "b")])
def test_nothing_may_be_found(texts: list[str], text: str) -> None:
    assert search(texts, text) == []


def test_signs_alone_are_kept() -> None:
    assert simplify("+++") == "+++"
    assert search(["+++", "C++", "C"], "+++") == [("+++", "exact")]


def test_names_and_labels_of_entities_and_relations() -> None:
    graph = Graph.from_names("g", [("Q1", "P1", "Q2"), ("Q1", "P1", "Q3"), ("Q2", "P2", "Q3")])
    labelled = graph.labelled({"Q1": "Paris", "P2": "Parish of", "Q3": "Q1"})
    found = labelled.find("paris")
    assert [(each.kind, each.name, each.label, each.match, each.triples) for each in found] == [
        ("entity", "Q1", "Paris", "exact", 2),
        ("relation", "P2", "Parish of", "beginning", 1),
    ]
    assert [each.name for each in labelled.find("q1")] == ["Q1", "Q3"]  # by its name, and by its label
    assert len(labelled.find("q", top=2)) == 2
    assert Vocabulary(("a",)).search("a", 1) == [(0, 0, pytest.approx(0.4))]
    with pytest.raises(DataError, match="no text"):
        graph.find("  ")
    with pytest.raises(DataError, match="5 is not text"):
        graph.find(5)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="top"):
        graph.find("a", top=0)
