"""Reasons in train: short paths that connect the head and the tail of a triple, and links that one end shares.

A pattern is a sequence of one or two relations, each read forwards or backwards. It connects h and t if train has
h -a- t, or h -a- x -b- t for some entity x. Of the other pairs of entities that a pattern connects, a share also has
the relation of the triple: this share is what the pattern is worth as a reason. The triple itself is left out of
everything, and so are triples whose head is their tail.

A shared link is one that the head (or the tail) and others have to the same entity. Of these others, a share is also
linked to the tail (the head) by the relation; it counts only where it is not below that of all heads (tails).

The time is bounded: where many entities have a pattern, its pairs are counted from a sample of them.
"""

from dataclasses import dataclass

import numpy as np

from itransf.data import Booleans, Graph, Integers, PairIndex
from itransf.interpret.ablation import sample_evenly
from itransf.interpret.sentences import list_words, write_triple
from itransf.prediction.inputs import LabelledTriple, name_triple

Triple = tuple[int, int, int]
Pattern = tuple[int, ...]
"""Relations with their direction: 2 r for r read forwards, 2 r + 1 for r read backwards."""
PRIOR = 5
"""Number of pairs without the relation that are added to those counted, so that few pairs do not rank first."""
LEAST_HELD, LEAST_SHARE = 2, 0.05
"""Number of pairs with the relation, and their share after the addition of PRIOR, from which a pattern is a reason."""
MOST_EDGES, MOST_PATTERNS = 4096, 64
"""Maximum number of training triples of each end, and of patterns that are counted."""
ROUGH, FINE = (64, 1000), (2048, 20_000)
"""Maximum numbers of entities to start from and of paths to follow, for all patterns and then for the best."""
MOST_FINE = 8
"""Number of patterns that are counted again, and of shared links of an end."""
MOST_SHARING = 200_000
"""Maximum number of others that shared links are counted from, those of few first."""
SHOWN = 3  # entities in the middle that are named
NO_REASON = "no simple pattern in train supports it"


@dataclass(frozen=True)
class Count:
    """How often a pattern holds.

    Attributes:
        least: Number of paths from which a pair counts: 1, or as many as the triple has.
        pairs: Number of other pairs that are connected by at least so many paths.
        held: Number of those that also have the relation of the triple.
        sampled: Whether the pairs were counted from a part of the entities.
    """

    least: int = 1
    pairs: int = 0
    held: int = 0
    sampled: bool = False

    @property
    def share(self) -> float:
        """The share of the pairs that have the relation, with PRIOR pairs more."""
        return self.held / (self.pairs + PRIOR)


@dataclass(frozen=True)
class Path(Count):
    """A pattern that connects the head and the tail of a triple in train, and how often it holds.

    Attributes:
        text: The paths in words.
        triples: One of them: its training triples, from head to tail.
        middles: Labels of the entities in the middle of all of them; none for a pattern of one relation.
        shared: Of a shared link, the labels of the entity that it leads to and of the other end of the triple.
    """

    text: str = ""
    triples: tuple[LabelledTriple, ...] = ()
    middles: tuple[str, ...] = ()
    shared: tuple[str, str] | None = None

    @property
    def share(self) -> float:
        """The share of the pairs; of a shared link, the best of many, with one less that has the relation."""
        return (self.held - (self.shared is not None)) / (self.pairs + PRIOR)

    def describe(self, relation: str) -> str:
        """Return the paths and how often they hold for a relation, given by its label."""
        often = f" at least {self.least} times" * (self.least > 1)
        number = f"{self.held:,} of {self.pairs:,}"
        if self.held == self.pairs:
            number = "both" if self.pairs == 2 else f"all {self.pairs:,}"
        sample = " in a sample" * self.sampled
        if self.shared is not None:
            middle, end = self.shared
            return f"{self.text}; {number} others linked to {middle} like this are also linked to {end} by {relation}"
        return f"{self.text}; {number} other pairs connected like this{often}{sample} are also linked by {relation}"


def find_paths(graph: Graph, triple: Triple, count: int = 3) -> list[Path]:
    """Return the patterns and shared links in train that support a triple and hold most often, best first.

    Args:
        graph: The graph; valid and test are not used.
        triple: Head, relation and tail, known or not.
        count: Maximum number of them; no entity is in the middle of two.
    """
    if triple[0] == triple[2]:
        return []
    links = _Links(graph, triple)
    found = links.find_patterns()
    rough = {pattern: links.count_pairs(pattern, len(middles), *ROUGH) for pattern, middles in found.items()}
    fine = {each: links.count_pairs(each, len(found[each]), *FINE) for each in _sort(rough)[:MOST_FINE]}
    paths, seen = list[Path](), set[str]()
    described = [links.describe(pattern, found[pattern], fine[pattern]) for pattern in _sort(fine)]
    for path in sorted([*described, *links.find_shared()], key=lambda path: -path.share):
        # Inverse relations give the same paths again.
        if path.held >= LEAST_HELD and path.share >= LEAST_SHARE and not seen & set(path.middles):
            paths.append(path)
            seen |= set(path.middles)
    return paths[:count]


