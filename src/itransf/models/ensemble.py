"""An ensemble: several trained models of one graph as one model."""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn

from itransf.models.base import Model, Pool, Scorer, Side

SAMPLED = 4096  # random triples by which scores are normalized


class Ensemble(Model):
    """Mean of the normalized scores of models: score(h, r, t) = mean_m (s_m(h, r, t) - mu[m]) / sigma[m].

    mu and sigma are the mean and the standard deviation of a member's scores of random triples, the same triples for
    all members and every time. They are not taken for each relation, so that the scores of relations stay comparable.

    Args:
        members: Models of the same graph; they are not copied.
    """

    members: Any  # nn.ModuleList, whose elements have no type
    measured: Tensor

    def __init__(self, members: Sequence[Model]) -> None:
        super().__init__(members[0].sizes, members[0].config)
        self.members = nn.ModuleList(members)
        self.register_buffer("measured", torch.stack([measure_scores(member) for member in members]))  # (m, 2)

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the plausibility of each triple, (b,)."""
        return self._combine(member.score(heads, relations, tails) for member in self.members)

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the scores (b, n) of the pool's entities on `side` of the queries (anchor, relation)."""
        pools = [(member, member.pool(pool.entities)) for member in self.members]
        return self._combine(member.score_pool(anchors, relations, side, own) for member, own in pools)

    def scorer(self, relation: int, side: Side, pool: Pool | None = None) -> Scorer:
        """Return a function from anchors to scores; what depends on the relation alone is computed once."""
        entities = None if pool is None else pool.entities
        scorers = [member.scorer(relation, side, member.pool(entities)) for member in self.members]
        return lambda anchors: self._combine(score(anchors) for score in scorers)

    def _combine(self, scores: Iterable[Tensor]) -> Tensor:
        """Return the mean of the normalized scores of the members."""
        parts = ((own - mean) / scale for own, (mean, scale) in zip(scores, self.measured, strict=True))
        total: Tensor = reduce(torch.add, parts)
        return total / len(self.measured)


@torch.no_grad()
def measure_scores(model: Model) -> Tensor:
    """Return the mean and the standard deviation of the scores of random triples, (2,); 1 if they are all equal."""
    device, generator = next(model.parameters()).device, torch.Generator("cpu").manual_seed(0)
    sizes = (model.sizes.entities, model.sizes.relations, model.sizes.entities)
    drawn = (torch.randint(size, (SAMPLED,), generator=generator, device="cpu").to(device) for size in sizes)
    scores = model.score(*drawn)
    scale = scores.std()
    return torch.stack([scores.mean(), torch.where(scale > 0, scale, 1.0)])
