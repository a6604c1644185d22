"""Searching a whole relation for triples nobody has stated yet."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from itransf.prediction.answers import Found, find_nothing, number_answers
from itransf.prediction.searching import HIDDEN, Search
from itransf.prediction.selection import select_best
from itransf.progress import track

Best = tuple[Tensor, Tensor, Tensor]
"""Scores, heads and columns of the best triples so far, each (k,), best first."""


@torch.no_grad()
def find_pairs(search: Search, relation: int, progress: bool = False) -> Found:
    """Find the best triples of a relation over all heads and tails, keeping only the best so far."""
    heads, tails = search.allow_entities(relation, "head"), search.allow_entities(relation, "tail")
    everyone = np.arange(search.model.sizes.entities)
    anchors = everyone if heads is None else heads
    best: Best | None = None
    title = f"searching {search.graph.relations.label(relation)}"
    with track(title, len(anchors), "heads", progress) as tracker:
        for part, scores in search.score_chunks(relation, "tail", anchors, tails):
            best = merge_best(best, torch.from_numpy(part).to(scores.device), scores, search.top)
            tracker.advance(len(part))
    if best is None:
        return find_nothing()
    values, chosen_heads, columns = (tensor.cpu().numpy() for tensor in best)
    kept = values != HIDDEN
    chosen_tails = columns[kept] if tails is None else tails[columns[kept]]
    triples = np.stack([chosen_heads[kept], np.full(len(chosen_tails), relation), chosen_tails], axis=1)
    return number_answers(triples, values[kept])


def merge_best(best: Best | None, heads: Tensor, scores: Tensor, top: int) -> Best:
    """Return the best scores of those so far and of new heads (q,), with their heads and columns.

    Heads come in ascending order, so of equal scores those found earlier stay in front.
    """
    worst_kept = best[0][-1] if best is not None and len(best[0]) == top else HIDDEN
    rows = (scores.amax(1) > worst_kept).nonzero().squeeze(1)  # no other row has anything to add
    values, columns = select_best(scores[rows], top)  # (q', top')
    owners = heads[rows, None].expand_as(columns)
    new = (values.flatten(), owners.flatten(), columns.flatten())
    if best is not None:
        new = (torch.cat([best[0], new[0]]), torch.cat([best[1], new[1]]), torch.cat([best[2], new[2]]))
    kept, order = select_best(new[0][None], top)  # (1, k)
    return kept[0], new[1][order[0]], new[2][order[0]]
