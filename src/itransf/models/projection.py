"""Projections of entity vectors into the space of a relation."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from itransf.errors import ConfigError
from itransf.models.concepts import AttentionKind, ConceptAttention
from itransf.ops.attention import compose
from itransf.ops.grouped import group_rows, grouped_product, spread_product

NOISE = 0.005  # standard deviation of the noise on the initial identity (the paper's value)


class Projection(nn.Module, ABC):
    """Maps entity vectors into the space of their relations."""

    @abstractmethod
    def forward(self, vectors: Tensor, relations: Tensor) -> Tensor:
        """Return each vector (b, d) as its relation (b,) projects it."""

    def project_table(self, table: Tensor, relations: Tensor) -> Tensor:
        """Return every row of a table (n, d) as each of these relations (u,) projects it, (u, n, d)."""
        n = len(table)
        rows: Tensor = self(table.repeat(len(relations), 1), relations.repeat_interleave(n))
        return rows.view(len(relations), n, -1)

    def matrices(self, relations: Tensor) -> Tensor:
        """Return the matrices (u, d, d) of distinct relations (u,), or their diagonals (u, d).

        Raises:
            ConfigError: The projection is not given by matrices.
        """
        raise ConfigError(f"a {type(self).__name__} is not given by a matrix per relation")


class NoProjection(Projection):
    """The identity."""

    def __init__(self, relations: int, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, vectors: Tensor, relations: Tensor) -> Tensor:
        """Return the vectors."""
        return vectors

    def project_table(self, table: Tensor, relations: Tensor) -> Tensor:
        """Return the table, once per relation."""
        return table.expand(len(relations), -1, -1)

    def matrices(self, relations: Tensor) -> Tensor:
        """Return the diagonals of identity matrices, (u, d)."""
        return torch.ones(len(relations), self.dim, device=relations.device)


class MatrixProjection(Projection):
    """Multiplies with one matrix per relation, which may be diagonal."""

    @abstractmethod
    def matrices(self, relations: Tensor) -> Tensor:
        """Return the matrices (u, d, d) of distinct relations (u,), or their diagonals (u, d)."""

    def forward(self, vectors: Tensor, relations: Tensor) -> Tensor:
        """Return W[r] v for each row (b, d)."""
        grouping = group_rows(relations)
        return grouped_product(vectors, self.matrices(grouping.keys), grouping)

    def project_table(self, table: Tensor, relations: Tensor) -> Tensor:
        """Return W[r] v for each row v (n, d) and relation (u,), (u, n, d)."""
        return spread_product(table, self.matrices(relations))


class FullProjection(MatrixProjection):
    """One free matrix per relation, initialized as the identity plus noise."""

    def __init__(self, relations: int, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(noisy_identities(relations, dim).view(relations, dim * dim))
        self.dim = dim

    def matrices(self, relations: Tensor) -> Tensor:
        """Return W[r], (u, d, d)."""
        return embedding(relations, self.weight, sparse=True).view(-1, self.dim, self.dim)


class DiagonalProjection(MatrixProjection):
    """One free diagonal matrix per relation, initialized as zero, so that each entry can take either sign."""

    def __init__(self, relations: int, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(relations, dim, device="cpu"))

    def matrices(self, relations: Tensor) -> Tensor:
        """Return the diagonals, (u, d)."""
        return embedding(relations, self.weight, sparse=True)


class ComposedProjection(MatrixProjection):
    """W[r] = sum_i weights[r, i] D[i] for fixed weights; the identity for a relation without any weight.

    Args:
        concepts: D, (m, d, d), or diagonals, (m, d).
        weights: (r, m).
    """

    def __init__(self, concepts: Tensor, weights: Tensor) -> None:
        super().__init__()
        self.concepts, self.weights = concepts.detach(), weights

    def matrices(self, relations: Tensor) -> Tensor:
        """Return W[r], (u, d, d), or its diagonal, (u, d)."""
        weights = self.weights[relations]
        composed = (weights @ self.concepts.flatten(1)).view(-1, *self.concepts.shape[1:])
        composed[(weights == 0).all(dim=1)] = identity_like(composed)
        return composed


class ConceptProjection(ConceptAttention, MatrixProjection):
    """Matrices composed of shared concepts: W[r] = sum_i attention[r, i] D[i].

    Args:
        concepts: Concept tensor D, matrices (m, d, d) or diagonals (m, d), shared with the projection of the other
            side.
        relations: Number of relations.
        support_size: Maximum number k of concepts of a relation.
        temperature: Temperature of the softmax.
        kind: Kind of attention.
    """

    def __init__(
        self, concepts: nn.Parameter, relations: int, support_size: int, temperature: float, kind: AttentionKind
    ) -> None:
        super().__init__(len(concepts), relations, support_size, kind, temperature)
        self.concepts = concepts

    def matrices(self, relations: Tensor) -> Tensor:
        """Return the composed matrices, (u, d, d), or diagonals, (u, d)."""
        return compose(self.concepts, self.support[relations], self.weights(relations))

    def fixed(self, weights: Tensor) -> ComposedProjection:
        """Return the projection with these weights (r, m)."""
        return ComposedProjection(self.concepts, weights)


def identity_like(matrices: Tensor) -> Tensor:
    """Return the identity in the form of these matrices: (d, d), or its diagonal, (d,)."""
    ones = matrices.new_ones(matrices.shape[-1])
    return ones.diag() if matrices.dim() == 3 else ones


def noisy_identities(count: int, dim: int) -> Tensor:
    """Return identity matrices with noise from N(0, 0.005^2) added, (count, d, d)."""
    return torch.eye(dim, device="cpu") + NOISE * torch.randn(count, dim, dim, device="cpu")
