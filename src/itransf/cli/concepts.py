"""`itransf concepts`: which relations share which concepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.text import Text

import itransf
from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run
from itransf.cli.output import fill, format_number, make_console, make_table, print_json, put_title
from itransf.cli.reasons import describe_concept, describe_users

MOST_ROWS = 60  # relations listed unless they are asked for by name
LEAST = 0.05  # weaker weights are not listed


def show_concepts(
    run: RunFolder,
    relation: Annotated[
        list[str] | None, typer.Option("--relation", metavar="R", help="Only this relation; repeatable.")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw a heat map: .png or .svg.")] = None,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Show which relations share which concepts; draw a heat map."""
    attention = open_run(run, device).concepts()
    chosen = attention.choose(relation) if relation else attention
    if plot is not None:
        itransf.interpret.write_heatmap(chosen, plot)
    if as_json:
        print_json({**chosen.to_dict(), "plot": None if plot is None else str(plot)})
        return
    console = make_console()
    show_attention(chosen.to_dict(), console)
    if relation:
        show_sharing(attention, relation, console)
    if plot is not None:
        console.print(f"The heat map is in {plot}", markup=False, soft_wrap=True)
    else:
        console.print(itransf.interpret.format_heatmap(chosen), markup=False, soft_wrap=True)


def show_attention(attention: Mapping[str, Any], console: Console) -> None:
    """Print what `Attention.to_dict` returns as a table."""
    relations = attention["relations"]
    console.print(tabulate_attention(attention))
    console.print()
    if len(relations) > MOST_ROWS:
        rest = len(relations) - MOST_ROWS
        console.print(f"{rest:,} rarer relations are not listed: --relation picks some, --json has all.\n")


def tabulate_attention(attention: Mapping[str, Any]) -> Group:
    """Return a table of relations and the concepts of their two sides, strongest first."""
    title = f"Concepts of each relation (concept:weight, from {LEAST} on)"
    table = make_table("Relation", "Head concepts", "Tail concepts", "Train", names=3)
    rows = (
        (
            relation["label"],
            format_uses(relation["head"]),
            format_uses(relation["tail"]),
            f"{relation['train_facts']:,}",
        )
        for relation in attention["relations"][:MOST_ROWS]
    )
    return put_title(title, fill(table, rows))


def format_uses(uses: Sequence[Mapping[str, Any]], most: int = 5) -> str:
    """Return concepts and weights, such as "6:0.98  14:0.31"."""
    strong = [use for use in uses if abs(use["weight"]) >= LEAST]
    named = "  ".join(f"{use['concept']}:{format_number(use['weight'], 2)}" for use in strong[:most])
    return named + (f"  and {len(strong) - most} more" if len(strong) > most else "")


def show_sharing(attention: Any, relations: Sequence[str], console: Console) -> None:
    """Print who else uses the concepts of these relations."""
    for relation in relations:
        console.print(Text(f"Who shares the concepts of {relation}", "bold"))
        for side, concepts in itransf.interpret.concepts_behind(attention, relation).items():
            for shared in (concept.to_dict() for concept in concepts):
                line = f"  {side}  {describe_concept(shared)}: {describe_users(shared['others'], 6)}"
                console.print(line, markup=False, soft_wrap=True)
        console.print()
