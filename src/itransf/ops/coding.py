"""Sparse coding: vectors as weighted sums of a few shared atoms, by orthogonal matching pursuit and least squares.

A vector has blocks of equal width, and an atom lies in one block. In a complex vector the blocks are the real and the
imaginary parts.

Shapes: n vectors, m atoms, k atoms per vector, g blocks, d width of a block.
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

import torch
from torch import Tensor

ROUNDS = 15  # of pursuit and least squares
RIDGE = 1e-5  # keeps systems of equations with similar atoms solvable
SMALLEST = 1e-9
_solving = Lock()


class Codes(NamedTuple):
    """Sparse codes of vectors.

    Attributes:
        atoms: Atoms of unit length, those of the first block first, (m, d).
        support: Atoms of each vector, ascending, (n, k).
        weights: Their weights, (n, k).
    """

    atoms: Tensor
    support: Tensor
    weights: Tensor


@torch.no_grad()
def learn_codes(vectors: Tensor, importance: Tensor, sizes: list[int], size: int) -> Codes:
    """Choose atoms and codes of vectors.

    The atoms start as the most important vectors that are not explained by those before, so the result depends on the
    vectors and not on a random start.

    Args:
        vectors: (n, g * d)
        importance: Weight of each vector in the choice of the first atoms, (n,).
        sizes: Number of atoms of each block, (g,).
        size: Number k of atoms of a vector, at most half of them, rounded up, of one block, unless another has too few.
    """
    blocks = vectors.chunk(len(sizes), dim=1)
    atoms = [start_atoms(block, importance, count) for block, count in zip(blocks, sizes, strict=True)]
    support, weights = pursue(vectors, atoms, size)
    for _ in range(ROUNDS):
        codes = vectors.new_zeros(len(vectors), sum(sizes)).scatter_(1, support, weights)
        parts = torch.split(codes, sizes, dim=1)
        atoms = [fit_atoms(block, part) for block, part in zip(blocks, parts, strict=True)]
        support, weights = pursue(vectors, atoms, size)
    order = support.argsort(dim=1)
    return Codes(torch.cat(atoms), support.gather(1, order), weights.gather(1, order))


def start_atoms(block: Tensor, importance: Tensor, count: int) -> Tensor:
    """Return `count` rows of a block (n, d) as unit atoms: each has the most that those before do not explain."""
    rest, chosen = block.clone(), []
    for _ in range(min(count, len(block))):
        row = int((rest.square().sum(1) * importance).argmax())
        chosen.append(row)
        direction = unit(rest[row : row + 1])[0]
        rest = rest - (rest @ direction)[:, None] * direction
        rest[row] = 0
    spare = block.new_zeros(count - len(chosen), block.shape[1])
    rows = torch.arange(len(spare), device=spare.device)
    spare[rows, rows % spare.shape[1]] = 1
    return torch.cat([unit(block[chosen]), spare])


def fit_atoms(block: Tensor, codes: Tensor) -> Tensor:
    """Return the unit atoms (c, d) that fit a block (n, d) best with these codes (n, c).

    An atom without users is replaced by what is left of a vector that is explained badly.
    """
    system = codes.T @ codes + RIDGE * torch.eye(codes.shape[1], device=codes.device)
    atoms = solve(system, codes.T @ block)
    idle = ((codes == 0).all(0) | (atoms.norm(dim=1) < SMALLEST)).nonzero().squeeze(1)
    rest = block - codes @ atoms
    worst = rest.square().sum(1).argsort(descending=True)[: len(idle)]
    atoms[idle[: len(worst)]] = rest[worst]
    return unit(atoms)


def pursue(
    vectors: Tensor, atoms: list[Tensor], size: int, first: Tensor | None = None, barred: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the atoms (n, k) and weights (n, k) of each vector: the best atom for the rest, one after the other.

    Args:
        vectors: (n, g * d)
        atoms: Unit atoms of each block.
        size: Number k of atoms of a vector.
        first: Atoms that are chosen before all others, at most k, bool (n, m).
        barred: Atoms that are not chosen, at most m - k, bool (n, m).
    """
    table = widen(atoms)
    block = torch.cat([part.new_full((len(part),), number, dtype=torch.int64) for number, part in enumerate(atoms)])
    most = -(-size // 2) if len(atoms) > 1 and min(map(len, atoms)) >= size // 2 else size
    used = torch.zeros(len(vectors), len(atoms), dtype=torch.int64, device=vectors.device)
    support = torch.zeros(len(vectors), 0, dtype=torch.int64, device=vectors.device)
    rest, weights = vectors, vectors.new_zeros(len(vectors), 0)
    for count in range(1, size + 1):
        match = (rest @ table.T).abs().masked_fill((used >= most)[:, block], -1.0)
        match = match if first is None else match.masked_fill(first, torch.inf)
        match = match if barred is None else match.masked_fill(barred, -torch.inf)
        match = match.scatter(1, support, -torch.inf)
        found = match.argmax(1, keepdim=True)
        support = torch.cat([support, found], dim=1)
        used.scatter_add_(1, block[found], torch.ones_like(found))
        chosen = table[support]  # (n, count, g * d)
        system = chosen @ chosen.transpose(1, 2) + RIDGE * torch.eye(count, device=vectors.device)
        weights = solve(system, chosen @ vectors[:, :, None]).squeeze(2)
        rest = vectors - (weights[:, :, None] * chosen).sum(1)
    return support, weights


def solve(system: Tensor, right: Tensor) -> Tensor:
    """Solve linear equations, one thread at a time: on a GPU, torch fails if two threads load its solver at once."""
    with _solving:
        solution: Tensor = torch.linalg.solve(system, right)
    return solution


def widen(atoms: list[Tensor]) -> Tensor:
    """Return the atoms of all blocks as whole vectors that are zero in the other blocks, (m, g * d)."""
    table = atoms[0].new_zeros(sum(map(len, atoms)), len(atoms) * atoms[0].shape[1])
    start = 0
    for number, part in enumerate(atoms):
        table[start : start + len(part)].chunk(len(atoms), dim=1)[number].copy_(part)
        start += len(part)
    return table


def unit(vectors: Tensor) -> Tensor:
    """Return vectors of unit length."""
    return torch.nn.functional.normalize(vectors, dim=1, eps=SMALLEST)
