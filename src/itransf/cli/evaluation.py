"""An evaluation as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, Group
from rich.text import Text

import itransf
from itransf.cli.output import fill, make_table, put_title

MAIN = ("mr", "mrr", "hits@1", "hits@3", "hits@10")
SHORT = ("mr", "mrr", "hits@1", "hits@10")


def show_evaluation(evaluation: Mapping[str, Any], console: Console, relations: bool = False) -> None:
    """Print an evaluation.

    Args:
        evaluation: What `Evaluation.to_dict` returns.
        console: Where to.
        relations: Whether to add the table of all relations.
    """
    console.print(tabulate_overall(evaluation))
    console.print(Text(describe_ties(evaluation)), soft_wrap=True)
    tables = [tabulate_buckets(evaluation["buckets"]), tabulate_categories(evaluation["categories"])]
    if relations:
        tables.append(tabulate_relations(evaluation["relations"]))
    for table in tables:
        console.print()
        console.print(table)


def tabulate_overall(evaluation: Mapping[str, Any]) -> Group:
    """Return the table of filtered and raw figures, of both sides and each."""
    title = f"Ranks on {evaluation['split']} (Hits in percent)"
    table = make_table("", "", *itransf.evaluation.METRICS.values(), "Queries", names=2)
    for protocol in ("filtered", "raw"):
        for side in ("both", "head", "tail"):
            first = protocol if side == "both" else ""
            fill(table, [(first, side, *format_metrics(evaluation[protocol][side], itransf.evaluation.METRICS))])
    return put_title(title, table)


def describe_ties(evaluation: Mapping[str, Any]) -> str:
    """Say how ties were counted and what the extremes would give."""
    mrr = [evaluation[name]["both"]["mrr"] for name in ("optimistic", "pessimistic")]
    bounds = [itransf.evaluation.format_metric("mrr", value) for value in mrr]
    return f"Ties: {evaluation['ties']}. Filtered MRR would be {bounds[0]} optimistic, {bounds[1]} pessimistic."


def tabulate_buckets(buckets: Sequence[Mapping[str, Any]]) -> Group:
    """Return the table of frequency buckets."""
    weighting = buckets[0]["weighting"] if buckets else "relation"
    counted = "each relation counts the same" if weighting == "relation" else "each query counts the same"
    table = make_table("Train triples", "Relations", *name_metrics(MAIN), "Queries")
    rows = []
    for bucket in buckets:
        least, most = bucket["train_triples"]
        rows.append((f"{least:,} to {most:,}", f"{bucket['relations']:,}", *format_metrics(bucket, MAIN)))
    return put_title(f"By frequency, filtered ({counted})", fill(table, rows))


def tabulate_categories(categories: Sequence[Mapping[str, Any]]) -> Group:
    """Return the table of mapping categories; both sides, then each side's Hits@10."""
    columns = ("Mapping", *name_metrics(SHORT), "Hits@10 head", "Hits@10 tail", "Queries")
    rows = []
    for category in categories:
        *figures, queries = format_metrics(category["both"], SHORT)
        sides = [itransf.evaluation.format_metric("hits@10", category[side]["hits@10"]) for side in ("head", "tail")]
        rows.append((category["category"], *figures, *sides, queries))
    return put_title("By mapping category, filtered", fill(make_table(*columns), rows))


def tabulate_relations(relations: Sequence[Mapping[str, Any]]) -> Group:
    """Return the table of all relations, most frequent first."""
    table = make_table("Relation", "Train", "Map", *name_metrics(SHORT), "Queries")
    rows = (
        (
            relation["label"],
            f"{relation['train_triples']:,}",
            relation["category"],
            *format_metrics(relation["both"], SHORT),
        )
        for relation in relations
    )
    return put_title("By relation, filtered", fill(table, rows))


def name_metrics(names: Iterable[str]) -> list[str]:
    """Return the headings of metrics."""
    return [itransf.evaluation.METRICS[name] for name in names]


def format_metrics(metrics: Mapping[str, float], names: Iterable[str]) -> tuple[str, ...]:
    """Return these metrics as text, and the number of queries."""
    figures = (itransf.evaluation.format_metric(name, metrics[name]) for name in names)
    return *figures, f"{metrics['queries']:,}"
