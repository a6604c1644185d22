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
LEAST_SHARE, MOST_SECONDS = 0.8, 10  # the bars, where the most triples are given
BEGIN, END = "<!-- begin: figures -->", "<!-- end: figures -->"
Figures = Sequence[Mapping[str, Any]]


def render(records: Mapping[str, Record]) -> str:
    """Return the figures of all stored records as Markdown."""
    found = [_describe(record) for record in records.values() if record["benchmark"] == "teaching"]
    return "\n".join(found) or "Nothing is stored yet.\n"


def summarise(figures: Figures) -> list[dict[str, Any]]:
    """Return, for each number of triples, each method's mean MRR over relations, over the draws that were retrained."""
    shared = choose_shared(figures)
    rows = []
    for count in sorted({figure["triples"] for figure in shared}):
        chosen = [figure for figure in shared if figure["triples"] == count]
        means = {method: _mean_over_relations(chosen, method) for method in TITLES}
        learning = [f["seconds"] for f in figures if f["triples"] == count and f["method"] == "learned"]
        training = mean(f["seconds"] for f in chosen if f["method"] == "retrained")
        share = means["learned"] / means["retrained"]
        rows.append({"triples": count, **means, "share": share, "slowest": max(learning), "training": training})
    return rows


def choose_shared(figures: Figures) -> list[Mapping[str, Any]]:
    """Return the figures of the draws for which everything was trained again too."""
    paired = {(f["relation"], f["triples"], f["draw"]) for f in figures if f["method"] == "retrained"}
    return [f for f in figures if (f["relation"], f["triples"], f["draw"]) in paired]


def judge(row: Mapping[str, Any], relations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say of each bar whether it was met, and how many single relations reach the share."""
    least, given = format_share(LEAST_SHARE), f"with {row['triples']} triples"
    share = f"{format_share(row['share'])} of retraining's MRR {given}, at least {least}"
    reached = sum(one["learned"] >= LEAST_SHARE * one["retrained"] for one in relations)
    return [
        f"- {share}: {format_verdict(row['share'] >= LEAST_SHARE)}; {reached} of {len(relations)} relations reach it",
        f"- {row['slowest']:.1f} s at most, under {MOST_SECONDS} s: {format_verdict(row['slowest'] < MOST_SECONDS)}",
        f"- ahead of the translation alone {given}: {format_verdict(row['learned'] > row['translation'])}",
    ]


def format_share(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.0f} %"


def _mean_over_relations(figures: Figures, method: str) -> float:
    names = {figure["relation"] for figure in figures}
    return mean(mean(f["mrr"] for f in figures if f["relation"] == n and f["method"] == method) for n in names)


def _describe(record: Record) -> str:
    base, rows = record["base"], summarise(record["figures"])
    lines = [
        f"### {record['config']['dataset']}\n",
        *describe_setting(record),
        f"- The model without these relations: validation MRR {base['valid mrr']:.3f}, {base['seconds']:.0f} s\n",
    ]
    if not rows:
        return "\n".join([*lines, "Nothing was trained again yet.\n"])
    relations = summarise_relations(record["figures"], rows[-1]["triples"])
    titles = ["triples given", *TITLES.values(), "learned / retrained", "slowest learning, s", "a retraining, s"]
    lines += [make_table(titles, map(_format_row, rows)), *judge(rows[-1], relations), ""]
    lines += [f"By relation, {rows[-1]['triples']} triples given:\n"]
    return "\n".join([*lines, make_table(["relation", "asked", *TITLES.values()], map(_format_relation, relations))])


def summarise_relations(figures: Figures, count: int) -> list[dict[str, Any]]:
    """Return each relation's MRR by method with so many triples given, over the draws that were retrained."""
    chosen = [figure for figure in choose_shared(figures) if figure["triples"] == count]
    rows = []
    for name in dict.fromkeys(figure["relation"] for figure in chosen):
        own = [figure for figure in chosen if figure["relation"] == name]
        means = {method: _mean_over_relations(own, method) for method in TITLES}
        rows.append({"relation": name, "asked": own[0]["asked"], **means})
    return rows


def _format_row(row: Mapping[str, Any]) -> list[str]:
    costs = [f"{row['slowest']:.1f}", f"{row['training']:.0f}"]
    return [str(row["triples"]), *_format_means(row), format_share(row["share"]), *costs]


def _format_relation(row: Mapping[str, Any]) -> list[str]:
    return [row["relation"], str(row["asked"]), *_format_means(row)]


def _format_means(row: Mapping[str, Any]) -> list[str]:
    return [f"{row[method]:.3f}" for method in TITLES]


def put_figures(page: str, figures: str) -> str:
    """Return the page with the figures between its two marks."""
    marked = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return marked.sub(lambda _: f"{BEGIN}\n\n{figures}\n{END}", page)
