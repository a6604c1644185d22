"""Table 2: every model on WN18 and FB15k."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from itransf.experiments.reproduction import paper
from itransf.experiments.reproduction.jobs import Job, Scope, find_preset
from itransf.experiments.reproduction.measuring import HEAVIEST
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import MISSING, Section, Table, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.summaries import (
    Summary,
    format_interval,
    format_percent,
    format_rank,
    format_spread,
    summarise,
)
from itransf.models import MODELS
from itransf.run.settings import flatten

DATASETS = ("wn18", "fb15k")
COLUMNS = ("Model", "MR, paper", "MR", "MR, 95 %", "Hits@10, paper", "Hits@10", "MRR", "Hits@1", "Seeds")
METHOD = (
    "Filtered ranks on test, ties counted half, Hits in percent. The median over seeds stands first, the extremes in "
    "brackets; *95 %* is where the median of the seeds' mean ranks lies when the test triples are drawn anew 1000 times. "  # noqa: E501
    "The paper takes the figures of TransE, TransR and STransE from where these were proposed; of STransE on WN18 it "
    "has 244 / 94.7 in brackets, too. Weights and settings were chosen by validation, but not blindly: earlier "
    "versions of this table, made with other settings, had been seen. One of those gave the hint that ITransF finds "
    "more of WN18's rare relations at a rate of 0.0003 than at 0.0002; validation was then asked, for STransE as well. "
    "How long FB15k's rows are trained was first set with the paper's figures in view. That, WN18's warm start, its k "
    "and the end of its domain sampling follow rules now (see above). Of STransE on WN18 the last two seeds were "
    "trained after the first three had been ranked, to see more of the noise; all are counted."
)
REACHED = "All of the paper's figures in this table are reached."


def list_rows() -> dict[str, str]:
    """Return the rows by the name of their preset: every registered model, and ITransF with domain sampling."""
    return {**{name: model.__name__ for name, model in MODELS.items()}, "itransf-domain": "ITransF, domain sampling"}


def make_row(scope: Scope, dataset: str, row: str) -> Job:
    """Return the training of a row on WN18 or FB15k."""
    preset, settings = find_preset(dataset, row)
    return scope.make_job(preset, *settings)


def list_jobs(scope: Scope) -> list[Job]:
    """Return what the table needs."""
    measures = [scope.make_measure(dataset, method) for dataset in DATASETS for method in ("describe", "rules")]
    return measures + [make_row(scope, dataset, row) for row in list_rows() for dataset in DATASETS]


def render(results: Results, scope: Scope) -> Section:
    """Return a table for each graph, the paper's numbers beside ours."""
    parts: list[str | Table] = [METHOD]
    for dataset in DATASETS:
        found = {row: summarise(results.find_seeds(make_row(scope, dataset, row))) for row in list_rows()}
        rows = [write_row(title, row, dataset, found[row], scope) for row, title in list_rows().items()]
        rules = results.find(scope.make_measure(dataset, "rules"))
        rows.append(write_row("One-hop rule list", "rules", dataset, summarise([rules] if rules else []), scope))
        parts.append(make_table(COLUMNS, rows, title=scope.title(dataset)))
        parts += [*note_reached(found, scope, dataset), *note_deviations(scope, dataset)]
        parts += [*note_leakage(results, scope, dataset), *note_gap(found["itransf"], scope, dataset)]
    return Section("Main results (Table 2)", tuple(parts))


def write_row(title: str, row: str, dataset: str, summary: Summary | None, scope: Scope) -> tuple[str, ...]:
    """Return a row: the paper's numbers, ours, how far they move."""
    published = None if scope.quick else paper.MAIN.get(row, {}).get(dataset)
    ranks, hits = (f"{published.mr:g}", f"{published.hits:.1f}") if published else ("–", "–")
    if summary is None:
        return (title, ranks, MISSING, "–", hits, MISSING, "–", "–", "0")
    return (
        title,
        ranks,
        format_spread(summary, "mr"),
        format_interval(summary.interval("mr"), "mr"),
        hits,
        format_spread(summary, "hits@10"),
        f"{summary.median('mrr'):.3f}",
        format_percent(summary.median("hits@1")),
        str(len(summary.records)) if row != "rules" else "–",
    )


