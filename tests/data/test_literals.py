from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from itransf.data import Graph, load
from itransf.data.frames import gather_triples
from itransf.data.layout import Table
from itransf.data.literals import find_bin, list_bins, treat_literals
from itransf.data.vocabulary import Vocabulary
from itransf.errors import ConfigError, DataError
from itransf.prediction.inputs import resolve_triples
from itransf.teaching import grow_graph

TEXT = "a light and quiet machine with a large screen that lasts for a whole day of work, and of play"
VALUES = {
    "price": [f"{number}.99" for number in range(60)],
    "cost": [f"${1000 + 37 * number:,}" for number in range(60)],
    "made": [f"20{number // 6 + 10}-0{number % 6 + 1}-15" for number in range(60)],
    "sold": [f"{number % 28 + 1}.{number % 12 + 1}.{2000 + number // 3}" for number in range(60)],
    "stock": [str(7 * number + 1) for number in range(60)],
    "text": [f"{number} {TEXT}" for number in range(60)],
    "paid": [f"{number // 7}{number % 10}.{number:03},{number % 9}0 €" for number in range(70, 130)],
    "mixed": ["free"] * 5 + [str(number) if number % 2 else f"{number}.5" for number in range(55)],
}
IDENTIFIERS = {
    "next": [f"x{number + 1}" for number in range(60)],
    "code": [str(1000 + number) for number in range(60)],
    "offset": [f"{number:08}" for number in range(60)],
    "stars": [str(number % 5) for number in range(60)],
    "rating": [f"{number % 5}.5" for number in range(60)],
    "few": ["12", "13.5", *(f"name {number}" for number in range(58))],
}


def build(prefix: str = "x", **values: list[str]) -> Table:
    rows = [(f"{prefix}{row}", name, value) for name, tails in values.items() for row, value in enumerate(tails)]
    return gather_triples([*rows, ("x0", "likes", "x1")], "f")


def relations_of(table: Table) -> set[str]:
    return set(table.data.column("relation").to_pylist())


@pytest.mark.parametrize("name", VALUES)
def test_values_are_dropped_with_a_note(name: str) -> None:
    (table,) = treat_literals([build(**{name: VALUES[name]})])
    assert relations_of(table) == ({"likes", "mixed"} if name == "mixed" else {"likes"})
    assert table.locate(len(table) - 1) == "f, triple 61"
    (note,) = table.notes
    amount = 55 if name == "mixed" else 60
    assert note.startswith(f"{amount} of 61 tails are literals and were left out: {name} ({amount} ")
    assert "--literals keep" in note


@pytest.mark.parametrize("name", IDENTIFIERS)
@pytest.mark.parametrize("mode", ["drop", "bin"])
def test_identifiers_and_categories_stay(name: str, mode: str) -> None:
    table = build(**{name: IDENTIFIERS[name]})
    assert treat_literals([table], mode) == [table]


def test_whole_numbers_are_entities_among_entities_that_are_numbers() -> None:
    stock = {"stock": VALUES["stock"]}
    assert relations_of(treat_literals([build(prefix="", **stock)])[0]) == {"stock", "likes"}
    several = gather_triples([(f"u{n % 12}", "bought", str(5000 + n)) for n in range(60)], "f")
    assert treat_literals([several]) == [several]
    shared = build(stock=VALUES["stock"], sees=[*VALUES["stock"][:40], *(f"name {n}" for n in range(30))])
    assert treat_literals([shared]) == [shared]
    likes = gather_triples([(value, "likes", "x0") for value in VALUES["price"]], "valid")
    assert relations_of(treat_literals([build(price=VALUES["price"]), likes])[0]) == {"price", "likes"}


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("price", "price below 10", "price 50 or more"),
        ("cost", "cost below 1200", "cost 3000 or more"),
        ("made", "made before 2011", "made 2018 or later"),
        ("sold", "sold before 2003", "sold 2017 or later"),
    ],
)
def test_bins_are_even_and_round(name: str, first: str, last: str) -> None:
    (table,) = treat_literals([build(**{name: VALUES[name]})], "bin")
    found = [tail for _, relation, tail in table.rows() if relation == name]
    bins = list(dict.fromkeys(found))  # in the order of their values, as these are
    assert (bins[0], bins[-1]) == (first, last)
    assert all(" to " in each for each in bins[1:-1])
    for earlier, later in pairwise(bins[1:-1]):
        assert earlier.rpartition(" to ")[2] == later.removeprefix(f"{name} ").partition(" to ")[0]
    assert len(bins) == 8
    assert max(Counter(found).values()) <= 15


