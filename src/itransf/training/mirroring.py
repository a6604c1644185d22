"""First supports from what train shows of relations: which are symmetric, and which mirror or repeat each other.

A model that projects both ends of a symmetric relation alike can only place them in the same spot. Where a head is
reflected and a tail is not, it has a choice; but once a relation was trained without, its entities suit that, and a
choice by what concepts cost now does not find the other one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from itransf.data.leakage import Structure
from itransf.models.itransf import ITransF
from itransf.models.projection import random_supports

SHARE = 0.5
"""The share of their triples that relations have in common to be mirrored; train lacks some of what the graph has."""


@torch.no_grad()
def mirror_supports(model: ITransF, structure: Structure, seed: int) -> None:
    """Choose the supports of a fresh model, where its attention is sparse.

    Args:
        model: Whose concepts are as they were first drawn.
        structure: Which relations are symmetric, inverse or duplicates.
        seed: Of what is left to chance.
    """
    head, tail = model.supports("head"), model.supports("tail")
    if head is None or tail is None:
        return
    reflects = model.concepts.diagonal(dim1=1, dim2=2).amin(1).cpu() < 0
    plain, reflecting = (~reflects).nonzero().view(-1), reflects.nonzero().view(-1)
    generator = torch.Generator("cpu").manual_seed(seed)
    if min(len(plain), len(reflecting)) >= head.shape[1]:
        head.copy_(_draw(plain, head, generator))
        tail.copy_(_draw(plain, tail, generator))
        symmetric = [relation for relation, _ in structure.symmetric]
        head[symmetric] = _draw(reflecting, head, generator).to(head.device)[symmetric]
    _tie(head, tail, structure)


def _draw(offered: Tensor, support: Tensor, generator: torch.Generator) -> Tensor:
    """Return a support for each relation among the concepts that are offered."""
    return offered[random_supports(len(support), len(offered), support.shape[1], generator)]


def _tie(head: Tensor, tail: Tensor, structure: Structure) -> None:
    """Give relations the supports of others that they mirror or repeat, those that do so most before the others."""
    pairs = [(pair, True) for pair in structure.inverse] + [(pair, False) for pair in structure.duplicate]
    tied: set[int] = set()
    for (first, second, _), turned in sorted(pairs, key=lambda found: -found[0][2]):
        giver, taker = (second, first) if second in tied else (first, second)
        if taker in tied:
            continue
        tied |= {giver, taker}
        sides = (tail, head) if turned else (head, tail)
        head[taker], tail[taker] = (side[giver].clone() for side in sides)
