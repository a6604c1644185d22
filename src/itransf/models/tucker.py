"""TuckER."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from itransf.config import setting
from itransf.models.base import SMALL, Compare, Paper, QueryModel, Side, Sizes, TrainingGraph, look_up
from itransf.ops.grouped import group_rows, grouped_product


@dataclass(frozen=True)
class TuckERConfig:
    """Settings of TuckER."""

    dim: int = setting(100, "Dimension d of entity embeddings.", "64 under 20,000 triples, else 100")
    relation_dim: int = setting(0, "Dimension of relation embeddings. 0 takes that of entities.")
    input_dropout: float = setting(0.3, "Dropout of entity embeddings.", "0.1 under 20,000 triples, else 0.3", below=1)
    hidden_dropout: float = setting(
        0.4, "Dropout of relations' matrices.", "0.1 under 20,000 triples, else 0.4", below=1
    )
    output_dropout: float = setting(0.5, "Dropout of queries.", "0.2 under 20,000 triples, else 0.5", below=1)


class TuckER(QueryModel):
    """sum_ijk W[j,i,k] h[i] r[j] t[k], with a core tensor W that all relations share   (Balazevic et al., 2019).

    Entities are normalized over the batch, and so are queries: where W x h x r has the mean m and the deviation s, the
    score is <(W x h x r - m) / s, t> with a learned scale and offset. Head queries are the same score as a function of
    the head; the publication has a second embedding of each relation for them. It is a dense, bilinear counterpart of
    ITransF: a relation's matrix is a sum of shared matrices with the numbers of its embedding as weights.
    """

    Config: ClassVar[type] = TuckERConfig
    config: TuckERConfig
    paper = Paper(
        "TuckER: Tensor Factorization for Knowledge Graph Completion",
        "Balazevic, Allen, Hospedales",
        "EMNLP 2019",
        "https://arxiv.org/abs/1901.09590",
    )
    compare: Compare = "affine"
    is_random: bool = True

    def __init__(self, sizes: Sizes, config: TuckERConfig) -> None:
        super().__init__(sizes, config)
        d, relation_dim = config.dim, config.relation_dim or config.dim
        self.entities = nn.Parameter(nn.init.xavier_normal_(torch.empty(sizes.entities, d, device="cpu")))
        self.relations = nn.Parameter(nn.init.xavier_normal_(torch.empty(sizes.relations, relation_dim, device="cpu")))
        self.core = nn.Parameter(torch.empty(relation_dim, d * d, device="cpu").uniform_(-1, 1))
        self.inputs, self.outputs = (nn.BatchNorm1d(d, device="cpu") for _ in range(2))

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return settings for a graph: cross-entropy over all entities; little dropout on a small graph."""
        found = super().defaults(graph, device) | {"loss": {"candidates": 0}}
        found["training"] |= {"learning_rate": 0.001, "block_size": 1}
        if len(graph.train) < SMALL:
            found["model"] |= {"input_dropout": 0.1, "hidden_dropout": 0.1, "output_dropout": 0.2}
            found["training"] |= {"learning_rate": 0.005, "batch_size": min(found["training"]["batch_size"], 128)}
        return found

    def contract(self, vectors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return the products of vectors (b, d) of the other side with the matrices of relations, (b, d)."""
        grouping = group_rows(relations)
        matrices = look_up(self.relations, grouping.keys) @ self.core
        matrices = self.drop(matrices, self.config.hidden_dropout).view(-1, self.config.dim, self.config.dim)
        return grouped_product(vectors, matrices if side == "head" else matrices.transpose(1, 2), grouping)

    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return the queries and what is added to their products, (b, d + 1)."""
        vectors, config = look_up(self.entities, anchors), self.config
        if side == "tail":
            moved = self.contract(self.drop(normalize(self.inputs, vectors), config.input_dropout), relations, side)
            found = self.drop(normalize(self.outputs, moved), config.output_dropout)
            return torch.cat([found, torch.zeros_like(found[:, :1])], dim=1)
        (in_scale, in_shift), (out_scale, out_shift) = find_affine(self.inputs), find_affine(self.outputs)
        moved = self.contract(self.drop(vectors * out_scale, config.input_dropout), relations, side)
        added = (moved * in_shift + vectors * out_shift).sum(1, keepdim=True)
        return torch.cat([self.drop(moved * in_scale, config.output_dropout), added], dim=1)


def normalize(layer: nn.BatchNorm1d, vectors: Tensor) -> Tensor:
    """Normalize vectors (b, d) by the statistics of the batch in training, else by the running ones."""
    if layer.training and len(vectors) > 1:
        found: Tensor = layer(vectors)
        return found
    scale, shift = find_affine(layer)
    return vectors * scale + shift


def find_affine(layer: nn.BatchNorm1d) -> tuple[Tensor, Tensor]:
    """Return the scale and the shift (d,) that the running statistics give."""
    scale = layer.weight / (layer.get_buffer("running_var") + layer.eps).sqrt()
    return scale, layer.bias - layer.get_buffer("running_mean") * scale
