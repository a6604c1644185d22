"""DistMult."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from itransf.config import setting
from itransf.models.base import Compare, Defaults, Operation, Paper, Part, QueryModel, Side, Sizes, Split, look_up
from itransf.ops.grouped import multiply_transposed

SCALE = 1e-3  # standard deviation of initial embeddings (Lacroix et al., 2018)
ADAGRAD = {"optimizer": "adagrad", "learning_rate": 0.1, "lr_decay": "none"}  # which suits bilinear models


@dataclass(frozen=True)
class DistMultConfig:
    """Settings of DistMult and ComplEx."""

    dim: int = setting(100, "Dimension d of entity and relation embeddings.", "64 under 20,000 triples, else 100")


class DistMult(QueryModel):
    """<h, r, t> = sum_i h[i] r[i] t[i]   (Yang et al., 2015)."""

    Config: ClassVar[type] = DistMultConfig
    config: DistMultConfig
    paper: ClassVar[Paper | None] = Paper(
        "Embedding Entities and Relations for Learning and Inference in Knowledge Bases",
        "Yang, Yih, He, Gao, Deng",
        "ICLR 2015",
        "https://arxiv.org/abs/1412.6575",
    )
    fused: ClassVar[bool] = True
    compare: Compare = "dot"
    operation: ClassVar[Operation | None] = "multiply"
    chosen: ClassVar[Defaults] = {"training": {**ADAGRAD, "block_size": 1}, "regularizer": {"weight": 0.01}}
    numbers: ClassVar[int] = 1  # real numbers per dimension

    def __init__(self, sizes: Sizes, config: DistMultConfig) -> None:
        super().__init__(sizes, config)
        self.entities = self.start_table(sizes.entities)
        self.relations = self.start_table(sizes.relations)

    def start_table(self, rows: int) -> nn.Parameter:
        """Return a table of random embeddings."""
        return nn.Parameter(SCALE * torch.randn(rows, self.numbers * self.config.dim, device="cpu"))

    def relation_table(self) -> Tensor:
        """Return the vectors of all relations, (r, d); their gradient is dense."""
        return self.relations

    def relation_vectors(self, relations: Tensor) -> Tensor:
        """Return the vectors of relations, (b, d)."""
        return look_up(self.relations, relations)

    def invert(self, relations: Tensor) -> Tensor:
        """Return the vectors of the inverse relations, (b, d); here a relation is its own inverse."""
        return relations

    def split_relation(self, relation: int) -> tuple[tuple[Part, ...], Tensor]:
        """Return the summands of a relation's vector, and what they are, (p, d)."""
        return (Part("relation", None, None, symmetry="symmetric"),), self.relation_table()[relation, None]

    @property
    def is_explainable(self) -> bool:
        """Whether the score is exactly the dot product of `pair` and the relation's vector."""
        return not self.has_own_score and type(self).queries is DistMult.queries

    @torch.no_grad()
    def split_scores(self, triples: Tensor) -> Split:
        """Split the score of each triple (n, 3) of one relation: a summand w of its vector adds <pair(h, t), w>."""
        heads, tails = (self.entities.detach()[triples[:, column]].double() for column in (0, 2))
        parts, vectors = self.split_relation(int(triples[0, 1]))
        values = self.pair(heads, tails) @ vectors.double().T
        return Split(parts, values, values.sum(1))

    def set_vector(self, relation: int, vector: Tensor) -> None:
        """Change the vector (d,) of a relation."""
        self.relations[relation] = vector

    @torch.no_grad()
    def start_relation(self, heads: Tensor, tails: Tensor) -> None:
        """Start the last relation in the direction that raises the mean score of its triples most.

        Its length is the median of the others'.
        """
        mean = self.pair(self.entities[heads], self.entities[tails]).mean(0)
        length = self.relation_table()[:-1].norm(dim=1).median()
        self.set_vector(self.sizes.relations - 1, length * normalize(mean, dim=0))

    def multiply(self, entities: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return the queries for candidates on `side`, given vectors of the other side and of the relations, (b, d)."""
        return entities * relations

    def pair(self, heads: Tensor, tails: Tensor) -> Tensor:
        """Return the vectors whose dot product with a relation's is the score, (b, d)."""
        return heads * tails

    def moduli(self, vectors: Tensor) -> Tensor:
        """Return the moduli of the numbers of vectors, (b, d)."""
        return vectors

    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return the products of entities and relations, (b, d)."""
        return self.multiply(look_up(self.entities, anchors), self.relation_vectors(relations), side)

    def score_relations(self, heads: Tensor, tails: Tensor) -> Tensor:
        """Return the plausibility of every relation between heads and tails, (b, r)."""
        if self.has_own_score:
            return super().score_relations(heads, tails)
        pairs = self.pair(look_up(self.entities, heads), look_up(self.entities, tails))
        return multiply_transposed(pairs, self.relation_table())

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the moduli of the embeddings of each triple."""
        parts = look_up(self.entities, heads), self.relation_vectors(relations), look_up(self.entities, tails)
        return tuple(self.moduli(part) for part in parts)
