"""`itransf concepts`: which relations share which concepts, and what each concept is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.text import Text

import itransf
from itransf.cli.cards import show_cards
from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run
from itransf.cli.output import fill, format_number, make_console, make_table, print_json, put_title, remark
from itransf.cli.reasons import describe_users
from itransf.cli.sharing import show_sharing_graph
from itransf.errors import ConfigError

MOST_ROWS = 60  # relations listed unless they are asked for by name
LEAST = 0.05  # weaker weights are not listed
MOST_SHARING = 12  # relations whose sharing is told line by line

Relations = Annotated[
    list[str] | None,
    typer.Option("--relation", metavar="R", help="Only this relation, or those that fit '*capital*'; repeatable."),
]
Domain = Annotated[str | None, typer.Option("--domain", metavar="D", help="Only names that begin so, such as /film.")]
Top = Annotated[int | None, typer.Option("--top", metavar="N", min=1, help="Only the N most frequent of them.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw a heat map: .png, .svg, or .html to explore.")
]
TableFile = Annotated[
    Path | None, typer.Option("--table", metavar="FILE", help="Write the weights: .csv, .tsv, .parquet or .json.")
]
Card = Annotated[
    list[int] | None, typer.Option("--card", metavar="N", help="Show what this concept is and does; repeatable.")
]
Cards = Annotated[bool, typer.Option("--cards", help="Show all concepts so, those that are missed most first.")]
Triples = Annotated[
    int, typer.Option("--triples", metavar="N", min=0, help="Validation triples ranked again for a card; 0: all.")
]
Sharing = Annotated[bool, typer.Option("--sharing", help="Show who shares with whom, and who lends to rare relations.")]
Rename = Annotated[
    list[str] | None, typer.Option("--rename", metavar="N=NAME", help="Name a concept; an empty name takes it back.")
]


def show_concepts(
    run: RunFolder,
    *,
    relation: Relations = None,
    domain: Domain = None,
    top: Top = None,
    plot: Plot = None,
    table: TableFile = None,
    card: Card = None,
    cards: Cards = False,
    triples: Triples = 1000,
    sharing: Sharing = False,
    rename: Rename = None,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Show which relations share which concepts, and what each concept is.

    Without options: every relation's concepts and a heat map. --card tells what one concept is: who uses it, which
    entities it moves, what is lost without it. --sharing tells who lends strength to rare relations.
    """
    if bool(card) + cards + sharing > 1:
        raise ConfigError("--card, --cards and --sharing are three views; ask for one at a time")
    opened = open_run(run, device)
    attention = opened.concepts()
    if rename:
        opened.name_concepts(parse_names(rename), run)
    picked = relation or domain or top
    names = opened.concept_names
    chosen = (
        attention.choose(itransf.interpret.choose_relations(attention, relation or (), domain, top))
        if picked
        else attention
    )
    files = write_files(chosen, names, plot, table, top)
    if card or cards:
        wanted = card or (sorted(set(chosen.used.nonzero()[0].tolist())) if picked else None)
        found = opened.cards(wanted, most_triples=triples, progress=not as_json)
        tell({"cards": [made.to_dict() for made in found]}, as_json, lambda console: show_cards(found, console))
    elif sharing:
        graph = opened.sharing()
        linked = (graph.choose(chosen.relations.names) if picked else graph).to_dict()
        tell(linked, as_json, lambda console: show_sharing_graph(linked, console))
    elif rename and not picked and not files and not as_json:
        show_names(names, make_console())
    else:
        shown = {**chosen.to_dict(), "names": {str(key): names[key] for key in sorted(names)}, "plot": None, **files}
        tell(shown, as_json, lambda console: show_all(attention, chosen, bool(relation), names, files, console))


def tell(content: Mapping[str, Any], as_json: bool, show: Callable[[Console], None]) -> None:
    """Print JSON for programs, or show the same to a person."""
    if as_json:
        print_json(content)
    else:
        show(make_console())


def write_files(
    attention: Any, names: Mapping[int, str], plot: Path | None, table: Path | None, top: int | None
) -> dict[str, str]:
    """Write the heat map and the table that were asked for, and return where they lie."""
    if plot is not None:
        draw_heatmap(attention, plot, names, top)
    if table is not None:
        itransf.interpret.write_attention(attention, table, names)
    return {what: str(path) for what, path in (("plot", plot), ("table", table)) if path is not None}


