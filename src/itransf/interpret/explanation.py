"""An explanation of a triple: its parts, its sentences, a short form for a list of answers, a table for a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from itransf.interpret.evidence import Evidence
from itransf.interpret.naming import LEAST_WEIGHT, call_concept
from itransf.interpret.paths import Path
from itransf.interpret.sentences import format_probability, list_words, name_rank, write_triple
from itransf.interpret.sharing import SharedConcept
from itransf.models import Part, Side
from itransf.prediction.inputs import LabelledTriple
from itransf.prediction.predict import Agreement

MOST_NAMED = 4
"""Concepts of a relation that are named; the others are counted."""
PARTS = {"translation": "relation vector"}
"""Names of parts that are shown under another name."""
WEAK, FEW = 0.1, 2
"""The share of pairs below which, and their number up to which, a path is called a weak reason."""
NARROW, WIDE = 0.02, 0.2
"""Leads, as shares of the runner-up's distance or of the larger score, called "just ahead" and "far ahead"."""
LEVEL = 1e-6
"""Leads, as such shares, that are rounding errors of single precision."""
MOST_PARTS = 6
"""Parts of a side in the table of a split; a dense attention has hundreds."""


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
        answer_probability: Chance that it is true among the answers to the question for `side` alone; see `predict`.
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
    answer_probability: float | None = None
    paths: tuple[Path, ...] = ()
    taken: tuple[str, ...] = ()
    unfit: tuple[Side, ...] = ()

    def __repr__(self) -> str:
        return f"Explanation({self.head} {self.relation} {self.tail}: {self.side} ranked {self.rank:g})"

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """The query and the rank, then the reasons: paths, similar triples, and concepts by name."""
        sentences = [describe_rank(self), describe_unfit(self), describe_taken(self)]
        sentences += [describe_paths(self), describe_evidence(self), describe_concepts(self)]
        if self.agreement is not None:
            sentences.append(f"This explains seed {self.seed}; {self.agreement.describe(self.answer)}")
        return " ".join(f"{sentence}." for sentence in sentences if sentence)

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
        parts = self.sharing
        sharing = None if parts is None else {part: [each.to_dict() for each in parts[part]] for part in parts}
        told = {"lead": self.lead, "sentence": self.sentence}
        return {**super().to_dict(), "sharing": sharing, **told}


