"""`itransf explain` and `itransf relation`: the parts of a triple's score, and the relatives of a relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from typer import Argument, Option

import itransf
from itransf.cli.options import AsJson, Device, RunFolder, open_run
from itransf.cli.output import LEAST, PARTS, Screen, describe_users, format_number, format_uses, tell

MOST_PARTS = 6  # of a side; a dense attention has hundreds
MOST_CONCEPTS, MOST_REMOVALS = 3, 3
LONGEST = 24  # letters of an entity's label in a heading

Found = Mapping[str, Any]


def explain_triple(
    run: RunFolder,
    head: Annotated[str, Argument(metavar="HEAD", help="Head: name or label.")],
    relation: Annotated[str, Argument(metavar="RELATION", help="Relation: name or label.")],
    tail: Annotated[str, Argument(metavar="TAIL", help="Tail: name or label.")],
    side: Annotated[Literal["head", "tail"], Option(help="Side of the answer, compared with competitors.")] = "tail",
    triples: Annotated[int, Option(metavar="N", help="Number of training triples of each kind to name.")] = 3,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Explain the score of a triple.

    Shown are its parts, which sum up to the score exactly, the closest competitor, similar triples, and what would
    change the answer. The triple may be in the graph or not.
    """
    found = open_run(run, device).explain(head, relation, tail, side=side, evidence=triples).to_dict()
    tell(found, as_json, lambda screen: show_explanation(found, screen))


def show_explanation(found: Found, screen: Screen) -> None:
    """Print what `Explanation.to_dict` returns: the sentence, then the tables behind it."""
    screen.say(found["sentence"], wrap=True)
    ranks = ", ".join(f"{side} {found['ranks'][side]:,g} of {found['candidates'][side]:,}" for side in ("tail", "head"))
    score = format_number(found["score"], 3)
    screen.say(f"\nScore {score}; rank: {ranks} candidates whose triple is not known\n", wrap=True)
    show_split(found, screen)
    if found["sharing"] is not None:
        screen.say(f"\nConcepts of {found['relation_label']}, and who shares them", "bold")
        for side, concepts in found["sharing"].items():
            for place, shared in enumerate(concepts[:MOST_CONCEPTS]):
                called = itransf.interpret.call_concept(shared["concept"], found["concept_names"])
                weight, users = format_number(shared["weight"], 2), describe_users(shared["others"])
                screen.say(f"  {side if place == 0 else '':4}  {called} ({weight}): {users}")
    show_evidence(found, screen)
    changes = list_changes(found)
    if changes:
        screen.say("\nWhat would change the answer", "bold")
        for change in changes:
            screen.say(f"  {change}")


def show_split(found: Found, screen: Screen) -> None:
    """Print the parts of the distance, next to those of the closest competitor if there is one."""
    rival = found["runner_up"]
    shorten = itransf.interpret.heatmap.shorten
    columns = ["Part", "", "Weight", shorten(found[f"{found['side']}_label"], LONGEST)]
    columns += [shorten(rival["label"], LONGEST), "In favour"] if rival else []
    kinds = ("value", "rival", "favour") if rival else ("value",)
    rows: list[tuple[str, ...]] = []
    for side in ("head", "translation", "tail"):
        parts = [part for part in found["contributions"] if part["side"] == side]
        shown = [part for part in parts if part["weight"] is None or abs(part["weight"]) >= LEAST][:MOST_PARTS]
        rest = [part for part in parts if part not in shown]
        for part in shown:
            has_concept = part["concept"] is not None
            name = itransf.interpret.call_concept(part["concept"], found["concept_names"]) if has_concept else ""
            weight = "" if part["weight"] is None else format_number(part["weight"], 2)
            rows.append((side, name, weight, *(f"{part[kind]:+,.3f}" for kind in kinds)))
        if rest:
            rows.append(
                (side, f"{len(rest)} more", "", *(f"{sum(part[kind] for part in rest):+,.3f}" for kind in kinds))
            )
    totals = (found["distance"], rival["distance"], found["lead"]) if rival else (found["distance"],)
    rows.append(("sum", "distance", "", *(f"{total:+,.3f}" for total in totals)))
    screen.tabulate(columns, rows, names=2, title="The distance (-score) as a sum of parts")


