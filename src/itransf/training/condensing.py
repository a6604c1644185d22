"""Concepts condensed from free matrices: what the sides of relations look at, as mixtures of a few things to look at.

A relation's score is the same when its two matrices and its translation are turned together, so matrices of different
relations cannot be compared as they are. What does not turn is how much a side W makes of each direction of the
entities: the root of W'W, where entities are spread evenly. Divided by its trace, the root of a mixture of concepts
that stretch and shrink is the same mixture of their roots, so that concepts are corners of the space the sides lie in.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from itransf.models.base import SIDES
from itransf.models.itransf import ITransF
from itransf.models.stranse import STransE

WORTH_ADDING = 0.5  # a further concept is added to a side where that leaves at most this share of what does not fit
WORTH_KEEPING = 1.3  # a concept is kept where without it at least so many times as much would not fit
SHORTLIST = 4  # concepts that are tried to go without, each time
NEGLIGIBLE = 1e-3  # the share of all there is to fit that no concept is kept for
ROUNDS = 10  # of fitting mixtures and corners in turn
ENOUGH = 1000  # facts of a relation, from which its matrices count in full
FAINTEST = 0.01  # the weight of concepts that fill a support without being needed
TINY = 1e-9


@dataclass(frozen=True)
class Views:
    """What each side of each relation looks at, all of it in float64.

    Attributes:
        roots: (2, r, d, d) symmetric matrices of trace one, heads then tails.
        turns: (r, d, d) how each relation turns what its sides look at.
        sizes: (r,) the mean trace of its two sides before that was made one.
        even: (d, d) the matrix that spreads the entities evenly.
    """

    roots: Tensor
    turns: Tensor
    sizes: Tensor
    even: Tensor


@dataclass(frozen=True)
class Fitted:
    """Corners (c, f), points as mixtures of them (n, c), and how much of the points is left in all."""

    corners: Tensor
    mixtures: Tensor
    misfit: float


@torch.no_grad()
def condense(free: STransE, model: ITransF, relations: Tensor) -> int:
    """Start a model from free matrices: its vectors, concepts, supports and scores.

    There may be fewer concepts than the model has room for; the others stay as they are, unused. Attention that is
    not sparse has no supports, and its model stays as it is.

    Args:
        free: Trained; of the same sizes.
        model: Changed in place.
        relations: Of the training facts: a frequent relation's matrices are known better than a rare one's.

    Returns:
        How many concepts were found.
    """
    if model.config.attention != "sparse":
        return 0
    weights = torch.bincount(relations, minlength=model.sizes.relations).double().clamp_max(ENOUGH)
    views = view_sides(free)
    points = views.roots.flatten(2).flatten(0, 1)  # (2 r, d d)
    corners, mixtures = find_corners(points, weights.repeat(2), len(model.concepts), model.config.support_size)
    size = (weights * views.sizes).sum() / weights.sum()
    model.entities.copy_(free.entities)
    turned = torch.einsum("rij,ri->rj", views.turns, free.relations.double())
    model.relations.copy_(turned * (size / views.sizes)[:, None])
    found = len(corners)
    model.concepts[:found] = (size * corners.view(found, *views.even.shape) @ views.even).to(model.concepts.dtype)
    for side, shares in zip(SIDES, mixtures.chunk(2), strict=True):
        projection = model.concept_projection(side)
        padded = torch.nn.functional.pad(shares, (0, len(model.concepts) - found))
        order = padded.argsort(dim=1, descending=True, stable=True)
        projection.support.copy_(order[:, : projection.support.shape[1]].sort(dim=1).values)
        projection.scores.copy_(projection.temperature * padded.clamp_min(FAINTEST).log())
    return found


def view_sides(free: STransE) -> Views:
    """Return what the sides look at, once entities are spread evenly and turns are taken out."""
    dim = free.config.dim
    axes = torch.eye(dim, device=free.entities.device)
    spread = torch.cov(free.entities.double().T).reshape(dim, dim)
    lower = torch.linalg.cholesky(spread + TINY * spread.trace() * axes)
    everything = torch.arange(free.sizes.relations, device=axes.device)
    tables = [projection.project_table(axes, everything) for projection in (free.project_head, free.project_tail)]
    sides = torch.stack(tables).mT.double() @ lower  # (2, r, d, d)
    values, vectors = torch.linalg.eigh(sides.mT @ sides)
    roots = (vectors * values.clamp_min(0).sqrt()[..., None, :]) @ vectors.mT
    left, _, right = torch.linalg.svd((sides @ roots).sum(0))  # the turns that bring the roots nearest to the sides
    traces = roots.diagonal(dim1=-2, dim2=-1).sum(-1).clamp_min(TINY)  # (2, r)
    return Views(roots / traces[..., None, None], left @ right, traces.mean(0), torch.linalg.inv(lower))


def find_corners(points: Tensor, weights: Tensor, most: int, size: int) -> tuple[Tensor, Tensor]:
    """Return as few corners as points need to be mixtures of at most `size` of them, and the mixtures.

    Corners start at the points that fit worst, one after another; then the corner that is missed least goes, for as
    long as not much more is left that does not fit.

    Args:
        points: (n, f).
        weights: (n,) how much each point counts.
        most: The most corners.
        size: The most corners of one mixture.

    Returns:
        Corners (c, f) and mixtures (n, c), each row of which sums to one.
    """
    fitted = fit_corners(points, weights, _pick_corners(points, weights, most, size), size)
    negligible = NEGLIGIBLE * float(weights @ _square_distances(points, weights))
    while len(fitted.corners) > 1:
        shorter = [fit_corners(points, weights, fewer, size) for fewer in _drop_corners(points, weights, fitted, size)]
        best = min(shorter, key=lambda one: one.misfit)
        if best.misfit > WORTH_KEEPING * fitted.misfit + negligible:
            break
        fitted = best
    return fitted.corners, fitted.mixtures


def fit_corners(points: Tensor, weights: Tensor, corners: Tensor, size: int) -> Fitted:
    """Move corners to where the points fit best."""
    steady = 1e-6 * weights.sum() * torch.eye(len(corners), dtype=points.dtype, device=points.device)
    for _ in range(ROUNDS):
        mixtures, _ = mix(points, corners, size)
        weighted = (mixtures * weights[:, None]).T
        # A corner that no point needs stays where it is.
        corners = torch.linalg.solve(weighted @ mixtures + steady, weighted @ points + steady @ corners)
    mixtures, misfits = mix(points, corners, size)
    return Fitted(corners, mixtures, float(weights @ misfits))


def mix(points: Tensor, corners: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return points as mixtures of at most `size` corners, (n, c), and the squared distances that are left, (n,).

    The nearest corner comes first; then, one at a time, the corner towards which a step brings most.
    """
    products, among = points @ corners.T, corners @ corners.T  # (n, c), (c, c)
    squares = (points**2).sum(1)
    distances = squares[:, None] - 2 * products + among.diagonal()
    misfits, nearest = distances.min(dim=1)
    mixtures = torch.nn.functional.one_hot(nearest, len(corners)).to(points.dtype)
    for _ in range(size - 1):
        mixed = mixtures @ among  # (n, c) products of the mixtures with corners
        own, length = (mixtures * products).sum(1), (mixtures * mixed).sum(1)
        pull = products - mixed - (own - length)[:, None]  # of what is left with the way to each corner
        way = (among.diagonal() - 2 * mixed + length[:, None]).clamp_min(TINY)
        steps = (pull / way).clamp(0, 1)
        left, best = (misfits[:, None] - 2 * steps * pull + steps**2 * way).min(dim=1)
        step = steps.gather(1, best[:, None]) * (left < WORTH_ADDING * misfits)[:, None]
        mixtures = (1 - step) * mixtures + step * torch.nn.functional.one_hot(best, len(corners))
        misfits = torch.where(left < WORTH_ADDING * misfits, left, misfits)
    return mixtures, misfits.clamp_min(0)


