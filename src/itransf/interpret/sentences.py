"""Explanations in words: sentences about a triple, a short form for a list of answers, a table for a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from itransf.interpret.sharing import LEAST_WEIGHT, call_concept

if TYPE_CHECKING:
    from itransf.interpret.explanation import Contribution, Explanation
    from itransf.prediction.inputs import LabelledTriple

MOST_NAMED = 4
"""Concepts of a relation that are named; the others are counted."""
PARTS = {"translation": "relation vector"}
"""Names of parts that are shown under another name."""
WEAK, FEW = 0.1, 2
"""The share of pairs below which, and their number up to which, a path is called a weak reason."""
NARROW, WIDE = 0.02, 0.2
"""Leads, as shares of `find_size`, that are called "just ahead" and "far ahead"."""
LEVEL = 1e-6
"""Leads, as shares of `find_size`, that are rounding errors of single precision."""
MOST_PARTS = 6
"""Parts of a side in the table of a split; a dense attention has hundreds."""
NO_PROBABILITY = "No probability is shown: the run has none, or fewer than 50 validation questions to fit it on."
_TEENS = (11, 12, 13)


def write_sentence(explanation: Explanation) -> str:
    """Return what is asked and the rank, then the reasons: paths, similar triples, and concepts by name."""
    sentences = [describe_rank(explanation), describe_unfit(explanation), describe_taken(explanation)]
    sentences += [describe_paths(explanation), describe_evidence(explanation), describe_concepts(explanation)]
    if explanation.agreement is not None:
        agreed = explanation.agreement.describe(explanation.answer)
        sentences.append(f"This explains seed {explanation.seed}; {agreed}")
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def write_short_form(explanation: Explanation) -> str:
    """Return the best path, or else the most supporting training triple, and the most similar one."""
    clauses = [path.describe(explanation.relation_label) for path in explanation.paths[:1]]
    if explanation.supporting and not clauses and not is_supported_by_nearest(explanation):
        clauses.append(f"supported by {write_triple(explanation.supporting[0])}")
    told = [write_triple(triple) for path in explanation.paths[:1] for triple in path.triples]
    similar = [write_triple(nearest) for nearest in explanation.nearest[:1]]
    return "; ".join([*clauses, *(f"like {triple}" for triple in similar if triple not in told)])


def tabulate_split(explanation: Explanation) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows: the share of each part in the distance or score of the answer and of the runner-up.

    Concepts with little weight, and those beyond the first few of a side, are summed in one row.

    Args:
        explanation: An explanation; without a runner-up there is one column of numbers.
    """
    rival, lead = explanation.runner_up, explanation.lead
    columns = ["Part", "", "Weight", explanation.answer, *([rival.label, "In favour"] if rival else [])]
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


def write_triple(triple: LabelledTriple) -> str:
    """Return the labels of a triple, such as "Lyon – city in – France"."""
    return f"{triple.head_label} – {triple.relation_label} – {triple.tail_label}"


def list_words(words: Sequence[str], most: int) -> str:
    """Return "a, b and c", or "a, b and 3 more"."""
    shown = list(words) if len(words) <= most else [*words[: most - 1], f"{len(words) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def describe_rank(explanation: Explanation) -> str:
    """Return the question, the rank of the answer, its lead over the runner-up, and what is known."""
    ends = {"head": explanation.head_label, "tail": explanation.tail_label, explanation.side: "?"}
    asked = f"{ends['head']} – {explanation.relation_label} – {ends['tail']}"
    known = "is not in the graph"
    if explanation.known is not None:
        is_shown = explanation.known == "train"
        known = "is in train, so the model was shown it" if is_shown else f"was held out for {explanation.known}"
    if explanation.probability is not None:
        known += f" and has a probability of {format_probability(explanation.probability)}"
    rival, lead = explanation.runner_up, explanation.lead
    if rival is None or lead is None:
        return f"{asked}: {explanation.answer} is the only candidate that is not known already; the triple {known}"
    count, rank = explanation.candidates[explanation.side], name_rank(explanation.rank)
    ahead = name_lead(lead, find_size(explanation))
    ranked = f"{explanation.answer} ranks {rank} of {count:,} candidates, {ahead} {rival.label}"
    return f"{asked}: {ranked}; the triple {known}"


def format_probability(chance: float) -> str:
    """Return a probability in percent without false precision: "<1 %", "3 %", "97 %", ">99 %"."""
    return "<1 %" if chance < 0.01 else ">99 %" if chance > 0.99 else f"{100.0 * chance:.0f} %"


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
    told = [write_triple(triple) for path in explanation.paths[:1] for triple in path.triples]
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
