"""Initial supports from the structure of the training triples: symmetric, inverse and duplicate relations.

A model that projects both ends of a symmetric relation alike can only collapse them. Reflecting concepts on the head
avoid that, but the assignment step does not find them once a relation was trained without.
"""

from __future__ import annotations

import torch
from torch import Tensor

from itransf.data.leakage import Structure
from itransf.models.concepts import ConceptModel, random_supports

SHARE = 0.5
"""Fraction of triples that two relations must share to be mirrored."""


@torch.no_grad()
def mirror_supports(model: ConceptModel, structure: Structure, seed: int) -> None:
    """Choose the supports of a new model with sparse attention.

    Args:
        model: Model with initial concepts.
        structure: Symmetric, inverse and duplicate relations.
        seed: Random seed.
    """
    if not model.has_supports:
        return
    head, tail = model.supports("head"), model.supports("tail")
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
    """Return a random support for each relation among the offered concepts."""
    return offered[random_supports(len(support), len(offered), support.shape[1], generator)]


def _tie(head: Tensor, tail: Tensor, structure: Structure) -> None:
    """Give relations the supports of those they mirror or repeat, the strongest pairs first."""
    pairs = [(pair, True) for pair in structure.inverse] + [(pair, False) for pair in structure.duplicate]
    tied: set[int] = set()
    for (first, second, _), turned in sorted(pairs, key=lambda found: -found[0][2]):
        giver, taker = (second, first) if second in tied else (first, second)
        if taker in tied:
            continue
        tied |= {giver, taker}
        sides = (tail, head) if turned else (head, tail)
        head[taker], tail[taker] = (side[giver].clone() for side in sides)
