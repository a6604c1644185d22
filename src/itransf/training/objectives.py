"""Objectives: the loss of one batch of training triples."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from itransf.config import Config
from itransf.data import Graph
from itransf.errors import ConfigError, DataError
from itransf.models.base import SIDES, Model, Side
from itransf.registry import LOSSES
from itransf.training.losses import make_contrast_loss
from itransf.training.negatives import Corruption, NegativeSampler, SharedCorruption, draw_negatives

MASKED = -1e9  # finite, so that a query without negatives still has a gradient
SMOOTHING = 6  # added to the number of triples that share a pair (Sun et al., 2019, count each pair from 4)


class Objective(Protocol):
    """The loss of training triples, given by their indices.

    Attributes:
        train: Training triples, (f, 3).
        factors: Factor of each triple's loss, (f,).
    """

    train: Tensor
    factors: Tensor

    def draw(self, triples: Tensor, size: int, generator: torch.Generator) -> Sequence[Any]:
        """Draw the negatives of triples, sorted by relation in each batch; return those of each batch of `size`."""
        ...

    def __call__(self, model: Model, triples: Tensor, negatives: Any) -> tuple[Tensor, Tensor | None]:
        """Return the mean loss of a batch and the entities that get a gradient (None: all of them)."""
        ...


def weigh_triples(train: Tensor, exponent: float) -> Tensor:
    """Return the weight of each training triple (f, 3), see `LossConfig.subsampling`, (f,)."""
    shared = torch.full_like(train[:, 1], SMOOTHING)
    for column in (0, 2) if exponent else ():
        pairs = train[:, column] * (train[:, 1].max() + 1) + train[:, 1]
        _, places, counts = torch.unique(pairs, return_inverse=True, return_counts=True)
        shared += counts[places]
    return shared.float() ** -exponent


def read_factors(graph: Graph, device: torch.device) -> Tensor:
    """Return the factor of each training triple's loss, (f,): its weight, with a mean of one."""
    if graph.weights is None:
        return torch.ones(len(graph.train), device=device)
    found = graph.weights.of(graph.train)
    if not found.any():
        raise DataError("all training triples have weight 0; give positive weights")
    return torch.as_tensor(found / found.mean(), dtype=torch.float32, device=device)


def weighted_mean(losses: Tensor, weights: Tensor, factors: Tensor) -> Tensor:
    """Return the mean with these weights (b,) of losses times factors (b,), exact where all are one."""
    return (losses * factors * weights).sum() / weights.sum()


def relation_loss(scores: Tensor, relations: Tensor, factors: Tensor) -> Tensor:
    """Return the mean cross-entropy of relations (b,) among all, (b, r), times factors (b,)."""
    return (cross_entropy(scores, relations, reduction="none") * factors).mean()


class ContrastObjective:
    """Triples against sampled negatives."""

    def __init__(self, sampler: NegativeSampler, graph: Graph, train: Tensor, config: Config) -> None:
        self.factors = read_factors(graph, train.device)
        self.sampler, self.train, self.config = sampler, train, config.negatives
        self.weights = weigh_triples(train, config.loss.subsampling)
        self.loss = make_contrast_loss(config.loss)

    def draw(
        self, triples: Tensor, size: int, generator: torch.Generator
    ) -> Sequence[Corruption] | Sequence[SharedCorruption]:
        """Draw the negatives of all batches at once."""
        return draw_negatives(self.sampler, self.config, triples, size, generator).split(size)

    def __call__(
        self, model: Model, triples: Tensor, negatives: Corruption | SharedCorruption
    ) -> tuple[Tensor, Tensor | None]:
        """Return the mean loss over the batch and the entities in it."""
        heads, relations, tails = self.train[triples].unbind(1)
        if isinstance(negatives, SharedCorruption):
            positive, negative = model.score_shared(heads, relations, tails, *negatives[:3])
            negative = negative.masked_fill(negatives.masked, MASKED)
        else:
            positive, negative = model.score_contrast(heads, relations, tails, *negatives)
        touched = torch.cat([heads, tails, negatives.replacements.flatten()])
        mean = weighted_mean(self.loss(positive, negative), self.weights[triples], self.factors[triples])
        return mean, touched if len(touched) < model.sizes.entities else None


