"""Edit the concepts of a trained model by hand: forbid, pin, merge, prune, and train a little afterwards."""

import math
from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from itransf.config import Config, WarmStartConfig
from itransf.data.graph import Graph
from itransf.errors import ConfigError, check_count
from itransf.fitting import Fit
from itransf.interpret.ablation import measure_ablations
from itransf.interpret.attention import check_part, read_attention
from itransf.interpret.naming import call_concept, find_concept, name_concepts
from itransf.models import SIDES, CodedConcepts, ConceptModel, Model, ProjectingConcepts
from itransf.models.concepts import FORBIDDEN, FREE, PINNED, ConceptAttention
from itransf.teaching.fit_rows import rebuild
from itransf.training.assignment import draw_sample, single_concept_costs
from itransf.training.losses import make_contrast_loss
from itransf.training.negatives import make_sampler
from itransf.training.objectives import read_factors
from itransf.training.trainer import weights

ABLATED_TRIPLES = 1000  # maximum number of validation triples ranked without a concept, to measure its importance
FAINT = 0.01  # weight of a concept that only fills a place in a support, relative to the smallest other weight
REFIT_EPOCHS = 5
REFIT_RATE = 0.1  # learning rate of a re-fit, relative to that of training: a higher one loses more than it gains
REFIT = "re-fit"  # phase of a re-fit in the history
PLACE = "(relation, part, concept)"
RULES = {PINNED: "pinned", FORBIDDEN: "forbidden"}

Place = tuple[str, str, int | str] | tuple[str, int | str]
"""Name or label of a relation, a part ("head" or "tail"; not needed if there is one), number or name of a concept."""
Costs = Mapping[str, Tensor]
"""What decides which concept fills a free place in a support, for each part.

It is the cost of each relation's triples if the part used one concept alone, (r, m); or, where concepts add up to the
vectors of relations, the vectors to compose, (r, 2 d).
"""
C = TypeVar("C", bound=ConceptModel)


@torch.inference_mode(mode=False)
def edit_concepts(
    model: C,
    graph: Graph,
    config: Config,
    names: Mapping[int, str],
    *,
    forbid: Iterable[Place] = (),
    pin: Iterable[Place] = (),
    merge: Iterable[tuple[int | str, int | str]] = (),
    prune: int = 0,
) -> tuple[C, Graph, dict[int, str]]:
    """Return the model with its concepts edited: forbidden, pinned, merged, pruned, in this order.

    All concepts are given by the numbers or names, also suggested ones, that they have before the edits.

    Args:
        model: Trained model, which is not changed. Merging and pruning need the settings `concepts` and
            `support_size` in its config.
        graph: Graph whose training triples decide which concept fills a free place, and whose validation triples
            decide which concepts are kept.
        config: Settings of the run.
        names: Names of concepts.
        forbid: (relation, part, concept): the part may not use the concept. Where relations have one part alone,
            (relation, concept).
        pin: (relation, part, concept): the part always has the concept in its support.
        merge: Pairs of concepts to merge into the first, which keeps its name; numbers above the second fall by 1.
        prune: Number of concepts to keep; zero keeps all.

    Returns:
        The edited model, not trained further; the graph with notes on the edits; the names of concepts by their new
        numbers.

    Raises:
        ConfigError: There is no such concept or part, concepts of different symmetry are merged, an edit contradicts
            another or an earlier rule, or the model cannot have fewer concepts.
        DataError: There is no such relation.
    """
    m, prune = len(model.concepts), check_count("prune", prune)
    called = name_concepts(read_attention(model, graph), names)

    def number(concept: int | str) -> int:
        return find_concept(concept, names if str(concept).strip() in names.values() else called, m)

    def locate(place: Sequence[Any]) -> tuple[int, str, int]:
        relation, *parts, concept = place
        part = check_part(parts[0], model.parts) if parts else model.parts[0]
        return graph.relations.index(relation), part, number(concept)

    expected = ["(relation, side, concept)"] if len(model.parts) > 1 else ["(relation, concept)", PLACE]
    forbidden = [locate(place) for place in list_edits("forbid", forbid, *expected)]
    pinned = [locate(place) for place in list_edits("pin", pin, *expected)]
    merged = [(number(first), number(second)) for first, second in list_edits("merge", merge, "(concept, concept)")]

    model, notes = deepcopy(model), []
    needed = forbidden or (pinned and isinstance(model, CodedConcepts))
    costs = measure_costs(model, graph, config) if needed else {}
    for edits, rule in ((forbidden, FORBIDDEN), (pinned, PINNED)):
        for relation, part, concept in edits:
            set_rule(model, graph, costs, relation, part, concept, rule)
            users = call_users(graph, relation, part)
            notes.append(f"the concept {call_concept(concept, called)} was {RULES[rule]} to {users}.")
    numbers = {concept: concept for concept in range(m)}  # new number of each old concept that is not pruned
    lost = set[int]()  # concepts that were merged into others
    for first, second in merged:
        kept, gone = numbers[first], numbers[second]
        model = merge_concepts(model, graph, measure_costs(model, graph, config), kept, gone)
        lost |= {old for old, now in numbers.items() if now == gone}
        numbers = {old: (kept if now == gone else now) for old, now in numbers.items()}
        numbers = {old: now - (now > gone) for old, now in numbers.items()}
        notes.append(f"the concept {call_concept(second, called)} was merged into {call_concept(first, called)}.")
    if prune:
        keep = choose_kept(model, graph, prune)
        dropped = [concept for concept in range(len(model.concepts)) if concept not in keep]
        model = drop_concepts(model, graph, measure_costs(model, graph, config), dropped)
        numbers = {old: keep.index(now) for old, now in numbers.items() if now in keep}
        notes.append(f"The concepts were pruned to {prune}.")
    told = (note[0].upper() + note[1:] for note in notes)
    return model, replace(graph, notes=(*graph.notes, *told)), carry_names(names, numbers, lost)


