"""The block step for one new relation: which concepts its two sides should use, judged on a handful of triples.

For a pair of concepts, i on the head side and j on the tail side, each triple is judged with the translation that fits
the other triples best: v = mean of D_j t - D_i h over them. A pair's cost is the run's own loss of all triples
against the same rivals.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from itransf.config import LossConfig
from itransf.models import ITransF, Side
from itransf.ops.distance import Norm, distance, grouped_distance, pairwise_distance
from itransf.ops.grouped import Grouping, spread_product
from itransf.training.assignment import choose_lowest
from itransf.training.losses import ContrastLoss, make_contrast_loss
from itransf.training.objectives import MASKED

MOST_PAIRS = 2500  # pairs of concepts up to which all are tried
RIVALS = 512  # entities that triples are compared with
ROUNDS = 6  # of choosing the sides in turn, where pairs are too many
MOST_TRIPLES = 100  # that pairs are judged by


@dataclass(frozen=True)
class Trial:
    """Triples and rivals as each concept sees them.

    Attributes:
        heads: (m, b, d) the triples' heads.
        tails: (m, b, d) the triples' tails.
        rivals: (m, n, d) other entities.
        head_answers: (b, n) which rivals are no rivals as heads, because they are answers.
        tail_answers: (b, n) the same as tails.
        norm: The model's distance.
        loss: The run's own.
    """

    heads: Tensor
    tails: Tensor
    rivals: Tensor
    head_answers: Tensor
    tail_answers: Tensor
    norm: Norm
    loss: ContrastLoss

    def reverse(self) -> Trial:
        """Return the same trial with heads and tails changed over."""
        return Trial(self.tails, self.heads, self.rivals, self.tail_answers, self.head_answers, self.norm, self.loss)

    def cost_of_tails(self, head: int) -> Tensor:
        """Return the summed loss of the triples with this concept on the head side and each on the tail side, (m,)."""
        own, others = self.heads[head], self.tails  # (b, d), (m, b, d)
        m, b, _ = others.shape
        shift = leave_one_out(others - own)
        positive = -distance(own + shift - others, self.norm).flatten()  # (m * b,)
        groups = Grouping(torch.arange(m, device=own.device), [b] * m, None)
        tails = grouped_distance((own + shift).flatten(0, 1), self.rivals, groups, self.norm)  # (m * b, n)
        heads = pairwise_distance((others - shift).flatten(0, 1), self.rivals[head], self.norm)
        total = torch.zeros_like(positive)
        for distances, answers in ((heads, self.head_answers), (tails, self.tail_answers)):
            total += self.loss(positive, (-distances).masked_fill_(answers.repeat(m, 1), MASKED))
        return total.view(m, b).sum(1)


def leave_one_out(wanted: Tensor) -> Tensor:
    """Return for each row the mean of the other rows, (..., b, d); a single row has only itself."""
    b = wanted.shape[-2]
    return wanted if b == 1 else (wanted.sum(-2, keepdim=True) - wanted) / (b - 1)


@torch.no_grad()
def prepare_trial(model: ITransF, triples: Tensor, loss: LossConfig, generator: torch.Generator) -> Trial:
    """Project the triples (b, 3), at most so many, and random rivals through every concept."""
    order = torch.randperm(len(triples), generator=generator, device=triples.device)
    chosen = triples[order[:MOST_TRIPLES]]
    drawn = torch.randperm(len(model.entities), generator=generator, device=triples.device)[:RIVALS]

    def project(numbers: Tensor) -> Tensor:
        return model.limit_projected(spread_product(model.entities[numbers], model.concepts))  # (m, n, d)

    return Trial(
        project(chosen[:, 0]),
        project(chosen[:, 2]),
        project(drawn),
        mark_answers(chosen[:, 2], chosen[:, 0], drawn),
        mark_answers(chosen[:, 0], chosen[:, 2], drawn),
        model.config.p_norm,
        make_contrast_loss(loss),
    )


def mark_answers(anchors: Tensor, answers: Tensor, rivals: Tensor) -> Tensor:
    """Mark the rivals that answer the same question, in any of the triples, (b, n)."""
    same = (anchors[:, None] == anchors).float()  # (b, b)
    return same @ (answers[:, None] == rivals).float() > 0


@torch.no_grad()
def choose_supports(trial: Trial, size: int) -> tuple[dict[Side, Tensor], dict[Side, Tensor]]:
    """Return the supports (k,) of both sides, and what each concept costs there given the other side's best, (m,).

    All pairs are tried where they are few; else the sides are chosen in turn until neither changes.
    """
    m = len(trial.heads)
    reversed_trial = trial.reverse()
    costs: dict[Side, Tensor]
    if m * m <= MOST_PAIRS:
        table = torch.stack([trial.cost_of_tails(head) for head in range(m)])
        head, tail = divmod(int(table.argmin()), m)
        costs = {"head": table[:, tail], "tail": table[head]}
    else:
        costs, head = {"tail": start_in_turn(trial)}, -1
        for _ in range(ROUNDS):
            costs["head"] = reversed_trial.cost_of_tails(int(costs["tail"].argmin()))
            before, head = head, int(costs["head"].argmin())
            if head == before:
                break
            costs["tail"] = trial.cost_of_tails(head)
    return {side: choose_lowest(cost[None], size)[0] for side, cost in costs.items()}, costs


def start_in_turn(trial: Trial, tried: int = 16) -> Tensor:
    """Return the tails' costs under the best of some heads, evenly chosen."""
    m = len(trial.heads)
    heads = sorted({place * m // tried for place in range(tried)})
    rows = torch.stack([trial.cost_of_tails(head) for head in heads])
    return rows[int(rows.min(1).values.argmin())]
