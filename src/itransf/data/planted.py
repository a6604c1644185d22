"""Graphs generated from known concepts, to test and to measure how well concepts are recovered."""

from dataclasses import dataclass

import numpy as np

from itransf.data.graph import Graph
from itransf.data.known import Floats, Integers, Triples
from itransf.data.splits import SplitRule, keep_distinct, mark_first
from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError

RARE = 30
"""A rare relation has fewer triples than this."""

PER_HEAD = 20
"""The largest number of tails that a head gets by nearness in one relation."""

FAINT = 0.2
"""Factor by which a concept shrinks the directions that it does not project on."""

_TRANSLATION = 0.5  # length of a relation's translation
_BLOCK = 2**22  # distances held at once


@dataclass(frozen=True, eq=False)
class Geometry:
    """The vectors and matrices that make a triple true: |W_head[r] h + r - W_tail[r] t| is small.

    W_head[r] and W_tail[r] are weighted sums of a few concepts. Each concept is a soft projection: it keeps its own
    half of the space and shrinks the rest, which makes concepts identifiable. Distances do not change when both
    matrices and the translation of a relation are rotated together, so triples determine W'W, not W; for these concepts
    W is the square root of W'W. No entity or relation alone shows it: a model must learn the positions of entities
    before it can learn on which directions a side projects.

    Attributes:
        concepts: (m, d, d) matrices.
        supports: (2, r, k) concepts of each relation's head and tail side, padded with -1.
        weights: (2, r, k) their weights, positive and summing to one, padded with 0.
        translations: (r, d) vectors.
        vectors: (e, d) unit vectors of the entities.
    """

    concepts: Floats
    supports: Integers
    weights: Floats
    translations: Floats
    vectors: Floats

    def matrix(self, relation: int, side: int) -> Floats:
        """Return the (d, d) projection of a relation's head side (0) or tail side (1)."""
        support, weight = self.supports[side, relation], self.weights[side, relation]
        return np.asarray(np.einsum("k,kij->ij", weight[support >= 0], self.concepts[support[support >= 0]]))

    def project(self, relation: int) -> tuple[Floats, Floats]:
        """Return the entities as heads, translated, and as tails of a relation: two (e, d) tables."""
        heads = self.vectors @ self.matrix(relation, 0).T + self.translations[relation]
        return heads, self.vectors @ self.matrix(relation, 1).T


@dataclass(frozen=True, eq=False)
class Planted:
    """A graph and the concepts it was generated from.

    Attributes:
        graph: The triples; the numbers of entities and relations are the rows of the geometry's tables.
        geometry: The true concepts, supports, weights, translations and entity vectors.
        inverse_pairs: Relations with swapped sides and opposite translations.
        symmetric: Relations with equal sides and no translation.
        rare: Relations with fewer than 30 triples.
    """

    graph: Graph
    geometry: Geometry
    inverse_pairs: tuple[tuple[int, int], ...]
    symmetric: tuple[int, ...]
    rare: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Planted({self.graph!r}, {len(self.geometry.concepts)} concepts)"


