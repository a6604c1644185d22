"""How the cost of a triple grows with the graph and the model."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.scaling import list_axis
from benchmarks.sections.markdown import Record, describe_setting, format_bytes, make_table

PICTURES = {"cuda": "scaling.png", "cpu": "scaling-cpu.png"}
WHERE = {"cuda": " on the device", "cpu": ", the whole process counted"}
NAMES = {
    "concepts": "concepts, m",
    "support_size": "support, k",
    "batch_size": "batch",
    "entities": "entities",
    "relations": "relations",
}
THEORY = {
    "concepts": "flat: a relation reads k matrices, however many there are. What can grow is paid once per batch: more "
    "concepts are in use, each to be read, changed and written; on a GPU a step asks of every concept whether it is in "
    "use, and on a CPU the gradient of the concepts is as large as all of them",
    "support_size": "composing a matrix costs k; projecting, which does not, hides it where relations of a batch have "
    "many triples",
    "batch_size": "a small batch leaves most of the device idle and shares its matrices among fewer triples; the cost "
    "falls until the device is full",
    "entities": "flat: a batch touches only its own rows. What grows is that fewer of them are in a cache",
    "relations": "composing is shared by the triples of a relation in a batch: it grows until each triple of a batch has "  # noqa: E501
    "a relation to itself, and is flat from there on",
}


def render_scaling(record: Record) -> str:
    """Return the section on scaling."""
    base, device = record["base"], record["config"]["device"]
    text = (
        f"Training ITransF (hinge, SGD, l1, one negative) on {base['triples']:,} random triples, d {base['dim']}. One "
        f"size "
        f"moves at a time; the others stay at {describe_base(base)}. Microseconds per triple: the median of "
        f"{record['config']['repetitions']} epochs after a first one, with the lowest and highest beside it. Memory is "
        f"the most that training held at once{WHERE[device]}, with the parameters' share beside it."
    )
    sections = [
        f"### {name}\n\n{describe_axis(record, axis)}" for axis, name in NAMES.items() if axis in record["axes"]
    ]
    missing = [f"- Not measured, as the time was up: {describe_point(point)}" for point in record["skipped"]]
    failed = [f"- {describe_point(p)} failed: {p['error']}" for p in record["points"] if "error" in p]
    setting = "\n".join([*describe_setting(record), *missing, *failed])
    picture = f"![Microseconds per triple against the sizes of model and graph]({PICTURES[device]})"
    title = f"## Scaling on {record['hardware']['gpu' if device == 'cuda' else 'cpu']}"
    return "\n\n".join([title, setting, text, picture, *sections]) + "\n"


def describe_axis(record: Record, axis: str) -> str:
    """Return what theory says about an axis, how flat it is, and the table."""
    found, flat = list_axis(record, axis), record["flat"][axis]
    told = f"The dearest point costs {flat:.2f} times the cheapest. " if flat is not None else ""
    rows = [
        [
            f"{point[axis]:,}",
            *format_cost(point["seconds_per_1000_triples"]),
            "" if point["peak_bytes"] is None else format_bytes(point["peak_bytes"]),
            format_bytes(point["parameter_bytes"]),
        ]
        for point in found
    ]
    table = make_table([NAMES[axis], "µs per triple", "low to high", "peak memory", "parameters"], rows)
    return f"{told}In theory {THEORY[axis]}.\n\n{table.rstrip()}"


def format_cost(seconds: Record) -> list[str]:
    """Return seconds per thousand triples as microseconds per triple: the median, and the extremes."""
    median, low, high = (format_microseconds(1000 * seconds[key]) for key in ("median", "low", "high"))
    return [median, f"{low} to {high}"]


def format_microseconds(cost: float) -> str:
    """Return a cost with three digits that count."""
    return f"{cost:,.{max(2 - math.floor(math.log10(cost)), 0)}f}"


def describe_base(base: Record) -> str:
    """Return the sizes that stay."""
    return ", ".join(f"{base[axis]:,} ({name})" for axis, name in NAMES.items())


def describe_point(point: dict[str, Any]) -> str:
    """Return a point's sizes."""
    return ", ".join(f"{name} {point[axis]:,}" for axis, name in NAMES.items())
