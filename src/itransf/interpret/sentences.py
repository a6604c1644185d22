"""Explanations in words: one sentence for a triple, a short form for a list of answers, a table for a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from itransf.interpret.naming import call_concept
from itransf.interpret.sharing import LEAST_WEIGHT, Use

if TYPE_CHECKING:
    from itransf.interpret.explanation import Contribution, Explanation
    from itransf.prediction.inputs import LabelledTriple

MOST_NAMED = 2
"""Relations named as sharing a concept; the others are counted."""
NARROW, WIDE = 0.02, 0.2
"""Leads, as shares of `find_size`, that are called "just ahead" and "far ahead"."""
LEVEL = 1e-6
"""Leads, as shares of `find_size`, that are rounding errors of single precision."""
MOST_PARTS = 6
"""Parts of a side in the table of a split; a dense attention has hundreds."""
_TEENS = (11, 12, 13)


def write_sentence(explanation: Explanation) -> str:
    """Return one sentence: the rank of the answer, what decides it, and the training triples behind it."""
    known = "not in the graph"
    if explanation.known is not None:
        known = "a training triple" if explanation.known == "train" else f"a triple held out for {explanation.known}"
    clauses = [f"{write_triple(explanation)} ({known}): {describe_rank(explanation)}", describe_evidence(explanation)]
    sentence = "; ".join(clause for clause in clauses if clause) + "."
    if explanation.agreement is None:
        return sentence
    return f"{sentence} This explains seed {explanation.seed}; {explanation.agreement.describe(explanation.answer)}."


def write_short_form(explanation: Explanation) -> str:
    """Return the two parts most in favour of the answer, and the training triples behind it."""
    parts = [part for part in explanation.contributions if (part.favour or 0.0) > 0]
    parts = parts if len(explanation.contributions) > 1 else []
    strongest = sorted(parts, key=lambda part: -(part.favour or 0.0))[:2]
    clauses = [" and ".join(name_part(part) for part in strongest)] if strongest else []
    if explanation.nearest:
        clauses.append(f"like {write_triple(explanation.nearest[0])}")
    if explanation.supporting and not is_supported_by_nearest(explanation):
        clauses.append(f"supported by {write_triple(explanation.supporting[0])}")
    return "; ".join(clauses)


def tabulate_split(explanation: Explanation, names: Mapping[int, str]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows: the share of each part in the distance or score of the answer and of the runner-up.

    Concepts with little weight, and those beyond the first few of a side, are summed in one row.

    Args:
        explanation: An explanation; without a runner-up there is one column of numbers.
        names: Names of concepts, given or suggested.
    """
    rival, lead = explanation.runner_up, explanation.lead
    columns = ["Part", "", "Weight", explanation.answer, *([rival.label, "In favour"] if rival else [])]
    rows = []
    for side in dict.fromkeys(part.side for part in explanation.contributions):
        parts = [part for part in explanation.contributions if part.side == side]
        shown = [part for part in parts if part.weight is None or abs(part.weight) >= LEAST_WEIGHT][:MOST_PARTS]
        rest = [part for part in parts if part not in shown]
        for part in shown:
            name = "" if part.concept is None else call_concept(part.concept, names)
            rows.append(
                [part.symmetry or side, name, "" if part.weight is None else f"{part.weight:.2f}", *sum_parts([part])]
            )
        if rest:
            rows.append([side, f"{len(rest)} more", "", *sum_parts(rest)])
    kind, own = ("score", explanation.score) if explanation.distance is None else ("distance", explanation.distance)
    totals = [own, *([] if rival is None or lead is None else [getattr(rival, kind), lead])]
    return columns, [*rows, ["sum", kind, "", *(f"{total:+,.3f}" for total in totals)]]


def sum_parts(parts: Sequence[Contribution]) -> list[str]:
    """Return the summed shares of parts in the totals of the answer and, if there is one, of the runner-up."""
    columns = zip(*((part.value, part.rival, part.favour) for part in parts), strict=True)
    return [f"{sum(column):+,.3f}" for column in columns if None not in column]


def write_triple(triple: LabelledTriple) -> str:
    """Return the labels of a triple, such as "Lyon – city in – France"."""
    return f"{triple.head_label} – {triple.relation_label} – {triple.tail_label}"


