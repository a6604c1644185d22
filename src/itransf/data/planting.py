"""The parts of a planted graph: which relations mirror which, their concepts, and the triples that follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from itransf.data.sorting import Integers

Floats = npt.NDArray[np.float64]

RARE = 30
"""A rare relation has fewer triples than this."""

PER_HEAD = 20
"""The most tails that a head gets by nearness in one relation."""

FAINT = 0.2
"""How much a concept leaves of the directions that it does not look at."""

_BLOCK = 2**22  # distances held at once


@dataclass(frozen=True)
class Kinds:
    """Which relations are special, by number."""

    count: int
    inverse_pairs: tuple[tuple[int, int], ...]
    symmetric: tuple[int, ...]
    rare: tuple[int, ...]

    @property
    def plain(self) -> tuple[int, ...]:
        """Relations that are neither symmetric nor in an inverse pair."""
        special = {number for pair in self.inverse_pairs for number in pair} | set(self.symmetric)
        return tuple(number for number in range(self.count) if number not in special)

    def name_relations(self) -> list[str]:
        """Return a telling name for each relation."""
        width = len(str(self.count - 1))
        names = [f"relation_{number:0{width}}" for number in range(self.count)]
        for original, inverse in self.inverse_pairs:
            names[inverse] = f"inverse_of_{names[original]}"
        for number in self.symmetric:
            names[number] = f"symmetric_{number:0{width}}"
        return names


def assign_kinds(count: int) -> Kinds:
    """Make a sixth of the relations inverses of others, an eighth symmetric, a quarter rare."""
    pair_count, symmetric_count, rare_count = count // 6, count // 8, count // 4
    pairs = tuple((number, pair_count + number) for number in range(pair_count))
    symmetric = tuple(range(2 * pair_count, 2 * pair_count + symmetric_count))
    # Rare relations are of every kind: a rare inverse is where sharing concepts should pay most.
    rare_inverses = [inverse for _, inverse in pairs][: rare_count // 3]
    rare_symmetric = list(symmetric)[: rare_count // 6]
    rest = rare_count - len(rare_inverses) - len(rare_symmetric)
    rare = sorted([*rare_inverses, *rare_symmetric, *range(count - rest, count)])
    return Kinds(count, pairs, symmetric, tuple(rare))


def draw_concepts(rng: np.random.Generator, count: int, dim: int) -> Floats:
    """Return (m, d, d) projections on random halves of the space that leave a little of the rest.

    They are symmetric, of equal trace, and as long as an identity in the Frobenius norm. Two of them share no
    direction in full, but all see all of an entity a little: were they blind for the rest, few triples would say where
    an entity lies in each direction.
    """
    axes = np.linalg.qr(rng.normal(size=(count, dim, max(dim // 2, 1))))[0]  # (m, d, d / 2)
    concepts = FAINT * np.eye(dim) + (1 - FAINT) * axes @ axes.swapaxes(1, 2)
    return np.asarray(concepts * np.sqrt(dim / (concepts**2).sum(axis=(1, 2), keepdims=True)))


def draw_sides(rng: np.random.Generator, kinds: Kinds, concepts: int, support_size: int) -> tuple[Integers, Floats]:
    """Return supports and weights (2, r, k) of the head and tail sides, padded with -1 and 0.

    Concepts are dealt round after round, so that each is used, and used by several relations.
    """
    supports = np.full((2, kinds.count, support_size), -1, dtype=np.int64)
    weights = np.zeros((2, kinds.count, support_size))
    deck: list[int] = []
    for relation in range(kinds.count):
        for side in range(2):
            size = int(rng.integers(1, support_size + 1))
            chosen: list[int] = []
            while len(chosen) < size:
                deck = deck or rng.permutation(concepts).tolist()
                card = deck.pop()
                if card not in chosen:
                    chosen.append(card)
            share = rng.uniform(1.0, 2.0, size)
            supports[side, relation, :size] = chosen
            weights[side, relation, :size] = share / share.sum()
    for original, inverse in kinds.inverse_pairs:
        supports[:, inverse], weights[:, inverse] = supports[::-1, original], weights[::-1, original]
    for relation in kinds.symmetric:
        supports[1, relation], weights[1, relation] = supports[0, relation], weights[0, relation]
    return supports, weights


def draw_translations(rng: np.random.Generator, kinds: Kinds, dim: int, length: float = 0.5) -> Floats:
    """Return (r, d) translations: opposite for inverses, none for symmetric relations."""
    translations = scale_rows(rng.normal(size=(kinds.count, dim)), length)
    translations[list(kinds.symmetric)] = 0.0
    for original, inverse in kinds.inverse_pairs:
        translations[inverse] = -translations[original]
    return translations


def draw_sizes(rng: np.random.Generator, kinds: Kinds, entities: int, density: float) -> Integers:
    """Return how many triples each relation is to have: few for the rare, many to some for the others."""
    sizes = np.zeros(kinds.count, dtype=np.int64)
    rare = np.isin(np.arange(kinds.count), kinds.rare)
    most = max(density * entities, 4 * RARE)
    least = max(0.15 * most, 2 * RARE)
    sizes[~rare] = rng.permutation(np.geomspace(most, least, int((~rare).sum())).astype(np.int64))
    sizes[rare] = rng.integers(RARE // 2, RARE - 2, int(rare.sum()))
    return sizes


def choose_reaches(kinds: Kinds, sizes: Integers) -> Integers:
    """Return from how many of the nearest pairs each relation's triples are taken.

    Those of a frequent relation are just the nearest. The very nearest few lie close together whatever is looked at,
    and would say nothing of a rare relation's concepts: it has some of as many pairs as a frequent one would have, or
    as the relation has that it mirrors.
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
        squares[np.arange(len(rows)), rows] = np.inf  # nothing is related to itself
        nearest = np.argpartition(squares, count, axis=1)[:, :count]
        found.append(np.stack((np.repeat(rows, count), nearest.reshape(-1)), axis=1))
        distances.append((np.take_along_axis(squares, nearest, 1) + (heads[rows] ** 2).sum(1)[:, None]).reshape(-1))
    pairs, squared = np.concatenate(found), np.concatenate(distances)
    order = np.argsort(squared, kind="stable")
    return pairs[order], np.sqrt(np.maximum(squared[order], 0.0))


def close_symmetrically(pairs: Integers, size: int, entities: int) -> Integers:
    """Return about `size` pairs, both directions of each, keeping the order of nearness."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    first = np.sort(np.unique(low * entities + high, return_index=True)[1])[: max(size // 2, 1)]
    return np.concatenate((pairs[first], pairs[first][:, ::-1]))


def scale_rows(rows: Floats, length: float) -> Floats:
    """Return the rows with this length each."""
    return np.asarray(rows * (length / np.linalg.norm(rows, axis=1, keepdims=True)))
