"""Negative sampling: uniform or Bernoulli sides, replacements partly from the relation's own domain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from itransf.config import NegativesConfig
from itransf.data import Graph, RelationStatistics
from itransf.registry import SAMPLERS

DOMAIN_CAP = 0.5  # maximum probability of domain sampling (paper, appendix)


class Corruption(NamedTuple):
    """Replacements (b, n) for one side of each triple: of the head where `replaces_head` (b,)."""

    replaces_head: Tensor
    replacements: Tensor

    def split(self, size: int) -> list[Corruption]:
        """Return the replacements of each batch of `size` triples."""
        return [Corruption(*parts) for parts in zip(*(torch.split(part, size) for part in self), strict=True)]


class SharedCorruption(NamedTuple):
    """Replacements that the triples of a relation in a batch, a group, share.

    Attributes:
        owners: Group of each triple, (b,), ascending.
        replaces_head: Whether a group replaces heads, (g,).
        replacements: Entities, (g, n).
        masked: Negatives to mask for a triple, (b, n).
    """

    owners: Tensor
    replaces_head: Tensor
    replacements: Tensor
    masked: Tensor

    def split(self, size: int) -> list[SharedCorruption]:
        """Return the replacements of each batch of `size` triples; no group has triples of two batches."""
        batches = []
        for owners, masked in zip(torch.split(self.owners, size), torch.split(self.masked, size), strict=True):
            groups = slice(int(owners[0]), int(owners[-1]) + 1)
            batches.append(
                SharedCorruption(owners - owners[0], self.replaces_head[groups], self.replacements[groups], masked)
            )
        return batches


class _Side:
    """Tables for replacing one side: the domains, and the training triples as sorted keys.

    A triple's other two parts are numbered as a pair; pair * entities + replacement is a unique key, far below 2^63 for
    any graph that fits in memory.
    """

    def __init__(self, graph: Graph, column: int, strength: float, device: torch.device) -> None:
        statistics, entities = graph.statistics, len(graph.entities)
        others = graph.train[:, [0, 1]] if column == 2 else graph.train[:, [2, 1]]
        packed = others[:, 0] * len(graph.relations) + others[:, 1]
        _, pairs, counts = np.unique(packed, return_inverse=True, return_counts=True)
        name = "tail" if column == 2 else "head"
        offsets, values = statistics.domains[name]
        if graph.types is not None:
            domains = [graph.typing.candidates(relation, name) for relation in range(len(graph.relations))]
            offsets, values = np.cumsum([0, *map(len, domains)]), np.concatenate(domains)
        sizes = np.diff(offsets)
        relations = graph.train[:, 1]
        self.entities = entities
        self.pair_of_triple = torch.as_tensor(pairs.reshape(-1), device=device)
        self.keys = torch.as_tensor(np.sort(pairs.reshape(-1) * entities + graph.train[:, column]), device=device)
        self.domain_offsets = torch.as_tensor(offsets, device=device)
        self.domain_values = torch.as_tensor(values, device=device)
        # Where every member of the domain is a training answer, the domain holds no negative.
        has_negatives = counts[pairs.reshape(-1)] < sizes[relations]
        chance = domain_probabilities(statistics, strength)[relations] * has_negatives
        self.domain_chance = torch.as_tensor(chance, device=device)

    def are_known(self, triples: Tensor, replacements: Tensor) -> Tensor:
        """Return which replacements (b, n) of the triples (b,) give a training triple."""
        wanted = self.pair_of_triple[triples][:, None] * self.entities + replacements
        places = torch.searchsorted(self.keys, wanted).clamp_max(len(self.keys) - 1)
        return self.keys[places] == wanted


def domain_probabilities(statistics: RelationStatistics, strength: float) -> np.ndarray:
    """Return min(lambda |M_tail| |M_head| / |N_r|, 0.5) for each relation (paper, appendix), (r,)."""
    product = statistics.domain_sizes("head") * statistics.domain_sizes("tail")
    return np.minimum(strength * product / np.maximum(statistics.counts, 1), DOMAIN_CAP)


class NegativeSampler:
    """Draws negatives of training triples, on the device of the triples.

    Heads and tails are replaced with equal probability. A sampler of your own overrides `head_probabilities`, or
    `corrupt` (and `corrupt_together` for shared negatives).

    Args:
        graph: Graph with the training triples.
        config: Settings of negative sampling.
        device: Device of the triples.
    """

    def __init__(self, graph: Graph, config: NegativesConfig, device: torch.device) -> None:
        self.config = config
        self.uses_domains = bool(config.domain)
        self.entities = len(graph.entities)
        self.relation_of_triple = torch.as_tensor(graph.train[:, 1], device=device)
        self.head, self.tail = (_Side(graph, column, config.domain, device) for column in (0, 2))
        self.head_chance = torch.as_tensor(self.head_probabilities(graph.statistics), device=device)

    def head_probabilities(self, statistics: RelationStatistics) -> np.ndarray:
        """Return the probability that the head is replaced, for each relation, (r,)."""
        return np.full(len(statistics.counts), 0.5)

    def corrupt(self, triples: Tensor, count: int, generator: torch.Generator) -> Corruption:
        """Draw `count` negatives of each triple (indices into train, (b,))."""
        draws = torch.rand(len(triples), generator=generator, device=triples.device, dtype=torch.float64)
        replaces_head = draws < self.head_chance[self.relation_of_triple[triples]]
        replacements = torch.empty(len(triples), count, dtype=torch.int64, device=triples.device)
        for side, rows in ((self.head, replaces_head), (self.tail, ~replaces_head)):
            replacements[rows] = self._replace(side, triples[rows], count, generator)
        return Corruption(replaces_head, replacements)

    def corrupt_together(self, triples: Tensor, count: int, batch: int, generator: torch.Generator) -> SharedCorruption:
        """Draw `count` negatives for all triples of a relation in a batch.

        Args:
            triples: Indices into train, (b,), sorted by relation within each batch.
            count: Number n of negatives.
            batch: Batch size.
            generator: Random generator.
        """
        device = triples.device
        owners, relations = self._group(triples, batch)
        draws = torch.rand(len(relations), generator=generator, device=device, dtype=torch.float64)
        replaces_head = draws < self.head_chance[relations]
        replacements = torch.empty(len(relations), count, dtype=torch.int64, device=device)
        masked = torch.zeros(len(triples), count, dtype=torch.bool, device=device)
        for side, groups in ((self.head, replaces_head), (self.tail, ~replaces_head)):
            # The domain holds a negative for a group if it holds one for a triple of the group.
            chances = torch.zeros(len(relations), dtype=torch.float64, device=device)
            chances.scatter_reduce_(0, owners, side.domain_chance[triples], "amax")
            replacements[groups] = self._draw(side, relations[groups], chances[groups], count, generator)
            if self.config.filtered:
                rows = groups[owners]
                masked[rows] = side.are_known(triples[rows], replacements[owners[rows]])
        return SharedCorruption(owners, replaces_head, replacements, masked)

    def _group(self, triples: Tensor, batch: int) -> tuple[Tensor, Tensor]:
        """Return the group of each triple (b,), and the relation of each group (g,)."""
        relations = self.relation_of_triple[triples]
        batches = torch.arange(len(triples), device=triples.device) // batch
        begins = torch.ones_like(relations, dtype=torch.bool)
        begins[1:] = (relations.diff() != 0) | (batches.diff() != 0)
        return begins.cumsum(0) - 1, relations[begins]

    def _replace(self, side: _Side, triples: Tensor, count: int, generator: torch.Generator) -> Tensor:
        """Draw replacements (b, n); those that give a training triple are drawn again, `tries` times at most."""
        drawn = self._draw(side, self.relation_of_triple[triples], side.domain_chance[triples], count, generator)
        if not self.config.filtered:
            return drawn
        flat, owners = drawn.flatten(), triples.repeat_interleave(count)
        suspects = torch.arange(len(flat), device=triples.device)
        for _ in range(self.config.tries):
            suspects = suspects[side.are_known(owners[suspects], flat[suspects, None]).squeeze(1)]
            if len(suspects) == 0:
                break
            again = owners[suspects]
            relations, chances = self.relation_of_triple[again], side.domain_chance[again]
            flat[suspects] = self._draw(side, relations, chances, 1, generator).squeeze(1)
        return flat.view(-1, count)

    def _draw(self, side: _Side, relations: Tensor, chances: Tensor, count: int, generator: torch.Generator) -> Tensor:
        """Draw entities (b, n) for relations (b,): from the domain with probability `chances` (b,), else from all."""
        device = relations.device
        anyone = torch.randint(self.entities, (len(relations), count), generator=generator, device=device)
        if not self.uses_domains:
            return anyone
        start = side.domain_offsets[relations][:, None]
        size = side.domain_offsets[relations + 1][:, None] - start
        places = torch.rand(len(relations), count, generator=generator, device=device, dtype=torch.float64)
        member = side.domain_values[start + (places * size).long().clamp_max(size - 1)]
        coin = torch.rand(len(relations), count, generator=generator, device=device, dtype=torch.float64)
        return torch.where(coin < chances[:, None], member, anyone)


class UniformSampler(NegativeSampler):
    """Replaces head or tail with equal probability."""


class BernoulliSampler(NegativeSampler):
    """Replaces the side with fewer false negatives more often (Wang et al., 2014)."""

    def head_probabilities(self, statistics: RelationStatistics) -> np.ndarray:
        """Return tails per head / (tails per head + heads per tail) for each relation."""
        total = np.maximum(statistics.tails_per_head + statistics.heads_per_tail, 1e-12)
        return np.asarray(statistics.tails_per_head / total)


def make_sampler(graph: Graph, config: NegativesConfig, device: torch.device) -> NegativeSampler:
    """Return the configured sampler."""
    sampler: NegativeSampler = SAMPLERS[config.sampler](graph, config, device)
    return sampler


def draw_negatives(
    sampler: NegativeSampler, config: NegativesConfig, triples: Tensor, batch: int, generator: torch.Generator
) -> Corruption | SharedCorruption:
    """Draw the configured number of negatives of triples, sorted by relation inside each batch of `batch` triples."""
    if config.shared:
        return sampler.corrupt_together(triples, config.per_triple, batch, generator)
    return sampler.corrupt(triples, config.per_triple, generator)
