"""`itransf data`: which datasets there are, what they are like, and fetching them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import itransf
from itransf.cli.description import show_description
from itransf.cli.options import AsJson, DataSource, Header, Labels, Separator, Strict
from itransf.cli.output import fill, make_console, make_table, print_json, warn
from itransf.errors import DataError, did_you_mean

data_app = typer.Typer(no_args_is_help=True, help="List, describe and fetch datasets.")

_WHERE = {
    "bundled": "bundled",
    "here": "on this machine",
    "index": "fetched when asked",
    "by hand": "put there by hand",
}


@data_app.command("list")
def list_datasets(as_json: AsJson = False) -> None:
    """List the datasets that can be loaded by name."""
    found = [describe_dataset(dataset) for dataset in itransf.data.DATASETS.values()]
    if as_json:
        print_json(found)
        return
    rows = [
        (
            dataset["name"],
            _WHERE[dataset["where"]],
            *(f"{dataset[key]:,}" for key in ("entities", "relations", "triples")),
        )
        for dataset in found
    ]
    console = make_console()
    console.print(fill(make_table("Name", "Where", "Entities", "Relations", "Triples", names=2), rows))
    for dataset in found:
        console.print(f"{dataset['name']:10} {dataset['description']}", markup=False, soft_wrap=True)
    console.print("\nitransf data info NAME tells more.")


def describe_dataset(dataset: Any) -> dict[str, Any]:
    """Return what is known of a dataset without fetching it."""
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


@data_app.command("info")
def describe_data(
    data: DataSource,
    *,
    labels: Labels = None,
    separator: Separator = None,
    header: Header = None,
    strict: Strict = False,
    everything: Annotated[bool, typer.Option("--all", help="List every relation, however many.")] = False,
    as_json: AsJson = False,
) -> None:
    """Describe a graph: counts, relations, test leakage."""
    graph = itransf.load(data, labels=labels, separator=separator, header=header, strict=strict)
    description = itransf.data.describe(graph)
    if as_json:
        print_json(description)
        return
    warn(graph.notes)
    show_description(description, make_console(), everything)


@data_app.command("get")
def get_dataset(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A dataset's name; see 'itransf data list'.")],
    as_json: AsJson = False,
) -> None:
    """Fetch a dataset, unless it is on this machine."""
    dataset = itransf.data.find_dataset(name)
    if dataset is None:
        names = itransf.data.DATASETS
        hint = did_you_mean(name.lower(), names) or f" There are: {', '.join(names)}."
        raise DataError(f"there is no dataset {name!r}.{hint}")
    path = None if dataset.built_in else itransf.data.obtain(dataset)
    if as_json:
        print_json({"name": dataset.name, "path": None if path is None else str(path)})
        return
    told = f"{dataset.title} comes with this package" if path is None else f"{dataset.title} is in {path}"
    console = make_console()
    console.print(told, markup=False, soft_wrap=True)
    console.print(f"itransf train {dataset.name}", markup=False)
