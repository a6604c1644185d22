"""`itransf explain` and `itransf relation`: the reasons for a triple's rank, and the relatives of a relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

import itransf
from itransf.cli.options import AsJson, Device, Out, RunFolder, open_run
from itransf.cli.output import LEAST, MOST_SHARED, TRIPLE, Columns, Screen, format_number, show_shared, tell, tell_rows

if TYPE_CHECKING:
    from itransf.interpret import Explanation
    from itransf.interpret.evidence import Evidence
    from itransf.models import Side

SIDES: tuple[Side, Side] = ("tail", "head")  # in the order of their ranks
MOST_REMOVALS = 3
LONGEST = 24  # letters of an entity's label in a heading

Found = Mapping[str, Any]


def explain_triple(
    run: RunFolder,
    head: Annotated[str, Argument(metavar="HEAD", help="Head: name or label.")],
    relation: Annotated[str, Argument(metavar="RELATION", help="Relation: name or label.")],
    tail: Annotated[str, Argument(metavar="TAIL", help="Tail: name or label.")],
    side: Annotated[Literal["head", "tail"], Option(help="Side of the answer, compared with competitors.")] = "tail",
    triples: Annotated[int, Option(metavar="N", help="Number of paths and of training triples to name.")] = 3,
    parts: Annotated[bool, Option("--parts", help="Show how the score adds up, and ranks without concepts.")] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Explain the rank of a triple.

    Shown are the rank, paths in train that connect head and tail and how often such paths hold, similar triples, and
    the concepts of the relation. The triple may be in the graph or not.
    """
    found = open_run(run, device).explain(head, relation, tail, side=side, evidence=triples)
    tell(found.to_dict(), as_json, lambda screen: show_explanation(found, screen, parts))


def show_explanation(found: Explanation, screen: Screen, parts: bool = False) -> None:
    """Print the sentences of an explanation, then what they are taken from; the parts of the score if asked for."""
    screen.say(found.sentence, wrap=True)
    if found.paths:
        screen.say("\nReasons in train, and how often they hold", "bold")
        for path in found.paths:
            screen.say(f"  {path.describe(found.relation_label)}")
    has_distance = found.distance is not None
    measured = "distance of both entities, as the relation projects them"
    summed = "cosine of what each dimension adds to the score" if found.contributions else "cosine of both embeddings"
    compared = measured if has_distance else summed
    nearest = f"Most similar training triples ({compared})"
    show_evidence(found.nearest, "Distance" if has_distance else "Cosine", nearest, screen)
    supporting = "Most supporting training triples (how much the lead depends on each, estimated)"
    show_evidence(found.supporting, "Pull", supporting, screen)
    if found.sharing is not None:
        screen.say(f"\nConcepts of {found.relation_label}, and who shares them", "bold")
        show_shared(found.sharing, screen, MOST_SHARED)
    if parts:
        show_parts(found, screen)


def show_parts(found: Explanation, screen: Screen) -> None:
    """Print the score as a sum of parts, and the rank without each concept."""
    ranks = ", ".join(f"{side} {found.ranks[side]:,g} of {found.candidates[side]:,}" for side in SIDES)
    screen.say(f"\nScore {found.score:,.3f}; rank: {ranks} candidates whose triple is not known\n", wrap=True)
    columns, rows = itransf.interpret.tabulate_split(found)
    headings = [itransf.interpret.heatmap.shorten(column, LONGEST) for column in columns]
    split = "score" if found.distance is None else "distance (-score)"
    screen.tabulate(headings, rows, names=2, title=f"The {split} as a sum of parts")
    changes = list_changes(found)
    if changes:
        screen.say("\nThe rank without each concept", "bold")
        for change in changes:
            screen.say(f"  {change}")


def show_evidence(evidence: Sequence[Evidence], column: str, title: str, screen: Screen) -> None:
    """Print training triples with their values."""
    if evidence:
        screen.say()
        columns: Columns = {**TRIPLE, column: lambda each: f"{each['value']:,.3f}"}
        screen.tabulate_each(map(asdict, evidence), columns, names=3, title=title)


def list_changes(found: Explanation) -> list[str]:
    """Return what the removal of each of the first concepts changes."""
    lines = []
    for removal in [removal for removal in found.removals if abs(removal.weight) >= LEAST][:MOST_REMOVALS]:
        called = itransf.interpret.call_concept(removal.concept, found.concept_names)
        is_same = removal.rank == found.rank
        moved = f"stays at rank {found.rank:,g}" if is_same else f"goes from rank {found.rank:,g} to {removal.rank:,g}"
        scores = f"score {found.score:,.3f} to {removal.score:,.3f}"
        where = f" on the {removal.side} side" if removal.side in SIDES else ""
        lines.append(f"without {called}{where}, {found.answer} {moved} ({scores})")
    return lines


ROLES = {"inverse": "inverse of", "equivalent": "same as", "broader": "sub-relation of", "narrower": "contains"}
KINDS = {"triples": "Triples", "matrices": "Matrices", "translation": "Vectors", "attention": "Attention"}
"""Headings of shares and similarities, where there are any."""
MOST_CONCEPTS = 5
CONCEPTS = {"head": "Head concepts", "tail": "Tail concepts", "concepts": "Concepts"}


def show_relation(
    run: RunFolder,
    name: Annotated[str, Argument(metavar="NAME", help="Relation: name or label.")],
    top: Annotated[int, Option(metavar="N", help="Number of candidates for each role.")] = 3,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Show the concepts of a relation and similar relations.

    Candidates for its inverse, equivalent and sub-relations are listed. Scores are computed from the parameters of the
    model; beside them are the shares of the relation's triples that fit.
    """
    opened = open_run(run, device)
    profile = opened.relation(name, top).to_dict()
    names = itransf.interpret.name_concepts(opened.concepts(), opened.concept_names) if opened.has_concepts else {}
    rows = [{"role": role, **found} for role in ROLES for found in profile[role]]
    content = {**profile, "concept_names": names}
    tell_rows(content, rows, out, as_json, lambda screen: show_profile(profile, names, screen))


def show_profile(profile: Found, names: Mapping[int, str], screen: Screen) -> None:
    """Print what `RelationProfile.to_dict` returns, with the names of concepts."""
    screen.say(f"{profile['sentence']}\n", wrap=True)
    for key, heading in CONCEPTS.items():
        for place, use in enumerate(each for each in profile[key][:MOST_CONCEPTS] if abs(each["weight"]) >= LEAST):
            called = itransf.interpret.call_concept(use["concept"], names)
            screen.say(f"{'' if place else heading:15}{called}, weight {use['weight']:.2f}")
    screen.say(f"Symmetric      {format_number(profile['symmetric'], 3)}\n")
    candidates = [found for key in ROLES for found in profile[key]]
    kinds = ["score", *(kind for kind in KINDS if any(found[kind] is not None for found in candidates))]
    rows = [row for key, role in ROLES.items() for row in list_candidates(role, profile[key], kinds)]
    screen.tabulate(("Closest to", "Relation", "Score", *(KINDS[kind] for kind in kinds[1:])), rows, names=2)
    used = "compare matrices and vectors of relations" if "matrices" in kinds else "are cosines of relation vectors"
    compared = "; the attention is shown for comparison" if "attention" in kinds else ""
    shares = " Triples: the share of triples that fit, in train, valid and test." if "triples" in kinds else ""
    screen.say(f"Scores are at most 1 and {used}{compared}.{shares}", wrap=True)


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
