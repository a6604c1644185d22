"""Projections of entity vectors into the space of a relation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from itransf.errors import ConfigError
from itransf.ops.attention import compose, scatter_weights, sparse_softmax
from itransf.ops.grouped import group_rows, grouped_product, spread_product

AttentionKind = Literal["sparse", "dense", "l1"]
FREE, PINNED, FORBIDDEN = 0, 1, -1  # a person's rule for a concept on a side of a relation
NOISE = 0.005  # standard deviation of the noise on the initial identity (the paper's value)


class Projection(nn.Module, ABC):
    """Maps entity vectors into the space of their relations."""

    @abstractmethod
    def forward(self, vectors: Tensor, relations: Tensor) -> Tensor:
        """Return each vector (b, d) as its relation (b,) projects it."""

    def project_table(self, table: Tensor, relations: Tensor) -> Tensor:
        """Return every row of a table (n, d) as each of these relations (u,) projects it, (u, n, d)."""
        n = len(table)
        rows = self(table.repeat(len(relations), 1), relations.repeat_interleave(n))
        return torch.as_tensor(rows.view(len(relations), n, -1))

    def matrices(self, relations: Tensor) -> Tensor:
        """Return the matrices (u, d, d) of distinct relations (u,).

        Raises:
            ConfigError: The projection is not given by matrices.
        """
        raise ConfigError(f"a {type(self).__name__} is not given by a matrix per relation, so it cannot be explained")


class NoProjection(Projection):
    """The identity."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, vectors: Tensor, relations: Tensor) -> Tensor:
        """Return the vectors."""
        return vectors

    def project_table(self, table: Tensor, relations: Tensor) -> Tensor:
        """Return the table, once per relation."""
        return table.expand(len(relations), -1, -1)

    def matrices(self, relations: Tensor) -> Tensor:
        """Return identity matrices, (u, d, d)."""
        return torch.eye(self.dim, device=relations.device).expand(len(relations), -1, -1)


class MatrixProjection(Projection):
    """Multiplies with one matrix per relation."""

    @abstractmethod
    def matrices(self, relations: Tensor) -> Tensor:
        """Return the matrices (u, d, d) of distinct relations (u,)."""

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


class ConceptProjection(MatrixProjection):
    """Matrices composed of shared concepts: W[r] = sum_i attention[r, i] D[i].

    `support` (r, k) holds the concepts that each relation may use. `rules` (r, m) holds which of them a person pinned
    or forbade; code that writes supports must keep to them.

    Args:
        concepts: Concept tensor D (m, d, d), shared with the projection of the other side.
        relations: Number of relations.
        support_size: Maximum number k of concepts of a relation; ignored unless `kind` is sparse.
        temperature: Temperature of the softmax.
        kind: `sparse` (softmax over at most k), `dense` (softmax over all m), `l1` (free weights, no softmax).
    """

    support: Tensor
    rules: Tensor

    def __init__(
        self,
        concepts: nn.Parameter,
        relations: int,
        support_size: int,
        temperature: float,
        kind: AttentionKind,
    ) -> None:
        super().__init__()
        m = concepts.shape[0]
        self.concepts, self.temperature, self.kind = concepts, temperature, kind
        # Free weights start as the softmax of equal scores: an even mixture.
        start = 1.0 / m if kind == "l1" else 0.0
        self.scores = nn.Parameter(torch.full((relations, m), start, device="cpu"))
        k = support_size if kind == "sparse" else m
        everything = torch.arange(m, device="cpu").repeat(relations, 1)
        self.register_buffer("support", random_supports(relations, m, k) if k < m else everything)
        self.register_buffer("rules", torch.full((relations, m), FREE, dtype=torch.int8, device="cpu"))

    def weights(self, relations: Tensor) -> Tensor:
        """Return the attention weights on each relation's support, (u, k)."""
        scores = embedding(relations, self.scores, sparse=True)  # (u, m)
        support = self.support[relations]
        if self.kind == "l1":
            return scores.gather(-1, support)
        return sparse_softmax(scores, support, self.temperature)

    def matrices(self, relations: Tensor) -> Tensor:
        """Return the composed matrices, (u, d, d)."""
        return compose(self.concepts, self.support[relations], self.weights(relations))

    def attention(self) -> Tensor:
        """Return the attention of every relation over all concepts, (r, m)."""
        everything = torch.arange(len(self.scores), device=self.scores.device)
        return scatter_weights(self.weights(everything), self.support, len(self.concepts))


def noisy_identities(count: int, dim: int) -> Tensor:
    """Return identity matrices with noise from N(0, 0.005^2) added, (count, d, d)."""
    return torch.eye(dim, device="cpu") + NOISE * torch.randn(count, dim, dim, device="cpu")


def random_supports(relations: int, concepts: int, size: int, generator: torch.Generator | None = None) -> Tensor:
    """Return `size` distinct concepts per relation, ascending, (r, k)."""
    drawn = torch.rand(relations, concepts, generator=generator, device="cpu")
    return drawn.argsort(dim=1)[:, :size].sort(dim=1).values