def plant(
    seed: int = 0,
    *,
    entities: int = 1000,
    relations: int = 24,
    concepts: int = 8,
    support_size: int = 2,
    dim: int = 6,
    density: float = 4.0,
    noise: float = 0.05,
    valid_share: float = SplitRule.valid_share,
    test_share: float = SplitRule.test_share,
) -> Planted:
    """Generate a graph from known concepts.

    A sixth of the relations are inverses of others, an eighth are symmetric, a quarter are rare.

    Args:
        seed: Random seed.
        entities: Number of entities.
        relations: Number of relations.
        concepts: Number of concept matrices.
        support_size: Largest number of concepts on one side of a relation.
        dim: Dimension of the entity vectors.
        density: Triples per entity of the most frequent relation. With fewer than the default, triples say too little
            about the positions of entities for the concepts to be recovered.
        noise: Random triples per true triple.
        valid_share: Share of the triples for valid.
        test_share: Share of the triples for test.
    """
    rule = SplitRule(seed, valid_share, test_share)
    for name, value, least, most in (
        ("entities", entities, RARE, np.inf),
        ("relations", relations, 4, np.inf),
        ("concepts", concepts, 1, np.inf),
        ("support_size", support_size, 1, concepts),
        ("dim", dim, 2, np.inf),
        ("density", density, 0.1, PER_HEAD / 2),
        ("noise", noise, 0.0, 1.0),
    ):
        if not least <= value <= most:
            upper = "" if most == np.inf else f" and at most {most:g}"
            raise DataError(f"a planted graph cannot have {name} = {value}: give at least {least:g}{upper}")
    rng = np.random.default_rng(seed)
    kinds = _assign_kinds(relations)
    # The order of the draws is part of what a seed means.
    supports, weights = _draw_sides(rng, kinds, concepts, support_size)
    geometry = Geometry(
        concepts=draw_concepts(rng, concepts, dim),
        supports=supports,
        weights=weights,
        translations=_draw_translations(rng, kinds, dim),
        vectors=_scale_rows(rng.normal(size=(entities, dim)), 1.0),
    )
    triples = _draw_triples(rng, geometry, kinds, _draw_sizes(rng, kinds, entities, density), noise)
    width = len(str(entities - 1))
    graph = Graph(
        "planted",
        Vocabulary([f"entity_{number:0{width}}" for number in range(entities)]),
        Vocabulary(_name_relations(kinds), kind="relation"),
        *_split(triples, rule),
        notes=(f"Generated from {concepts} concepts with seed {seed}; {noise:.0%} random triples were added.",),
    )
    return Planted(graph, geometry, kinds.inverse_pairs, kinds.symmetric, kinds.rare)


def _split(triples: Triples, rule: SplitRule) -> tuple[Triples, Triples, Triples]:
    """Split triples at random, with the exact shares; the first triple of each entity and relation goes to train."""
    shuffled = np.random.default_rng(rule.seed).permutation(len(triples))
    free = shuffled[~mark_first(triples[shuffled])]
    valid_size, test_size = (round(len(triples) * share) for share in (rule.valid_share, rule.test_share))
    held_out = min(valid_size + test_size, len(free))  # both shrink in proportion
    valid_size = held_out * valid_size // max(valid_size + test_size, 1)
    valid, test = np.sort(free[:valid_size]), np.sort(free[valid_size:held_out])
    return np.delete(triples, free[:held_out], axis=0), triples[valid], triples[test]


@dataclass(frozen=True)
class _Kinds:
    """Numbers of the relations that are special, and of those that are neither symmetric nor in an inverse pair."""

    count: int
    inverse_pairs: tuple[tuple[int, int], ...]
    symmetric: tuple[int, ...]
    rare: tuple[int, ...]
    plain: tuple[int, ...]


