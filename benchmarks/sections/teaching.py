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
    paired = {(f["relation"], f["facts"], f["draw"]) for f in figures if f["method"] == "retrained"}
    rows = []
    for count in sorted({f["facts"] for f in figures}):
        chosen = [f for f in figures if f["facts"] == count and (f["relation"], count, f["draw"]) in paired]
        if not chosen:
            continue  # nothing was trained again with so many facts yet
        means = {method: _mean_over_relations(chosen, method) for method in METHODS}
        seconds = [f["seconds"] for f in figures if f["facts"] == count and f["method"] == "learned"]
        rows.append({"facts": count, **means, "share": means["learned"] / means["retrained"], "slowest": max(seconds)})
    return rows


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
    most = max(f["facts"] for f in record["figures"])
    lines += ["", f"By relation, {most} facts given, mean over draws:\n"]
    lines += ["| relation | learned | retrained | translation alone | random supports |", "|---|---|---|---|---|"]
    chosen = [f for f in record["figures"] if f["facts"] == most]
    for name in dict.fromkeys(f["relation"] for f in chosen):
        own = [f for f in chosen if f["relation"] == name]
        found = [[f["mrr"] for f in own if f["method"] == method] for method in METHODS]
        cells = " | ".join(f"{mean(values):.3f}" if values else "–" for values in found)
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


def put_figures(page: str, figures: str) -> str:
    """Return the page with the figures between its two marks."""
    marked = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return marked.sub(lambda _: f"{BEGIN}\n\n{figures}\n{END}", page)