def show_all(
    attention: Any, chosen: Any, sharing: bool, names: Mapping[int, str], files: Mapping[str, str], console: Console
) -> None:
    """Print the table of relations, who shares the concepts of those asked for, and the heat map or where it is."""
    show_attention(chosen.to_dict(), console, names)
    if sharing:
        show_sharing(attention, chosen.relations.names[:MOST_SHARING], console, names)
    for what, path in files.items():
        called = {"plot": "heat map", "table": "table of weights"}[what]
        console.print(f"The {called} is in {path}", markup=False, soft_wrap=True)
    if not files:
        console.print(itransf.interpret.format_heatmap(chosen, names), markup=False, soft_wrap=True)


def parse_names(texts: Sequence[str]) -> dict[int, str]:
    """Turn strings such as "3=lies in" into names by number."""
    names = {}
    for text in texts:
        match = re.fullmatch(r"\s*(\d+)\s*=(.*)", text, re.DOTALL)
        if match is None:
            raise ConfigError(f'--rename {text!r}: write it as number=name, for example 3="lies in"')
        names[int(match[1])] = match[2]
    return names


def show_names(names: Mapping[int, str], console: Console) -> None:
    """Print what concepts are called now."""
    if not names:
        console.print("No concept has a name.")
    for concept in sorted(names):
        console.print(f"concept {concept}: {names[concept]}", markup=False, soft_wrap=True)


def draw_heatmap(attention: Any, path: Path, names: Mapping[int, str], top: int | None) -> None:
    """Write the heat map, and say which letters of a picture have no font here."""
    options = {} if top is None else {"most_relations": top}
    itransf.interpret.write_heatmap(attention, path, names, **options)
    if path.suffix.lower() == ".png":
        missing = itransf.interpret.find_missing_letters(attention, names)
        if missing:
            shown = missing if len(missing) <= 12 else f"{missing[:12]} and {len(missing) - 12} more"
            remark(f"No font here has {shown}: {path} shows boxes. As .svg or .html the viewer's fonts are used.")


def show_attention(attention: Mapping[str, Any], console: Console, names: Mapping[int, str] | None = None) -> None:
    """Print what `Attention.to_dict` returns as a table."""
    relations = attention["relations"]
    console.print(tabulate_attention(attention))
    console.print()
    if len(relations) > MOST_ROWS:
        rest = len(relations) - MOST_ROWS
        console.print(f"{rest:,} rarer relations are not listed: --relation picks some, --json has all.\n")
    if names:
        told = ", ".join(f"{concept} {names[concept]}" for concept in sorted(names))
        console.print(f"Named concepts: {told}\n", markup=False, soft_wrap=True)


def tabulate_attention(attention: Mapping[str, Any]) -> Group:
    """Return a table of relations and the concepts of their two sides, strongest first."""
    title = f"Concepts of each relation (concept:weight, from {LEAST} on)"
    table = make_table("Relation", "Head concepts", "Tail concepts", "Train", names=3)
    rows = (
        (
            relation["label"],
            format_uses(relation["head"]),
            format_uses(relation["tail"]),
            f"{relation['train_triples']:,}",
        )
        for relation in attention["relations"][:MOST_ROWS]
    )
    return put_title(title, fill(table, rows))


def format_uses(uses: Sequence[Mapping[str, Any]], most: int = 5) -> str:
    """Return concepts and weights, such as "6:0.98  14:0.31"."""
    strong = [use for use in uses if abs(use["weight"]) >= LEAST]
    named = "  ".join(f"{use['concept']}:{format_number(use['weight'], 2)}" for use in strong[:most])
    return named + (f"  and {len(strong) - most} more" if len(strong) > most else "")


def show_sharing(
    attention: Any, relations: Sequence[str], console: Console, names: Mapping[int, str] | None = None
) -> None:
    """Print who else uses the concepts of these relations."""
    for relation in relations:
        label = attention.relations.label(attention.relations.index(relation))
        console.print(Text(f"Who shares the concepts of {label}", "bold"))
        for side, concepts in itransf.interpret.concepts_behind(attention, relation).items():
            for shared in (concept.to_dict() for concept in concepts):
                called = itransf.interpret.call_concept(shared["concept"], names or {})
                line = (
                    f"  {side}  {called} ({format_number(shared['weight'], 2)}): {describe_users(shared['others'], 6)}"
                )
                console.print(line, markup=False, soft_wrap=True)
        console.print()
