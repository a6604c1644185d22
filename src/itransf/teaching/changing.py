"""Several changes to the concepts of a trained model at once, told by the numbers it has now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.errors import ConfigError
from itransf.interpret.ablation import measure_ablations
from itransf.models import SIDES, ITransF, Side
from itransf.models.projection import PINNED
from itransf.teaching.edits import Costs, forbid, merge, pin, prune
from itransf.training.assignment import draw_sample, single_concept_costs
from itransf.training.losses import make_contrast_loss
from itransf.training.negatives import make_sampler

ABLATED_TRIPLES = 1000  # validation triples ranked without a concept, at most, to tell what it is worth

NumberedPlace = tuple[int, Side, int]
"""A relation, a side of it, and a concept, by their numbers."""


@dataclass(frozen=True)
class Changes:
    """What a person wants changed; concepts have the numbers of the model as it is.

    Attributes:
        forbidden: Where which concept may not be used.
        pinned: Where which concept is always in the support.
        merged: Pairs of concepts to make one; the first keeps its number.
        pruned: How many concepts to keep; zero keeps all.
    """

    forbidden: Sequence[NumberedPlace] = ()
    pinned: Sequence[NumberedPlace] = ()
    merged: Sequence[tuple[int, int]] = ()
    pruned: int = 0


@dataclass
class Changed:
    """A model after changes, and which of its concepts each old one has become (a pruned one: none)."""

    model: ITransF
    numbers: dict[int, int] = field(default_factory=dict)

    def follow(self, concept: int) -> int:
        """Return the present number of an old concept."""
        if concept not in range(len(self.numbers)):
            raise ConfigError(f"there is no concept {concept}; they are numbered 0 to {len(self.numbers) - 1}")
        return self.numbers[concept]

    def drop(self, gone: Sequence[int], heir: int | None = None) -> None:
        """Take note that present concepts are gone: the heir has their users, those above move down."""
        kept = [concept for concept in range(len(self.model.concepts)) if concept not in gone]
        places = {concept: place for place, concept in enumerate(kept)}
        if heir is not None:
            places |= dict.fromkeys(gone, places[heir])
        self.numbers = {old: places[now] for old, now in self.numbers.items() if now in places}


def change_concepts(model: ITransF, graph: Graph, config: Config, changes: Changes) -> Changed:
    """Return the model with the changes made: forbidden, pinned, merged, pruned, in this order.

    Raises:
        ConfigError: There is no such concept, or the changes contradict each other or what was ruled before.
    """
    found = Changed(model, {concept: concept for concept in range(len(model.concepts))})
    refuse_contradictions(changes)
    if changes.forbidden:
        costs = measure_costs(model, graph, config)
        for relation, side, concept in changes.forbidden:
            found.model = forbid(found.model, costs, relation, side, found.follow(concept))
    for relation, side, concept in changes.pinned:
        found.model = pin(found.model, relation, side, found.follow(concept))
    for first, second in changes.merged:
        kept, gone = found.follow(first), found.follow(second)
        costs = measure_costs(found.model, graph, config)
        merged = merge(found.model, costs, kept, gone, measure_use(found.model, graph))
        found.drop([gone], heir=kept)
        found.model = merged
    if changes.pruned:
        keep = choose_kept(found.model, graph, changes.pruned)
        pruned = prune(found.model, measure_costs(found.model, graph, config), keep)
        found.drop([concept for concept in range(len(found.model.concepts)) if concept not in keep])
        found.model = pruned
    return found


def refuse_contradictions(changes: Changes) -> None:
    """Refuse to pin what is forbidden in the same breath."""
    both = set(changes.pinned) & set(changes.forbidden)
    if both:
        concept = min(both)[2]
        raise ConfigError(f"concept {concept} is both pinned and forbidden to the same side of a relation; choose")


def measure_costs(model: ITransF, graph: Graph, config: Config) -> Costs:
    """Return what each relation's training triples cost if a side used one concept alone, as the block step does."""
    device = model.concepts.device
    generator = torch.Generator(device).manual_seed(config.seed)
    sampler = make_sampler(graph, config.negatives, device)
    train = torch.as_tensor(graph.train, device=device)
    sample = draw_sample(train, sampler, config.assignment.triples, config.assignment.negatives, generator)
    loss = make_contrast_loss(config.loss)
    return {side: single_concept_costs(model, sample, side, loss) for side in SIDES}


@torch.no_grad()
def measure_use(model: ITransF, graph: Graph) -> Tensor:
    """Return each concept's attention summed over all training triples and both sides, (m,)."""
    counts = torch.as_tensor(graph.statistics.counts, device=model.concepts.device).to(model.concepts.dtype)
    return torch.stack([counts @ model.concept_projection(side).attention().abs() for side in SIDES]).sum(0)


@torch.no_grad()
def choose_kept(model: ITransF, graph: Graph, count: int) -> list[int]:
    """Return the concepts without which validation loses most, ascending; pinned ones come first.

    Concepts whose loss is the same, or cannot be told, are taken by their use.
    """
    m = len(model.concepts)
    if not 0 < count < m:
        raise ConfigError(f"{m} concepts cannot be pruned to {count}; give a number from 1 to {m - 1}")
    attention = [model.concept_projection(side).attention() for side in SIDES]
    users = [
        (concept, np.flatnonzero(torch.stack([side[:, concept] != 0 for side in attention]).any(0).cpu().numpy()))
        for concept in range(m)
    ]
    losses = [
        0.0 if found is None else found.lost_overall
        for found in measure_ablations(model, graph, users, ABLATED_TRIPLES)
    ]
    use = measure_use(model, graph).tolist()
    rules = torch.cat([model.concept_projection(side).rules for side in SIDES])
    pinned = (rules == PINNED).any(0).tolist()
    order = sorted(range(m), key=lambda concept: (pinned[concept], losses[concept], use[concept]), reverse=True)
    return sorted(order[:count])


def carry_names(names: Mapping[int, str], numbers: Mapping[int, int]) -> dict[int, str]:
    """Return what people call concepts, under their new numbers; a merged one keeps its own name if it had one."""
    carried: dict[int, str] = {}
    for old, name in sorted(names.items(), key=lambda item: numbers.get(item[0]) != item[0]):
        if old in numbers:
            carried.setdefault(numbers[old], name)
    return carried