def call_users(graph: Graph, relation: int, part: str) -> str:
    """Return the part of a relation in words: "the heads of capital_of", or "capital_of" if there is one part."""
    label = graph.relations.label(relation)
    return f"the {part}s of {label}" if part in SIDES else label


def list_edits(name: str, given: Iterable[Any], *expected: str) -> list[Any]:
    """Return the edits of one kind as a list of tuples of an expected length."""
    if not isinstance(given, Iterable):
        raise ConfigError(f"{name} must be a list, not {given!r}")
    found = list(given)
    for edit in found:
        lengths = [form.count(",") + 1 for form in expected]
        if isinstance(edit, str) or not isinstance(edit, Sized) or len(edit) not in lengths:
            raise ConfigError(f"{name}: {edit!r} is not a {expected[0]}; give a list of them")
    return found


def carry_names(names: Mapping[int, str], numbers: Mapping[int, int], lost: Set[int]) -> dict[int, str]:
    """Return the names of concepts by their new numbers; those of lost concepts only where there is no other."""
    carried: dict[int, str] = {}
    for old, name in sorted(names.items(), key=lambda item: item[0] in lost):
        if old in numbers:
            carried.setdefault(numbers[old], name)
    return carried


def measure_costs(model: ConceptModel, graph: Graph, config: Config) -> Costs:
    """Return the loss of each relation's training triples if a side used one concept alone, as in the assignment step.

    Where concepts add up to the vectors of relations, their present vectors are returned.
    """
    if isinstance(model, CodedConcepts):
        return {part: model.part_vectors(part).detach().clone() for part in model.parts}
    if not isinstance(model, ProjectingConcepts):
        editable = "models with editable concepts: icomplex, ilineare, itransf"
        raise ConfigError(f"concepts of the model {config.name} cannot be edited; {editable}")
    device = model.concepts.device
    generator = torch.Generator(device).manual_seed(config.seed)
    sampler = make_sampler(graph, config.negatives, device)
    train = torch.as_tensor(graph.train, device=device)
    settings, factors = config.assignment, read_factors(graph, train.device)
    sample = draw_sample(train, sampler, settings.triples, settings.negatives, generator, factors)
    loss = make_contrast_loss(config.loss)
    return {side: single_concept_costs(model, sample, side, loss) for side in SIDES}