def test_each_value_is_in_the_bin_that_is_named() -> None:
    chance = random.Random(0)
    prices = [f"{chance.lognormvariate(3, 1):.2f}" for _ in range(500)]
    (table,) = treat_literals([build(price=prices)], "bin")
    for price, (*_, name) in zip(prices, table.rows(), strict=False):
        words = name.split()[1:]
        low = float(words[0]) if words[0] != "below" else 0.0
        high = float(words[-1]) if words[-1] != "more" else np.inf
        assert low <= float(price) < high
        assert len(words[-1].strip("0")) <= 2 or words[-1] == "more"


@pytest.mark.parametrize("name", ["price", "released"])
def test_a_value_finds_the_bin_that_it_would_have_been_put_into(name: str) -> None:
    prices, days = (
        [f"{3.17 * number:.2f}" for number in range(60)],
        [f"{1990 + number // 2}-07-01" for number in range(60)],
    )
    texts = prices if name == "price" else days
    (table,) = treat_literals([gather_triples([(f"e{n}", name, text) for n, text in enumerate(texts)], "t")], "bin")
    binned = [tail for _, _, tail in table.rows()]
    names = ["other 5 to 7", *sorted(set(binned)), name, f"{name} tag"]
    assert len(names) > 6
    assert list_bins(names) == names[:-2]
    assert [find_bin(name, text, names) for text in texts] == binned
    assert find_bin(name, "red", names) is None
    assert find_bin("width", texts[0], names) is None
    graph = Graph.from_names("g", [("a", name, each) for each in names])
    assert resolve_triples(graph, [("a", name, texts[7])]).tolist() == [[0, 0, graph.entities.index(binned[7])]]
    grown = grow_graph(graph, [("b", name, texts[7])]).graph
    assert grown.entities.name(grown.train[-1, 2]) == binned[7]


def test_names_are_searched_for_bins_once_and_then_only_these(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_names("g", [("a", "r", "b"), ("a", "r", "r 1 to 2"), ("a", "r", "from house to home")])
    assert graph.bins == ["r 1 to 2"]
    monkeypatch.setattr(Vocabulary, "__iter__", lambda _: pytest.fail("all names were searched"))
    assert resolve_triples(graph, [("a", "r", "1.5")]).tolist() == [[0, 0, graph.entities.index("r 1 to 2")]]
    assert grow_graph(graph, [("a", "r", "1.5"), ("a", "r", "7")]).counts["known"] == 1


def test_train_alone_decides_on_bins() -> None:
    train, test = build(price=VALUES["price"]), build(price=[f"100000{row}.5" for row in range(9)])
    alone = treat_literals([train], "bin")[0].rows()
    found = treat_literals([train, build(), test], "bin")
    assert found[0].rows() == alone
    assert found[2].rows()[0] == ("x0", "price", "price 50 or more")


def test_keeping_and_what_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "prices.tsv"
    path.write_text("".join(f"x{row}\tprice\t{row}.5\n" for row in range(20)), encoding="utf-8")
    assert len(load(path, literals="keep").entities) == 40
    assert load(path, literals="bin").relations.names == ("price",)
    with pytest.raises(DataError, match=r"prices.tsv: all tails are numbers.*--literals keep"):
        load(path)
    with pytest.raises(ConfigError, match="literals must be drop, keep or bin, not 'no'"):
        load(path, literals="no")


@pytest.mark.parametrize("name", ["world", "planted"])
@pytest.mark.parametrize("mode", ["drop", "bin"])
def test_bundled_graphs_hold_no_literals(name: str, mode: str) -> None:
    graph, plain = load(name, literals=mode), load(name, literals="keep")
    assert (graph.entities, graph.relations, graph.notes) == (plain.entities, plain.relations, plain.notes)
    assert np.array_equal(graph.train, plain.train)


def test_names_that_differ_in_case_and_blanks_are_noted() -> None:
    rows = [("Ann", "BOUGHT", "x_1"), ("ann", "bought", "x 1"), ("Bob", "bought", "X-1"), ("Bob", "likes", "Ann")]
    relations, entities = Graph.from_names("g", rows).notes[-2:]
    assert relations.startswith("2 relations differ ")
    assert "'BOUGHT' (1), 'bought' (2)." in relations
    assert "'Ann' (2), 'ann' (1); 'x_1' (1), 'x 1' (1), 'X-1' (1)." in entities
