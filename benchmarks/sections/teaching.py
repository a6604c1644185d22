"""The figures of docs/teaching.md from what `benchmarks.teaching` stored: no figure there is typed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from benchmarks.sections.markdown import Record, describe_setting, format_verdict, make_table

TITLES = {
    "learned": "learned",
    "retrained": "retrained",
    "translation": "translation alone",
    "random": "random supports",
}
LEAST_SHARE, MOST_SECONDS = 0.8, 10  # the bars, where the most facts are given
BEGIN, END = "<!-- begin: figures -->", "<!-- end: figures -->"
Figures = Sequence[Mapping[str, Any]]


def render(records: Mapping[str, Record]) -> str:
    """Return the figures of all stored records as Markdown."""
    found = [_describe(record) for record in records.values() if record["benchmark"] == "teaching"]
    return "\n".join(found) or "Nothing is stored yet.\n"


def summarise(figures: Figures) -> list[dict[str, Any]]:
    """Return, for each number of facts, each method's mean MRR over relations, over the draws that were retrained."""
    shared = choose_shared(figures)
    rows = []
    for count in sorted({figure["facts"] for figure in shared}):
        chosen = [figure for figure in shared if figure["facts"] == count]
        means = {method: _mean_over_relations(chosen, method) for method in TITLES}
        learning = [f["seconds"] for f in figures if f["facts"] == count and f["method"] == "learned"]
        training = mean(f["seconds"] for f in chosen if f["method"] == "retrained")
        share = means["learned"] / means["retrained"]
        rows.append({"facts": count, **means, "share": share, "slowest": max(learning), "training": training})
    return rows


def choose_shared(figures: Figures) -> list[Mapping[str, Any]]:
    """Return the figures of the draws for which everything was trained again too."""
    paired = {(f["relation"], f["facts"], f["draw"]) for f in figures if f["method"] == "retrained"}
    return [f for f in figures if (f["relation"], f["facts"], f["draw"]) in paired]


def judge(row: Mapping[str, Any]) -> list[str]:
    """Say of each bar whether it was met."""
    shown = f"{100 * row['share']:.0f} % of retraining's MRR with {row['facts']} facts, at least {LEAST_SHARE:.0%}"
    return [
        f"- {shown}: {format_verdict(row['share'] >= LEAST_SHARE)}",
        f"- {row['slowest']:.1f} s at most, under {MOST_SECONDS} s: {format_verdict(row['slowest'] < MOST_SECONDS)}",
        f"- ahead of the translation alone: {format_verdict(row['learned'] > row['translation'])}",
    ]


def _mean_over_relations(figures: Figures, method: str) -> float:
    names = {figure["relation"] for figure in figures}
    return mean(mean(f["mrr"] for f in figures if f["relation"] == n and f["method"] == method) for n in names)


def _describe(record: Record) -> str:
    rows = summarise(record["figures"])
    titles = ["facts given", *TITLES.values(), "learned / retrained", "slowest learning, s", "a retraining, s"]
    table = make_table(titles, [_format_row(row) for row in rows])
    base = record["base"]
    return "\n".join(
        [
            f"### {record['config']['dataset']}\n",
            *describe_setting(record),
            f"- The model without these relations: validation MRR {base['valid mrr']:.3f}, {base['seconds']:.0f} s\n",
            table,
            *(judge(rows[-1]) if rows else ["Nothing was trained again yet."]),
            "",
            *_describe_relations(record["figures"]),
        ]
    )


def _format_row(row: Mapping[str, Any]) -> list[str]:
    means = [f"{row[method]:.3f}" for method in TITLES]
    return [str(row["facts"]), *means, f"{row['share']:.0%}", f"{row['slowest']:.1f}", f"{row['training']:.0f}"]


def _describe_relations(figures: Figures) -> list[str]:
    """Return the table of single relations with the most facts given."""
    shared = choose_shared(figures)
    most = max((figure["facts"] for figure in shared), default=0)
    chosen = [figure for figure in shared if figure["facts"] == most]
    rows = []
    for name in dict.fromkeys(figure["relation"] for figure in chosen):
        own = [figure for figure in chosen if figure["relation"] == name]
        rows.append([name, str(own[0]["asked"]), *(f"{_mean_over_relations(own, method):.3f}" for method in TITLES)])
    return [f"By relation, {most} facts given:\n", make_table(["relation", "asked", *TITLES.values()], rows)]


def put_figures(page: str, figures: str) -> str:
    """Return the page with the figures between its two marks."""
    marked = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return marked.sub(lambda _: f"{BEGIN}\n\n{figures}\n{END}", page)
