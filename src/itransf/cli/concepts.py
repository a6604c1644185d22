"""`itransf concepts`: which relations share which concepts, and a description of each concept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

import itransf
from itransf.cli.options import AsJson, Device, RunFolder, Triples, open_run
from itransf.cli.output import LEAST, Screen, count_rest, format_uses, make_screen, remark, show_shared, tell
from itransf.errors import ConfigError

if TYPE_CHECKING:
    from itransf.interpret import Attention, ConceptCard, SharingGraph

MOST_ROWS = 60  # relations that are listed
TITLES = {"head": "Head concepts", "tail": "Tail concepts", "concepts": "Concepts"}
MOST_USES = {1: 3, 2: 2}  # concepts of a part that are listed, by the number of parts
MOST_SHARING = 12  # relations whose sharing is listed
MOST_RARE, MOST_LINKS, MOST_DONORS = 30, 30, 3


def show_concepts(
    run: RunFolder,
    *,
    relation: Annotated[list[str] | None, Option(metavar="R", help="Relation, or pattern such as '*capital*'.")] = None,
    domain: Annotated[str | None, Option(metavar="D", help="Only names with this prefix, such as /film.")] = None,
    top: Annotated[int | None, Option(metavar="N", help="Only the N most frequent relations.")] = None,
    plot: Annotated[Path | None, Option(metavar="FILE", help="Draw a heat map: .png, .svg or .html.")] = None,
    table: Annotated[Path | None, Option(metavar="FILE", help="Write the weights: .csv, .parquet or .json.")] = None,
    card: Annotated[list[int] | None, Option(metavar="N", help="Describe this concept.")] = None,
    cards: Annotated[bool, Option("--cards", help="Describe every concept, most important first.")] = False,
    triples: Triples = 1000,
    sharing: Annotated[bool, Option("--sharing", help="Show which relations the rare ones learn from.")] = False,
    rename: Annotated[list[str] | None, Option(metavar="N=NAME", help="Name a concept, or unname it (N=).")] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Show which relations share which concepts.

    Without options: the concepts of each relation and a heat map. --card describes a concept: the relations that use
    it, the entities that it moves or the triples whose scores it raises, and the loss of MRR without it.
    """
    if bool(card) + cards + sharing > 1:
        raise ConfigError("--card, --cards and --sharing exclude each other")
    opened = open_run(run, device)
    attention = opened.concepts()
    if rename:
        opened.name_concepts(parse_names(rename), run)
    given, chosen, is_part = opened.concept_names, attention, bool(relation or domain or top)
    names = itransf.interpret.name_concepts(attention, given)
    if is_part:
        chosen = attention.choose(itransf.interpret.choose_relations(attention, relation or (), domain, top))
    files = write_files(chosen, names, plot, table, top)
    if card or cards:
        wanted = card or (sorted(set(chosen.used.nonzero()[0].tolist())) if is_part else None)
        found = opened.cards(wanted, most_triples=triples, progress=not as_json)
        tell({"cards": [each.to_dict() for each in found]}, as_json, lambda screen: show_cards(found, screen))
    elif sharing:
        graph = opened.sharing()
        linked = graph.choose(chosen.relations.names) if is_part else graph
        tell(linked.to_dict(), as_json, lambda screen: show_sharing_graph(linked, screen, names))
    elif rename and not is_part and not files and not as_json:
        show_names(given, make_screen())
    else:
        called = {
            key: {str(number): found[number] for number in sorted(found)}
            for key, found in (("names", given), ("suggested_names", names))
        }
        shown = {**chosen.to_dict(), **called, "plot": None, **files}
        shared = chosen.relations.names[:MOST_SHARING] if relation else ()

        def show(screen: Screen) -> None:
            show_attention(chosen.to_dict(), screen, names)
            if opened.members:
                screen.say(f"These are the concepts of {opened.info()['shown']}.")
                screen.say(describe_found(chosen, names) + "\n")
            show_sharing(attention, shared, screen, names)
            for what, path in files.items():
                screen.say(f"The {'heat map' if what == 'plot' else 'table of weights'} is in {path}")
            if not files:
                screen.say(itransf.interpret.format_heatmap(chosen, names))

        tell(shown, as_json, show)


def parse_names(texts: Sequence[str]) -> dict[int, str]:
    """Turn strings such as "3=lies in" into names by number."""
    names = {}
    for text in texts:
        match = re.fullmatch(r"\s*(\d+)\s*=(.*)", text, re.DOTALL)
        if match is None:
            raise ConfigError(f'--rename {text!r}: write it as number=name, for example 3="lies in"')
        names[int(match[1])] = match[2]
    return names