@torch.no_grad()
def measure_use(model: ConceptModel, graph: Graph) -> Tensor:
    """Return each concept's attention summed over all training triples and all parts, (m,)."""
    counts = torch.as_tensor(graph.statistics.counts, device=model.concepts.device).to(model.concepts.dtype)
    return torch.stack([counts @ model.shown_weights(part).abs() for part in model.parts]).sum(0)


@torch.no_grad()
def choose_kept(model: ConceptModel, graph: Graph, count: int) -> list[int]:
    """Return the most important concepts, ascending: pinned ones, then those whose removal costs validation most.

    Use decides between concepts whose removal costs the same or cannot be measured. Test triples decide nothing.
    """
    m = len(model.concepts)
    if not 0 < count < m:
        raise ConfigError(f"{m} concepts cannot be pruned to {count}; give a number from 1 to {m - 1}")
    attention = torch.stack([model.concept_attention(part).attention() for part in model.parts])  # (p, r, m)
    users = [(concept, np.flatnonzero((attention[:, :, concept] != 0).any(0).cpu().numpy())) for concept in range(m)]
    ablations = measure_ablations(model, graph, users, ABLATED_TRIPLES, known=graph.known_in("train", "valid"))
    losses = [0.0 if found is None else found.lost_overall for found in ablations]
    use = measure_use(model, graph).tolist()
    pinned = (torch.cat([model.rules(part) for part in model.parts]) == PINNED).any(0).tolist()
    order = sorted(range(m), key=lambda concept: (pinned[concept], losses[concept], use[concept]), reverse=True)
    return sorted(order[:count])


@torch.no_grad()
def set_rule(
    model: ConceptModel, graph: Graph, costs: Costs, relation: int, part: str, concept: int, rule: int
) -> None:
    """Forbid a concept to one part of a relation, or pin it: the part then always has it in its support.

    If the part uses a forbidden concept, the cheapest other concept takes its place and its score. A pinned concept
    that is new there replaces the concept with the smallest weight that is not pinned, and gets the highest score.
    Where concepts add up to vectors, the weights are fitted to the vector again instead.

    Raises:
        ConfigError: The rule contradicts an earlier one, or the support could not be filled under it.
    """
    attention = model.concept_attention(part)
    if not model.has_supports:
        raise ConfigError(
            f"attention of kind {attention.kind!r} has no supports: every side uses all concepts, so none can be "
            'forbidden or pinned; train with model.attention = "sparse"'
        )
    if attention.rules[relation, concept] == -rule:
        raise ConfigError(
            f"concept {concept} is {RULES[-rule]} to {call_users(graph, relation, part)}, so it cannot be "
            f"{RULES[rule]} there; drop one of the two rules"
        )
    attention.rules[relation, concept] = rule
    check_rules(attention)
    support, scores = attention.support[relation], attention.scores[relation]
    if (concept in support.tolist()) == (rule == PINNED):
        return
    if rule == PINNED:
        free = support[attention.rules[relation, support] != PINNED]
        lightest = free[model.shown_weights(part)[relation, free].abs().argmin()]
        swap(attention, relation, int(lightest), concept, scores[support].max())
    refill(model, costs, relation, part)


def refill(model: ConceptModel, costs: Costs, relation: int, part: str) -> None:
    """Replace the forbidden concepts of a support; where concepts add up to vectors, fit the weights again."""
    if isinstance(model, CodedConcepts):
        number = torch.tensor([relation], device=model.concepts.device)
        kept = model.is_supported(part)[number] & (model.rules(part)[number] != FORBIDDEN)
        model.code(part, number, costs[part][number], kept)
    elif part in costs:
        replace_members(model.concept_attention(part), costs[part], relation)


