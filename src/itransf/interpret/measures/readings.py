"""What the measures read of a trained model, whichever kind it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.data.graph import Graph
from itransf.data.sorting import Integers
from itransf.errors import ConfigError
from itransf.interpret.attention import read_attention
from itransf.interpret.kinship import read_matrices
from itransf.interpret.lending import share_attention
from itransf.models import SIDES, ITransF, Model, STransE
from itransf.models.projection import FullProjection
from itransf.models.translation import Translation, TranslationConfig

Weights = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Reading:
    """A model as the measures see it.

    Attributes:
        name: What to call it.
        graph: What it learned from.
        model: Of the translation family.
        sides: (2, r, f) what stands for each relation side where two are compared: its attention or, in a model
            without concepts, its matrix minus the identity. Rows have length one, or zero where there is nothing.
        weights: (2, r, m) attention of heads, then of tails; None in a model without concepts.
        concepts: (m, d, d) the matrices that the weights compose; None in a model without concepts.
        free: Whether weights have no sum to keep, as those of an l1 attention or of a sparse code.
    """

    name: str
    graph: Graph
    model: Translation
    sides: Weights
    weights: Weights | None = None
    concepts: Tensor | None = None
    free: bool = False

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """The sizes of weights as shares of their side's sum, (2, r, m); a side without weights keeps zeros."""
        assert self.weights is not None, "only concepts have weights"
        return share_attention(self.weights)

    def compare(self, left: int, right: int) -> npt.NDArray[np.float64]:
        """Return the cosines of one side of every relation with one side of every relation, (r, r)."""
        rows = self.sides.astype(np.float64)
        return np.asarray(rows[left] @ rows[right].T)

    def compare_ends(self) -> npt.NDArray[np.float64]:
        """Return the cosine of each relation's own two sides, (r,)."""
        rows = self.sides.astype(np.float64)
        return np.asarray((rows[0] * rows[1]).sum(axis=1))


@torch.no_grad()
def read_model(model: Model, graph: Graph, name: str) -> Reading:
    """Read a trained model.

    Raises:
        ConfigError: The model is not of the translation family.
    """
    if not isinstance(model, Translation):
        raise ConfigError(
            f"a {type(model).__name__} model has neither concepts nor matrices to measure; "
            "give runs of transe, transr, stranse or itransf"
        )
    if isinstance(model, ITransF):
        weights = read_attention(model, graph).weights
        return read_weights(model, graph, name, weights, model.concepts.detach(), model.config.attention == "l1")
    everyone = torch.arange(len(graph.relations), device=model.entities.device)
    identity = torch.eye(model.config.dim, dtype=torch.float64, device=model.entities.device)
    matrices = [(read_matrices(model, everyone, side) - identity).flatten(1).float().cpu() for side in SIDES]
    return Reading(name, graph, model, scale_rows(torch.stack(matrices).numpy()))


def read_weights(
    model: Translation, graph: Graph, name: str, weights: Weights, concepts: Tensor, free: bool
) -> Reading:
    """Read a model whose matrices are composed with these weights (2, r, m) of these concepts (m, d, d)."""
    return Reading(name, graph, model, scale_rows(weights), weights, concepts, free)


def scale_rows(rows: Weights) -> Weights:
    """Return the rows of a stack (2, r, f) with length one; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("srf,srf->sr", rows, rows, dtype=np.float64))[:, :, None]
    return np.asarray(rows / np.where(lengths == 0, 1.0, lengths), dtype=np.float32)


def draw_random(reading: Reading, seed: int = 0) -> Reading:
    """Return the reading with each side's weights moved to random concepts (matrices: to random entries)."""
    rng = np.random.default_rng(seed)
    moved = rng.permuted(reading.sides if reading.weights is None else reading.weights, axis=2)
    weights = None if reading.weights is None else moved
    return replace(reading, name="random", sides=scale_rows(moved), weights=weights)


def find_top(reading: Reading, groups: int, seed: int = 0) -> Integers:
    """Return the heaviest concept of each relation side, (2, r).

    Where there are no concepts, the sides are put into `groups` groups by the direction of their matrices instead
    (spherical k-means).
    """
    if reading.weights is not None:
        return np.asarray(np.abs(reading.weights).argmax(axis=2))
    rows = reading.sides.reshape(-1, reading.sides.shape[2])
    return group_directions(rows, groups, seed).reshape(2, -1)


def group_directions(rows: Weights, count: int, seed: int, rounds: int = 20) -> Integers:
    """Put vectors (n, f) into at most `count` groups of similar direction, (n,)."""
    rng = np.random.default_rng(seed)
    centres = rows[rng.permutation(len(rows))[:count]]
    groups = np.zeros(len(rows), dtype=np.int64)
    for _ in range(rounds):
        groups = (rows @ centres.T).argmax(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, groups, rows)
        filled = np.bincount(groups, minlength=len(centres)) > 0
        sums[~filled] = centres[~filled]
        centres = scale_rows(sums[None])[0]
    return np.asarray(groups)


@torch.no_grad()
def compose_model(reading: Reading, weights: Weights) -> STransE:
    """Return the reading's model with its matrices composed anew, with these weights (2, r, m).

    A side without any weight leaves entities where they are.
    """
    assert reading.concepts is not None, "only concepts can be composed"
    source = reading.model
    shared = {key: getattr(source.config, key) for key in TranslationConfig.__dataclass_fields__}
    composed = STransE(source.sizes, TranslationConfig(**shared)).to(source.entities.device)
    composed.entities.copy_(source.entities)
    composed.relations.copy_(source.relations)
    concepts = reading.concepts.to(source.entities.device).flatten(1)  # (m, d * d)
    identity = torch.eye(source.config.dim, device=concepts.device, dtype=concepts.dtype).flatten()
    for projection, own in zip((composed.project_head, composed.project_tail), weights, strict=True):
        given = torch.as_tensor(own, device=concepts.device, dtype=concepts.dtype)
        empty = (given == 0).all(dim=1, keepdim=True)
        assert isinstance(projection, FullProjection), "STransE has a matrix for each relation"
        projection.weight.copy_(torch.where(empty, identity, given @ concepts))
    return composed.eval()


def remove_weights(reading: Reading, gone: npt.NDArray[np.bool_]) -> Weights:
    """Return the weights without those marked (2, r, m), the rest of each side scaled to the sum it had.

    Free weights have no sum to keep: the others stay as they are.
    """
    assert reading.weights is not None, "only concepts have weights"
    left = np.where(gone, 0.0, reading.weights).astype(np.float32)
    if reading.free:
        return np.asarray(left)
    sums, before = left.sum(axis=2, keepdims=True), reading.weights.sum(axis=2, keepdims=True)
    return np.asarray(left * np.where(sums > 0, before / np.where(sums > 0, sums, 1.0), 0.0), dtype=np.float32)


def check_same_graph(readings: Sequence[Reading]) -> None:
    """Refuse readings of different graphs: they cannot be compared relation by relation.

    Raises:
        ConfigError: They differ.
    """
    first = readings[0]
    for other in readings[1:]:
        if other.graph.relations.names != first.graph.relations.names or (
            len(other.graph.entities) != len(first.graph.entities)
        ):
            raise ConfigError(
                f"these runs were trained on different graphs, {first.graph.name} ({first.name}) and "
                f"{other.graph.name} ({other.name}); give runs on the same graph"
            )
