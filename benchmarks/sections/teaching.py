"""The figures of docs/teaching.md from what `benchmarks.teaching` stored: no figure there is typed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

METHODS = ("learned", "retrained", "translation", "random")
BEGIN, END = "<!-- begin: figures -->", "<!-- end: figures -->"


def summarise(figures: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return, for each number of facts, each method's mean MRR over relations, over the draws that were retrained."""
    shared = choose_shared(figures)
    rows = []
    for count in sorted({f["facts"] for f in shared}):
        chosen = [f for f in shared if f["facts"] == count]
        means = {method: _mean_over_relations(chosen, method) for method in METHODS}
        seconds = [f["seconds"] for f in figures if f["facts"] == count and f["method"] == "learned"]
        rows.append({"facts": count, **means, "share": means["learned"] / means["retrained"], "slowest": max(seconds)})
    return rows


def choose_shared(figures: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the figures of the draws for which everything was trained again too."""
    paired = {(f["relation"], f["facts"], f["draw"]) for f in figures if f["method"] == "retrained"}
    return [f for f in figures if (f["relation"], f["facts"], f["draw"]) in paired]


def _mean_over_relations(figures: Sequence[Mapping[str, Any]], method: str) -> float:
    names = {f["relation"] for f in figures}
    return mean(mean(f["mrr"] for f in figures if f["relation"] == n and f["method"] == method) for n in names)


def render(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the figures of all stored records as Markdown."""
    parts = [_describe(record) for name, record in records.items() if name.split("-")[0] == "teaching"]
    return "\n".join(parts) or "Nothing is stored yet.\n"


def _describe(record: Mapping[str, Any]) -> str:
    lines = [
        f"### {record['config']['dataset']}\n",
        f"`{record['command']}`, {record['date'][:10]}, commit {str(record['git']['commit'])[:9]}, "
        f"{record['hardware']['cores']} cores {record['hardware']['cpu']}. MRR on the relation's facts that were not "
        "given, both sides, filtered; the mean over relations, each counting the same.\n",
        "| facts given | learned | retrained | learned / retrained | translation alone | random supports "
        "| slowest learning, s |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in summarise(record["figures"]):
        means = [f"{row[method]:.3f}" for method in METHODS]
        cells = [*means[:2], f"{100 * row['share']:.0f} %", *means[2:], f"{row['slowest']:.1f}"]
        lines.append(f"| {row['facts']} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_describe_relations(record["figures"])]) + "\n"


def _describe_relations(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the table of single relations with the most facts given."""
    shared = choose_shared(figures)
    most = max((f["facts"] for f in shared), default=0)
    lines = [f"By relation, {most} facts given:\n"]
    lines += ["| relation | learned | retrained | translation alone | random supports |", "|---|---|---|---|---|"]
    chosen = [f for f in shared if f["facts"] == most]
    for name in dict.fromkeys(f["relation"] for f in chosen):
        own = [f for f in chosen if f["relation"] == name]
        cells = [f"{_mean_over_relations(own, method):.3f}" for method in METHODS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def put_figures(page: str, figures: str) -> str:
    """Return the page with the figures between its two marks."""
    marked = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return marked.sub(lambda _: f"{BEGIN}\n\n{figures}\n{END}", page)
