"""`itransf explain`: why a triple has the score it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.markup import escape
from rich.text import Text

import itransf
from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run
from itransf.cli.output import fill, format_number, make_console, make_table, print_json, put_title
from itransf.cli.reasons import MOST_CONCEPTS, describe_users

MOST_PARTS = 6  # of a side; a dense attention has hundreds
MOST_REMOVALS = 3
LEAST = 0.05  # weaker weights are told together
LONGEST = 24  # letters of an entity's label above a column

_PARTS = ("head", "relation", "tail")


class SideName(StrEnum):
    """Which end of the triple counts as the answer."""

    head = "head"
    tail = "tail"


def explain_triple(
    run: RunFolder,
    head: Annotated[str, typer.Argument(metavar="HEAD", help="The head: name or label.")],
    relation: Annotated[str, typer.Argument(metavar="RELATION", help="The relation: name or label.")],
    tail: Annotated[str, typer.Argument(metavar="TAIL", help="The tail: name or label.")],
    side: Annotated[
        SideName, typer.Option("--side", help="Which end is the answer, to be compared with its rivals.")
    ] = SideName.tail,
    triples: Annotated[
        int, typer.Option("--triples", metavar="N", min=0, help="How many triples to name as evidence.")
    ] = 3,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Explain a triple's score: concepts, rivals, evidence, and what would change it.

    The triple may be in the graph or not. The score is split exactly into what each concept adds.
    """
    found = open_run(run, device).explain(head, relation, tail, side=side.value, evidence=triples).to_dict()
    if as_json:
        print_json(found)
    else:
        show_explanation(found, make_console())


def show_explanation(found: Mapping[str, Any], console: Console) -> None:
    """Print what `Explanation.to_dict` returns: the sentence, then the tables behind it."""
    console.print(Text(found["sentence"]))
    console.print()
    console.print(describe_standing(found))
    console.print()
    console.print(tabulate_split(found))
    for part in (describe_sharing(found), tabulate_evidence(found), describe_changes(found)):
        if part is not None:
            console.print()
            console.print(part, soft_wrap=True)


def describe_standing(found: Mapping[str, Any]) -> Text:
    """Return score and ranks on one line."""
    ranks = ", ".join(f"{side} {found['ranks'][side]:,g} of {found['candidates'][side]:,}" for side in ("tail", "head"))
    return Text(f"Score {format_number(found['score'], 3)}; rank: {ranks} candidates whose triple is not known")


def tabulate_split(found: Mapping[str, Any]) -> Group:
    """Return the split of the distance, beside the runner-up's where there is one."""
    rival = found["runner_up"]
    columns = ["Part", "", "Weight", head_column(found[f"{found['side']}_label"])]
    if rival:
        columns += [head_column(rival["label"]), "In favour"]
    kinds = ("value", "rival", "favour") if rival else ("value",)
    rows = []
    for side in ("head", "translation", "tail"):
        parts = [part for part in found["contributions"] if part["side"] == side]
        shown = [part for part in parts if part["weight"] is None or abs(part["weight"]) >= LEAST][:MOST_PARTS]
        for part in shown:
            name, weight = name_part(part, found["concept_names"]), format_weight(part)
            rows.append((side, name, weight, *(format_signed(part[kind]) for kind in kinds)))
        rest = [part for part in parts if part not in shown]
        if rest:
            sums = (format_signed(sum(part[kind] for part in rest)) for kind in kinds)
            rows.append((side, f"{len(rest)} more", "", *sums))
    totals = (found["distance"], rival["distance"], found["lead"]) if rival else (found["distance"],)
    rows.append(("sum", "distance", "", *(format_signed(total) for total in totals)))
    return put_title("The distance (-score), split into what each part adds", fill(make_table(*columns, names=2), rows))


def head_column(label: str) -> str:
    """Return an entity's label as the heading of a column, where brackets mean something and room is scarce."""
    return escape(itransf.interpret.heatmap.shorten(label, LONGEST))


