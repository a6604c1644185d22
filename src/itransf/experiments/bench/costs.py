"""The least arithmetic and memory traffic that training on a triple and ranking a query take, as formulas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from itransf.data.graph import Triples

FLOAT = 4  # bytes
PER_TRIPLE = (
    "A triple: three rows (head, tail, one replacement) projected forward and backward, 18 d^2; the matrices of the "
    "u relations of a batch of b composed forward and backward, 12 k d^2 u / b; two distances forward and backward, "
    "16 d. Bytes: those rows read and written once, and the concepts in use once per batch."
)
PER_QUERY = (
    "A query: its own row projected, 2 d^2; its distances to all e entities, 3 e d; its share of the s relation "
    "sides that are composed and project the entity table once for all q queries, (2 e d^2 + 2 k d^2) s / q. "
    "Bytes: the table read, written projected and read again, once per relation side."
)


@dataclass(frozen=True)
class Cost:
    """What one triple or query takes.

    Attributes:
        flops: Floating point operations, a multiplication and an addition counting two.
        bytes: Memory read and written, everything that is used again soon being in a cache.
    """

    flops: float
    bytes: float


@dataclass(frozen=True)
class Shape:
    """Sizes of ITransF and of its batches.

    Attributes:
        dim: d, of vectors and matrices.
        concepts: m.
        support_size: k.
        batch_size: b, in triples.
    """

    dim: int
    concepts: int
    support_size: int = 5
    batch_size: int = 1000


def cost_of_triple(shape: Shape, relations: float) -> Cost:
    """Return what training on one triple with one negative takes, `relations` being distinct ones of a batch."""
    d, k, b = shape.dim, shape.support_size, shape.batch_size
    flops = 18 * d**2 + 12 * k * d**2 * relations / b + 16 * d
    concepts = min(shape.concepts, 2 * k * relations)
    return Cost(flops, 2 * FLOAT * (3 * d + concepts * d**2 / b))


def cost_of_query(shape: Shape, entities: int, share: float) -> Cost:
    """Return what ranking one query among all entities takes, `share` being relation sides per query."""
    d, k = shape.dim, shape.support_size
    flops = 2 * d**2 + 3 * entities * d + (2 * entities * d**2 + 2 * k * d**2) * share
    return Cost(flops, 3 * FLOAT * entities * d * share)


def expect_relations(train: Triples, batch: int) -> float:
    """Return how many distinct relations a random batch of training triples has on average."""
    shares = np.bincount(train[:, 1]) / len(train)
    return float((1.0 - (1.0 - shares) ** min(batch, len(train))).sum())


def share_sides(ranked: Triples) -> float:
    """Return relation sides per query where these triples are ranked on both sides."""
    return len(np.unique(ranked[:, 1])) / max(len(ranked), 1)
