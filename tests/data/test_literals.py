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


def bin_tails(name: str, texts: list[str]) -> list[str]:
    table = gather_triples([(f"e{row}", name, text) for row, text in enumerate(texts)], "t")
    return [tail for _, _, tail in treat_literals([table], "bin")[0].rows()]


def test_the_bins_of_a_relation_decide_between_numbers_and_dates() -> None:
    born = [f"{2018 + month // 12}-{month % 12 + 1:02}-07" for month in range(24)]
    names = sorted({*bin_tails("born", born), *bin_tails("price", VALUES["price"]), *bin_tails("stock", ["7", "9"])})
    assert find_bin("born", "2019", names) == find_bin("born", "2019-01-31", names) is not None
    assert [find_bin("born", text, names) for text in ("19.5", "7", "-2019")] == [None] * 3
    assert [find_bin("price", text, names) for text in ("2019-05-01", "31.12.1999", "12/2020")] == [None] * 3
    assert find_bin("price", "2019", names) == "price 50 or more"
    graph = Graph.from_names("g", [("a", "born", each) for each in names]).labelled({"born": "Birth"})
    assert graph.find_bin("Birth", "2017") == "born before 2018-07"
    assert graph.entities.name(resolve_triples(graph, [("a", "Birth", "2017")])[0, 2]) == "born before 2018-07"
    assert grow_graph(graph, [("a", "Birth", "2017")]).counts["known"] == 1


def test_years_before_1000_have_four_digits() -> None:
    texts = [f"{800 + 10 * row:04}-05-01" for row in range(40)]
    found = bin_tails("founded", texts)
    assert found[0] == "founded before 0850"
    assert [find_bin("founded", text, sorted(set(found))) for text in texts] == found
    assert find_bin("founded", "840", found) == found[0]


@pytest.mark.parametrize("step", [0.1, 0.3, 1e-7])
def test_values_on_a_decimal_edge_are_in_the_bin_above(step: float) -> None:
    texts = [f"{place * step:.7f}" for place in range(40)]
    for text, name in zip(texts, bin_tails("size", texts), strict=True):
        low, high = ("-inf", name.split()[2]) if "below" in name else name.replace("or more", "to inf").split()[1::2]
        assert float(low) <= float(text) < float(high)


def test_a_month_that_begins_a_bin_is_in_it() -> None:
    months = [1, 1, 1, 2, 2, 3, 3, 3]  # the cut lies between two months
    found = bin_tails("made", [f"2020-{month:02}-01" for month in months])
    assert [find_bin("made", f"2020-{month:02}-01", found) for month in months] == found


def test_one_day_above_12_decides_on_the_order_of_day_and_month() -> None:
    days = [f"{day:02}/{month:02}/2020" for month in range(1, 13) for day in (5, 11)]
    plain, decided = bin_tails("sold", days), bin_tails("sold", [*days, "25/06/2020"])
    assert len(set(plain[::2])) == 1  # all in May
    assert len(set(decided)) > 2
    assert decided[days.index("05/06/2020")] == decided[-1]
    assert find_bin("sold", "25/06/2020", decided) == decided[-1]
    with pytest.raises(DataError, match="'01/12/2020' may begin with its day or its month; write year, month and day"):
        find_bin("sold", "01/12/2020", decided)
    graph = Graph.from_names("g", [("a", "sold", each) for each in decided])
    with pytest.raises(DataError, match=r"^new, triple 2: '01/12/2020' may begin"):
        grow_graph(graph, [("b", "c", "d"), ("b", "sold", "01/12/2020")])
    assert find_bin("sold", "01/12/2020", ["sold before 2020", "sold 2020 or later"]) == "sold 2020 or later"


def test_values_of_another_kind_are_left_out_of_bins() -> None:
    table = build(made=[*VALUES["made"], "17", "12.5", TEXT], text=VALUES["text"])
    (binned,) = treat_literals([table], "bin")
    assert len(binned) == 61
    assert binned.notes == (
        "60 of 124 tails are literals and were put into bins: made (60 dates). "
        "63 of 124 tails are literals and were left out: text (60 long texts), made (3 other literals).",
    )


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
