"""Explanation of a triple: its score split exactly, the runner-up, the evidence, and the rank without each concept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from itransf.data.graph import SPLITS, Graph, Triples
from itransf.data.typing import SIDE_NUMBERS
from itransf.errors import ConfigError, check_count
from itransf.evaluation import rank_as_predicted
from itransf.interpret.ablation import remove_concepts
from itransf.interpret.attention import check_part, read_attention
from itransf.interpret.evidence import Evidence, Triple, find_nearest, find_supporting
from itransf.interpret.paths import Path, find_paths
from itransf.interpret.sentences import write_sentence, write_short_form
from itransf.interpret.sharing import SharedConcept, concepts_behind, name_concepts
from itransf.models import SIDES, ConceptModel, Model, Part, Side, Split
from itransf.prediction.inputs import LabelledTriple, find_splits, name_triple, resolve_triples
from itransf.prediction.predict import Agreement, find_only_answers
from itransf.prediction.search import DEFAULT_MEMORY, Search, find_entities

ORDER = ("head", "translation", "tail", "relation", "path")
CHOICES = "itransf, icomplex, ilineare, stranse, transr, lineare, transe, complex or distmult"
M = TypeVar("M", bound=Model)
MOST_REMOVED = 8
"""Maximum number of concepts of a side to remove in turn, heaviest first: a dense attention has hundreds."""


@dataclass(frozen=True)
class Contribution(Part):
    """The share of one part in the distance or score of the triple, and of the triple with the runner-up as the answer.

    Attributes:
        value: Share of the triple's distance; where a model has no distances, of its score.
        rival: Share of the runner-up's; None where there is no runner-up.
        favour: How much the part favours the answer over the runner-up: rival - value of distances, value - rival of
            scores.
    """

    value: float
    rival: float | None
    favour: float | None


@dataclass(frozen=True)
class RunnerUp:
    """The best other candidate for the answer whose triple is not known.

    Attributes:
        name: Name of the entity.
        label: Label of the entity.
        score: Score of the triple with it.
        distance: Its distance, -score; None for a model without distances.
        paths: The path in train that holds most often for it, if it is ahead of the answer and has one.
    """

    name: str
    label: str
    score: float
    distance: float | None
    paths: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Removal:
    """Score and rank of the answer after one concept is removed from one part of its relation.

    Attributes:
        side: Part that loses the concept: "head" or "tail", or "relation".
        concept: Number of the concept.
        weight: Attention on the concept; the other weights of a side are scaled to sum to one.
        score: Score of the triple without it.
        rank: Rank of the answer without it.
    """

    side: str
    concept: int
    weight: float
    score: float
    rank: float


@dataclass(frozen=True)
class Explanation(LabelledTriple):
    """Why a model gives a triple its score.

    Attributes:
        side: Side whose entity is the answer.
        known: Split that holds the triple ("train", "valid" or "test"), or None.
        score: Score of the triple; without a distance, the sum of the contributions' values.
        distance: |P_head(h) + r - P_tail(t)| = -score: the sum of the contributions' values; None for a model without
            distances.
        ranks: Rank of the entity on each side among the candidates that fit and whose triple is not known.
        candidates: Number of candidates on each side.
        contributions: The exact split of the distance, or of the score; none where it cannot be split.
        runner_up: The best other candidate on `side`; the contributions' favours sum to the triple's score minus its
            score.
        sharing: The concepts of each part and who else uses them; None for a model without concepts.
        nearest: Training triples of the relation that are most similar to this one, see `find_nearest`.
        supporting: Training triples about the same head or tail that this triple's lead depends on most.
        removals: Rank of the answer without each concept, the worst first.
        concept_names: Names of concepts by number, given or suggested.
        seed: Seed of the member of an ensemble that gives the score; None for a single model.
        agreement: How the members of an ensemble rank the answer.
        probability: Chance that the triple is true; None without a calibration, in train, or if it does not fit.
        paths: Short paths in train from head to tail that hold most often, best first; see `find_paths`.
        taken: Labels of other answers in train, where the relation allows one; see `find_only_answers`.
        unfit: Sides whose entity does not fit the relation; see `itransf.data.typing`.
    """

    side: Side
    known: str | None
    score: float
    distance: float | None
    ranks: Mapping[Side, float]
    candidates: Mapping[Side, int]
    contributions: tuple[Contribution, ...]
    runner_up: RunnerUp | None
    sharing: Mapping[str, tuple[SharedConcept, ...]] | None
    nearest: tuple[Evidence, ...]
    supporting: tuple[Evidence, ...]
    removals: tuple[Removal, ...]
    concept_names: Mapping[int, str] = field(default_factory=dict)
    seed: int | None = None
    agreement: Agreement | None = None
    probability: float | None = None
    paths: tuple[Path, ...] = ()
    taken: tuple[str, ...] = ()
    unfit: tuple[Side, ...] = ()

    def __repr__(self) -> str:
        return f"Explanation({self.head} {self.relation} {self.tail}: {self.side} ranked {self.rank:g})"

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """The explanation in a few sentences, the rank and the best reason first."""
        return write_sentence(self)

    @property
    def short(self) -> str:
        """The short form: the best path and a similar training triple."""
        return write_short_form(self)

    @property
    def answer(self) -> str:
        """The label of the answer."""
        return self.tail_label if self.side == "tail" else self.head_label

    @property
    def rank(self) -> float:
        """The rank of the answer among the candidates on its side."""
        return self.ranks[self.side]

    @property
    def lead(self) -> float | None:
        """The triple's score minus the runner-up's: positive where the answer is ahead."""
        return None if self.runner_up is None else self.score - self.runner_up.score

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return {**super().to_dict(), "lead": self.lead, "sentence": self.sentence, "short": self.short}


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
        model: Model; where its scores cannot be split, evidence and the runner-up explain them.
        graph: Names and known triples.
        head: Name or label of the head.
        relation: Name or label of the relation.
        tail: Name or label of the tail.
        side: Side whose entity is the answer; it is compared with the runner-up on that side.
        evidence: Number of training triples of each kind, and of paths.
        removals: Whether to rank the answer again without each concept, which takes most of the time.
        names: Names that were given to concepts, by number; others have suggested ones.
        memory: Bytes for one chunk of scores.

    Raises:
        DataError: A name is not known.
        ConfigError: The side or a number is not valid.
    """
    asked = check_part(side, SIDES)
    evidence, memory = check_count("evidence", evidence), check_count("memory", memory, least=1)
    rows = resolve_triples(graph, [(head, relation, tail)], lambda _: "the triple to explain")
    triple: Triple = (int(rows[0, 0]), int(rows[0, 1]), int(rows[0, 2]))
    ranks = rank_as_predicted(model, graph, rows, memory, keep_scores=True)
    rival = find_runner_up(model, graph, triple, asked, memory)
    attention = read_attention(model, graph) if isinstance(model, ConceptModel) else None
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
        tuple(find_nearest(model, graph, triple, evidence, memory)),
        tuple(find_supporting(model, graph, triple, evidence, memory, side=asked)),
        tuple(try_removals(model, graph, rows, asked, memory) if removals else ()),
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


