"""The table of relations and the table of rare relations, as a page shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from itransf.interpret.attention import Attention, AttentionRow
from itransf.interpret.pages.markup import Content, Markup, element, join, soften
from itransf.interpret.sharing import LEAST_WEIGHT, SharingGraph
from itransf.models import SIDES

PAGE = 25
"""Rows shown at once."""
MOST_USES = 4


def make_table(
    name: str | None, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[Markup]], live: bool
) -> Markup:
    """Return a table.

    Args:
        name: Its id, if it is to have one.
        columns: Each heading, and whether numbers stand under it.
        rows: Their cells, from `make_cell` or `make_number`.
        live: Whether tables.js should make it sortable, searchable and paged.
    """
    head = element(
        "tr", *(element("th", title, class_="n" if numbers else None, scope="col") for title, numbers in columns)
    )
    body = element("tbody", *(element("tr", *row) for row in rows))
    table = element(
        "table",
        element("thead", head),
        body,
        id=name,
        class_="live" if live else None,
        data_page=PAGE if live else None,
    )
    return element("div", table, class_="scroll")


def make_cell(content: Content, kind: str | None = None) -> Markup:
    """Return a cell of words."""
    return element("td", content, class_=kind)


def make_number(value: float | None, text: str) -> Markup:
    """Return a cell of a number, a dash where there is none; it is sorted by its value, not by its text."""
    if value is None:
        return element("td", "–", class_="n", data_value="NaN")
    return element("td", text, class_="n", data_value=f"{value:g}")


def show_relations(
    relations: Sequence[Mapping[str, Any]], attention: Attention | None, labels: Mapping[int, str]
) -> Markup:
    """Return the table of relations: frequency, figures and the concepts of both sides.

    Args:
        relations: What `Evaluation.to_dict` says of relations, most frequent first, or at least their names.
        attention: Of the model, if it has concepts.
        labels: What to call each concept.
    """
    columns = [
        ("Relation", False),
        ("Train triples", True),
        ("Map", False),
        ("MRR", True),
        ("Hits@10", True),
        ("Queries", True),
    ]
    if attention is not None:
        columns += [("Head concepts", False), ("Tail concepts", False)]
    rows = [_show_relation(relation, attention, labels) for relation in relations]
    return make_table("relation-table", columns, rows, live=True)


def _show_relation(relation: Mapping[str, Any], attention: Attention | None, labels: Mapping[int, str]) -> list[Markup]:
    both = relation.get("both") or {}
    mrr, hits, queries = (both.get(key) for key in ("mrr", "hits@10", "queries"))
    title = relation["relation"] if relation["relation"] != relation["label"] else None
    cells = [
        element("td", soften(relation["label"]), class_="name", title=title),
        make_number(relation["train_triples"], f"{relation['train_triples']:,}"),
        make_cell(relation["category"]),
        make_number(mrr, f"{mrr or 0:.3f}"),
        make_number(hits, f"{hits or 0:.1%}"),
        make_number(queries, f"{queries or 0:,}"),
    ]
    if attention is not None:
        number = attention.relations.index(relation["relation"])
        cells += [make_cell(show_uses(attention.row(number, side), labels), "uses") for side in SIDES]
    return cells


def show_uses(row: AttentionRow, labels: Mapping[int, str]) -> Markup:
    """Return the concepts of a side as links to their cards, with weights."""
    strong = [use for use in row.concepts if abs(use.weight) >= LEAST_WEIGHT]
    told = [
        element(
            "span",
            element("a", str(use.concept), href=f"#concept-{use.concept}", title=labels.get(use.concept)),
            f" {use.weight:.2f}",
            class_="use",
        )
        for use in strong[:MOST_USES]
    ]
    if len(strong) > MOST_USES:
        told.append(element("span", f"and {len(strong) - MOST_USES} more", class_="soft small"))
    return join(told, " ")


def show_rare(graph: SharingGraph) -> Markup:
    """Return the table of rare relations and who lends them strength."""
    columns = [("Rare relation", False), ("Train triples", True), ("Learned from others", True), ("Donors", False)]
    rows = [
        [
            make_cell(soften(member.label), "name"),
            make_number(member.train_triples, f"{member.train_triples:,}"),
            make_number(1.0 - member.own, f"{1.0 - member.own:.0%}"),
            make_cell(", ".join(f"{donor.label} {donor.share:.0%}" for donor in member.donors)),
        ]
        for member in graph.rare
    ]
    return make_table("rare-relations", columns, rows, live=True)
