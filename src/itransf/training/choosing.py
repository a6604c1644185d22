"""Supports from what concepts cost: the cheapest, under what a person ruled."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from itransf.models.base import SIDES, Side
from itransf.models.projection import FORBIDDEN, PINNED


def choose_lowest(costs: Tensor, size: int) -> Tensor:
    """Return the `size` cheapest concepts of each relation, ascending by number, (r, k)."""
    return costs.topk(size, dim=1, largest=False).indices.sort(dim=1).values


def obey(costs: Tensor, rules: Tensor | None) -> Tensor:
    """Return costs under which pinned concepts are chosen first and forbidden ones never."""
    if rules is None:
        return costs
    return costs.masked_fill(rules == PINNED, -torch.inf).masked_fill(rules == FORBIDDEN, torch.inf)


def choose_pairs(costs: Tensor, size: int, rules: Mapping[Side, Tensor], tolerance: float = 0.0) -> dict[Side, Tensor]:
    """Return the supports of both sides, (r, k) each: one pair, then what goes best with the other's part of it.

    Args:
        costs: Of pairs, (r, m, m).
        size: k.
        rules: What is pinned or forbidden on each side, (r, m).
        tolerance: How much more than the best pair one may cost that an earlier relation has, as a share of how far
            the middle one is from the best.
    """
    allowed = {side: _offer(rules[side]) for side in SIDES}
    offered = costs.masked_fill(~(allowed["head"][:, :, None] & allowed["tail"][:, None, :]), torch.inf)
    pairs = _share_pairs(offered.cpu(), tolerance).to(costs.device)
    rows, head, tail = torch.arange(len(costs), device=costs.device), *pairs.unbind(1)
    first: dict[Side, Tensor] = {"head": head, "tail": tail}
    beside: dict[Side, Tensor] = {"head": costs[rows, :, tail], "tail": costs[rows, head, :]}
    chosen: dict[Side, Tensor] = {}
    for side in SIDES:
        ordered = obey(beside[side], rules[side])
        ordered[rows, first[side]] = -torch.inf
        chosen[side] = choose_lowest(ordered, size)
    return chosen


def _share_pairs(costs: Tensor, tolerance: float) -> Tensor:
    """Return the pair of each relation, (r, 2): its best, or one that is taken already, as it is or turned around.

    Trained with different pairs, inverse relations would each stay with its own, which suits its triples a little
    better.
    """
    m = costs.shape[1]
    taken = torch.zeros(m, m, dtype=torch.bool, device="cpu")
    pairs = torch.empty(len(costs), 2, dtype=torch.int64, device="cpu")
    for relation, table in enumerate(costs):
        best, middle = table.min(), table[table.isfinite()].median()
        fitting = taken & (table <= best + tolerance * (middle - best))
        place = int((table.masked_fill(~fitting, torch.inf) if fitting.any() else table).argmin())
        head, tail = divmod(place, m)
        if table.any():  # a relation without triples costs nothing anywhere, and takes nothing
            taken[head, tail] = taken[tail, head] = True
        pairs[relation] = torch.tensor([head, tail], device="cpu")
    return pairs


def _offer(rules: Tensor) -> Tensor:
    """Return which concepts may be part of the best pair: the pinned ones if there are such, none forbidden."""
    pinned = rules == PINNED
    return torch.where(pinned.any(1, keepdim=True), pinned, rules != FORBIDDEN)
