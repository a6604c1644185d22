"""Explaining a triple: its score split exactly, its closest rival, its evidence, and what would change the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch

from itransf.data.graph import Graph
from itransf.errors import check_count
from itransf.interpret.attention import check_side, read_attention
from itransf.interpret.decomposition import Split, split_distances
from itransf.interpret.evidence import find_nearest, find_supporting
from itransf.interpret.explanations import Contribution, Explanation, RunnerUp
from itransf.interpret.removals import try_removals
from itransf.interpret.rivals import Contest, Triple, hold_contest, replace_answer
from itransf.interpret.sentences import tell, tell_briefly
from itransf.interpret.sharing import SharedConcept, concepts_behind
from itransf.interpret.spaces import DEFAULT_MEMORY, open_space
from itransf.models import SIDES, ITransF, Model, Side
from itransf.prediction.inputs import name_triple, resolve_triples
from itransf.prediction.score import find_splits


def explain(
    model: Model,
    graph: Graph,
    head: str,
    relation: str,
    tail: str,
    *,
    side: str = "tail",
    evidence: int = 3,
    removals: bool = True,
    names: Mapping[int, str] | None = None,
    memory: int = DEFAULT_MEMORY,
) -> Explanation:
    """Explain the score of a triple, known or not.

    Args:
        model: A model of the translation family.
        graph: The names and the known triples.
        head: The head's name or label.
        relation: The relation's name or label.
        tail: The tail's name or label.
        side: The side whose entity counts as the answer: it is compared with its closest rival there.
        evidence: How many training triples of each kind to name.
        removals: Whether to rank the answer again without each concept, which takes most of the time.
        names: What to call concepts, by number.
        memory: Bytes for projected entities.

    Raises:
        DataError: A name is not known.
        ConfigError: There is no such side, a number is none or too small, or the model's score cannot be split.
    """
    asked = check_side(side)
    evidence, memory = check_count("evidence", evidence), check_count("memory", memory, least=1)
    rows = resolve_triples(graph, [(head, relation, tail)], lambda _: "the triple to explain")
    triple: Triple = (int(rows[0, 0]), int(rows[0, 1]), int(rows[0, 2]))
    space = open_space(model, triple[1])
    contests = {end: hold_contest(space, graph, triple, end, memory) for end in SIDES}
    split = split_contrast(model, triple, asked, contests[asked].rival)
    found = Explanation(
        *name_triple(graph, triple),
        asked,
        find_splits(graph, rows)[0],
        -float(split.distances[0]),
        float(split.distances[0]),
        {end: contest.rank for end, contest in contests.items()},
        {end: contest.candidates for end, contest in contests.items()},
        list_contributions(split),
        describe_rival(graph, contests[asked], split),
        trace_concepts(model, graph, triple[1]),
        tuple(find_nearest(space, graph, triple, evidence, memory)),
        tuple(find_supporting(space.model, graph, triple, evidence, memory)),
        tuple(try_removals(space, graph, triple, asked, memory) if removals else ()),
        dict(names or {}),
    )
    return replace(found, sentence=tell(found), short=tell_briefly(found))


def split_contrast(model: Model, triple: Triple, side: Side, rival: int | None) -> Split:
    """Split the distance of a triple, and of the same triple with its rival, where there is one."""
    triples = [triple] if rival is None else [triple, replace_answer(triple, side, rival)]
    return split_distances(model, np.array(triples, dtype=np.int64))


def list_contributions(split: Split) -> tuple[Contribution, ...]:
    """Return each part's share, in the order head, translation, tail; on each side the largest first."""
    own = split.values[0].tolist()
    others = split.values[1].tolist() if len(split.values) > 1 else [None] * len(own)
    found = [
        Contribution(part.side, part.concept, part.weight, value, rival, None if rival is None else rival - value)
        for part, value, rival in zip(split.parts, own, others, strict=True)
    ]
    order = ("head", "translation", "tail")
    return tuple(sorted(found, key=lambda part: (order.index(part.side), -abs(part.value))))


def describe_rival(graph: Graph, contest: Contest, split: Split) -> RunnerUp | None:
    """Put a name to the rival."""
    if contest.rival is None:
        return None
    entities = graph.entities
    return RunnerUp(entities.name(contest.rival), entities.label(contest.rival), float(split.distances[1]))


@torch.no_grad()
def trace_concepts(model: Model, graph: Graph, relation: int) -> Mapping[Side, tuple[SharedConcept, ...]] | None:
    """Return who shares the concepts of a relation, for each side; None for a model without concepts."""
    if not isinstance(model, ITransF):
        return None
    behind = concepts_behind(read_attention(model, graph), graph.relations.name(relation))
    return {side: tuple(found) for side, found in behind.items()}