def _pick_corners(points: Tensor, weights: Tensor, most: int, size: int) -> Tensor:
    """Return the points that fit worst, one after another, until there are enough or all fit."""
    chosen = [int((weights * _square_distances(points, weights)).argmax())]
    while len(chosen) < min(most, len(points)):
        worst = weights * mix(points, points[chosen], size)[1]
        if float(worst.max()) <= TINY:
            break
        chosen.append(int(worst.argmax()))
    return points[chosen]


def _square_distances(points: Tensor, weights: Tensor) -> Tensor:
    """Return how far points are from their middle, squared, (n,)."""
    return ((points - (weights @ points) / weights.sum()) ** 2).sum(1)


def _drop_corners(points: Tensor, weights: Tensor, fitted: Fitted, size: int) -> list[Tensor]:
    """Return the corners without one of them, for each of the few whose points fit best without it."""
    corners, mixtures = fitted.corners, fitted.mixtures
    everything = torch.arange(len(corners), device=points.device)
    before = mix(points, corners, size)[1]
    costs = torch.zeros(len(corners), dtype=points.dtype, device=points.device)
    for corner in range(len(corners)):
        users = mixtures[:, corner] > 0
        after = mix(points[users], corners[everything != corner], size)[1]
        costs[corner] = weights[users] @ (after - before[users])
    return [corners[everything != corner] for corner in costs.argsort()[:SHORTLIST]]
