"""TATEC."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from itransf.config import setting
from itransf.models.base import Compare, Defaults, Paper, Part, QueryModel, Side, Sizes, Split, look_up
from itransf.models.distmult import ADAGRAD
from itransf.ops.grouped import group_rows, grouped_product


@dataclass(frozen=True)
class TatecConfig:
    """Settings of TATEC."""

    dim: int = setting(64, "Dimension of the entities in the three-way term.", "64 under 20,000 triples, else 100")
    pair_dim: int = setting(0, "Dimension of the entities in the two-way terms. 0 takes that of the three-way term.")


class Tatec(QueryModel):
    """h_2.a[r] + t_2.b[r] + h_2.(d * t_2) + h_3 M[r] t_3, * elementwise   (Garcia-Duran et al., 2015).

    Entities have separate embeddings in the two-way terms, with a diagonal d that all relations share, and in the
    three-way term. A row of entities holds both. The publication trains the two parts alone first; here they are
    trained together from the start.
    """

    Config: ClassVar[type] = TatecConfig
    config: TatecConfig
    paper = Paper(
        "Combining Two and Three-Way Embedding Models for Link Prediction in Knowledge Bases",
        "Garcia-Duran, Bordes, Usunier, Grandvalet",
        "JAIR 2016",
        "https://arxiv.org/abs/1506.00999",
    )
    compare: Compare = "affine"
    chosen: ClassVar[Defaults] = {"training": ADAGRAD, "regularizer": {"weight": 0.01}}

    def __init__(self, sizes: Sizes, config: TatecConfig) -> None:
        super().__init__(sizes, config)
        self.widths = [config.pair_dim or config.dim, config.dim]
        pair, d = self.widths

        def start(rows: int, columns: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(rows, columns, device="cpu") / (10 * d**0.5))

        self.entities, self.relations = start(sizes.entities, pair + d), start(sizes.relations, 2 * pair)
        self.diagonal = nn.Parameter(torch.ones(pair, device="cpu"))
        self.matrices = start(sizes.relations, d * d)

    def multiply(self, vectors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return M[r] t for candidates on the head side, h M[r] for those on the tail side, (b, d)."""
        grouping = group_rows(relations)
        matrices = look_up(self.matrices, grouping.keys).view(-1, self.config.dim, self.config.dim)
        return grouped_product(vectors, matrices if side == "head" else matrices.transpose(1, 2), grouping)

    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return the queries and the terms without a candidate, (b, d_2 + d + 1)."""
        pair, vectors = torch.split(look_up(self.entities, anchors), self.widths, dim=1)
        of_head, of_tail = look_up(self.relations, relations).chunk(2, dim=1)
        asked, known = (of_tail, of_head) if side == "tail" else (of_head, of_tail)
        added = (pair * known).sum(1, keepdim=True)
        return torch.cat([asked + self.diagonal * pair, self.multiply(vectors, relations, side), added], dim=1)

    @torch.no_grad()
    def split_scores(self, triples: Tensor) -> Split:
        """Split the score of each triple (n, 3) into its four terms."""
        heads, relations, tails = triples.unbind(1)
        (h, h_3), (t, t_3) = (torch.split(self.entities[ends], self.widths, dim=1) for ends in (heads, tails))
        of_head, of_tail = self.relations[relations].chunk(2, dim=1)
        terms = (h * of_head, t * of_tail, h * self.diagonal * t, h_3 * self.multiply(t_3, relations, "head"))
        values = torch.stack([term.double().sum(1) for term in terms], 1)
        parts = Part("head", None, None), Part("tail", None, None), Part("relation", None, None, symmetry="symmetric")
        return Split((*parts, Part("relation", None, None)), values, values.sum(1))

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the embeddings of each triple, and its matrix."""
        entities = (look_up(self.entities, ends) for ends in (heads, tails))
        return (*entities, look_up(self.relations, relations), look_up(self.matrices, relations))
