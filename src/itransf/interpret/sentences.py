"""Explanations in words: one sentence for a triple, a short form for a list of answers."""

from __future__ import annotations

from collections.abc import Sequence

from itransf.interpret.evidence import Evidence
from itransf.interpret.explanations import Contribution, Explanation
from itransf.interpret.naming import LETTERS, call_concept
from itransf.interpret.sharing import Use

MOST_NAMED = 2
"""Relations named as sharing a concept; the others are counted."""
NARROW, WIDE = 0.02, 0.2
"""Leads, as shares of the runner-up's distance, that are called "just ahead" and "far ahead"."""
LEVEL = 1e-6
"""Leads, likewise, that single precision cannot tell from none."""
_TEENS = (11, 12, 13)


def tell(explanation: Explanation) -> str:
    """Return one sentence: how the answer stands, what decides it, and which training triples are behind it."""
    clauses = [f"{tell_triple(explanation)} ({tell_known(explanation)}): {tell_standing(explanation)}"]
    evidence = tell_evidence(explanation)
    return "; ".join([*clauses, *([evidence] if evidence else [])]) + "."


def tell_briefly(explanation: Explanation, most: int = 2) -> str:
    """Return the short form: the parts that speak for the answer most, and the training triples behind it."""
    parts = [part for part in explanation.contributions if (part.favour or 0.0) > 0]
    strongest = sorted(parts, key=lambda part: -(part.favour or 0.0))[:most]
    told = [" and ".join(abbreviate_part(part) for part in strongest)] if strongest else []
    if explanation.nearest:
        told.append(f"like {tell_triple(explanation.nearest[0])}")
    if explanation.supporting and not backs_itself(explanation):
        told.append(f"backed by {tell_triple(explanation.supporting[0])}")
    return "; ".join(told)


def tell_triple(triple: Explanation | Evidence) -> str:
    """Return a triple as people read it, such as "Lyon – city in – France"."""
    return f"{triple.head_label} – {triple.relation_label} – {triple.tail_label}"


def tell_known(explanation: Explanation) -> str:
    """Say whether the triple is in the graph."""
    if explanation.known is None:
        return "not in the graph"
    return "a training triple" if explanation.known == "train" else f"a triple held out for {explanation.known}"


def tell_standing(explanation: Explanation) -> str:
    """Say where the answer stands, ahead of or behind whom, and above all through what."""
    rival, lead = explanation.runner_up, explanation.lead
    if rival is None or lead is None:
        return f"{explanation.answer} is the only candidate for the {explanation.side} that is not known already"
    count = explanation.candidates[explanation.side]
    place = (
        f"{explanation.answer} comes {name_place(explanation.rank)} of {count:,} candidates for the {explanation.side}"
    )
    place = f"{place}, {name_lead(lead, rival.distance)} {rival.label}"
    decisive = find_decisive(explanation)
    if decisive is None:
        return place
    return f"{place}, {'' if lead > 0 else 'which leads '}above all through {tell_decisive(explanation, decisive)}"


def tell_evidence(explanation: Explanation) -> str:
    """Name the training triple that backs the triple most and the one most like it."""
    like = tell_triple(explanation.nearest[0]) if explanation.nearest else ""
    backing = tell_triple(explanation.supporting[0]) if explanation.supporting else ""
    if like and backs_itself(explanation):
        return f"the training triple most like it, which also backs it most, is {like}"
    if like and backing:
        return f"the training triple most like it is {like}, and the one that backs it most is {backing}"
    if like:
        return f"the training triple most like it is {like}"
    return f"the training triple that backs it most is {backing}" if backing else ""


def backs_itself(explanation: Explanation) -> bool:
    """Return whether the triple most alike is also the one that backs most."""
    nearest, supporting = explanation.nearest[:1], explanation.supporting[:1]
    return bool(nearest and supporting) and tell_triple(nearest[0]) == tell_triple(supporting[0])


def name_lead(lead: float, distance: float) -> str:
    """Return "just ahead of", "ahead of", "behind" and so on, as the lead is a small or large share of a distance."""
    share = lead / distance if distance > 0 else 0.0
    if abs(share) < LEVEL:
        return "level with"
    if share < 0:
        return "just behind" if share > -NARROW else "behind"
    return "just ahead of" if share < NARROW else "far ahead of" if share > WIDE else "ahead of"


def name_place(rank: float) -> str:
    """Return "first", "2nd", "23rd"; where others have the same score, "about 4.5th"."""
    if rank != int(rank):
        return f"about {rank:,g}th"
    number = int(rank)
    if number == 1:
        return "first"
    ending = "th" if number % 100 in _TEENS else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def find_decisive(explanation: Explanation) -> Contribution | None:
    """Return the part that speaks most for whoever is ahead, the answer or the runner-up."""
    lead, rival = explanation.lead, explanation.runner_up
    if lead is None or rival is None or abs(lead) < LEVEL * rival.distance:
        return None
    sign = 1.0 if lead > 0 else -1.0
    # The favours sum to the lead, so that at least one has its sign.
    return max(explanation.contributions, key=lambda part: sign * (part.favour or 0.0))


def tell_decisive(explanation: Explanation, part: Contribution) -> str:
    """Say what a part is and who shares it."""
    users = find_sharers(explanation, part)
    return name_part(explanation, part) + (f" ({tell_users(users)})" if users else "")


def name_part(explanation: Explanation, part: Contribution) -> str:
    """Return what a part is, in words."""
    if part.side == "translation":
        return f"the translation of {explanation.relation_label}"
    if part.concept is not None:
        return f"{call_concept(part.concept, explanation.concept_names)} on the {part.side} side"
    return f"the {part.side} side"


def abbreviate_part(part: Contribution) -> str:
    """Return what a part is, in short, such as "concept 7 (T)"."""
    if part.side == "translation":
        return "translation"
    return f"{part.side} side" if part.concept is None else f"concept {part.concept} ({LETTERS[part.side]})"


def find_sharers(explanation: Explanation, part: Contribution) -> Sequence[Use]:
    """Return the other relation sides that use the concept of a part, strongest first."""
    if explanation.sharing is None or part.side == "translation":
        return ()
    return next((found.others for found in explanation.sharing[part.side] if found.concept == part.concept), ())


def tell_users(users: Sequence[Use]) -> str:
    """Say who else uses a concept, such as "shared with the heads of capital_of and 3 more"."""
    named = [f"the {use.side}s of {use.label}" for use in users[:MOST_NAMED]]
    if len(users) > MOST_NAMED:
        named.append(f"{len(users) - MOST_NAMED} more")
    listed = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
    return f"shared with {listed}"