def give_reason(graph: Graph, triple: Triple) -> str:
    """Return the pattern in train that supports a triple most, in words."""
    paths = find_paths(graph, triple, count=1)
    return paths[0].describe(graph.relations.label(triple[1])) if paths else NO_REASON


def _sort(counts: dict[Pattern, Count]) -> list[Pattern]:
    """Return patterns by their share, the largest first, then short and forward ones first."""
    return sorted(counts, key=lambda pattern: (-counts[pattern].share, len(pattern), [s % 2 for s in pattern], pattern))


class _Links:
    """The training triples as links in both directions, without one triple and without loops.

    Args:
        graph: The graph.
        triple: The triple that is left out.
    """

    def __init__(self, graph: Graph, triple: Triple) -> None:
        self.graph, self.triple, self.known = graph, triple, graph.known_in("train")

    def find_patterns(self) -> dict[Pattern, Integers]:
        """Return the patterns that connect head and tail, the rarest paths first, with the entities in the middle."""
        (head, _, tail), count = self.triple, 2 * len(self.graph.relations)
        (first, others), (last, theirs) = self._list_links(head), self._list_links(tail)
        found = {(step,): theirs[:0] for step in first[others == tail].tolist()}
        backwards = PairIndex(np.zeros_like(theirs), theirs, last ^ 1, (len(self.graph.entities), count))
        offsets, second = backwards.look_up(np.zeros_like(others), others)
        first, middles = (np.repeat(values, np.diff(offsets)) for values in (first, others))
        codes, places = np.unique(first * count + second, return_inverse=True)
        rarity = 1.0 / (self._count(middles, first ^ 1) * self._count(middles, second))
        chosen = np.argsort(-np.bincount(places, rarity, len(codes)), kind="stable")[:MOST_PATTERNS]
        return found | {divmod(int(codes[each]), count): middles[places == each] for each in chosen}

    def count_pairs(self, pattern: Pattern, paths: int, most_starts: int, most_paths: int) -> Count:
        """Count the pairs that a pattern connects, at least once or at least as often as the triple's head and tail.

        Args:
            pattern: The pattern.
            paths: Number of its paths from head to tail.
            most_starts: Maximum number of entities to start from.
            most_paths: Maximum number of paths; entities are left out as a whole, and nothing is counted if one alone
                has more.

        Returns:
            The count with the larger share.
        """
        domain = self._find_domain(pattern[0])
        starts = np.random.default_rng(0).permutation(sample_evenly(domain, most_starts))
        places, ends = np.arange(len(starts)), starts
        sampled = len(starts) < len(domain)
        for step in pattern:
            totals = np.cumsum(self._count(ends, np.full_like(ends, step)))
            beyond = int(np.searchsorted(totals, most_paths, "right"))
            if beyond < len(ends):
                sampled, kept = True, int(np.searchsorted(places, places[beyond]))
                places, ends = places[:kept], ends[:kept]
            offsets, reached = self._follow(ends, step)
            places, before = (np.repeat(values, np.diff(offsets)) for values in (places, ends))
            is_link = (before != reached) & ~self._is_left_out(before, step, reached)
            places, ends = places[is_link], reached[is_link]
        heads, entities = starts[places], len(self.graph.entities)
        is_other = (heads != ends) & ((heads != self.triple[0]) | (ends != self.triple[2]))
        pairs, numbers = np.unique(heads[is_other] * entities + ends[is_other], return_counts=True)
        heads, ends = np.divmod(pairs, entities)
        held = self.known.contains(np.stack([heads, np.full_like(heads, self.triple[1]), ends], axis=1))
        counts = [
            Count(least, int((numbers >= least).sum()), int(held[numbers >= least].sum()), sampled)
            for least in (1, max(paths, 1))
        ]
        return max(counts, key=lambda count: count.share)

    def find_shared(self) -> list[Path]:
        """Return the links of the head, then of the tail, that they share with others, the best of each first."""
        (head, relation, tail), found = self.triple, list[Path]()
        for end, other, step in ((head, tail, 2 * relation), (tail, head, 2 * relation + 1)):
            steps, middles = self._list_links(end)
            sizes = self._count(middles, steps ^ 1)
            rare = np.argsort(sizes, kind="stable")
            rare = rare[(np.cumsum(sizes[rare]) <= MOST_SHARING) & (middles[rare] != other)]
            steps, middles = steps[rare], middles[rare]
            goal, pairs, held = self._follow(np.array([other]), step ^ 1)[1], np.zeros_like(steps), np.zeros_like(steps)
            for way, side in enumerate(("head", "tail")):
                own = np.flatnonzero(steps % 2 == way)
                offsets, members = self.known.answers(middles[own], steps[own] // 2, side)
                places, is_other = np.repeat(own, np.diff(offsets)), (members != end) & (members != other)
                pairs += np.bincount(places[is_other], minlength=len(steps))
                held += np.bincount(places[is_other & np.isin(members, goal)], minlength=len(steps))
            shares = (held - 1) / (pairs + PRIOR)
            likely = np.flatnonzero(shares * len(self._find_domain(step)) >= len(goal))
            for place in likely[np.argsort(-shares[likely], kind="stable")][:MOST_FINE].tolist():
                middle = int(middles[place])
                link = self._label(end, int(steps[place]), middle)
                names = (self.graph.entities.label(middle), self.graph.entities.label(other))
                count = (1, int(pairs[place]), int(held[place]), False)
                found.append(Path(*count, write_triple(link), (link,), names[:1], names))
        return found

    def describe(self, pattern: Pattern, middles: Integers, count: Count) -> Path:
        """Return a pattern with its paths in words."""
        graph, (head, _, tail) = self.graph, self.triple
        labels = [graph.entities.label(each) for each in np.sort(middles).tolist()]
        stops = [head, *np.sort(middles)[:1].tolist(), tail]
        triples = tuple(self._label(*link) for link in zip(stops[:-1], pattern, stops[1:], strict=True))
        text = " and ".join(write_triple(triple) for triple in triples)
        if len(pattern) == 2 and pattern[0] == pattern[1] ^ 1:
            both = f"both {graph.entities.label(head)} and {graph.entities.label(tail)}"
            ends = (list_words(labels, SHOWN), both) if pattern[0] % 2 else (both, list_words(labels, SHOWN))
            text = f"{ends[0]} – {triples[0].relation_label} – {ends[1]}"
        elif len(labels) > 1:
            text += f" (and the same through {list_words(labels[1:], SHOWN - 1)})"
        return Path(count.least, count.pairs, count.held, count.sampled, text, triples, tuple(labels))

    def _label(self, start: int, step: int, end: int) -> LabelledTriple:
        """Return the training triple of a link."""
        head, tail = (end, start) if step % 2 else (start, end)
        return LabelledTriple(*name_triple(self.graph, (head, step // 2, tail)))

    def _list_links(self, entity: int) -> tuple[Integers, Integers]:
        """Return the steps from an entity and where they lead, at most MOST_EDGES."""
        found = [(self.graph.train[self.graph.train[:, end] == entity], end) for end in (0, 2)]
        steps = np.concatenate([2 * triples[:, 1] + end // 2 for triples, end in found])
        others = np.concatenate([triples[:, 2 - end] for triples, end in found])
        rows = np.flatnonzero((others != entity) & ~self._is_left_out(np.full_like(others, entity), steps, others))
        rows = sample_evenly(rows, MOST_EDGES)
        return steps[rows], others[rows]

    def _find_domain(self, step: int) -> Integers:
        """Return the entities from which a step leads somewhere."""
        return self.graph.statistics.domain(step // 2, "tail" if step % 2 else "head")

    def _follow(self, entities: Integers, step: int) -> tuple[Integers, Integers]:
        """Return where a step leads from each entity, as offsets and values."""
        return self.known.answers(entities, step // 2, "head" if step % 2 else "tail")

    def _count(self, entities: Integers, steps: Integers) -> Integers:
        """Return how many links of one kind each entity has."""
        heads, tails = (self.known.count(entities, steps // 2, side) for side in ("head", "tail"))
        return np.where(steps % 2, heads, tails)

    def _is_left_out(self, starts: Integers, steps: Integers | int, ends: Integers) -> Booleans:
        """Return which links are the triple, in either direction."""
        head, relation, tail = self.triple
        there = (starts == head) & (ends == tail) & (np.asarray(steps) == 2 * relation)
        back = (starts == tail) & (ends == head) & (np.asarray(steps) == 2 * relation + 1)
        return np.asarray(there | back)
