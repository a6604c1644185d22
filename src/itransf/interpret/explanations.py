"""What an explanation holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from itransf.interpret.evidence import Evidence
from itransf.interpret.removals import Removal
from itransf.interpret.sharing import SharedConcept
from itransf.interpret.spaces import PartSide
from itransf.models import Side
from itransf.prediction.inputs import LabelledTriple


@dataclass(frozen=True)
class Contribution:
    """What one part adds to the distance of the triple, and of the triple with the runner-up in the answer's place.

    Attributes:
        side: "head", "tail" or "translation".
        concept: The concept's number; None for a relation's own matrix, an entity as it is, or the translation.
        weight: The attention on the concept.
        value: Its share of the triple's distance.
        rival: Its share of the runner-up's distance; None where there is no runner-up.
        favour: rival - value: above zero it speaks for the answer, below zero for the runner-up.
    """

    side: PartSide
    concept: int | None
    weight: float | None
    value: float
    rival: float | None
    favour: float | None


@dataclass(frozen=True)
class RunnerUp:
    """The best other candidate for the answer's place whose triple is not known.

    Attributes:
        name: Its name.
        label: What a person reads for it.
        distance: The distance of the triple with it.
    """

    name: str
    label: str
    distance: float


@dataclass(frozen=True)
class Explanation(LabelledTriple):
    """Why a model scores a triple as it does.

    Attributes:
        side: The side whose entity counts as the answer.
        known: The split that holds the triple ("train", "valid" or "test"), or None.
        score: Its plausibility, -distance.
        distance: |P_head(h) + r - P_tail(t)|: the sum of the contributions' values.
        ranks: For each side, the entity's place among the candidates there whose triple is not known.
        candidates: For each side, how many candidates there are.
        contributions: The split of the distance.
        runner_up: The closest rival on `side`; the contributions' favours sum to its distance less the triple's.
        sharing: For each side, the relation's concepts and who else uses them; None for a model without concepts.
        nearest: Training triples of the relation closest to this one where it sees its heads and tails.
        supporting: Training triples about the same head or tail that pull this triple together most.
        removals: How the answer would stand without each concept, the worst first.
        concept_names: What people call some of the concepts, by number.
        sentence: All this in one sentence.
        short: The short form: the parts that speak for the answer most, and the evidence.
    """

    side: Side
    known: str | None
    score: float
    distance: float
    ranks: Mapping[Side, float]
    candidates: Mapping[Side, int]
    contributions: tuple[Contribution, ...]
    runner_up: RunnerUp | None
    sharing: Mapping[Side, tuple[SharedConcept, ...]] | None
    nearest: tuple[Evidence, ...]
    supporting: tuple[Evidence, ...]
    removals: tuple[Removal, ...]
    concept_names: Mapping[int, str] = field(default_factory=dict)
    sentence: str = ""
    short: str = ""

    def __repr__(self) -> str:
        return f"Explanation({self.head} {self.relation} {self.tail}: {self.side} ranked {self.rank:g})"

    def __str__(self) -> str:
        return self.sentence

    @property
    def answer(self) -> str:
        """What a person reads for the entity that counts as the answer."""
        return self.tail_label if self.side == "tail" else self.head_label

    @property
    def rank(self) -> float:
        """The answer's place among the candidates on its side."""
        return self.ranks[self.side]

    @property
    def lead(self) -> float | None:
        """The runner-up's distance less the triple's: above zero the answer is ahead."""
        return None if self.runner_up is None else self.runner_up.distance - self.distance

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return {**super().to_dict(), "lead": self.lead}
