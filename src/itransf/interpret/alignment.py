"""Alignment of concepts: which concepts of one seed are found in the models of other seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from itransf.data.known import Floats
from itransf.interpret.attention import Attention
from itransf.interpret.sharing import find_shares

FOUND = 0.5
"""The similarity from which a concept counts as found in another model."""


def align_concepts(attentions: Sequence[Attention]) -> tuple[int, tuple[int, ...]]:
    """Compare the concepts of models of the same relations.

    Returns:
        The number of the model whose concepts are most similar to those of the others, and the number of models, itself
        included, in which each of its concepts is found; 0 for a concept that no relation uses.
    """
    matched = [[match_concepts(left, right) for right in attentions] for left in attentions]
    chosen = int(np.argmax([np.concatenate(row).mean() for row in matched]))
    return chosen, tuple((np.stack(matched[chosen]) >= FOUND).sum(axis=0).tolist())


def match_concepts(left: Attention, right: Attention) -> Floats:
    """Return the similarity of each concept of a model with its counterpart in another one, (m,).

    similarity(i, j) = 2 sum_x min(a[x, i], b[x, j]) / sum_x (a[x, i] + b[x, j]), where a[x, i] and b[x, j] are the
    shares of the concepts in part x of a relation (absolute weights divided by their sum): the share of their use that
    both have in common. It is 0 between a symmetric and an antisymmetric concept. Counterparts are chosen one to one,
    the most similar first; a concept without one has the similarity 0.
    """
    own, other = (find_shares(each.weights).reshape(-1, each.weights.shape[2]) for each in (left, right))
    similarity = np.zeros((own.shape[1], other.shape[1]))
    for concept, column in enumerate(own.T):
        rows = column.nonzero()[0]
        common = 2 * np.minimum(column[rows, None], other[rows]).sum(axis=0)
        similarity[concept] = common / np.maximum(column.sum() + other.sum(axis=0), np.finfo(float).tiny)
    if left.symmetries:
        similarity *= np.array(left.symmetries)[:, None] == np.array(right.symmetries)
    found = np.zeros(len(similarity))
    for _ in range(min(similarity.shape)):
        place = np.unravel_index(similarity.argmax(), similarity.shape)
        found[place[0]] = similarity[place]
        similarity[place[0]], similarity[:, place[1]] = -1.0, -1.0
    return np.maximum(found, 0.0)