@torch.no_grad()
def merge_concepts(model: C, graph: Graph, costs: Costs, kept: int, gone: int) -> C:
    """Return the model with two concepts merged into the first; the numbers above the second fall by one.

    The matrix or vector is the mean of both, weighted by their use. A side that used both gives it both weights; the
    place that becomes free in its support goes to the cheapest other concept, with a faint weight. Where concepts add
    up to the vectors of relations, those of the users of both are composed again, of the same concepts where possible.
    """
    if kept == gone:
        raise ConfigError(f"concept {kept} cannot be merged with itself; give two concepts")
    kinds = [model.symmetries[concept] for concept in (kept, gone) if model.symmetries]
    if len(set(kinds)) > 1:
        raise ConfigError(
            f"concept {kept} is {kinds[0]} and concept {gone} is {kinds[1]}, so they cannot be merged; "
            "give two of a kind"
        )
    use = measure_use(model, graph)[[kept, gone]]
    shares = use + torch.finfo(use.dtype).eps  # two unused concepts count the same
    first, second = (shares / shares.sum()).tolist()
    one, other = model.concepts[[kept, gone]]
    if isinstance(model, CodedConcepts):  # length and sign of a vector are free: the weights make up for them
        one, other = torch.nn.functional.normalize(torch.stack([one, other]))
        other = other if float(one @ other) >= 0 else -other
    model.concepts[kept] = first * one + second * other
    for part in model.parts:
        attention = model.concept_attention(part)
        merge_rules(attention, kept, gone)
        both = add_weights(attention, kept, gone)
        for relation, support in enumerate(attention.support.tolist()):
            scores = attention.scores[relation]
            if kept in support and gone in support:
                scores[kept] = both[relation]
                lightest = scores[[concept for concept in support if concept != gone]].min()
                scores[gone] = lightest + attention.temperature * math.log(FAINT)
            elif gone in support:
                swap(attention, relation, gone, kept, scores[gone])
    return drop_concepts(model, graph, costs, [gone], [kept])


def merge_rules(attention: ConceptAttention, kept: int, gone: int) -> None:
    """Move the rules of a concept to the one that it is merged into, unless they contradict each other."""
    first, second = attention.rules[:, kept], attention.rules[:, gone]
    if bool((first * second == PINNED * FORBIDDEN).any()):
        raise ConfigError(f"concepts {kept} and {gone} cannot be merged: one is pinned where the other is forbidden")
    attention.rules[:, kept] = torch.where(first == FREE, second, first)
    attention.rules[:, gone] = FREE


def add_weights(attention: ConceptAttention, first: int, second: int) -> Tensor:
    """Return the scores (r,) with the weight of two concepts together."""
    scores = attention.scores[:, [first, second]]
    if attention.kind == "l1":
        return scores.sum(1)
    return attention.temperature * torch.logsumexp(scores / attention.temperature, dim=1)


@torch.no_grad()
def drop_concepts(model: C, graph: Graph, costs: Costs, gone: Sequence[int], changed: Sequence[int] = ()) -> C:
    """Return the model without these concepts; the numbers of the others close up.

    Where a support loses a concept, the cheapest of the others takes its place and its score or, where concepts add up
    to vectors, the one that explains most of the rest. Supports with more places than there are concepts left become
    smaller.

    Args:
        model: Model, which is changed.
        graph: Its graph.
        costs: What decides which concept fills a place.
        gone: Concepts to drop.
        changed: Other concepts whose users are composed again, where concepts add up to vectors.
    """
    kept = [concept for concept in range(len(model.concepts)) if concept not in gone]
    settings, order = model.smaller_config(kept), [*kept, *gone]
    numbers = torch.tensor(order, device=model.concepts.device).argsort()
    touched = torch.tensor([*gone, *changed], device=model.concepts.device)
    if isinstance(model, CodedConcepts):
        stay = {part: model.is_supported(part)[:, kept] for part in model.parts}
        users = {part: torch.isin(model.supports(part), touched).any(1).nonzero().squeeze(1) for part in model.parts}
    for part in model.parts:
        attention = model.concept_attention(part)
        if bool((attention.rules[:, gone] == PINNED).any()):
            raise ConfigError("a pinned concept cannot be pruned; keep more concepts")
        if attention.support.shape[1] <= len(kept) and not isinstance(model, CodedConcepts):
            for relation in range(len(attention.support)):
                replace_members(attention, costs[part], relation, gone)
        attention.scores.copy_(attention.scores[:, order])
        attention.rules.copy_(attention.rules[:, order])
        attention.support.copy_(numbers[attention.support].sort(dim=1).values)
    model.concepts.copy_(model.concepts[order])
    smaller = rebuild(model, graph, settings)
    for part in smaller.parts:
        attention = smaller.concept_attention(part)
        if attention.support.shape[1] == len(kept):
            attention.support.copy_(torch.arange(len(kept), device="cpu").expand_as(attention.support))
        check_rules(attention)
    if isinstance(smaller, CodedConcepts):
        for part, rows in users.items():
            smaller.code(part, rows, costs[part][rows], stay[part][rows])
    return smaller


