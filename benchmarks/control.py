"""A plain PyTorch ComplEx, as one would write it in an afternoon: the control of the default model.

One vector per relation, cross-entropy over all entities on both sides, N3, Adagrad, batches of 1,000 triples.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import itransf
from itransf.models import Sizes
from itransf.models.complex import ComplEx
from itransf.models.distmult import DistMultConfig

BATCH, RATE, SCALE = 1000, 0.1, 1e-3


class PlainComplEx(nn.Module):
    """Re <h, r, conj(t)>."""

    def __init__(self, entities: int, relations: int, dim: int) -> None:
        super().__init__()
        self.entities, self.relations = nn.Embedding(entities, 2 * dim), nn.Embedding(relations, 2 * dim)
        for table in (self.entities, self.relations):
            nn.init.normal_(table.weight, std=SCALE)

    def forward(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Return the scores of all tails, of all heads, and the moduli of the embeddings."""
        h_re, h_im = self.entities(heads).chunk(2, 1)
        r_re, r_im = self.relations(relations).chunk(2, 1)
        t_re, t_im = self.entities(tails).chunk(2, 1)
        to_tails = torch.cat([h_re * r_re - h_im * r_im, h_re * r_im + h_im * r_re], 1) @ self.entities.weight.T
        to_heads = torch.cat([t_re * r_re + t_im * r_im, t_im * r_re - t_re * r_im], 1) @ self.entities.weight.T
        parts = ((h_re, h_im), (r_re, r_im), (t_re, t_im))
        return to_tails, to_heads, [torch.sqrt(re**2 + im**2 + 1e-24) for re, im in parts]


def train_control(graph: itransf.Graph, dim: int, weight: float, epochs: int, seed: int, device: str) -> dict[str, Any]:
    """Train the control and return its validation MRR after every third epoch, with the time of training so far."""
    torch.manual_seed(seed)
    before = torch.get_float32_matmul_precision()
    if device == "cuda":
        torch.set_float32_matmul_precision("high")
    sizes = Sizes(len(graph.entities), len(graph.relations))
    model = PlainComplEx(sizes.entities, sizes.relations, dim).to(device)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=RATE)
    train = torch.as_tensor(graph.train, device=device)
    curve, seconds = [], 0.0
    for epoch in range(1, epochs + 1):
        started = time.perf_counter()
        for rows in torch.randperm(len(train), device=device).split(BATCH):
            heads, relations, tails = train[rows].unbind(1)
            to_tails, to_heads, moduli = model(heads, relations, tails)
            loss = (cross_entropy(to_tails, tails) + cross_entropy(to_heads, heads)) / 2
            loss = loss + weight * sum((part**3).sum(1).mean() for part in moduli)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds += time.perf_counter() - started
        if epoch % 3 == 0 or epoch == epochs:
            curve.append({"epoch": epoch, "seconds": seconds, "mrr": measure(model, graph, sizes, dim)["mrr"]})
    torch.set_float32_matmul_precision(before)
    return {"curve": curve, "seconds": seconds, "test": measure(model, graph, sizes, dim, "test")}


def measure(model: PlainComplEx, graph: itransf.Graph, sizes: Sizes, dim: int, split: str = "valid") -> dict[str, Any]:
    """Return filtered metrics of the control on a split."""
    same = ComplEx(sizes, DistMultConfig(dim=dim)).to(model.entities.weight.device)
    with torch.no_grad():
        same.entities.copy_(model.entities.weight)
        same.relations.copy_(model.relations.weight)
    found = itransf.evaluation.evaluate(same, graph, split)
    return {name: found[name] for name in ("mrr", "hits@1", "hits@10", "mr")}