def show_evidence(found: Found, screen: Screen) -> None:
    """Print the most similar training triples and those that support the triple most."""
    nearest = "Most similar training triples (distance of both entities, as the relation projects them)"
    supporting = "Most supporting training triples (how much a gradient step on each would lower the distance)"
    for key, title, column in (("nearest", nearest, "Distance"), ("supporting", supporting, "Pull")):
        if found[key]:
            rows = [
                (*(line[f"{part}_label"] for part in PARTS), format_number(line["value"], 3)) for line in found[key]
            ]
            screen.say()
            screen.tabulate(("Head", "Relation", "Tail", column), rows, names=3, title=title)


def list_changes(found: Found) -> list[str]:
    """Return the concepts and the training triple that the answer depends on most."""
    answer, rank = found[f"{found['side']}_label"], found["ranks"][found["side"]]
    lines = []
    for removal in [removal for removal in found["removals"] if abs(removal["weight"]) >= LEAST][:MOST_REMOVALS]:
        called = itransf.interpret.call_concept(removal["concept"], found["concept_names"])
        is_same = removal["rank"] == rank
        moved = f"stays at rank {rank:,g}" if is_same else f"goes from rank {rank:,g} to {removal['rank']:,g}"
        scores = f"score {format_number(found['score'], 3)} to {format_number(removal['score'], 3)}"
        lines.append(f"without {called} on the {removal['side']} side, {answer} {moved} ({scores})")
    if found["supporting"]:
        triple = " – ".join(found["supporting"][0][f"{part}_label"] for part in PARTS)
        lines.append(f"the most supporting training triple is {triple} (an estimate, without training again)")
    return lines


ROLES = {"inverse": "inverse of", "equivalent": "same as", "broader": "sub-relation of", "narrower": "contains"}
KINDS = ("score", "matrices", "translation", "attention")  # the last for models with concepts


def show_relation(
    run: RunFolder,
    name: Annotated[str, Argument(metavar="NAME", help="Relation: name or label.")],
    top: Annotated[int, Option(metavar="N", help="Number of candidates for each role.")] = 3,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Show the concepts of a relation and similar relations.

    Candidates for its inverse, equivalent and sub-relations are listed. All scores are computed from the parameters of
    the model, not from triples.
    """
    profile = open_run(run, device).relation(name, top).to_dict()
    tell(profile, as_json, lambda screen: show_profile(profile, screen))


def show_profile(profile: Found, screen: Screen) -> None:
    """Print what `RelationProfile.to_dict` returns."""
    screen.say(f"{profile['sentence']}\n", wrap=True)
    for side in ("head", "tail"):
        if profile[side]:
            screen.say(f"{side.capitalize()} concepts  {format_uses(profile[side])}")
    screen.say(f"Symmetric      {format_number(profile['symmetric'], 3)}\n")
    kinds = KINDS if profile["head"] else KINDS[:-1]
    rows = [row for key, role in ROLES.items() for row in list_candidates(role, profile[key], kinds)]
    screen.tabulate(("May be", "Relation", *(kind.capitalize() for kind in kinds)), rows, names=2)
    compared = "; the attention is shown for comparison" if profile["head"] else ""
    screen.say(f"Scores are at most 1 and use matrices and translations only{compared}.", wrap=True)


def list_candidates(role: str, candidates: Sequence[Found], kinds: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the rows of a table for one role, which is named once."""
    return [
        (
            role if place == 0 else "",
            found["label"],
            *("" if found[kind] is None else format_number(found[kind], 3) for kind in kinds),
        )
        for place, found in enumerate(candidates)
    ]
