"""`itransf data`: list, describe and download datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from typer import Argument, Option, Typer

import itransf
from itransf.cli.options import AsJson, DataSource, Labels, Literals, Memory, Out, Strict, parse_memory, takes_form
from itransf.cli.output import Screen, format_number, format_share, tell, tell_rows, warn
from itransf.errors import DataError, did_you_mean, name_count, name_first

MOST_ROWS = 40  # relations that are listed without --all
MOST_NAMED = 8  # redundant relations or pairs of a kind
_WHERE = {"bundled": "bundled", "here": "on this machine", "index": "download", "by hand": "by hand"}
_STRUCTURE = """
Redundant relations: at least 80 % of the triples of one are also in another
(in all splits; A > B: those of A are in B, but not those of B in A)"""

data_app = Typer(no_args_is_help=True, help="List, describe and download datasets.")


@data_app.command("list", epilog="Example: itransf data list")
def list_datasets(as_json: AsJson = False) -> None:
    """List the datasets that can be loaded by name."""
    found = [describe_dataset(dataset) for dataset in itransf.data.DATASETS.values()]
    tell(found, as_json, lambda screen: show_datasets(found, screen))


def describe_dataset(dataset: itransf.data.Dataset) -> dict[str, Any]:
    """Return what is known of a dataset without downloading it."""
    counts = dict(dataset.counts)
    if dataset.built_in:
        graph = itransf.load(dataset.name)
        counts = {"entities": len(graph.entities), "relations": len(graph.relations)}
        counts |= {split: len(graph.split(split)) for split in itransf.data.SPLITS}
        where = "bundled"
    elif itransf.data.locate(dataset) is not None:
        where = "here"
    else:
        where = "index" if dataset.packaged else "by hand"
    return {
        "name": dataset.name,
        "where": where,
        **counts,
        "triples": sum(counts[split] for split in itransf.data.SPLITS),
        "description": dataset.description,
        "licence": dataset.licence,
        "origin": dataset.origin,
    }


def show_datasets(datasets: Sequence[Mapping[str, Any]], screen: Screen) -> None:
    """Print a table of datasets, and a line about each."""
    sizes = ("entities", "relations", "triples")
    rows = [(each["name"], _WHERE[each["where"]], *(f"{each[key]:,}" for key in sizes)) for each in datasets]
    screen.tabulate(("Name", "Where", "Entities", "Relations", "Triples"), rows, names=2)
    for each in datasets:
        screen.say(f"{each['name']:10} {each['description']}")
    screen.say("\nMore about one: itransf data info NAME")


@data_app.command("info", epilog="Example: itransf data info world")
@takes_form
def describe_data(
    data: DataSource,
    *,
    literals: Literals = "drop",
    labels: Labels = None,
    strict: Strict = False,
    memory: Memory = None,
    everything: Annotated[bool, Option("--all", help="List every relation.")] = False,
    out: Out = None,
    as_json: AsJson = False,
    form: Mapping[str, Any],
) -> None:
    """Describe a graph: counts, relations, test leakage."""
    limit = parse_memory(memory) if memory else None
    graph = itransf.load(data, **form, literals=literals, labels=labels, strict=strict, memory=limit)
    if not as_json:
        warn(graph.notes)
    description = itransf.data.describe(graph)
    rows = description["relation_table"]
    tell_rows(description, rows, out, as_json, lambda screen: show_description(description, screen, everything))


@data_app.command("get", epilog="Example: itransf data get wn18")
def get_dataset(
    name: Annotated[str, Argument(metavar="NAME", help="Name of a dataset; see 'itransf data list'.")],
    as_json: AsJson = False,
) -> None:
    """Download a dataset, unless it is on this machine."""
    dataset = itransf.data.find_dataset(name)
    if dataset is None:
        names = itransf.data.DATASETS
        hint = did_you_mean(name.lower(), names) or f" There are: {', '.join(names)}."
        raise DataError(f"there is no dataset {name!r}.{hint}")
    path = None if dataset.built_in else itransf.data.obtain(dataset)
    place = "comes with this package" if path is None else f"is in {path}"
    content = {"name": dataset.name, "path": None if path is None else str(path)}
    tell(content, as_json, lambda screen: screen.say(f"{dataset.title} {place}\nitransf train {dataset.name}"))


def show_description(description: Mapping[str, Any], screen: Screen, everything: bool = False) -> None:
    """Print what `itransf.data.describe` returns."""
    triples = ", ".join(f"{number:,} {split}" for split, number in description["triples"].items())
    counts = f"{description['entities']:,} entities, {name_count(description['relations'], 'relation')}"
    screen.say(f"{description['name']}: {counts}\nTriples: {triples}\n")
    categories = description["categories"].items()
    rows: list[tuple[str, ...]] = [(name, f"{own['relations']:,}", f"{own['train']:,}") for name, own in categories]
    screen.tabulate(("Mapping", "Relations", "Train triples"), rows, title="Mapping categories")
    kinds = {"itself": "In train", **{kind: kind.capitalize() for kind in ("inverse", "symmetric", "duplicate", "any")}}
    leakage = description["leakage"].items()
    rows = [(split, *(format_share(shares[kind]) for kind in kinds)) for split, shares in leakage]
    title = "Test leakage: triples in train or that follow from one train triple (percent)"
    screen.say()
    screen.tabulate(("Split", *kinds.values()), rows, title=title)
    show_structure(description["structure"], screen)
    show_relations(description["relation_table"], screen, everything)


def show_structure(structure: Mapping[str, Sequence[Mapping[str, Any]]], screen: Screen) -> None:
    """Print which relations are inverse, symmetric or duplicate."""
    screen.say(_STRUCTURE)
    found = (
        ("Inverse", [" / ".join(pair["relations"]) for pair in structure["inverse"]]),
        ("  one way", [f"{pair['relation']} > {pair['implies']}" for pair in structure["one_way_inverse"]]),
        ("Symmetric", [entry["relation"] for entry in structure["symmetric"]]),
        ("Duplicate", [" / ".join(pair["relations"]) for pair in structure["duplicate"]]),
        ("  one way", [f"{pair['relation']} > {pair['implies']}" for pair in structure["one_way_duplicate"]]),
    )
    for name, relations in found:
        if relations or not name.startswith(" "):
            screen.itemize(name_first(relations, MOST_NAMED) or "none", f"{name + ':':11}", indent=0)
    screen.say()


def show_relations(relations: Sequence[Mapping[str, Any]], screen: Screen, everything: bool) -> None:
    """Print the table of relations, most frequent first."""
    shown = relations if everything else relations[:MOST_ROWS]
    columns = ("Relation", "Train", "Valid", "Test", "Map", "Tails/h", "Heads/t", "Heads", "Tails")
    rows = (
        (
            relation["label"],
            *(f"{relation[split]:,}" for split in ("train", "valid", "test")),
            relation["category"],
            *(format_number(relation[key], 1) for key in ("tails_per_head", "heads_per_tail")),
            *(f"{relation[key]:,}" for key in ("head_domain", "tail_domain")),
        )
        for relation in shown
    )
    screen.tabulate(columns, rows, title="Relations")
    if len(shown) < len(relations):
        screen.say(f"{len(relations) - len(shown):,} rarer relations are not listed; --all lists them.")
