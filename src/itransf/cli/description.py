"""The description of a graph as tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from itransf.cli.output import fill, format_number, format_share, make_table, put_title

MOST_ROWS = 40  # relations listed unless all are asked for
_RULE = """\
Relations whose triples are another's too, reversed or as they are
(at least 80 % of its triples in all splits; A > B: those of A, not those of B)"""


def show_description(description: Mapping[str, Any], console: Console, everything: bool = False) -> None:
    """Print what `itransf.data.describe` returns."""
    triples = ", ".join(f"{count:,} {split}" for split, count in description["triples"].items())
    counts = f"{description['entities']:,} entities, {description['relations']:,} relations"
    console.print(Text(f"{description['name']}: {counts}\nTriples: {triples}\n"), soft_wrap=True)
    console.print(tabulate_categories(description["categories"]))
    console.print()
    console.print(tabulate_leakage(description["leakage"]))
    console.print()
    console.print(describe_structure(description["structure"]), markup=False, soft_wrap=True)
    rows = description["relation_table"]
    shown = rows if everything else rows[:MOST_ROWS]
    console.print(tabulate_relations(shown))
    if len(shown) < len(rows):
        console.print(f"{len(rows) - len(shown):,} rarer relations are not listed; --all lists them.")


def tabulate_categories(categories: Mapping[str, Mapping[str, int]]) -> Group:
    """Return how many relations and triples each mapping category has."""
    rows = ((name, f"{counts['relations']:,}", f"{counts['train']:,}") for name, counts in categories.items())
    return put_title("Mapping categories", fill(make_table("Mapping", "Relations", "Train triples"), rows))


def tabulate_leakage(leakage: Mapping[str, Mapping[str, float]]) -> Group:
    """Return which shares of valid and test train gives away."""
    title = "What train gives away in one step (percent of triples)"
    table = make_table("Split", "Inverse", "Symmetric", "Duplicate", "Any")
    rows = (
        (split, *(format_share(shares[key]) for key in ("inverse", "symmetric", "duplicate", "any")))
        for split, shares in leakage.items()
    )
    return put_title(title, fill(table, rows))


def describe_structure(structure: Mapping[str, Sequence[Mapping[str, Any]]], most: int = 8) -> str:
    """Say which relations are inverse, symmetric or duplicate, and by which rule."""
    found = (
        ("Inverse", [" / ".join(pair["relations"]) for pair in structure["inverse"]]),
        ("  one way", [f"{pair['relation']} > {pair['implies']}" for pair in structure["one_way_inverse"]]),
        ("Symmetric", [entry["relation"] for entry in structure["symmetric"]]),
        ("Duplicate", [" / ".join(pair["relations"]) for pair in structure["duplicate"]]),
        ("  one way", [f"{pair['relation']} > {pair['implies']}" for pair in structure["one_way_duplicate"]]),
    )
    lines = [_RULE]
    for name, relations in found:
        rest = f" and {len(relations) - most} more" if len(relations) > most else ""
        if relations or not name.startswith(" "):
            lines.append(f"{name + ':':11}{', '.join(relations[:most]) or 'none'}{rest}")
    return "\n".join([*lines, ""])


def tabulate_relations(relations: Sequence[Mapping[str, Any]]) -> Group:
    """Return the table of relations, most frequent first."""
    columns = ("Relation", "Train", "Valid", "Test", "Map", "Tails/h", "Heads/t", "Heads", "Tails")
    rows = (
        (
            relation["label"],
            *(f"{relation[split]:,}" for split in ("train", "valid", "test")),
            relation["category"],
            format_number(relation["tails_per_head"], 1),
            format_number(relation["heads_per_tail"], 1),
            f"{relation['head_domain']:,}",
            f"{relation['tail_domain']:,}",
        )
        for relation in relations
    )
    return put_title("Relations", fill(make_table(*columns), rows))