def _assign_kinds(count: int) -> _Kinds:
    """Make a sixth of the relations inverses of others, an eighth symmetric, a quarter rare."""
    pair_count, symmetric_count, rare_count = count // 6, count // 8, count // 4
    pairs = tuple((number, pair_count + number) for number in range(pair_count))
    symmetric = tuple(range(2 * pair_count, 2 * pair_count + symmetric_count))
    # Rare relations are of every kind: shared concepts should help most with a rare inverse.
    rare_inverses = [inverse for _, inverse in pairs][: rare_count // 3]
    rare_symmetric = symmetric[: rare_count // 6]
    rest = rare_count - len(rare_inverses) - len(rare_symmetric)
    rare = sorted([*rare_inverses, *rare_symmetric, *range(count - rest, count)])
    return _Kinds(count, pairs, symmetric, tuple(rare), tuple(range(2 * pair_count + symmetric_count, count)))


def _name_relations(kinds: _Kinds) -> list[str]:
    """Return a name for each relation that says of which kind it is."""
    width = len(str(kinds.count - 1))
    names = [f"relation_{number:0{width}}" for number in range(kinds.count)]
    for original, inverse in kinds.inverse_pairs:
        names[inverse] = f"inverse_of_{names[original]}"
    for number in kinds.symmetric:
        names[number] = f"symmetric_{number:0{width}}"
    return names


def _draw_sides(rng: np.random.Generator, kinds: _Kinds, concepts: int, support_size: int) -> tuple[Integers, Floats]:
    """Return supports and weights (2, r, k) of the head and tail sides, padded with -1 and 0.

    Concepts are drawn without replacement, round after round, so that several relations use each.
    """
    supports = np.full((2, kinds.count, support_size), -1, dtype=np.int64)
    weights = np.zeros((2, kinds.count, support_size))
    remaining: list[int] = []
    for relation in range(kinds.count):
        for side in range(2):
            size = int(rng.integers(1, support_size + 1))
            chosen: list[int] = []
            while len(chosen) < size:
                remaining = remaining or rng.permutation(concepts).tolist()
                concept = remaining.pop()
                if concept not in chosen:
                    chosen.append(concept)
            share = rng.uniform(1.0, 2.0, size)
            supports[side, relation, :size] = chosen
            weights[side, relation, :size] = share / share.sum()
    for original, inverse in kinds.inverse_pairs:
        supports[:, inverse], weights[:, inverse] = supports[::-1, original], weights[::-1, original]
    for relation in kinds.symmetric:
        supports[1, relation], weights[1, relation] = supports[0, relation], weights[0, relation]
    return supports, weights


def draw_concepts(rng: np.random.Generator, count: int, dim: int) -> Floats:
    """Return (m, d, d) projections on random halves of the space that keep a little of the rest.

    They are symmetric, of equal trace, and have the Frobenius norm of an identity. Two of them share no direction in
    full, but all keep a little of every direction: otherwise few triples would say where an entity is in each of them.
    """
    axes = np.linalg.qr(rng.normal(size=(count, dim, max(dim // 2, 1))))[0]  # (m, d, d / 2)
    concepts = FAINT * np.eye(dim) + (1 - FAINT) * axes @ axes.swapaxes(1, 2)
    return np.asarray(concepts * np.sqrt(dim / (concepts**2).sum(axis=(1, 2), keepdims=True)))


def _draw_translations(rng: np.random.Generator, kinds: _Kinds, dim: int) -> Floats:
    """Return (r, d) translations: opposite for inverses, zero for symmetric relations."""
    translations = _scale_rows(rng.normal(size=(kinds.count, dim)), _TRANSLATION)
    translations[list(kinds.symmetric)] = 0.0
    for original, inverse in kinds.inverse_pairs:
        translations[inverse] = -translations[original]
    return translations


def _draw_sizes(rng: np.random.Generator, kinds: _Kinds, entities: int, density: float) -> Integers:
    """Return the number of triples of each relation: few for rare relations, geometrically spaced for the others."""
    sizes = np.zeros(kinds.count, dtype=np.int64)
    rare = np.isin(np.arange(kinds.count), kinds.rare)
    most = max(density * entities, 4 * RARE)
    least = max(0.15 * most, 2 * RARE)
    sizes[~rare] = rng.permutation(np.geomspace(most, least, int((~rare).sum())).astype(np.int64))
    sizes[rare] = rng.integers(RARE // 2, RARE - 2, int(rare.sum()))
    return sizes


def _draw_triples(
    rng: np.random.Generator, geometry: Geometry, kinds: _Kinds, sizes: Integers, noise: float
) -> Triples:
    """Return near pairs of each relation and some random ones, every entity in at least one triple."""
    entities = len(geometry.vectors)
    reaches = _choose_reaches(kinds, sizes)
    parts, spares = [], []
    for relation in range(kinds.count):
        pairs, distances = find_nearest(*geometry.project(relation))
        size = int(sizes[relation])
        if relation in kinds.rare:
            pairs = rng.permutation(pairs[: reaches[relation]])
        if relation in kinds.symmetric:
            parts.append(_attach(close_symmetrically(pairs, size, entities), relation))
        else:
            parts.append(_attach(pairs[:size], relation))
        if relation in kinds.plain and relation not in kinds.rare:
            # Distances relative to that of the last triple taken can be compared between relations.
            spares.append((_attach(pairs, relation), distances / distances[min(size, len(distances)) - 1]))
        extra = round(noise * size)
        extra = min(extra, RARE - 1 - size) if relation in kinds.rare else extra
        parts.append(_attach(rng.integers(0, entities, (extra, 2)), relation))
    triples = np.concatenate([*parts, _cover(np.concatenate(parts), spares, entities)])
    return keep_distinct(triples)


def _choose_reaches(kinds: _Kinds, sizes: Integers) -> Integers:
    """Return from how many of the nearest pairs each relation's triples are taken.

    Those of a frequent relation are just the nearest. The very nearest few pairs are near in every projection and would
    say nothing about a rare relation's concepts: it gets a sample of as many pairs as a frequent relation has, or as
    the relation has of which it is the inverse.
    """
    reaches = sizes.copy()
    reaches[list(kinds.rare)] = np.median(np.delete(sizes, kinds.rare))
    for original, inverse in kinds.inverse_pairs:
        if inverse in kinds.rare:
            reaches[inverse] = min(reaches[inverse], sizes[original])
    return reaches


def find_nearest(heads: Floats, tails: Floats) -> tuple[Integers, Floats]:
    """Return the pairs (n, 2) of each head with its nearest tails, and their distances, nearest pairs first.

    Args:
        heads: (e, d) entities as heads, translated.
        tails: (e, d) entities as tails.
    """
    count = min(PER_HEAD, len(tails) - 1)
    found, distances = [], []
    step = max(1, _BLOCK // len(tails))
    for start in range(0, len(heads), step):
        rows = np.arange(start, min(start + step, len(heads)))
        # (b, e) squared distances, without the head's own square at first
        squares = (tails**2).sum(1) - 2 * heads[rows] @ tails.T
        squares[np.arange(len(rows)), rows] = np.inf  # no entity is related to itself
        nearest = np.argpartition(squares, count, axis=1)[:, :count]
        found.append(np.stack((np.repeat(rows, count), nearest.reshape(-1)), axis=1))
        distances.append((np.take_along_axis(squares, nearest, 1) + (heads[rows] ** 2).sum(1)[:, None]).reshape(-1))
    pairs, squared = np.concatenate(found), np.concatenate(distances)
    order = np.argsort(squared, kind="stable")
    return pairs[order], np.sqrt(np.maximum(squared[order], 0.0))


def close_symmetrically(pairs: Integers, size: int, entities: int) -> Integers:
    """Return about `size` pairs, both directions of each, in order of nearness."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    first = np.sort(np.unique(low * entities + high, return_index=True)[1])[: max(size // 2, 1)]
    return np.concatenate((pairs[first], pairs[first][:, ::-1]))


def _cover(triples: Triples, spares: list[tuple[Triples, Floats]], entities: int) -> Triples:
    """Return, for each entity without a triple, the nearest spare triple with it as head."""
    covered = np.zeros(entities, dtype=np.bool_)
    covered[triples[:, (0, 2)]] = True
    candidates = np.concatenate([spare for spare, _ in spares])
    order = np.argsort(np.concatenate([distance for _, distance in spares]), kind="stable")
    heads, first = np.unique(candidates[order, 0], return_index=True)
    return np.asarray(candidates[order][first[~covered[heads]]])


def _attach(pairs: Integers, relation: int) -> Triples:
    """Return pairs (n, 2) of head and tail as triples (n, 3)."""
    return np.insert(pairs, 1, relation, axis=1).astype(np.int64)


def _scale_rows(rows: Floats, length: float) -> Floats:
    """Return the rows scaled to one length."""
    return np.asarray(rows * (length / np.linalg.norm(rows, axis=1, keepdims=True)))