def check_rules(attention: ConceptAttention) -> None:
    """Check that every support can be filled under the rules."""
    m, size = attention.rules.shape[1], attention.support.shape[1]
    pinned, forbidden = (int((attention.rules == rule).sum(1).max()) for rule in (PINNED, FORBIDDEN))
    if pinned > size:
        raise ConfigError(
            f"{pinned} concepts would be pinned to a relation, whose support holds {size} "
            "(model.support_size); pin fewer"
        )
    if m - forbidden < size:
        raise ConfigError(
            f"{forbidden} of {m} concepts would be forbidden to a relation, whose support holds {size} "
            f"(model.support_size); {f'forbid at most {m - size}' if m > size else 'none can be forbidden'}"
        )


def swap(attention: ConceptAttention, relation: int, leaving: int, entering: int, score: Tensor) -> None:
    """Replace one concept of a support by another, with this score."""
    support = attention.support[relation]
    attention.support[relation] = torch.where(support == leaving, entering, support).sort().values
    attention.scores[relation, entering] = score


def replace_members(attention: ConceptAttention, costs: Tensor, relation: int, gone: Sequence[int] = ()) -> None:
    """Replace the concepts of a support that are forbidden or gone by the cheapest allowed ones, with their scores."""
    barred = attention.rules[relation] == FORBIDDEN
    barred[list(gone)] = True
    for member in attention.support[relation].tolist():
        if barred[member]:
            taken = barred.index_fill(0, attention.support[relation], True)
            entering = int(costs[relation].masked_fill(taken, torch.inf).argmin())
            swap(attention, relation, member, entering, attention.scores[relation, member])


@torch.inference_mode(mode=False)
@torch.enable_grad()
def refit(
    model: Model, graph: Graph, config: Config, epochs: int = REFIT_EPOCHS, progress: bool = False
) -> tuple[Model, list[dict[str, Any]]]:
    """Return the model trained for some more epochs with the run's settings, at a lower learning rate, and its history.

    Supports are assigned again in the first half of the epochs, under the model's rules.

    Args:
        model: Trained model, which is not changed.
        graph: Its graph.
        config: Settings of the run.
        epochs: Number of epochs.
        progress: Whether to show a progress bar.

    Raises:
        ConfigError: The number of epochs is not valid.
    """
    epochs = check_count("epochs", epochs)
    device = next(model.parameters()).device
    fit = Fit(graph, shorten(config, epochs), device, progress=progress, start=weights(model))
    fitted = fit.run()
    return fitted, [{**line, "phase": REFIT} for line in fit.history]


def shorten(config: Config, epochs: int) -> Config:
    """Return the settings of a re-fit: few epochs, a lower rate, no averaging or warm start, validation after each."""
    rate = REFIT_RATE * config.training.learning_rate
    return replace(
        config,
        training=replace(config.training, epochs=epochs, learning_rate=rate, weight_averaging=0.0),
        assignment=replace(config.assignment, start=1, every=min(config.assignment.every, 1), stop=0.5),
        warm_start=WarmStartConfig(),
        validation=replace(config.validation, every=1, patience=0),
    )
