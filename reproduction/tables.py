"""Tables: the columns and kinds that `experiments.toml` names, filled from stored results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from itransf.interpret import Attention
from itransf.models import MODELS, SIDES, Side
from reproduction.experiments import WHOLE, Experiment, Scope, Table
from reproduction.results import Results
from reproduction.rows import EMPTY, LARGE, SHORT, Filled, Found, fill
from reproduction.statistics import (
    RAREST,
    RelationHits,
    format_difference,
    format_interval,
    format_sample,
    read_relations,
)

MISSING = "–"
"""Cell of a figure that is not measured, or that the paper does not print."""
FEW = 20  # relations of a bucket below which a single one moves its average much
BUCKETS = ("most frequent third", "middle third", "rarest third")


@dataclass(frozen=True)
class Cells:
    """A table as text.

    Attributes:
        title: Line above it.
        columns: Headings.
        rows: One cell for each heading.
        names: Number of columns, from the left, that hold words.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        rule = ["---"] * self.names + ["---:"] * (len(self.columns) - self.names)
        lines = [f"| {' | '.join(line)} |" for line in (self.columns, rule, *self.rows)]
        return "\n".join([f"**{self.title}**\n"] * bool(self.title) + lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the table ready for JSON."""
        return {"title": self.title, "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows]}


def tabulate(table: Table, results: Results, scope: Scope = WHOLE) -> Cells:
    """Return a table as text."""
    return KINDS[table.kind](fill(table, results, scope))


def tabulate_rows(filled: Filled) -> Cells:
    """Return a line for each row."""
    columns = filled.table.columns
    rows = [(found.row.label, *(write_cell(key, found, filled) for key in columns)) for found in filled.rows]
    return Cells(filled.table.title, ("", *(HEADINGS[key] for key in columns)), rows)


def write_cell(key: str, found: Found, filled: Filled) -> str:
    """Return the cell of a row in a column."""
    if not found.records and not key.startswith(("paper", "uses")):
        return "0" if key == "seeds" else MISSING
    return RELATIVE[key][1](found, filled) if key in RELATIVE else COLUMNS[key][1](found)


def tabulate_grid(experiment: Experiment, key: str, results: Results, scope: Scope = WHOLE) -> Cells:
    """Return one column of several tables that vary the same settings, a column for each table."""
    filled = [fill(table, results, scope) for table in experiment.tables]
    labels = dict.fromkeys(found.row.label for each in filled for found in each.rows)
    rows = []
    for label in labels:
        found = [(each.find(label), each) for each in filled]
        rows.append((label, *(write_cell(key, row, each) if row else MISSING for row, each in found)))
    return Cells("", (HEADINGS[key], *(table.title for table in experiment.tables)), rows)


def tabulate_buckets(filled: Filled) -> Cells:
    """Return Hits@10 of two rows for each third of the relations, and the difference."""
    names = [found.row.label for found in filled.rows]
    columns = ("Relations", "Train triples", "Test triples", *names, "Difference")
    rows = []
    if filled.rows and all(found.records for found in filled.rows):
        pair = [read_relations(found.records) for found in filled.rows]
        hits = pair[0]
        for bucket, name in enumerate(BUCKETS):
            chosen = hits.choose_bucket(bucket)
            rows += [write_bucket(f"{name}: {chosen.sum():,}", pair, chosen)] if chosen.any() else []
        rest = hits.choose_bucket(RAREST, whole=False)
        if 0 < rest.sum() < FEW:
            smallest = hits.relations[hits.find_smallest(hits.choose_bucket(RAREST))]
            rows.append(write_bucket(f"rarest without `{smallest['relation']}`: {rest.sum():,}", pair, rest))
    return Cells(filled.table.title, columns, rows)


def write_bucket(title: str, pair: Sequence[RelationHits], chosen: Any) -> tuple[str, ...]:
    """Return the line of some relations."""
    relations = [relation for relation, taken in zip(pair[0].relations, chosen, strict=True) if taken]
    triples = [relation["train_triples"] for relation in relations]
    without, shared = (hits.average(chosen) for hits in pair)
    return (
        title,
        f"{min(triples):,}–{max(triples):,}",
        f"{sum(relation['test_triples'] for relation in relations):,}",
        *(format_sample(sample, "hits@10") for sample in (without, shared)),
        format_difference(shared.compare(without), "hits@10"),
    )


def tabulate_overlaps(filled: Filled) -> Cells:
    """Return, for each statement of the paper, how much attention two relation sides share."""
    columns = ("The paper sees", "Sides", "Overlap", "All pairs", "Seeds above", "Verdict")
    seeds = filled.rows[0].attention if filled.rows else []
    rows = [
        write_overlap(statement, seeds)
        for statement in filled.table.statements
        if seeds and not filled.rows[0].scope.quick
    ]
    return Cells(filled.table.title, columns, rows, names=2)


def write_overlap(statement: Mapping[str, Any], seeds: Sequence[Attention]) -> tuple[str, ...]:
    """Return the line of a statement; it holds if the overlap is above that of all pairs in every seed."""
    ends = (statement["first"], statement["second"])
    overlaps = np.array([np.minimum(*(read_side(each, *end) for end in ends)).sum() for each in seeds])
    usual = np.array([average_overlap(each) for each in seeds])
    above = int((overlaps > usual).sum())
    return (
        statement["text"],
        " and ".join(f"{name.strip('_')} ({side[0].upper()})" for name, side in ends),
        format_sample(replace(EMPTY, values=overlaps), "overlap"),
        f"{np.median(usual):.2f}",
        f"{above} of {len(seeds)}",
        "holds" if above == len(seeds) else "does not hold",
    )


def read_side(attention: Attention, name: str, side: Side) -> npt.NDArray[np.float32]:
    """Return the weights of a relation side, (m,); the relation is given by its name or the paper's."""
    full = {short: long for long, short in SHORT.items()}.get(name, name)
    weights: npt.NDArray[np.float32] = attention.weights[SIDES.index(side), attention.relations.index(full)]
    return weights


def average_overlap(attention: Attention) -> float:
    """Return the mean overlap over all pairs of relation sides."""
    table = np.sort(attention.weights.reshape(-1, attention.weights.shape[2]).astype(np.float64), axis=0)
    n = len(table)
    # In ascending order, a weight is the smaller one in as many pairs as there are weights behind it.
    return float((np.arange(n - 1, -1, -1) @ table).sum() / (n * (n - 1) / 2))


KINDS: dict[str, Callable[[Filled], Cells]] = {
    "rows": tabulate_rows,
    "buckets": tabulate_buckets,
    "overlaps": tabulate_overlaps,
}


def write_test(found: Found, metric: str) -> str:
    """Return the median of a test metric and its extremes."""
    return format_sample(found.sample(metric), metric)


def write_valid(found: Found, metric: str) -> str:
    """Return the mean of a validation metric and its extremes, where the metric is stored."""
    stored = metric != "rarest" or all("valid_buckets" in record for record in found.records)
    return format_sample(found.sample(metric, "valid"), metric, mean=True) if stored else MISSING


def write_paper(found: Found, key: str, form: Callable[[float], str]) -> str:
    """Return what the paper prints."""
    printed = (found.row.paper or {}).get(key)
    return MISSING if printed is None or found.scope.quick else form(printed)


def write_count(found: Found, key: str) -> str:
    """Return a count of a graph; the paper's follows where it differs."""
    count, printed = found.records[0]["counts"][key], (found.row.paper or {}).get(key)
    differs = printed not in (None, count) and not found.scope.quick
    return f"{count:,}" + (f" (paper: {printed:,})" if differs else "")


def write_frequency(found: Found, read: Callable[[npt.NDArray[np.int64]], float]) -> str:
    """Return a figure of the training triples per relation, which are given in descending order."""
    return f"{read(np.array(found.records[0]['frequencies'])):,.0f}"


def write_seconds(seconds: float) -> str:
    """Return a time as the paper writes it, or in seconds where it is short."""
    return f"{seconds:.3g} s" if seconds < 60 else f"{int(seconds) // 60}m{round(seconds) % 60:02d}s"


def write_time(found: Found) -> str:
    """Return the time of an epoch."""
    sample = found.sample("seconds")
    return write_seconds(sample.median) if sample.values.size else MISSING


def write_training(found: Found) -> str:
    """Return the time of the whole training and the device."""
    if not found.row.preset:
        return MISSING
    record = found.records[0]
    return f"{write_seconds(record['training']['seconds'])} ({record['device'].replace('cuda', 'gpu').upper()})"


def list_uses(found: Found) -> str:
    """Return what a row uses beside single triples and parameters."""
    row = found.row
    model = MODELS[row.make_job().resolve().name].uses if row.preset else ""
    return ", ".join(filter(None, (model, "rules" if "rules" in row.method else "")))


def write_coding(found: Found, key: str, scale: float) -> str:
    """Return a figure of the sparse coding."""
    coding = found.records[0].get("coding")
    return f"{scale * coding[key]:.2g}" if coding else MISSING


def write_large(found: Found) -> str:
    """Return the mean number of large weights of a relation side."""
    return f"{(found.list_weights() >= LARGE).sum(axis=1).mean():.1f}" if found.attention else MISSING


def sum_top_tenth(counts: npt.NDArray[np.int64]) -> float:
    """Return the percentage of all triples that belong to the most frequent tenth of the relations."""
    return float(100 * counts[: max(len(counts) // 10, 1)].sum() / counts.sum())


COLUMNS: dict[str, tuple[str, Callable[[Found], str]]] = {
    "entities": ("Entities", partial(write_count, key="entities")),
    "relations": ("Relations", partial(write_count, key="relations")),
    "train": ("Train", partial(write_count, key="train")),
    "valid": ("Valid", partial(write_count, key="valid")),
    "test": ("Test", partial(write_count, key="test")),
    "leaked": ("Leaked, %", lambda found: f"{100 * found.records[0]['leakage']['reversed_pair']:.1f}"),
    "most": ("Most", partial(write_frequency, read=lambda counts: counts[0])),
    "median": ("Median", partial(write_frequency, read=lambda counts: float(np.median(counts)))),
    "fewest": ("Fewest", partial(write_frequency, read=lambda counts: counts[-1])),
    "top_tenth": ("Triples of the top tenth, %", partial(write_frequency, read=sum_top_tenth)),
    "paper_mr": ("MR, paper", partial(write_paper, key="mr", form="{:g}".format)),
    "paper_hits": ("Hits@10, paper", partial(write_paper, key="hits@10", form="{:.1f}".format)),
    "paper_mrr": ("MRR, published", partial(write_paper, key="mrr", form="{:.3f}".format)),
    "paper_time": ("Epoch, paper", partial(write_paper, key="seconds", form=write_seconds)),
    "mr": ("MR", partial(write_test, metric="mr")),
    "mr_95": ("MR, 95 %", lambda found: format_interval(found.sample("mr"), "mr")),
    "mrr": ("MRR", partial(write_test, metric="mrr")),
    "hits@1": ("Hits@1", partial(write_test, metric="hits@1")),
    "hits": ("Hits@10", partial(write_test, metric="hits@10")),
    "rarest": ("Hits@10, rarest third", partial(write_test, metric="rarest")),
    "valid_mr": ("MR", partial(write_valid, metric="mr")),
    "valid_mrr": ("MRR", partial(write_valid, metric="mrr")),
    "valid_hits@1": ("Hits@1", partial(write_valid, metric="hits@1")),
    "valid_hits": ("Hits@10", partial(write_valid, metric="hits@10")),
    "valid_rarest": ("Hits@10, rarest third", partial(write_valid, metric="rarest")),
    "seeds": ("Seeds", lambda found: str(len(found.records)) if found.row.preset else MISSING),
    "matrices": ("Matrices", lambda found: f"{found.records[0]['matrices']:,}" if found.row.preset else MISSING),
    "epochs": ("Epochs", lambda found: f"{found.records[0]['config']['training']['epochs']:,}"),
    "time": ("Epoch", write_time),
    "uses": ("Uses", list_uses),
    "parameters": ("Parameters", lambda found: f"{found.records[0]['parameters']:,}" if found.row.preset else MISSING),
    "training": ("Training", write_training),
    "large_weights": ("Large weights", write_large),
    "codes": ("Coefficients", partial(write_coding, key="non_zeros_kept", scale=1)),
    "error": ("Error, %", partial(write_coding, key="error", scale=100)),
}
"""Headings and cells by the names in `experiments.toml`; `RELATIVE` has those that need the rest of the table."""


def write_gain(found: Found, filled: Filled) -> str:
    """Return the difference of Hits@10 to the baseline of the table."""
    baseline = filled.find(filled.table.baseline)
    if baseline is None or not baseline.records or not found.row.label.startswith("ITransF"):
        return MISSING
    return format_difference(found.sample("hits@10").compare(baseline.sample("hits@10")), "hits@10")


def write_mark(found: Found, filled: Filled) -> str:
    """Return the mark of a row that the rule of the table takes."""
    return filled.table.mark if found in filled.marked else ""


RELATIVE: dict[str, tuple[str, Callable[[Found, Filled], str]]] = {
    "gain": ("Hits@10 minus STransE's", write_gain),
    "mark": ("", write_mark),
}
HEADINGS = {key: heading for key, (heading, _) in [*COLUMNS.items(), *RELATIVE.items()]}
