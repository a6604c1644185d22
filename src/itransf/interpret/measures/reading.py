"""A trained model as the measures see it: vectors of relations to compare, and the weights of concepts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from itransf.data import Floats, Graph, Integers
from itransf.errors import ConfigError
from itransf.interpret.attention import read_attention
from itransf.interpret.clustering import cosine_distance, cut_groups
from itransf.interpret.sharing import find_shares
from itransf.interpret.similarity import CHOICES, read_matrices
from itransf.models import SIDES, ConceptModel, DistMult, Model, Translation
from itransf.models.projection import identity_like

Weights = npt.NDArray[np.float32]
ROUNDS = 20  # of k-means


@dataclass(frozen=True, eq=False)
class Reading:
    """A trained model as the measures see it.

    Attributes:
        name: The name of the model in tables.
        graph: The graph it was trained on.
        model: The model.
        sides: (2, r, f) the vector by which each relation side is compared: its attention or, in a model without
            concepts, its matrix minus the identity. Where a relation has no sides, its attention or vector, and that of
            its inverse. Rows have length one, or zero where they are zero.
        weights: (p, r, m) attention of heads, then of tails, or of the relation; None in a model without concepts.
        signs: (f,) where a relation has no sides: -1 for what its inverse has with the opposite sign, else 1.
    """

    name: str
    graph: Graph
    model: Model
    sides: Weights
    weights: Weights | None = None
    signs: Weights | None = None

    @property
    def parts(self) -> int:
        """The number of parts of a relation: two sides, or one."""
        return 2 if self.signs is None else 1

    @property
    def counted(self) -> str:
        """What has attention or vectors of its own."""
        return "relation sides" if self.parts > 1 else "relations"

    @property
    def shares(self) -> Floats:
        """The absolute weights as shares of their part's sum, (p, r, m); zeros for a part without weights."""
        assert self.weights is not None, "only concepts have weights"
        return find_shares(self.weights)

    def compare(self, left: int, right: int) -> Floats:
        """Return the cosines of one side of every relation with one side of every relation, (r, r)."""
        rows = self.sides.astype(np.float64)
        return np.asarray(rows[left] @ rows[right].T)

    def compare_ends(self) -> Floats:
        """Return the cosine of each relation's two sides, (r,)."""
        rows = self.sides.astype(np.float64)
        return np.asarray((rows[0] * rows[1]).sum(axis=1))


@torch.no_grad()
def read_model(model: Model, graph: Graph, name: str) -> Reading:
    """Read a trained model.

    Raises:
        ConfigError: The model has neither concepts nor matrices.
    """
    weights: Weights | None = None
    signs: Weights | None = None
    if isinstance(model, ConceptModel):
        attention = read_attention(model, graph)
        rows = weights = attention.weights
        if len(attention.parts) == 1:
            signs = np.ones(weights.shape[2], dtype=np.float32)
            signs[list(attention.antisymmetric)] = -1
    elif isinstance(model, DistMult):
        vectors = model.relation_table().float()
        rows = vectors[None].cpu().numpy()
        signs = model.invert(torch.ones_like(vectors[:1]))[0].cpu().numpy()
    elif isinstance(model, Translation) and model.has_matrices:
        everyone = torch.arange(len(graph.relations), device=model.entities.device)
        matrices = [read_matrices(model, everyone, side) for side in SIDES]
        changes = [(each - identity_like(each)).flatten(1).float().cpu() for each in matrices]
        rows = torch.stack(changes).numpy()
    else:
        raise ConfigError(
            f"the model {type(model).__name__} has neither concepts nor matrices to measure; give runs of {CHOICES}"
        )
    return Reading(name, graph, model, make_sides(rows, signs), weights, signs)


def make_sides(rows: Weights, signs: Weights | None) -> Weights:
    """Return rows (p, r, f) as `Reading.sides`."""
    return scale_rows(rows if signs is None else np.concatenate([rows, rows * signs]))


def scale_rows(rows: Weights) -> Weights:
    """Return the rows of a stack (2, r, f) scaled to length one; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("srf,srf->sr", rows, rows, dtype=np.float64))[:, :, None]
    return np.asarray(rows / np.where(lengths == 0, 1.0, lengths), dtype=np.float32)


def draw_random(reading: Reading, seed: int = 0) -> Reading:
    """Return the reading with each part's weights moved to random concepts (matrices, vectors: to random entries)."""
    rng = np.random.default_rng(seed)
    moved = rng.permuted(reading.sides[: reading.parts] if reading.weights is None else reading.weights, axis=2)
    weights = None if reading.weights is None else moved
    return replace(reading, name="random", sides=make_sides(moved, reading.signs), weights=weights)


def find_top(reading: Reading, groups: int) -> Integers:
    """Return the heaviest concept of each part of each relation, (p, r).

    A model without concepts has the directions of its matrices or vectors clustered into `groups` groups (spherical
    k-means).
    """
    if reading.weights is not None:
        return np.asarray(np.abs(reading.weights).argmax(axis=2))
    rows = reading.sides[: reading.parts].reshape(-1, reading.sides.shape[2])
    return group_directions(rows, groups).reshape(reading.parts, -1)


def group_alike(reading: Reading, count: int) -> Integers:
    """Return `count` groups of relation sides with similar attention, (p, r).

    Average linkage on the cosines of absolute weights; of a model without concepts, on those of its directions.
    """
    rows = reading.sides[: reading.parts] if reading.weights is None else np.abs(reading.weights)
    flat = rows.reshape(-1, rows.shape[2]).astype(np.float64)
    return cut_groups(cosine_distance(flat), count).reshape(rows.shape[:2])


def group_directions(rows: Weights, count: int, seed: int = 0) -> Integers:
    """Cluster vectors (n, f) into at most `count` groups of similar direction, (n,)."""
    centres = rows[np.random.default_rng(seed).permutation(len(rows))[:count]]
    groups = np.zeros(len(rows), dtype=np.int64)
    for _ in range(ROUNDS):
        groups = (rows @ centres.T).argmax(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, groups, rows)
        filled = np.bincount(groups, minlength=len(centres)) > 0
        sums[~filled] = centres[~filled]
        centres = scale_rows(sums[None])[0]
    return np.asarray(groups)


def check_same_graph(readings: Sequence[Reading]) -> None:
    """Refuse readings of different graphs: they cannot be compared relation by relation.

    Raises:
        ConfigError: They differ.
    """
    first = readings[0]
    for other in readings[1:]:
        same = other.graph.relations.names == first.graph.relations.names
        if not same or len(other.graph.entities) != len(first.graph.entities):
            raise ConfigError(
                f"these runs were trained on different graphs, {first.graph.name} ({first.name}) and "
                f"{other.graph.name} ({other.name}); give runs on the same graph"
            )


def find_scale(reading: Reading) -> tuple[int, int]:
    """Return the number of concepts m and the support size k of a model, at which baselines are compared.

    A model without concepts has a matrix for each relation side, or a vector.
    """
    if reading.weights is None:
        return reading.parts * len(reading.graph.relations), 1
    concepts, model = reading.weights.shape[2], reading.model
    if isinstance(model, ConceptModel) and model.has_supports:
        return concepts, model.supports(model.parts[0]).shape[1]
    return concepts, concepts