def note_reached(found: Mapping[str, Summary | None], scope: Scope, dataset: str) -> list[str]:
    """Say which of the paper's figures the medians do not reach, if anything was measured."""
    if scope.quick or not any(found.values()):
        return []
    measured = {row: summary for row, summary in found.items() if summary is not None and row in paper.MAIN}
    short = [
        f"{list_rows()[row]} {told}"
        for row, summary in measured.items()
        for told in list_short(summary, paper.MAIN[row][dataset])
    ]
    return [f"Where the paper's figures are not reached: {'; '.join(short)}." if short else REACHED]


def list_short(summary: Summary, published: paper.Published) -> list[str]:
    """Return what falls short of a row of the paper's, in words."""
    ranks, hits, wanted = summary.median("mr"), summary.median("hits@10"), round(published.hits / 100.0, 6)
    told = []
    if ranks > published.mr:
        told.append(f"has MR {format_rank(ranks)} for {published.mr:g}{place_in(summary, 'mr', published.mr)}")
    if hits < wanted:
        told.append(f"has Hits@10 {100.0 * hits:.2f} for {published.hits:g}{place_in(summary, 'hits@10', wanted)}")
    return told


def place_in(summary: Summary, metric: str, wanted: float) -> str:
    """Return words that say so where what is wanted lies between the lowest and the highest of the seeds."""
    low, high = summary.spread(metric)
    return ", which lies between its seeds" if low <= wanted <= high else ""


def note_deviations(scope: Scope, dataset: str) -> list[str]:
    """Say where the presets of ITransF depart from what the paper gives, and from each other."""
    if scope.quick:
        return []
    plain, domain = (
        flatten(make_row(scope, dataset, row).resolve().to_dict()) for row in ("itransf", "itransf-domain")
    )
    told = list_changes(plain, paper.SETTINGS[dataset])
    preset = f"The preset `{dataset}/itransf` has what the paper gives"
    deviations = f"{preset}, but for (the paper's in brackets): {', '.join(told)}." if told else f"{preset}."
    others = ", ".join(list_changes(domain, plain))
    return [f"{deviations} `{dataset}/itransf-domain` differs from `{dataset}/itransf` (in brackets) in {others}."]


def list_changes(settings: Mapping[str, Any], others: Mapping[str, Any]) -> list[str]:
    """Return the settings that are others, those in brackets."""
    return [f"`{key}` {settings[key]} ({value})" for key, value in others.items() if settings[key] != value]


def note_leakage(results: Results, scope: Scope, dataset: str) -> list[str]:
    """Say how much of the test train gives away, if that was measured."""
    graph = results.find(scope.make_measure(dataset, "describe"))
    rules = results.find(scope.make_measure(dataset, "rules"))
    if graph is None or rules is None:
        return []
    leaked = format_percent(graph["leakage"]["reversed_pair"])
    figures = rules["metrics"]
    return [
        f"Read {scope.title(dataset)} with care: {leaked} % of its test pairs are linked in reverse in train. A list "
        "of one-hop rules (inverse, symmetric, duplicate), mined from train and nothing else, already has "
        f"MRR {figures['mrr']:.3f} and Hits@10 {format_percent(figures['hits@10'])}; its mean rank of "
        f"{format_rank(figures['mr'])} shows what rules do not know."
    ]


def note_gap(summary: Summary | None, scope: Scope, dataset: str) -> list[str]:
    """Say how far apart the paper puts ITransF and STransE, and how far queries alone move ITransF's mean rank."""
    if scope.quick or summary is None:
        return []
    ours, theirs = (paper.MAIN[row][dataset].mr for row in ("itransf", "stranse"))
    interval = summary.interval("mr")
    return [
        f"The paper puts ITransF {theirs - ours:g} ahead of STransE in mean rank ({ours:g} against {theirs:g}); "
        f"drawing the test triples anew moves the median of ITransF's seeds over {interval.high - interval.low:.1f} "
        f"ranks (95 %).{tell_heaviest(summary)}"
    ]


def tell_heaviest(summary: Summary) -> str:
    """Say how few questions mean rank hangs on, where that is stored of every seed."""
    shares = [record["heaviest"] for record in summary.records if "heaviest" in record]
    if len(shares) < len(summary.records):
        return ""
    return (
        f" In ITransF's mean rank, the {100.0 * HEAVIEST:g} % of questions with the worst ranks make up "
        f"{100.0 * median(shares):.0f} % (median over seeds)."
    )


MAIN = Stage("main", "Table 2", list_jobs, render, seeds=3)
