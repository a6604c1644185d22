"""Making an explanation: the score split exactly, the runner-up, the evidence, and the rank without each concept."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from itransf.data.graph import SPLITS, Graph, Triples
from itransf.data.typing import SIDE_NUMBERS
from itransf.errors import check_count
from itransf.evaluation import rank_as_predicted
from itransf.interpret.ablation import remove_concepts
from itransf.interpret.attention import Attention, check_part, read_attention, strongest_first
from itransf.interpret.evidence import Triple, find_nearest, find_supporting
from itransf.interpret.explanation import Contribution, Explanation, Removal, RunnerUp
from itransf.interpret.naming import name_concepts
from itransf.interpret.paths import find_paths
from itransf.interpret.sharing import concepts_behind
from itransf.models import SIDES, ConceptModel, Model, Side, Split
from itransf.prediction.inputs import find_splits, name_triple, resolve_triples
from itransf.prediction.predict import find_only_answers
from itransf.prediction.search import DEFAULT_MEMORY, Search, find_entities

ORDER = ("head", "translation", "tail", "relation", "path")
MOST_REMOVED = 8
"""Maximum number of concepts of a side to remove in turn, heaviest first: a dense attention has hundreds."""


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
    attention: Attention | None = None,
) -> Explanation:
    """Explain the score of a triple, known or not.

    Args:
        model: Model; where its scores cannot be split, evidence and the runner-up explain them.
        graph: Names and known triples.
        head: Name or label of the head.
        relation: Name or label of the relation.
        tail: Name or label of the tail.
        side: Side whose entity is the answer; it is compared with the runner-up on that side.
        evidence: Number of training triples of each kind, and of paths.
        removals: Whether to rank the answer again without each concept, which takes most of the time.
        names: Names that were given to concepts, by number; others have suggested ones.
        attention: Attention of the model; that of an ensemble says in how many seeds a concept is found.

    Raises:
        DataError: A name is not known.
        ConfigError: The side or a number is not valid.
    """
    asked = check_part(side, SIDES)
    evidence = check_count("evidence", evidence)
    rows = resolve_triples(graph, [(head, relation, tail)], lambda _: "the triple to explain")
    triple: Triple = (int(rows[0, 0]), int(rows[0, 1]), int(rows[0, 2]))
    ranks = rank_as_predicted(model, graph, rows, DEFAULT_MEMORY, keep_scores=True)
    rival = find_runner_up(model, graph, triple, asked)
    if attention is None and isinstance(model, ConceptModel):
        attention = read_attention(model, graph)
    called = {} if attention is None else name_concepts(attention, names)
    asked_rows = rows if rival is None else np.stack([rows[0], rival])
    split = split_scores(model, torch.tensor(asked_rows, device=next(model.parameters()).device))
    totals = split.totals.tolist()
    scores = [-total if split.is_distance else total for total in totals]
    distances = totals if split.is_distance else [None] * len(totals)
    runner_up = None
    if rival is not None:
        entity = int(rival[2 if asked == "tail" else 0])
        named = graph.entities.name(entity), graph.entities.label(entity)
        theirs = find_paths(graph, (int(rival[0]), triple[1], int(rival[2])), 1) if scores[1] > scores[0] else ()
        runner_up = RunnerUp(*named, scores[1], distances[1], tuple(theirs))
    return Explanation(
        *name_triple(graph, triple),
        asked,
        find_splits(graph, rows)[0],
        scores[0],
        distances[0],
        {end: float(ranks.ranks(end)[0]) for end in SIDES},
        {end: int(ranks.rivals[0, number, 0]) + 1 for number, end in enumerate(SIDES)},
        list_contributions(split),
        runner_up,
        None if attention is None else concepts_behind(attention, graph.relations.name(triple[1]), called),
        tuple(find_nearest(model, graph, triple, evidence)),
        tuple(find_supporting(model, graph, triple, evidence, side=asked)),
        tuple(try_removals(model, graph, rows, asked) if removals else ()),
        called,
        paths=tuple(find_paths(graph, triple, evidence)),
        taken=find_taken(graph, triple, asked),
        unfit=tuple(end for end in SIDES if not graph.typing.fits(triple[2 * SIDE_NUMBERS[end]], triple[1], end)),
    )


@torch.no_grad()
def split_scores(model: Model, triples: Tensor) -> Split:
    """Split the scores of triples (n, 3) of one relation; those of a model that cannot be split have no parts."""
    if model.is_explainable:
        return model.split_scores(triples)
    totals = model.score(*triples.unbind(1)).double()
    return Split((), totals.new_zeros(len(triples), 0), totals)


def find_taken(graph: Graph, triple: Triple, side: Side) -> tuple[str, ...]:
    """Return the label of the answer in train, if it is another one and the relation allows one."""
    head, relation, tail = name_triple(graph, triple)[:3]
    query = (head, relation, None) if side == "tail" else (None, relation, tail)
    labels = [each.tail_label if side == "tail" else each.head_label for each in find_only_answers(graph, *query)]
    return tuple(label for label in labels if label != graph.entities.label(triple[2 if side == "tail" else 0]))


def find_runner_up(model: Model, graph: Graph, triple: Triple, side: Side) -> Triples | None:
    """Return the triple with the best other candidate as the answer, (3,); None where there is no other.

    As in prediction, it fits the relation, and self-loops are excluded unless the relation allows them; here,
    all known answers are excluded.
    """
    given, column = (triple[0], 2) if side == "tail" else (triple[2], 0)
    search = Search(model, graph, top=2, excluded=SPLITS)
    found = find_entities(search, triple[1], side, np.array([given]))
    others = found.triples[found.triples[:, column] != triple[column]]
    return others[0] if len(others) else None


def try_removals(model: Model, graph: Graph, rows: Triples, side: Side) -> list[Removal]:
    """Rank the answer of a triple (1, 3) without each concept of its relation, the worst rank first.

    Nothing is trained: entities, translation and the other concepts stay as they are. A concept that is the only one
    of its part cannot be removed.
    """
    if not isinstance(model, ConceptModel):
        return []
    relation = int(rows[0, 1])
    found = []
    for number, changed in enumerate(model.parts):
        weights = model.shown_weights(changed)[relation].detach().cpu().numpy()
        used = strongest_first(weights)
        for concept in used[:MOST_REMOVED] if len(used) > 1 else ():
            removed = np.zeros((len(model.parts), model.sizes.relations, len(model.concepts)), dtype=np.bool_)
            removed[number, relation, concept] = True
            left = remove_concepts(model, removed)
            ranks = rank_as_predicted(left, graph, rows, DEFAULT_MEMORY, keep_scores=True, sides=[side])
            assert ranks.scores is not None, "they are asked for"
            score = float(ranks.scores[SIDES.index(side), 0])
            found.append(Removal(changed, concept, float(weights[concept]), score, float(ranks.ranks(side)[0])))
    return sorted(found, key=lambda removal: (-removal.rank, removal.score))


def list_contributions(split: Split) -> tuple[Contribution, ...]:
    """Return the share of each part in the order head, translation, tail; on each side the largest first."""
    values = split.values.tolist()
    sign = -1.0 if split.is_distance else 1.0
    found = []
    for number, part in enumerate(split.parts):
        value, rival = values[0][number], values[1][number] if len(values) > 1 else None
        favour = None if rival is None else sign * (value - rival)
        found.append(Contribution(part.side, part.concept, part.weight, value, rival, favour, symmetry=part.symmetry))
    return tuple(sorted(found, key=lambda part: (ORDER.index(part.side), -abs(part.value))))
