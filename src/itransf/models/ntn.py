"""NTN, the neural tensor network."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from itransf.config import setting
from itransf.models.base import Defaults, Model, Paper, Pool, Side, Sizes, look_up
from itransf.ops.grouped import group_rows, grouped_product


@dataclass(frozen=True)
class NTNConfig:
    """Settings of NTN."""

    dim: int = setting(64, "Dimension d of entity embeddings.")
    slices: int = setting(4, "Number of tensor slices per relation.", least=1)


class NTN(Model):
    """u[r] . tanh(h W[r] t + V[r] [h, t] + b[r]) with a tensor W[r] of several slices   (Socher et al., 2013)."""

    Config: ClassVar[type] = NTNConfig
    config: NTNConfig
    paper = Paper(
        "Reasoning With Neural Tensor Networks for Knowledge Base Completion",
        "Socher, Chen, Manning, Ng",
        "NIPS 2013",
        "https://papers.nips.cc/paper/5028-reasoning-with-neural-tensor-networks-for-knowledge-base-completion",
    )
    chosen: ClassVar[Defaults] = {
        "model": {"dim": 64},
        "training": {"learning_rate": 0.01},
        "loss": {"candidates": 256},  # few, as each takes a tanh per slice
        "regularizer": {"weight": 0.001},
        "validation": {"triples": 500},
    }

    def __init__(self, sizes: Sizes, config: NTNConfig) -> None:
        super().__init__(sizes, config)
        d, s, r = config.dim, config.slices, sizes.relations
        self.entities = nn.Parameter(torch.randn(sizes.entities, d, device="cpu") / d**0.5)
        self.tensors = nn.Parameter(torch.randn(r, s * d * d, device="cpu") / d)
        self.layers = nn.Parameter(torch.randn(r, s * 2 * d, device="cpu") / d**0.5)
        self.biases = nn.Parameter(torch.zeros(r, s, device="cpu"))
        self.outputs = nn.Parameter(torch.ones(r, s, device="cpu"))

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the scores, (b,); each relation's tensor is looked up once."""
        d, s, grouping = self.config.dim, self.config.slices, group_rows(relations)
        h, t = look_up(self.entities, heads), look_up(self.entities, tails)
        tensors = look_up(self.tensors, grouping.keys).view(-1, s * d, d)
        layers = look_up(self.layers, grouping.keys).view(-1, s, 2 * d)
        bilinear = (grouped_product(t, tensors, grouping).view(-1, s, d) * h[:, None]).sum(2)  # (b, s)
        linear = grouped_product(torch.cat([h, t], dim=1), layers, grouping) + look_up(self.biases, relations)
        return (torch.tanh(bilinear + linear) * look_up(self.outputs, relations)).sum(1)

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the scores (b, n) of the pool; a relation's tensor is multiplied with each anchor once."""
        d, s = self.config.dim, self.config.slices
        table = self.entities if pool.entities is None else look_up(self.entities, pool.entities)  # (n, d)
        scores, distinct = table.new_empty(len(anchors), len(table)), torch.unique(relations)
        own_tables = self.tensors, self.layers, self.biases, self.outputs
        looked_up = (look_up(each, distinct).unbind() for each in own_tables)
        for relation, tensor, layer, bias, output in zip(distinct, *looked_up, strict=True):
            rows, cube = (relations == relation).nonzero().squeeze(1), tensor.view(s, d, d)
            own, asked = layer.view(s, 2, d).unbind(1)  # of heads and of tails
            if side == "head":
                cube, own, asked = cube.transpose(1, 2), asked, own
            known = look_up(self.entities, anchors[rows])
            queries = known @ cube + asked[:, None]  # (s, b', d)
            added = (known @ own.T + bias).T[:, :, None]  # (s, b', 1)
            found = (torch.tanh(queries @ table.T + added) * output[:, None, None]).sum(0)  # (b', n)
            scores = scores.index_copy(0, rows, found)
        return scores

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the entity embeddings of each triple."""
        return look_up(self.entities, heads), look_up(self.entities, tails)
