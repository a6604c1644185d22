"""The triples and corrupted copies that concepts are chosen by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from itransf.ops.grouping import occurrence_numbers
from itransf.training.negatives import Corruption, NegativeSampler

CHUNK_NUMBERS = 1 << 24  # floats a chunk's largest tensor may hold
NEARNESS = 1e-6  # share of a triple's distance in its cost: of concepts that cost the same, those nearest are chosen
SHARE_OF_FREE = 64  # free bytes of a GPU for each such float: it has 4, and about six such tensors live at once


@dataclass(frozen=True)
class Sample:
    """The triples and negatives a step judges by: the same for all concepts, before and after."""

    heads: Tensor
    relations: Tensor
    tails: Tensor
    corruption: Corruption

    def chunks(self, size: int) -> Iterator[Sample]:
        """Yield the sample in pieces of at most `size` triples."""
        for start in range(0, len(self.heads), size):
            part = slice(start, start + size)
            yield Sample(
                self.heads[part],
                self.relations[part],
                self.tails[part],
                Corruption(*(tensor[part] for tensor in self.corruption)),
            )


def draw_sample(
    train: Tensor,
    sampler: NegativeSampler,
    triples_per_relation: int,
    negatives: int,
    generator: torch.Generator,
) -> Sample:
    """Choose the triples, all or at most so many per relation, and corrupt them."""
    triples = torch.arange(len(train), device=train.device)
    if triples_per_relation:
        triples = triples[torch.randperm(len(triples), generator=generator, device=train.device)]
        triples = triples[occurrence_numbers(train[triples, 1]) < triples_per_relation]
    triples = triples[torch.argsort(train[triples, 1], stable=True)]
    heads, relations, tails = train[triples].unbind(1)
    return Sample(heads, relations, tails, sampler.corrupt(triples, negatives, generator))


def corrupted_triples(sample: Sample) -> tuple[Tensor, Tensor, Tensor]:
    """Return heads, relations and tails of the corrupted copies, (b * n,) each."""
    replaces_head, replacements = sample.corruption
    heads = torch.where(replaces_head[:, None], replacements, sample.heads[:, None])
    tails = torch.where(replaces_head[:, None], sample.tails[:, None], replacements)
    return heads.flatten(), sample.relations.repeat_interleave(replacements.shape[1]), tails.flatten()


def count_numbers(device: torch.device) -> int:
    """Return how many floats a chunk's largest tensor may hold: on a GPU a part of what is free."""
    if device.type != "cuda":
        return CHUNK_NUMBERS
    free, _ = torch.cuda.mem_get_info(device)
    return max(CHUNK_NUMBERS, free // SHARE_OF_FREE)