def tabulate_split(explanation: Explanation) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows: the share of each part in the distance or score of the answer and of the runner-up.

    Concepts with little weight, and those beyond the first few of a side, are summed in one row.

    Args:
        explanation: An explanation; without a runner-up there is one column of numbers.
    """
    rival, lead = explanation.runner_up, explanation.lead
    columns = ["Part", "", "Weight", explanation.answer, *([rival.label, "In favor"] if rival else [])]
    rows = []
    for side in dict.fromkeys(part.side for part in explanation.contributions):
        parts = [part for part in explanation.contributions if part.side == side]
        shown = [part for part in parts if part.weight is None or abs(part.weight) >= LEAST_WEIGHT][:MOST_PARTS]
        rest = [part for part in parts if part not in shown]
        for part in shown:
            name = "" if part.concept is None else call_concept(part.concept, explanation.concept_names)
            weight = "" if part.weight is None else f"{part.weight:.2f}"
            rows.append([part.symmetry or PARTS.get(side, side), name, weight, *sum_parts([part])])
        if rest:
            rows.append([side, f"{len(rest)} more", "", *sum_parts(rest)])
    kind, own = ("score", explanation.score) if explanation.distance is None else ("distance", explanation.distance)
    totals = [own, *([] if rival is None or lead is None else [getattr(rival, kind), lead])]
    return columns, [*rows, ["sum", kind, "", *(f"{total:+,.3f}" for total in totals)]]


def sum_parts(parts: Sequence[Contribution]) -> list[str]:
    """Return the summed shares of parts in the totals of the answer and, if there is one, of the runner-up."""
    columns = zip(*((part.value, part.rival, part.favour) for part in parts), strict=True)
    return [f"{sum(column):+,.3f}" for column in columns if None not in column]


def describe_rank(explanation: Explanation) -> str:
    """Return the query, the rank of the answer, its lead over the runner-up, and what is known."""
    ends = {"head": explanation.head_label, "tail": explanation.tail_label, explanation.side: "?"}
    asked = f"{ends['head']} – {explanation.relation_label} – {ends['tail']}"
    known = "is not in the graph"
    if explanation.known is not None:
        is_shown = explanation.known == "train"
        known = "is in train, so the model was shown it" if is_shown else f"was held out for {explanation.known}"
    if explanation.probability is not None:
        known += f" and has a probability of {describe_probability(explanation)}"
    rival, lead = explanation.runner_up, explanation.lead
    if rival is None or lead is None:
        return f"{asked}: {explanation.answer} is the only candidate that is not known already; the triple {known}"
    count, rank = explanation.candidates[explanation.side], name_rank(explanation.rank)
    size = max(abs(explanation.score), abs(rival.score)) if rival.distance is None else rival.distance
    ranked = f"{explanation.answer} ranks {rank} of {count:,} candidates, {name_lead(lead, size)} {rival.label}"
    return f"{asked}: {ranked}; the triple {known}"


def describe_probability(explanation: Explanation) -> str:
    """Return the probability of the triple and, if it is another one, that of the answer to the query."""
    given = (explanation.probability, explanation.answer_probability)
    told = [format_probability(chance) for chance in given if chance is not None]
    return told[0] if len(set(told)) == 1 else f"{told[0]} ({told[1]} as an answer to this query)"


def describe_unfit(explanation: Explanation) -> str:
    """Name the entities that do not fit their side of the relation."""
    labels = {"head": explanation.head_label, "tail": explanation.tail_label}
    unfit = [f"{labels[side]} is unlike the {side}s" for side in explanation.unfit]
    return f"{' and '.join(unfit)} of {explanation.relation_label} in train" if unfit else ""


def describe_taken(explanation: Explanation) -> str:
    """Name the answer in train where the relation allows one."""
    taken = list_words(explanation.taken, MOST_NAMED) if explanation.taken else ""
    return f"Train has {taken} already, and {explanation.relation_label} allows one answer" if taken else ""


def describe_paths(explanation: Explanation) -> str:
    """Name the best path in train and how often such paths hold, and that of a runner-up that is ahead."""
    relation, rival = explanation.relation_label, explanation.runner_up
    told = "No simple pattern in train supports it"
    for path in explanation.paths[:1]:
        weak = ", a weak one" * (path.share < WEAK or path.held <= FEW)
        told = f"The best reason in train{weak}: {path.describe(relation)}"
    if rival is not None and rival.paths:
        told += f". For {rival.label}: {rival.paths[0].describe(relation)}"
    return told


def describe_evidence(explanation: Explanation) -> str:
    """Name the most similar training triple and, unless a path has it, the one that supports the triple most."""
    similar = write_triple(explanation.nearest[0]) if explanation.nearest else ""
    told = list_told(explanation)
    supporting = [write_triple(triple) for triple in explanation.supporting[:1] if write_triple(triple) not in told]
    if is_supported_by_nearest(explanation):
        return "" if similar in told else f"The most similar training triple, which also supports it most, is {similar}"
    clauses = [f"most similar training triple is {similar}"] if similar else []
    clauses += [f"training triple that supports it most is {triple}" for triple in supporting]
    return "The " + "; the ".join(clauses) if clauses else ""


def describe_concepts(explanation: Explanation) -> str:
    """Name the concept whose removal changes the rank most, or say that none does; without removals, the concepts."""
    names, rank = explanation.concept_names, explanation.rank
    if explanation.removals:
        worst = max(explanation.removals, key=lambda removal: abs(removal.rank - rank))
        if worst.rank == rank:
            return f"No single concept decides it: without any one of them, it still ranks {name_rank(rank)}"
        where = f" on the {worst.side} side" if worst.side != "relation" else ""
        called = call_concept(worst.concept, names)
        return f"Without the concept {called}{where}, it would rank {name_rank(worst.rank)}"
    used = dict.fromkeys(shared.concept for part in (explanation.sharing or {}).values() for shared in part)
    named = [call_concept(concept, names) for concept in used]
    return f"Concepts of {explanation.relation_label}: {list_words(named, MOST_NAMED)}" if named else ""


def list_told(explanation: Explanation) -> list[str]:
    """Return the triples of the best path, which are not named again."""
    return [write_triple(triple) for path in explanation.paths[:1] for triple in path.triples]


def is_supported_by_nearest(explanation: Explanation) -> bool:
    """Return whether the most similar triple is also the one that supports most."""
    first = [found[:1] for found in (explanation.nearest, explanation.supporting)]
    return all(first) and write_triple(first[0][0]) == write_triple(first[1][0])


def name_lead(lead: float, size: float) -> str:
    """Return "just ahead of", "ahead of", "behind" and so on, by the lead's share of a size."""
    share = lead / size if size > 0 else 0.0
    if abs(share) < LEVEL:
        return "level with"
    if share < 0:
        return "just behind" if share > -NARROW else "behind"
    return "just ahead of" if share < NARROW else "far ahead of" if share > WIDE else "ahead of"
