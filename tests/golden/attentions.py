"""An attention made by hand, with an inverse pair, a symmetric relation and a concept nobody uses."""

from __future__ import annotations

import numpy as np

from itransf.data import Vocabulary
from itransf.interpret import Attention

NAMES = ("capital_of", "near", "has_capital", "city_in", "P37")
LABELS = {"P37": "has official language"}
COUNTS = (185, 1012, 180, 650, 33)

HEADS = {0: {1: 1.0}, 1: {3: 0.9, 1: 0.1}, 2: {0: 0.75, 4: 0.25}, 3: {1: 0.625, 0: 0.375}, 4: {0: 1.0}}
TAILS = {0: {0: 0.75, 4: 0.25}, 1: {3: 0.9, 1: 0.1}, 2: {1: 1.0}, 3: {0: 1.0}, 4: {4: 0.97, 3: 0.03}}


def make_attention() -> Attention:
    """Return the attention of five relations over six concepts, of which number 2 and 5 are unused."""
    weights = np.zeros((2, len(NAMES), 6), dtype=np.float32)
    for side, uses in enumerate((HEADS, TAILS)):
        for relation, concepts in uses.items():
            for concept, weight in concepts.items():
                weights[side, relation, concept] = weight
    supports = np.argsort(-weights, axis=2, kind="stable")[:, :, :2]
    relations = Vocabulary(NAMES, LABELS, kind="relation")
    return Attention(weights, relations, supports, np.array(COUNTS, dtype=np.int64))


def make_inverse_attention() -> Attention:
    """Return signed shares of two inverse relations, a symmetric one, and one that uses the opposite of it."""
    shares = [[0.5, 0.0, 0.5, 0.0], [0.5, 0.0, -0.5, 0.0], [0.25, 0.75, 0.0, 0.0], [-0.25, -0.5, 0.0, 0.25]]
    relations = Vocabulary(("part_of", "has_part", "near", "far"), kind="relation")
    supports = np.argsort(-np.abs(np.array([shares])), axis=2, kind="stable")[:, :, :3]
    symmetries = ("symmetric", "symmetric", "antisymmetric", "antisymmetric")
    weights, counts = np.array([shares], dtype=np.float32), np.array([8, 6, 4, 2], dtype=np.int64)
    return Attention(weights, relations, supports, counts, "signed", ("relation",), symmetries)


def make_signed_attention() -> Attention:
    """Return an l1 attention with weights below zero."""
    weights = np.array([[[0.5, -0.25, 0.0], [0.1, 0.0, 0.4]], [[-0.5, 0.02, 0.0], [0.0, 0.3, -0.1]]], dtype=np.float32)
    supports = np.tile(np.arange(3), (2, 2, 1))
    relations = Vocabulary(("likes", "knows"), kind="relation")
    return Attention(weights, relations, supports, np.array([5, 9], dtype=np.int64), "l1")
