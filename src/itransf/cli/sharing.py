"""Printing the sharing graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from itransf.cli.output import fill, format_number, make_table, put_title

MOST_RARE, MOST_LINKS = 30, 30


def show_sharing_graph(graph: Mapping[str, Any], console: Console) -> None:
    """Print what `SharingGraph.to_dict` returns: rare relations with their donors, then the strongest links."""
    rare = sorted((entry for entry in graph["relations"] if entry["rare"]), key=lambda entry: entry["own"])
    others = [] if rare else graph["relations"]
    title = "Rare relations and who lends them strength" if rare else "Relations and who lends them strength"
    table = make_table("Relation", "Donors (share of what its concepts learned)", "Train", "From others", names=2)
    rows = [
        (
            entry["label"],
            list_donors(entry["donors"]),
            f"{entry['train_triples']:,}",
            f"{1 - entry['own']:.0%}",
        )
        for entry in (rare or others)[:MOST_RARE]
    ]
    console.print(put_title(title, fill(table, rows)))
    count_rest(len(rare or others) - MOST_RARE, "relations", console)
    labels = {entry["relation"]: entry["label"] for entry in graph["relations"]}
    table = make_table("Relation", "Relation", "", "Concepts", "Shared", names=4)
    links = [
        (
            labels[link["left"]],
            labels[link["right"]],
            "crosswise" if link["crossed"] else "",
            ", ".join(map(str, link["concepts"])),
            format_number(link["weight"], 2),
        )
        for link in graph["links"][:MOST_LINKS]
    ]
    console.print()
    console.print(put_title("Relations that share most (1: both ends are read alike)", fill(table, links)))
    count_rest(len(graph["links"]) - MOST_LINKS, "links", console)


def list_donors(donors: Sequence[Mapping[str, Any]], most: int = 3) -> str:
    """Name the strongest donors."""
    return ", ".join(f"{donor['label']} {donor['share']:.0%}" for donor in donors[:most])


def count_rest(rest: int, what: str, console: Console) -> None:
    """Say how many are not listed."""
    if rest > 0:
        console.print(f"{rest:,} more {what} are not listed: --relation picks some, --json has all.")
