"""Paths: patterns and their counts against a slow reference, samples, and words."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from itransf.data import Graph
from itransf.interpret import paths
from itransf.interpret.paths import PRIOR, Count, Path, find_paths

Link = tuple[int, int, int]


def make_graph(seed: int, entities: int = 9, relations: int = 3, count: int = 40) -> Graph:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, [entities, relations, entities], (count, 3)).tolist()
    names = [(f"e{head}", f"r{relation}", f"e{tail}") for head, relation, tail in rows]
    return Graph.from_triples(names, name="random", valid_share=0.0, test_share=0.0)


def list_links(graph: Graph, left_out: Link) -> set[Link]:
    """Return the training triples in both directions, without one and without loops."""
    triples = {tuple(row) for row in graph.train.tolist()} - {left_out}
    ways = [((h, 2 * r, t), (t, 2 * r + 1, h)) for h, r, t in triples if h != t]
    return {link for pair in ways for link in pair}


def count_paths(links: set[Link], pattern: tuple[int, ...]) -> Counter[tuple[int, int]]:
    """Return the number of paths of a pattern between every two entities that it connects."""
    if len(pattern) == 1:
        return Counter((start, end) for start, step, end in links if step == pattern[0])
    pairs = product(links, links)
    joined = ((a, b) for a, b in pairs if a[2] == b[0] and (a[1], b[1]) == pattern and a[0] != b[2])
    return Counter((a[0], b[2]) for a, b in joined)


def count_slowly(graph: Graph, triple: Link) -> dict[tuple[int, ...], Count]:
    """Return how often each pattern holds that connects head and tail."""
    links, found = list_links(graph, triple), {}
    steps = range(2 * len(graph.relations))
    facts = {tuple(row) for row in graph.train.tolist()}
    for pattern in [*((a,) for a in steps), *product(steps, steps)]:
        numbers = count_paths(links, pattern)
        own = numbers.pop((triple[0], triple[2]), 0)
        if own:
            counts = []
            for least in (1, own):
                pairs = [pair for pair, number in numbers.items() if number >= least]
                held = sum((head, triple[1], tail) in facts for head, tail in pairs)
                counts.append(Count(least, len(pairs), held))
            found[pattern] = max(counts, key=lambda count: count.share)
    return found


def share_slowly(graph: Graph, triple: Link) -> dict[tuple[int, int, int], tuple[int, int]]:
    """Return the number of others that have each link of head and tail, and of those linked to the other end."""
    links, found = list_links(graph, triple), {}
    facts = {(h, 2 * r, t) for h, r, t in graph.train.tolist()} | {
        (t, 2 * r + 1, h) for h, r, t in graph.train.tolist()
    }
    head, relation, tail = triple
    for end, other, asked in ((head, tail, 2 * relation), (tail, head, 2 * relation + 1)):
        goal = {start for start, step, stop in facts if (step, stop) == (asked, other)}
        base = len(goal) / max(len({start for start, step, _ in facts if step == asked}), 1)
        for _, step, middle in (link for link in links if link[0] == end and link[2] != other):
            others = {start for start, way, stop in facts if (way, stop) == (step, middle)} - {end, other}
            if (len(others & goal) - 1) / (len(others) + PRIOR) >= base:
                found[end, step, middle] = (len(others), len(others & goal))
    return found


def choose_triples(graph: Graph) -> list[Link]:
    """Return some training triples and some that are not known, none a loop."""
    others = [(0, 1, 5), (3, 0, 2), (7, 2, 1)]
    return [*(tuple(row) for row in graph.train[:6].tolist() if row[0] != row[2]), *others]


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_the_reference(seed: int) -> None:
    graph = make_graph(seed)
    for triple in choose_triples(graph):
        links = paths._Links(graph, triple)
        found, expected = links.find_patterns(), count_slowly(graph, triple)
        assert found.keys() == expected.keys()
        for pattern, middles in found.items():
            assert links.count_pairs(pattern, len(middles), 1000, 10_000) == expected[pattern]


@pytest.mark.parametrize("seed", range(4))
def test_shared_links_are_those_of_the_reference(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MOST_FINE", 1000)
    rng, seen = np.random.default_rng(seed), 0
    noise = rng.integers(0, [40, 3, 40], (60, 3)).tolist()
    groups = [(head, relation, 40 + head % 4 + 4 * relation) for head in range(40) for relation in range(3)]
    names = [(f"e{head}", f"r{relation}", f"e{tail}") for head, relation, tail in [*groups, *noise]]
    graph = Graph.from_triples(names, name="groups", valid_share=0.0, test_share=0.0)
    for triple in choose_triples(graph):
        found = paths._Links(graph, triple).find_shared()
        expected = share_slowly(graph, triple)
        assert sorted((path.pairs, path.held) for path in found) == sorted(expected.values())
        assert {path.text for path in found} == {path_text(graph, *link) for link in expected}
        seen += len(found)
    assert seen


def path_text(graph: Graph, end: int, step: int, middle: int) -> str:
    names = [graph.entities.label(end), graph.relations.label(step // 2), graph.entities.label(middle)]
    return " – ".join(names[::-1] if step % 2 else names)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_patterns_come_first(seed: int) -> None:
    graph = make_graph(seed)
    for triple in choose_triples(graph):
        shares = [path.share for path in find_paths(graph, triple)]
        assert shares == sorted(shares, reverse=True)
        worthy = [each.share for each in count_slowly(graph, triple).values() if each.held >= 2 and each.share >= 0.05]
        shared = ((held - 1) / (pairs + PRIOR) for pairs, held in share_slowly(graph, triple).values() if held >= 2)
        worthy += [share for share in shared if share >= 0.05]
        assert shares[:1] == ([pytest.approx(max(worthy))] if worthy else [])


def test_a_sample_counts_whole_entities() -> None:
    graph, triple = make_graph(0, count=60), (0, 1, 5)
    links = paths._Links(graph, triple)
    for pattern in [(0,), (1, 2), (4, 5)]:
        whole = links.count_pairs(pattern, 0, 1000, 10_000)
        few = links.count_pairs(pattern, 0, 4, 10_000)
        cut = links.count_pairs(pattern, 0, 1000, 12)
        assert not whole.sampled
        assert few.sampled
        assert cut.sampled
        assert max(few.pairs, cut.pairs) < whole.pairs
        assert cut.pairs <= 12
    assert links.count_pairs((0,), 0, 1000, 0) == Count(1, 0, 0, True)


def make_shops() -> Graph:
    """Return buyers of which those who bought the same two things know each other."""
    bought = [(f"p{person}", "bought", thing) for person in range(8) for thing in ("tea", "milk")]
    knows = [(f"p{one}", "knows", f"p{other}") for one in range(7) for other in range(7) if one != other]
    sells = [("shop", "sells", "tea"), ("shop", "sells", "milk")]
    return Graph.from_triples([*bought, *knows, *sells], name="shops", valid_share=0.0, test_share=0.0)


def find(graph: Graph, head: str, relation: str, tail: str, **options: Any) -> list[Path]:
    rows = graph.entities.index(head), graph.relations.index(relation), graph.entities.index(tail)
    return find_paths(graph, rows, **options)


def test_shared_neighbours_in_words() -> None:
    graph = make_shops()
    best, *_ = find(graph, "p7", "knows", "p0", count=9)
    assert best.describe("knows") == (
        "both p7 and p0 – bought – tea and milk; 42 of 55 other pairs connected like this are also linked by knows"
    )
    assert (best.pairs, best.held, best.share) == (55, 42, 42 / (55 + PRIOR))
    assert [triple.head_label for triple in best.triples] == ["p7", "p0"]
    assert best.middles == ("tea", "milk")


def test_shared_links_in_words() -> None:
    books = [(f"b{number}", "by", "Austen") for number in range(6)]
    shelves = [(f"b{number}", "on", "N3") for number in range(5)]
    others = [(f"c{number}", "on", f"K{number}") for number in range(20)]
    graph = Graph.from_triples([*books, *shelves, *others], name="books", valid_share=0.0, test_share=0.0)
    (path,) = find(graph, "b5", "on", "N3")
    assert (
        path.describe("on") == "b5 – by – Austen; all 5 others linked to Austen like this are also linked to N3 by on"
    )
    assert (path.pairs, path.held, path.share) == (5, 5, 4 / (5 + PRIOR))
    assert Path(1, 2, 2, shared=("a", "b")).describe("on").startswith("; both others linked to a")
    assert find(graph, "b5", "on", "K3") == []


def test_chains_and_reverse_links_in_words() -> None:
    graph = make_shops()
    texts = [path.text for path in find(graph, "p0", "knows", "p1", count=9)]
    assert "p1 – knows – p0" in texts
    (sold,) = find(graph, "shop", "sells", "tea") or [None]
    assert sold is None  # no pattern holds for two other pairs
    links = paths._Links(graph, (0, 1, 2))
    people = np.array([graph.entities.index(f"p{place}") for place in (2, 3, 4, 5)])
    path = links.describe((2, 2), people, Count(2, 4, 4, True))
    start, end = graph.entities.label(0), graph.entities.label(2)
    assert path.describe("likes").startswith(
        f"{start} – knows – p2 and p2 – knows – {end} (and the same through p3 and "
    )
    assert path.describe("likes").endswith(
        "; all 4 other pairs connected like this at least 2 times in a sample are also linked by likes"
    )


def test_a_loop_has_no_paths() -> None:
    assert find(make_shops(), "p0", "knows", "p0") == []
