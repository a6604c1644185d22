"""Splitting a score exactly: how much each concept, and the translation, adds to a triple's distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.data.graph import Triples
from itransf.interpret.spaces import Part, Space, open_space
from itransf.models import Model
from itransf.ops.distance import Norm, distance

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Split:
    """The distances of triples of one relation, split into parts.

    Attributes:
        parts: The concepts of the head side, the translation, the concepts of the tail side, (p,).
        values: What each part adds to each triple's distance, (n, p); the rows sum to the distances.
        distances: |P_head(h) + r - P_tail(t)|, the scores' opposites, (n,).
    """

    parts: tuple[Part, ...]
    values: Floats
    distances: Floats


@torch.no_grad()
def split_distances(model: Model, triples: Triples) -> Split:
    """Split the distance f of each triple into what its parts add.

    With x = P_head(h) + r - P_tail(t) and u = sign(x) for the l1 norm, x / |x| for the l2 norm, f = <u, x>. Concept i
    adds <u, s a_i D_i h> on the head side and -<u, s a_i D_i t> on the tail side, the translation <u, r>, where s is
    the factor by which the model holds the projected vector to its length. Everything is computed in double
    precision, whatever the model's is.

    Args:
        model: A model of the translation family.
        triples: (n, 3) triples of one relation.

    Returns:
        The split; a relation's own matrix (STransE, TransR), or an entity as it is (TransE), is one part.
    """
    space = open_space(model, int(triples[0, 1]), torch.float64)
    vectors = place_summands(space, torch.tensor(triples, device=space.translation.device))
    residuals = vectors.sum(1)  # (n, d)
    values = torch.einsum("npd,nd->np", vectors, find_direction(residuals, space.model.config.p_norm))
    distances = distance(residuals, space.model.config.p_norm)
    parts = (*space.parts["head"], Part("translation"), *space.parts["tail"])
    return Split(parts, values.cpu().numpy(), distances.cpu().numpy())


def place_summands(space: Space, triples: Tensor) -> Tensor:
    """Return the summands of P_head(h) + r - P_tail(t) for each triple, (n, p, d)."""
    heads = space.place_parts(triples[:, 0], "head")
    tails = space.place_parts(triples[:, 2], "tail")
    translation = space.translation.expand(len(triples), 1, -1)
    return torch.cat([heads, translation, -tails], dim=1)


def find_direction(residuals: Tensor, norm: Norm) -> Tensor:
    """Return u with <u, x> = |x| for each residual x, (n, d): sign(x) or x / |x|; zero where x is."""
    if norm == 1:
        return residuals.sign()
    return torch.nn.functional.normalize(residuals, dim=1, eps=torch.finfo(residuals.dtype).tiny)
