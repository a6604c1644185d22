"""Attention over concepts."""

from __future__ import annotations

import torch
from torch import Tensor


def sparse_softmax(scores: Tensor, support: Tensor, temperature: float) -> Tensor:
    """Return the weights of the supported concepts: softmax(scores / temperature) over the support.

    Args:
        scores: Pre-softmax scores v, (..., m).
        support: Indices of the allowed concepts, (..., k); all others have a weight of exactly zero.
        temperature: Softmax temperature; lower values give sharper weights.

    Returns:
        Weights (..., k) in the order of `support`, summing to one.
    """
    return torch.softmax(scores.gather(-1, support) / temperature, dim=-1)  # (..., m) -> (..., k)


def scatter_weights(weights: Tensor, support: Tensor, concepts: int) -> Tensor:
    """Return the full attention vectors (..., m) of supported weights (..., k)."""
    full = weights.new_zeros(*weights.shape[:-1], concepts)
    return full.scatter_(-1, support, weights)


def compose(concepts: Tensor, support: Tensor, weights: Tensor) -> Tensor:
    """Mix each row's supported concepts: sum_i weights[u, i] concepts[support[u, i]].

    The cost depends on k, not on m: unsupported concepts are not read.

    Args:
        concepts: Concept tensor D: matrices (m, d, d), or diagonals (m, d).
        support: Indices (u, k).
        weights: Weights (u, k).

    Returns:
        Matrices (u, d, d), or diagonals (u, d).
    """
    mixed = torch.nn.functional.embedding_bag(support, concepts.flatten(1), per_sample_weights=weights, mode="sum")
    return mixed.view(-1, *concepts.shape[1:])