class CandidateObjective:
    """Triples against all entities, or against candidates that the batch shares, on both sides.

    Other training answers count as negatives unless `negatives.filtered` masks them.
    """

    def __init__(self, graph: Graph, train: Tensor, config: Config) -> None:
        self.train, self.config = train, config.loss
        self.loss, self.weights = make_contrast_loss(config.loss), weigh_triples(train, config.loss.subsampling)
        self.factors = read_factors(graph, train.device)
        self.entities = len(graph.entities)
        self.known = graph.known_in("train") if config.negatives.filtered else None

    def draw(self, triples: Tensor, size: int, generator: torch.Generator) -> Sequence[Tensor | None]:
        """Draw the candidates of each batch, ascending and distinct, or None for all entities."""
        count = self.config.candidates
        batches = -(-len(triples) // size)
        if not count or count >= self.entities:
            return [None] * batches
        drawn = (
            torch.randint(self.entities, (count,), generator=generator, device=triples.device) for _ in range(batches)
        )
        return [each.unique() for each in drawn]  # type: ignore[no-untyped-call]

    def __call__(self, model: Model, triples: Tensor, negatives: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the mean loss of the head query and the tail query of each triple."""
        batch, drawn, factors = self.train[triples], negatives, self.factors[triples]
        pool = model.pool(drawn)
        heads, relations, tails = batch.unbind(1)
        # The random score of a triple is taken from the same draw as those of its rivals.
        given = None if model.is_random and drawn is None else model.score(heads, relations, tails)
        rows, total = torch.arange(len(batch), device=batch.device), torch.zeros((), device=batch.device)
        for side in SIDES:
            anchors, answers = (tails, heads) if side == "head" else (heads, tails)
            scores = model.score_pool(anchors, relations, side, pool)  # (b, n)
            positive = scores[rows, answers] if given is None else given
            scores.masked_fill_(self._are_answers(batch, side, drawn, scores.shape), MASKED)
            total = total + weighted_mean(self.loss(positive, scores), self.weights[triples], factors)
        total = total / 2
        if self.config.relation_weight:
            guesses = self.config.scale * model.score_relations(heads, tails)  # (b, r)
            total = total + self.config.relation_weight * relation_loss(guesses, relations, factors)
        return total, None if drawn is None else torch.cat([heads, tails, drawn])

    def _are_answers(self, batch: Tensor, side: Side, drawn: Tensor | None, shape: torch.Size) -> Tensor:
        """Mark the candidates (b, n) that are not negatives: the answer and, if filtered, other training answers."""
        rows, found = self._list_answers(batch, side)
        marks = torch.zeros(shape, dtype=torch.bool, device=batch.device)
        if drawn is None:
            marks[rows, found] = True
            return marks
        places = torch.searchsorted(drawn, found).clamp_max(len(drawn) - 1)
        hits = drawn[places] == found
        marks[rows[hits], places[hits]] = True
        return marks

    def _list_answers(self, batch: Tensor, side: Side) -> tuple[Tensor, Tensor]:
        """Return rows of the batch and the entities that answer them."""
        if self.known is None:
            own = batch[:, 2 if side == "tail" else 0].contiguous()
            return torch.arange(len(batch), device=batch.device), own
        heads, relations, tails = batch.cpu().numpy().T
        offsets, answers = self.known.answers(heads if side == "tail" else tails, relations, side)
        rows = np.repeat(np.arange(len(batch)), np.diff(offsets))
        return torch.from_numpy(rows).to(batch.device), torch.from_numpy(answers).to(batch.device)


def check_draws(model: Model, config: Config) -> None:
    """Refuse a loss that takes a triple's random score and those of its rivals from different draws.

    Dropout of differences has a mask for each pair in any case.

    Raises:
        ConfigError: The loss does so.
    """
    if not model.is_random or getattr(model, "dropout", False):
        return
    loss, some = config.loss, 0 < config.loss.candidates < model.sizes.entities
    if some or not getattr(LOSSES[loss.name], "one_vs_all", False):
        raise ConfigError(
            f"scores of {config.name} are random in training (dropout), so it can only be trained against all "
            "entities: set loss.name=cross_entropy and loss.candidates=0"
        )


def make_objective(graph: Graph, train: Tensor, sampler: NegativeSampler, config: Config) -> Objective:
    """Return the configured objective."""
    if getattr(LOSSES[config.loss.name], "one_vs_all", False):
        return CandidateObjective(graph, train, config)
    return ContrastObjective(sampler, graph, train, config)
