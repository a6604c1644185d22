"""Measuring groups of trained models: all seeds of ITransF, then each baseline, its sparse coding, and chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from itransf.data.planted import Planted
from itransf.interpret.measures import (
    Finding,
    Interpretation,
    Reading,
    draw_random,
    find_scale,
    measure_attention,
    measure_faithfulness,
    measure_gain,
    measure_stability,
    measure_transfer,
    mine_gold,
)
from itransf.interpret.measures.recovery import measure_recovery
from itransf.interpret.measures.table import Scale, code_sparsely, is_codable

QUICK = 200
"""Draws while others still train; more would take their time."""


@dataclass(frozen=True)
class Member:
    """A trained model: its seed, what the measures read of it, and the truth it was to find, if that is known."""

    seed: int
    reading: Reading
    truth: Planted | None = None


@dataclass
class Group:
    """Trained models that differ by their seed."""

    members: list[Member] = field(default_factory=list)

    def add(self, member: Member) -> None:
        """Add a model, in the order of seeds, whichever training ends first."""
        self.members = sorted([*self.members, member], key=lambda one: one.seed)

    @property
    def readings(self) -> list[Reading]:
        """What the measures read, one per seed."""
        return [member.reading for member in self.members]

    @property
    def truths(self) -> list[Planted]:
        """What was to be found, one per seed, where it is known."""
        return [member.truth for member in self.members if member.truth is not None]

    def change(self, change: Callable[[Reading], Reading]) -> Group:
        """Return the group with every reading changed."""
        return Group([replace(member, reading=change(member.reading)) for member in self.members])


@dataclass(frozen=True)
class Measures:
    """What is measured, and how.

    Attributes:
        scale: m and k of ITransF, which baselines are compared at.
        plain: The STransE that rare relations are compared with, if it was trained.
        draws: Resamplings and permutations.
        triples: The most triples of a relation that are ranked for faithfulness.
        ranked: Whether to measure what needs ranking.
    """

    scale: Scale
    plain: Reading | None
    draws: int
    triples: int
    ranked: bool = True

    def interpret(self, group: Group) -> Interpretation:
        """Return what is found about one group: on planted graphs recovery, else all that applies."""
        readings = group.readings
        findings = self._recover(group) if group.truths else self._read(readings)
        return Interpretation(readings[0].name, len(readings), tuple(findings))

    def _recover(self, group: Group) -> list[Finding]:
        return [measure_recovery(group.readings, group.truths, self.draws)]

    def _read(self, readings: Sequence[Reading]) -> list[Finding]:
        gold = mine_gold(readings[0].graph)
        findings = measure_attention(readings, gold, self.scale, self.draws)
        findings.append(measure_stability(readings, self.scale.concepts, self.draws))
        if self.ranked and readings[0].name != "random":
            findings += measure_faithfulness(readings, most_triples=self.triples, draws=self.draws)
            if self.plain is not None and self.plain is not readings[0]:
                findings.append(measure_gain(readings, self.plain, draws=self.draws))
            findings.append(measure_transfer(readings, draws=self.draws))
        return findings


def interpret_quickly(main: Group) -> Interpretation:
    """Return what attention alone shows of the runs of ITransF so far."""
    return Measures(find_scale(main.readings[0]), None, QUICK, 0, ranked=False).interpret(main)


def interpret_groups(main: Group, others: Sequence[Group], draws: int, triples: int) -> Iterator[Interpretation]:
    """Measure ITransF, its baselines, random attention, and the sparse coding of what has matrices of its own."""
    scale = find_scale(main.readings[0])
    plain = next((other.readings[0] for other in others if is_codable(other.readings[0])), None)
    measures = Measures(scale, plain, draws, triples)
    yield measures.interpret(main)
    for other in others:
        yield measures.interpret(other)
    yield measures.interpret(Group(main.members[:1]).change(draw_random))
    for other in others:  # last, for it takes long and needs a library that may be missing
        if is_codable(other.readings[0]):
            yield measures.interpret(other.change(partial(code_sparsely, scale=scale)))
