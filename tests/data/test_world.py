from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

Triple = tuple[str, str, str]

FOLDER = Path(__file__).parents[2] / "src" / "itransf" / "data" / "world"
PARTS = ("train", "valid", "test")
INVERSES = {
    "capital_of": "has_capital",
    "city_in": "contains_city",
    "has_currency": "currency_of",
    "has_official_language": "official_language_of",
    "in_region": "includes_country",
    "member_of": "has_member",
    "territory_of": "has_territory",
    "has_seat_in": "seat_of",
}
SYMMETRIC = ("borders", "near")
RARE = 60


def read_part(part: str) -> list[Triple]:
    rows = (FOLDER / f"{part}.tsv").read_text(encoding="utf-8").split("\n")
    assert rows.pop() == "", f"{part}.tsv must end with a line feed"
    triples = []
    for row in rows:
        head, relation, tail = row.split("\t")
        triples.append((head, relation, tail))
    return triples


@pytest.fixture(scope="module")
def parts() -> dict[str, list[Triple]]:
    return {part: read_part(part) for part in PARTS}


@pytest.fixture(scope="module")
def triples(parts: dict[str, list[Triple]]) -> set[Triple]:
    return {triple for rows in parts.values() for triple in rows}


@pytest.fixture(scope="module")
def pairs(triples: set[Triple]) -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for head, relation, tail in triples:
        found[relation].add((head, tail))
    return found


def list_names(rows: list[Triple]) -> set[str]:
    return {name for head, _, tail in rows for name in (head, tail)}


def test_size(parts: dict[str, list[Triple]], triples: set[Triple]) -> None:
    assert 3_000 <= len(triples) <= 15_000
    assert sum((FOLDER / f"{part}.tsv").stat().st_size for part in PARTS) < 1_000_000
    for part in ("valid", "test"):
        assert 0.08 < len(parts[part]) / len(triples) < 0.12


def test_no_triple_occurs_twice(parts: dict[str, list[Triple]], triples: set[Triple]) -> None:
    assert sum(len(rows) for rows in parts.values()) == len(triples)
    for rows in parts.values():
        assert rows == sorted(rows)


def test_train_knows_every_name_and_relation(parts: dict[str, list[Triple]]) -> None:
    names = list_names(parts["train"])
    relations = {relation for _, relation, _ in parts["train"]}
    for part in ("valid", "test"):
        assert list_names(parts[part]) <= names
        assert {relation for _, relation, _ in parts[part]} == relations


def test_names_are_clean(triples: set[Triple]) -> None:
    relations = {relation for _, relation, _ in triples}
    assert all(relation == relation.lower() and relation.replace("_", "").isalpha() for relation in relations)
    for name in list_names(list(triples)) | relations:
        assert name == name.strip()
        assert name.isprintable()
        assert "  " not in name
        assert not (len(name) == 2 and name.isalpha() and name.isupper()), f"a code instead of a name: {name}"


def test_every_name_has_two_triples(triples: set[Triple]) -> None:
    counts = Counter(name for head, _, tail in triples for name in (head, tail))
    assert min(counts.values()) >= 2
    assert all(head != tail for head, _, tail in triples)


def test_relations(pairs: dict[str, set[tuple[str, str]]]) -> None:
    assert len(pairs) >= 15
    rare = [relation for relation, found in pairs.items() if len(found) < RARE]
    assert len(rare) >= 4


def test_every_relation_can_be_tested(parts: dict[str, list[Triple]], pairs: dict[str, set[tuple[str, str]]]) -> None:
    tested = Counter(relation for _, relation, _ in parts["test"])
    for relation, found in pairs.items():
        assert tested[relation] >= (4 if len(found) >= 20 else 2), relation


def test_readme_states_the_counts(triples: set[Triple], pairs: dict[str, set[tuple[str, str]]]) -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"{len(triples):,} triples" in text
    assert f"{len(list_names(list(triples))):,} entities, {len(pairs)} relations" in text
    for relation, found in pairs.items():
        assert f"| `{relation}` | {len(found)} |" in text


@pytest.mark.parametrize(("relation", "inverse"), INVERSES.items())
def test_inverse_pairs(relation: str, inverse: str, pairs: dict[str, set[tuple[str, str]]]) -> None:
    assert pairs[relation]
    assert {(tail, head) for head, tail in pairs[relation]} == pairs[inverse]


@pytest.mark.parametrize("relation", SYMMETRIC)
def test_symmetric_relations(relation: str, pairs: dict[str, set[tuple[str, str]]]) -> None:
    assert pairs[relation]
    assert {(tail, head) for head, tail in pairs[relation]} == pairs[relation]


def test_hierarchy_leads_from_city_to_continent(pairs: dict[str, set[tuple[str, str]]]) -> None:
    country_of, region_of = dict(pairs["city_in"]), dict(pairs["in_region"])
    whole_of, continent_of = dict(pairs["part_of"]), dict(pairs["on_continent"])
    assert len(country_of) == len(pairs["city_in"])
    assert len(region_of) == len(pairs["in_region"])
    for city, region in pairs["city_in_region"]:
        assert region == region_of[country_of[city]]
    for country, region in pairs["in_region"]:
        top = region
        while top in whole_of:
            top = whole_of[top]
        assert top == continent_of[country]


def test_each_name_means_one_thing(pairs: dict[str, set[tuple[str, str]]]) -> None:
    kinds = {
        "city": {head for head, _ in pairs["city_in"]},
        "country": {head for head, _ in pairs["in_region"]},
        "region": {tail for _, tail in pairs["in_region"]},
        "continent": {tail for _, tail in pairs["on_continent"]},
        "currency": {tail for _, tail in pairs["has_currency"]},
        "language": {tail for _, tail in pairs["has_official_language"]},
        "organisation": {tail for _, tail in pairs["member_of"]} | {head for head, _ in pairs["has_seat_in"]},
        "sea": {tail for _, tail in pairs["has_coast_on"]},
        "river": {head for head, _ in pairs["flows_through"]},
        "time zone": {tail for _, tail in pairs["in_timezone"]},
    }
    for kind, names in kinds.items():
        for other, others in kinds.items():
            assert kind == other or not names & others, (kind, other, names & others)


@pytest.mark.parametrize(
    "triple",
    [
        ("Paris", "capital_of", "France"),
        ("France", "borders", "Germany"),
        ("Kazakhstan", "has_capital", "Astana"),
        ("Lyon", "city_in", "France"),
        ("Croatia", "has_currency", "euro"),
        ("Sweden", "member_of", "NATO"),
        ("Luxembourg (city)", "capital_of", "Luxembourg"),
        ("Western Europe", "part_of", "Europe"),
        ("Japan", "drives_on", "left side of the road"),
    ],
)
def test_well_known_triples(triple: Triple, triples: set[Triple]) -> None:
    assert triple in triples


@pytest.mark.parametrize(
    "triple",
    [
        ("United Kingdom", "member_of", "European Union"),
        ("Sri Lanka", "borders", "India"),
        ("Burundi", "has_capital", "Bujumbura"),
        ("Ukraine", "has_official_language", "Russian"),
        ("United States", "borders", "Cuba"),
    ],
)
def test_outdated_and_doubtful_triples_are_gone(triple: Triple, triples: set[Triple]) -> None:
    assert triple not in triples