def write_files(
    attention: Attention, names: Mapping[int, str], plot: Path | None, table: Path | None, top: int | None
) -> dict[str, str]:
    """Write the heat map and the table, and return their paths."""
    if plot is not None:
        options = {} if top is None else {"most_relations": top}
        itransf.interpret.write_heatmap(attention, plot, names, **options)
        missing = itransf.interpret.find_missing_letters(attention, names) if plot.suffix.lower() == ".png" else ""
        if missing:
            shown = missing if len(missing) <= 12 else f"{missing[:12]} and {len(missing) - 12} more"
            remark(f"No font here has {shown}: {plot} shows boxes. As .svg or .html the viewer's fonts are used.")
    if table is not None:
        itransf.interpret.write_attention(attention, table, names)
    return {what: str(path) for what, path in (("plot", plot), ("table", table)) if path is not None}


def show_attention(attention: Mapping[str, Any], screen: Screen, names: Mapping[int, str]) -> None:
    """Print what `Attention.to_dict` returns as a table of relations and their concepts, strongest first."""
    relations = attention["relations"]
    parts = {part: title for part, title in TITLES.items() if part in relations[0]}
    rows = (
        (
            relation["label"],
            *(format_uses(relation[part], names, MOST_USES[len(parts)]) for part in parts),
            f"{relation['train_triples']:,}",
        )
        for relation in relations[:MOST_ROWS]
    )
    title = f"Concepts of each relation (with number and weight, at least {LEAST})"
    screen.tabulate(("Relation", *parts.values(), "Train"), rows, names=1 + len(parts), title=title)
    screen.say()
    count_rest(len(relations) - MOST_ROWS, "relations", screen)


def describe_found(attention: Attention, names: Mapping[int, str]) -> str:
    """Return in how many members of an ensemble the used concepts are found, most first."""
    lines = []
    for times in range(attention.seeds, 0, -1):
        concepts = [i for i, found in enumerate(attention.found) if found == times and attention.used[i]]
        listed = ", ".join(itransf.interpret.call_concept(concept, names) for concept in concepts)
        lines += [f"Found in {times} of {attention.seeds} seeds: {listed}"] if concepts else []
    return "\n".join(lines)


def show_names(names: Mapping[int, str], screen: Screen) -> None:
    """Print the names of concepts."""
    listed = ", ".join(f"{concept} {names[concept]}" for concept in sorted(names))
    screen.say(f"Named concepts: {listed or 'none'}")


def show_sharing(
    attention: Attention, relations: Sequence[str], screen: Screen, names: Mapping[int, str] | None = None
) -> None:
    """Print the other users of the concepts of these relations."""
    for relation in relations:
        label = attention.relations.label(attention.relations.index(relation))
        screen.say(f"Who shares the concepts of {label}", "bold")
        show_shared(itransf.interpret.concepts_behind(attention, relation, names), screen)
        screen.say()


def show_cards(cards: Sequence[ConceptCard], screen: Screen) -> None:
    """Print concept cards."""
    for card in cards:
        screen.say(f"Concept {card.concept}: {card.name}", "bold")
        for name, value in card.describe():
            screen.say(f"  {name:12} {value}")
        screen.say()


def show_sharing_graph(graph: SharingGraph, screen: Screen, names: Mapping[int, str]) -> None:
    """Print rare relations with their donors, then the strongest links."""
    shown = graph.rare or graph.members
    rows = [
        (
            member.label,
            ", ".join(f"{donor.label} {donor.share:.0%}" for donor in member.donors[:MOST_DONORS]),
            f"{member.train_triples:,}",
            f"{1 - member.own:.0%}",
        )
        for member in shown[:MOST_RARE]
    ]
    columns = ("Relation", "Donors (share of what its concepts learned)", "Train", "From others")
    screen.tabulate(columns, rows, names=2, title=f"{'Rare relations' if graph.rare else 'Relations'} and their donors")
    count_rest(len(shown) - MOST_RARE, "relations", screen)
    labels = {member.relation: member.label for member in graph.members}
    links = [
        (
            labels[link.left],
            labels[link.right],
            "crosswise" if link.crossed else "",
            ", ".join(itransf.interpret.call_concept(concept, names) for concept in link.concepts),
            f"{link.weight:.2f}",
        )
        for link in graph.links[:MOST_LINKS]
    ]
    screen.say()
    title = "Relations that share most (1: the same concepts)"
    screen.tabulate(("Relation", "Relation", "", "Concepts", "Shared"), links, names=4, title=title)
    count_rest(len(graph.links) - MOST_LINKS, "links", screen)
