"""The block step for one new relation: which concepts its two sides should use, judged on a handful of facts.

For a pair of concepts, i on the head side and j on the tail side, each fact is judged with the translation that fits
the other facts best: v = mean of D_j t - D_i h over them. A pair's cost is the run's own loss of all facts against the
same rivals.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from itransf.config import LossConfig
from itransf.models import ITransF
from itransf.ops.distance import distance, pairwise_distance
from itransf.ops.products import spread_product
from itransf.training.assignment import choose_lowest
from itransf.training.losses import ContrastLoss, make_contrast_loss
from itransf.training.objectives import HIDDEN

MOST_PAIRS = 2500  # pairs of concepts up to which all are tried
RIVALS = 1024  # entities that facts are compared with
ROUNDS = 6  # of choosing the sides in turn, where pairs are too many
MOST_FACTS = 200  # that pairs are judged by


@dataclass(frozen=True)
class Trial:
    """Facts and rivals as each concept sees them.

    Attributes:
        heads: (m, b, d) the facts' heads.
        tails: (m, b, d) the facts' tails.
        rivals: (m, n, d) other entities.
        answers: For heads and tails, (b, n): which rivals are answers and do not count.
        norm: The model's distance.
        loss: The run's own.
    """

    heads: Tensor
    tails: Tensor
    rivals: Tensor
    answers: tuple[Tensor, Tensor]
    model: ITransF
    loss: ContrastLoss

    def cost(self, head: int, tail: int) -> Tensor:
        """Return the summed loss of the facts with one concept on each side."""
        own, other, norm = self.heads[head], self.tails[tail], self.model.config.norm
        shift = leave_one_out(other - own)  # (b, d)
        positive = -distance(own + shift - other, norm)
        against_heads = -pairwise_distance(other - shift, self.rivals[head], norm)  # (b, n)
        against_tails = -pairwise_distance(own + shift, self.rivals[tail], norm)
        losses = [
            self.loss(positive, scores.masked_fill(hidden, HIDDEN))
            for scores, hidden in zip((against_heads, against_tails), self.answers, strict=True)
        ]
        return torch.stack(losses).sum()

    def costs(self, heads: list[int], tails: list[int]) -> Tensor:
        """Return the cost of all pairs of these concepts, (heads, tails)."""
        return torch.stack([torch.stack([self.cost(head, tail) for tail in tails]) for head in heads])


def leave_one_out(wanted: Tensor) -> Tensor:
    """Return for each row the mean of the other rows, (b, d); a single row has only itself."""
    if len(wanted) == 1:
        return wanted
    return (wanted.sum(0) - wanted) / (len(wanted) - 1)


@torch.no_grad()
def prepare_trial(model: ITransF, facts: Tensor, loss: LossConfig, generator: torch.Generator) -> Trial:
    """Project the facts (b, 3) and random rivals through every concept."""
    entities = model.entities
    drawn = torch.randperm(len(entities), generator=generator, device=facts.device)[:RIVALS]
    if len(facts) > MOST_FACTS:
        facts = facts[torch.randperm(len(facts), generator=generator, device=facts.device)[:MOST_FACTS]]

    def project(numbers: Tensor) -> Tensor:
        return model.limit_projected(spread_product(entities[numbers], model.concepts))  # (m, n, d)

    answers = mark_answers(facts[:, [2, 0]], drawn), mark_answers(facts[:, [0, 2]], drawn)
    return Trial(project(facts[:, 0]), project(facts[:, 2]), project(drawn), answers, model, make_contrast_loss(loss))


def mark_answers(questions: Tensor, rivals: Tensor) -> Tensor:
    """Mark, for pairs (anchor, answer), the rivals that some pair with the same anchor has as its answer, (b, n)."""
    same = questions[:, None, 0] == questions[None, :, 0]  # (b, b)
    is_answer = questions[:, 1, None] == rivals  # (b, n)
    return (same.to(torch.float32) @ is_answer.to(torch.float32)) > 0


@torch.no_grad()
def choose_supports(trial: Trial, size: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the supports (k,) of head and tail, and all concepts' costs (m,) on each side given the best of the other.

    All pairs are tried where they are few; else the sides are chosen in turn, from the best concept on both sides,
    until neither changes.
    """
    m = len(trial.heads)
    everything = list(range(m))
    if m * m <= MOST_PAIRS:
        table = trial.costs(everything, everything)
        head, tail = divmod(int(table.argmin()), m)
        costs = {"head": table[:, tail], "tail": table[head]}
    else:
        tail = int(torch.stack([trial.cost(i, i) for i in everything]).argmin())
        costs, head = {}, -1
        for _ in range(ROUNDS):
            costs["head"] = trial.costs(everything, [tail])[:, 0]
            before, head = head, int(costs["head"].argmin())
            if head == before:
                break
            costs["tail"] = trial.costs([head], everything)[0]
            tail = int(costs["tail"].argmin())
    return {side: choose_lowest(cost[None], size)[0] for side, cost in costs.items()}, costs