def check_explainable(model: M) -> M:
    """Return the model if its scores can be split into parts.

    Raises:
        ConfigError: They cannot.
    """
    if not model.is_explainable:
        raise ConfigError(
            f"the score of the model {type(model).__name__} is not a sum of known parts, so its relations cannot be "
            f"compared; train {CHOICES}"
        )
    return model


def find_runner_up(model: Model, graph: Graph, triple: Triple, side: Side, memory: int) -> Triples | None:
    """Return the triple with the best other candidate as the answer, (3,); None where there is no other.

    As in prediction, it fits the relation, and self-loops are excluded unless the relation allows them; here,
    all known answers are excluded.
    """
    given, column = (triple[0], 2) if side == "tail" else (triple[2], 0)
    search = Search(model, graph, top=2, excluded=SPLITS, memory=memory)
    found = find_entities(search, triple[1], side, np.array([given]))
    others = found.triples[found.triples[:, column] != triple[column]]
    return others[0] if len(others) else None


def try_removals(model: Model, graph: Graph, rows: Triples, side: Side, memory: int) -> list[Removal]:
    """Rank the answer of a triple (1, 3) without each concept of its relation, the worst rank first.

    Nothing is trained: entities, translation and the other concepts stay as they are. A concept that is the only one
    of its part cannot be removed.
    """
    if not isinstance(model, ConceptModel):
        return []
    relation = int(rows[0, 1])
    found = []
    for number, changed in enumerate(model.parts):
        weights = model.shown_weights(changed)[relation].detach()
        used = weights.nonzero().squeeze(1).tolist() if len(weights.nonzero()) > 1 else []
        for concept in sorted(used, key=lambda one: -abs(float(weights[one])))[:MOST_REMOVED]:
            removed = np.zeros((len(model.parts), model.sizes.relations, len(model.concepts)), dtype=np.bool_)
            removed[number, relation, concept] = True
            left = remove_concepts(model, removed)
            ranks = rank_as_predicted(left, graph, rows, memory, keep_scores=True, sides=[side])
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
