"""Graphs grown from known concepts, to test and to measure how well concepts are recovered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from itransf.data import planting
from itransf.data.checking import key_triples
from itransf.data.encoding import Triples
from itransf.data.graph import Graph
from itransf.data.planting import RARE, Floats, Kinds
from itransf.data.sorting import Integers
from itransf.data.splitting import TEST_SHARE, VALID_SHARE, check_seed, split_triples
from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError


@dataclass(frozen=True, eq=False)
class Geometry:
    """What makes a triple true: |W_head[r] h + r - W_tail[r] t| is small.

    W_head[r] and W_tail[r] are weighted sums of a few concepts. Each concept is a soft projection: it keeps its own
    half of the space and shrinks the rest. That is what lets them be found again. Distances are the same when both
    matrices and the translation of a relation are turned together, so triples cannot tell a matrix W, only W'W; for
    these concepts it says which directions a side looks at, and the root of it is the mixture itself. It shows in
    no entity or relation alone: where entities lie has to be learned before it can be told what a side looks at.

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
    """A graph and the truth it was grown from.

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
        return f"Planted({self.graph!r}, {len(self.concepts)} concepts)"

    @property
    def concepts(self) -> Floats:
        """The true concept matrices, (m, d, d)."""
        return self.geometry.concepts

    @property
    def supports_head(self) -> Integers:
        """The true concepts of each relation's head side, (r, k), padded with -1."""
        return np.asarray(self.geometry.supports[0])

    @property
    def supports_tail(self) -> Integers:
        """The true concepts of each relation's tail side, (r, k), padded with -1."""
        return np.asarray(self.geometry.supports[1])

    @property
    def weights_head(self) -> Floats:
        """The weights of the head side's concepts, (r, k), padded with 0."""
        return np.asarray(self.geometry.weights[0])

    @property
    def weights_tail(self) -> Floats:
        """The weights of the tail side's concepts, (r, k), padded with 0."""
        return np.asarray(self.geometry.weights[1])


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
    valid_share: float = VALID_SHARE,
    test_share: float = TEST_SHARE,
) -> Planted:
    """Grow a graph from known concepts.

    A sixth of the relations are inverses of others, an eighth are symmetric, a quarter are rare.

    Args:
        seed: Which graph; the same seed gives the same graph.
        entities: How many entities.
        relations: How many relations.
        concepts: How many concept matrices.
        support_size: The most concepts on one side of a relation; each side has one to so many.
        dim: The dimension of the entity vectors.
        density: Triples per entity of the most frequent relation. With fewer than the default, triples say too
            little about where entities lie for the concepts to be found again.
        noise: Random triples per true triple.
        valid_share: The share of triples held out for valid.
        test_share: The share of triples held out for test.
    """
    check_seed(seed)
    _check_sizes(entities, relations, concepts, support_size, dim, density, noise)
    rng = np.random.default_rng(seed)
    kinds = planting.assign_kinds(relations)
    geometry = _draw_geometry(rng, kinds, entities, concepts, support_size, dim)
    sizes = planting.draw_sizes(rng, kinds, entities, density)
    triples = _grow(rng, geometry, kinds, sizes, noise)
    width = len(str(entities - 1))
    graph = Graph(
        "planted",
        Vocabulary([f"entity_{number:0{width}}" for number in range(entities)]),
        Vocabulary(kinds.name_relations(), kind="relation"),
        *split_triples(triples, valid_share, test_share, seed),
        notes=(f"Grown from {concepts} concepts with seed {seed}; {noise:.0%} random triples were added.",),
    )
    return Planted(graph, geometry, kinds.inverse_pairs, kinds.symmetric, kinds.rare)


def _draw_geometry(
    rng: np.random.Generator, kinds: Kinds, entities: int, concepts: int, support_size: int, dim: int
) -> Geometry:
    """Draw what makes triples true; the order of the draws is part of what a seed means."""
    supports, weights = planting.draw_sides(rng, kinds, concepts, support_size)
    return Geometry(
        concepts=planting.draw_concepts(rng, concepts, dim),
        supports=supports,
        weights=weights,
        translations=planting.draw_translations(rng, kinds, dim),
        vectors=planting.scale_rows(rng.normal(size=(entities, dim)), 1.0),
    )


def _grow(rng: np.random.Generator, geometry: Geometry, kinds: Kinds, sizes: Integers, noise: float) -> Triples:
    """Return near pairs of each relation and some random ones, every entity in at least one triple."""
    entities = len(geometry.vectors)
    reaches = planting.choose_reaches(kinds, sizes)
    parts, spares = [], []
    for relation in range(kinds.count):
        pairs, distances = planting.find_nearest(*geometry.project(relation))
        size = int(sizes[relation])
        if relation in kinds.rare:
            pairs = rng.permutation(pairs[: reaches[relation]])
        if relation in kinds.symmetric:
            parts.append(_attach(planting.close_symmetrically(pairs, size, entities), relation))
        else:
            parts.append(_attach(pairs[:size], relation))
        if relation in kinds.plain and relation not in kinds.rare:
            # How much farther than the last triple taken: comparable between relations.
            spares.append((_attach(pairs, relation), distances / distances[min(size, len(distances)) - 1]))
        extra = round(noise * size)
        extra = min(extra, RARE - 1 - size) if relation in kinds.rare else extra
        parts.append(_attach(rng.integers(0, entities, (extra, 2)), relation))
    triples = np.concatenate([*parts, _cover(np.concatenate(parts), spares, entities)])
    key = key_triples([triples], entities, kinds.count)[0]
    return triples[np.sort(np.unique(key, return_index=True)[1])]


def _cover(triples: Triples, spares: list[tuple[Triples, Floats]], entities: int) -> Triples:
    """Return, for each entity without a triple, the spare triple with it as head that is nearest to true."""
    covered = np.zeros(entities, dtype=np.bool_)
    covered[triples[:, (0, 2)]] = True
    candidates = np.concatenate([spare for spare, _ in spares])
    order = np.argsort(np.concatenate([distance for _, distance in spares]), kind="stable")
    heads, first = np.unique(candidates[order, 0], return_index=True)
    return np.asarray(candidates[order][first[~covered[heads]]])


def _attach(pairs: Integers, relation: int) -> Triples:
    """Return pairs (n, 2) of head and tail as triples (n, 3)."""
    return np.insert(pairs, 1, relation, axis=1).astype(np.int64)


def _check_sizes(
    entities: int, relations: int, concepts: int, support_size: int, dim: int, density: float, noise: float
) -> None:
    """Refuse sizes from which no graph can be grown."""
    _check_range("entities", entities, RARE)
    _check_range("relations", relations, 4)
    _check_range("concepts", concepts, 1)
    _check_range("support_size", support_size, 1, concepts)
    _check_range("dim", dim, 2)
    _check_range("density", density, 0.1, planting.PER_HEAD / 2)
    _check_range("noise", noise, 0.0, 1.0)


def _check_range(name: str, value: float, least: float, most: float = np.inf) -> None:
    """Refuse a size that is too small or too large."""
    if not least <= value <= most:
        upper = "" if most == np.inf else f" and at most {most:g}"
        raise DataError(f"a planted graph cannot have {name} = {value}: give at least {least:g}{upper}")