def describe_rank(explanation: Explanation) -> str:
    """Return the rank of the answer, its lead over the runner-up, and the part that decides it."""
    rival, lead = explanation.runner_up, explanation.lead
    if rival is None or lead is None:
        return f"{explanation.answer} is the only candidate for the {explanation.side} that is not known already"
    count, rank = explanation.candidates[explanation.side], name_rank(explanation.rank)
    ranked = f"{explanation.answer} ranks {rank} of {count:,} candidates for the {explanation.side}"
    compared = f"{ranked}, {name_lead(lead, find_size(explanation))} {rival.label}"
    decisive = find_decisive(explanation)
    if decisive is None:
        return compared
    users = find_users(explanation, decisive)
    remarks = [decisive.symmetry] if decisive.concept is not None and decisive.symmetry else []
    remarks += [describe_users(users, decisive.weight or 0.0)] if users else []
    shared = f" ({', '.join(remarks)})" if remarks else ""
    part = name_part(decisive, explanation.concept_names)
    return f"{compared}, {'' if lead > 0 else 'which leads '}mainly through {part}{shared}"


def describe_evidence(explanation: Explanation) -> str:
    """Name the most similar training triple and the one that supports the triple most."""
    similar = write_triple(explanation.nearest[0]) if explanation.nearest else ""
    supporting = write_triple(explanation.supporting[0]) if explanation.supporting else ""
    if is_supported_by_nearest(explanation):
        return f"the most similar training triple, which also supports it most, is {similar}"
    if similar and supporting:
        return f"the most similar training triple is {similar}, and the one that supports it most is {supporting}"
    if similar:
        return f"the most similar training triple is {similar}"
    return f"the training triple that supports it most is {supporting}" if supporting else ""


def is_supported_by_nearest(explanation: Explanation) -> bool:
    """Return whether the most similar triple is also the one that supports most."""
    first = [found[:1] for found in (explanation.nearest, explanation.supporting)]
    return all(first) and write_triple(first[0][0]) == write_triple(first[1][0])


def find_size(explanation: Explanation) -> float:
    """Return what a lead is compared with: the runner-up's distance, or the larger absolute value of two scores."""
    rival = explanation.runner_up
    assert rival is not None, "there is a lead"
    return max(abs(explanation.score), abs(rival.score)) if rival.distance is None else rival.distance


def name_lead(lead: float, size: float) -> str:
    """Return "just ahead of", "ahead of", "behind" and so on, by the lead's share of a size."""
    share = lead / size if size > 0 else 0.0
    if abs(share) < LEVEL:
        return "level with"
    if share < 0:
        return "just behind" if share > -NARROW else "behind"
    return "just ahead of" if share < NARROW else "far ahead of" if share > WIDE else "ahead of"


def name_rank(rank: float) -> str:
    """Return "first", "2nd", "23rd"; for a rank between two because of ties, "about 4.5th"."""
    if rank != int(rank):
        return f"about {rank:,g}th"
    number = int(rank)
    if number == 1:
        return "first"
    ending = "th" if number % 100 in _TEENS else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def name_part(part: Contribution, names: Mapping[int, str] | None = None) -> str:
    """Return a part in words: "concept 7 (lies in) on the head side", "the tail side" or "the translation"."""
    if part.side == "relation":
        called = f"the {part.symmetry} part of the relation"
        return called if part.concept is None else call_concept(part.concept, names or {})
    if part.side == "translation":
        return "the translation"
    where = f"the {part.side} side"
    return where if part.concept is None else f"{call_concept(part.concept, names or {})} on {where}"


def find_decisive(explanation: Explanation) -> Contribution | None:
    """Return the part that contributes most to the lead, whichever of the two has it.

    None where they are level, or where there is one part, which would explain nothing.
    """
    lead, rival = explanation.lead, explanation.runner_up
    if lead is None or rival is None or abs(lead) < LEVEL * find_size(explanation):
        return None
    if len(explanation.contributions) < 2:
        return None
    sign = 1.0 if lead > 0 else -1.0
    # The favours sum to the lead, so that at least one has its sign.
    return max(explanation.contributions, key=lambda part: sign * (part.favour or 0.0))


def find_users(explanation: Explanation, part: Contribution) -> Sequence[Use]:
    """Return the other relations or sides that use the concept of a part, strongest first."""
    shared = (explanation.sharing or {}).get(part.side, ())
    return next((found.others for found in shared if found.concept == part.concept), ())


def describe_users(users: Sequence[Use], weight: float = 0.0) -> str:
    """Return who else uses a concept, such as "shared with the heads of capital_of and 3 more".

    Args:
        users: Other users, strongest first.
        weight: Weight of the concept here; relations that use it with the opposite sign are marked.
    """
    named = [
        f"the {use.side}s of {use.label}"
        if use.side != "relation"
        else f"{use.label}{' with the opposite sign' * (use.weight * weight < 0)}"
        for use in users[:MOST_NAMED]
    ]
    if len(users) > MOST_NAMED:
        named.append(f"{len(users) - MOST_NAMED} more")
    listed = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
    return f"shared with {listed}"
