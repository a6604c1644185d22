"""IRN, the implicit reasoning network."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from itransf.config import setting
from itransf.models.base import Compare, Paper, Pool, QueryModel, Side, Sizes, TrainingGraph, look_up

SHARPNESS = 10.0  # factor on cosines in the attention over memory (the publication's value)


@dataclass(frozen=True)
class IRNConfig:
    """Settings of IRN."""

    dim: int = setting(100, "Dimension d of entity and relation embeddings.", "64 under 20,000 triples, else 100")
    memory: int = setting(64, "Number of memory vectors that all queries share.", least=1)
    steps: int = setting(5, "Maximum number of steps of the controller.", least=1)


class IRN(QueryModel):
    """-|o(h, r) - t|_1: a recurrent controller reads a shared memory for a few steps   (Shen et al., 2016).

    The state s starts as (h, r). In each step it reads x, the mean of memory vectors with the weights softmax(10
    cos(W_1 m, W_2 s)), and a recurrent unit updates s by x. A gate gives the chance that a step is the last; o is the
    mean of the outputs W_o s + b of all steps with the chances that they are the last. The publication draws the last
    step in training and has embeddings of inverse relations for head queries; here one score ranks heads and tails.
    """

    Config: ClassVar[type] = IRNConfig
    config: IRNConfig
    paper = Paper(
        "Implicit ReasoNet: Modeling Large-Scale Structured Relationships with Shared Memory",
        "Shen, Huang, Chang, Gao",
        "arXiv 2016",
        "https://arxiv.org/abs/1611.04642",
    )
    compare: Compare = "l1"

    def __init__(self, sizes: Sizes, config: IRNConfig) -> None:
        super().__init__(sizes, config)
        d = config.dim
        self.entities = nn.Parameter(torch.randn(sizes.entities, d, device="cpu") / d**0.5)
        self.relations = nn.Parameter(torch.randn(sizes.relations, d, device="cpu") / d**0.5)
        self.memory = nn.Parameter(torch.randn(config.memory, 2 * d, device="cpu") / d**0.5)
        self.controller = nn.GRUCell(2 * d, 2 * d, device="cpu")
        self.keys, self.asked = (nn.Linear(2 * d, 2 * d, bias=False, device="cpu") for _ in range(2))
        self.gate, self.output = nn.Linear(2 * d, 1, device="cpu"), nn.Linear(2 * d, d, device="cpu")
        with torch.no_grad():  # the first output is near h + r
            self.output.weight += torch.eye(d, device="cpu").repeat(1, 2)

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return settings for a graph: few relations per batch, as candidates for heads pass the network for each."""
        found = super().defaults(graph, device)
        found["training"] |= {"learning_rate": 0.015, "block_size": max(found["training"]["batch_size"] // 4, 1)}
        return found | {"loss": {"candidates": 128}, "validation": {**found["validation"], "triples": 500}}

    def infer(self, vectors: Tensor, relations: Tensor) -> Tensor:
        """Return the outputs for entity vectors (b, d) and relations (b,), (b, d)."""
        state = torch.cat([vectors, look_up(self.relations, relations)], dim=1)
        keys, left = normalize(self.keys(self.memory), dim=1), torch.ones_like(state[:, :1])
        found = torch.zeros_like(vectors)
        for step in range(self.config.steps):
            is_last = step == self.config.steps - 1
            stops = left if is_last else left * torch.sigmoid(self.gate(state))
            found = found + stops * self.output(state)
            if not is_last:
                left = left - stops
                attention = torch.softmax(SHARPNESS * normalize(self.asked(state), dim=1) @ keys.T, dim=1)
                state = self.controller(attention @ self.memory, state)
        return found

    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return o(h, r) when tails are asked for, t when heads are, (b, d)."""
        vectors = look_up(self.entities, anchors)
        return self.infer(vectors, relations) if side == "tail" else vectors

    def answers(self, entities: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return o(h, r) of heads, the vectors of tails, (b, d)."""
        return self.queries(entities, relations, "tail" if side == "head" else "head")

    def candidates(self, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the pool's outputs for each relation on the head side, its vectors on the tail side, (u, n, d)."""
        if side == "tail":
            return super().candidates(relations, side, pool)
        assert pool.vectors is not None, "pools of query models hold vectors"
        rows = self.infer(pool.vectors.repeat(len(relations), 1), relations.repeat_interleave(len(pool.vectors)))
        return rows.view(len(relations), *pool.vectors.shape)