def name_part(part: Mapping[str, Any], names: Mapping[int, str]) -> str:
    """Return what a contribution comes from."""
    return "" if part["concept"] is None else itransf.interpret.call_concept(part["concept"], names)


def format_weight(part: Mapping[str, Any]) -> str:
    """Return a concept's weight, nothing for what has none."""
    return "" if part["weight"] is None else format_number(part["weight"], 2)


def format_signed(number: float) -> str:
    """Return a number with three decimals and its sign."""
    return f"{number:+,.3f}"


def describe_sharing(found: Mapping[str, Any]) -> Text | None:
    """Say who else uses the relation's concepts."""
    if found["sharing"] is None:
        return None
    lines = [Text(f"Concepts of {found['relation_label']}, and who shares them", "bold")]
    for side, concepts in found["sharing"].items():
        for place, shared in enumerate(concepts[:MOST_CONCEPTS]):
            name = f"  {side if place == 0 else '':4}  "
            called = itransf.interpret.call_concept(shared["concept"], found["concept_names"])
            weight = format_number(shared["weight"], 2)
            lines.append(Text(f"{name}{called} ({weight}): {describe_users(shared['others'])}"))
    return Text("\n").join(lines)


def tabulate_evidence(found: Mapping[str, Any]) -> Group | None:
    """Return the training triples most alike and those that back the triple most."""
    tables: list[Text | Group] = []
    for key, title, column in (
        (
            "nearest",
            "Training triples most like it (how far its ends are from theirs, as the relation sees them)",
            "Distance",
        ),
        ("supporting", "Training triples that back it most (how far a step on each would lessen its distance)", "Pull"),
    ):
        if found[key]:
            rows = [
                (*(triple[f"{part}_label"] for part in _PARTS), format_number(triple["value"], 3))
                for triple in found[key]
            ]
            table = fill(make_table("Head", "Relation", "Tail", column, names=3), rows)
            tables += [Text(), put_title(title, table)] if tables else [put_title(title, table)]
    return Group(*tables) if tables else None


def describe_changes(found: Mapping[str, Any]) -> Text | None:
    """Say which concept and which triple the answer depends on most."""
    removals = [removal for removal in found["removals"] if abs(removal["weight"]) >= LEAST][:MOST_REMOVALS]
    lines = [describe_removal(removal, found) for removal in removals]
    if found["supporting"]:
        triple = " – ".join(found["supporting"][0][f"{part}_label"] for part in _PARTS)
        lines.append(f"  the training triple it leans on most is {triple} (an estimate: nothing was trained again)")
    if not lines:
        return None
    return Text("\n").join([Text("What would change the answer", "bold"), *(Text(line) for line in lines)])


def describe_removal(removal: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Say how the answer would stand without a concept."""
    answer, rank = found[f"{found['side']}_label"], found["ranks"][found["side"]]
    called = itransf.interpret.call_concept(removal["concept"], found["concept_names"])
    moved = (
        f"stays at rank {rank:,g}" if removal["rank"] == rank else f"goes from rank {rank:,g} to {removal['rank']:,g}"
    )
    scores = f"score {format_number(found['score'], 3)} to {format_number(removal['score'], 3)}"
    return f"  without {called} on the {removal['side']} side, {answer} {moved} ({scores})"


def show_short_forms(predictions: Sequence[Mapping[str, Any]], console: Console, asked: str) -> None:
    """Print one line per prediction: what speaks for it, and the training triples behind it.

    Rivals are entities: where a relation was `asked` for, they are other tails.
    """
    rival = "its closest rival" if asked != "relation" else "the closest other tail"
    console.print()
    console.print(Text(f"What speaks for each, against {rival}", "bold"))
    width = max(len(str(found["rank"])) for found in predictions)
    for found in predictions:
        explanation = found["explanation"]
        answer = explanation[f"{asked if asked == 'relation' else explanation['side']}_label"]
        console.print(Text(f"  {found['rank']:>{width}}  {answer}: {explanation['short']}"), soft_wrap=True)
