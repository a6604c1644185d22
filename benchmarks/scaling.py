"""Cost of training on a triple as the graph and the model grow: entities, relations, concepts, support, batch size.

    python -m benchmarks.scaling                          # on a GPU: results/benchmark-scaling.json
    python -m benchmarks.scaling --device cpu --quick     # smaller, to try it out

Triples are random and the same number at every point. One axis varies at a time, the others stay at the base. The ends
of each axis are measured first, and the record is written after every point.
"""

from __future__ import annotations

import argparse
import gc
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from benchmarks.markdown import describe_setting, format_bytes, make_table
from benchmarks.records import RESULTS, Record, start_record, summarise, write_record
from benchmarks.speed import make_config, make_trainer, read_peak, reset_peak, time_call
from itransf.data import Graph
from itransf.data.vocabulary import Vocabulary
from itransf.training import Trainer


@dataclass(frozen=True)
class Point:
    """The sizes of one measurement; `concepts` is m, `support_size` k and `dim` d."""

    entities: int
    relations: int
    concepts: int
    support_size: int
    batch_size: int
    dim: int
    triples: int


Axes = Mapping[str, Sequence[int]]
BASE = Point(entities=10**5, relations=1000, concepts=300, support_size=5, batch_size=1000, dim=100, triples=200_000)
AXES: Axes = {
    "concepts": (15, 30, 100, 300, 1000, 3000),
    "support_size": (1, 2, 5, 10),
    "batch_size": (20, 100, 500, 1000, 2048, 8192),
    "entities": (10**4, 10**5, 10**6, 10**7),
    "relations": (10, 100, 1000, 10**4, 10**5),
}
CPU_TRIPLES = 20_000
CPU_LIMITS = {"concepts": 3000, "batch_size": 8192, "entities": 10**6, "relations": 10**4}
QUICK_TRIPLES, QUICK_DIM = 4000, 16
QUICK_LIMITS = {"concepts": 300, "batch_size": 2048, "entities": 10**5, "relations": 1000}
FIGURES = {"cuda": "scaling.png", "cpu": "scaling-cpu.png"}
WHERE = {"cuda": " on the device", "cpu": ", for the whole process"}
NAMES = {
    "concepts": "concepts, m",
    "support_size": "support, k",
    "batch_size": "batch",
    "entities": "entities",
    "relations": "relations",
}
THEORY = {
    "concepts": "flat: a relation reads k matrices, whatever m is. What can grow is paid once per batch: more concepts "
    "are in use, and each is read, updated and written; on a GPU a step checks for every concept whether it is in use, "
    "and on a CPU the gradient of the concepts is as large as all of them",
    "support_size": "composing a matrix costs k; projecting does not depend on k and dominates where the relations of "
    "a batch have many triples",
    "batch_size": "a small batch leaves most of the device idle and shares its matrices among fewer triples; the cost "
    "falls until the device is fully used",
    "entities": "flat: a batch reads only its own rows. With more entities, fewer rows are in the cache",
    "relations": "matrices are composed once per relation of a batch: the cost grows until every triple of a batch "
    "has its own relation, and is flat from there",
}


def choose_axes(device: str, quick: bool) -> tuple[Point, Axes]:
    """Return the base and the axes, which are smaller on a CPU and smallest for a quick test."""
    base, limits = BASE, dict[str, int]()
    if device == "cpu":
        base, limits = replace(base, triples=CPU_TRIPLES), CPU_LIMITS
    if quick:
        base, limits = replace(base, triples=QUICK_TRIPLES, dim=QUICK_DIM), QUICK_LIMITS
    return base, {axis: [size for size in sizes if size <= limits.get(axis, size)] for axis, sizes in AXES.items()}


def plan_points(base: Point, axes: Axes) -> list[Point]:
    """Return every point once, the ends of each axis first."""
    ends = [replace(base, **{axis: size}) for axis, sizes in axes.items() for size in (sizes[0], sizes[-1])]
    middles = [replace(base, **{axis: size}) for axis, sizes in axes.items() for size in sizes[1:-1]]
    return list(dict.fromkeys([base, *ends, *middles]))


def make_graph(point: Point, seed: int) -> Graph:
    """Return a graph of distinct random triples, without names."""
    shape = (point.entities, point.relations, point.entities)
    drawn = np.random.default_rng(seed).integers(np.prod(shape, dtype=np.int64), size=point.triples)
    triples = np.stack(np.unravel_index(np.unique(drawn), shape), axis=1)
    # Training needs only the number of names, and making ten million would take longer than everything else.
    entities, relations = (cast(Vocabulary, range(size)) for size in (point.entities, point.relations))
    return Graph("random", entities, relations, triples, triples[:0], triples[:0])


def start_training(point: Point, device: torch.device, seed: int) -> Trainer:
    """Return a trainer before its first epoch."""
    sizes = {f"model.{key}": getattr(point, key) for key in ("dim", "concepts", "support_size")}
    config = make_config({**sizes, "training.batch_size": point.batch_size, "seed": seed})
    with torch.device(device):  # drawing the largest tables on a CPU would take long
        return make_trainer(make_graph(point, seed), config, device)


def measure_point(point: Point, device: torch.device, repetitions: int, seed: int) -> dict[str, Any]:
    """Return seconds per thousand triples of whole epochs and peak memory, or the error."""
    gc.collect()  # frees what the last point allocated
    try:
        trainer = start_training(point, device, seed)
        reset_peak(device)  # memory used to draw the initial weights does not count
        epochs = trainer.epochs()
        next(epochs)  # compiles and sets up
        seconds = [time_call(lambda: next(epochs), device) for _ in range(repetitions)]
    except (RuntimeError, MemoryError) as error:  # out of memory on the device, or on the host
        return {**asdict(point), "error": str(error).splitlines()[0]}
    thousands = len(trainer.train) / 1000
    return {
        **asdict(point),
        "epoch_seconds": seconds,
        "seconds_per_1000_triples": summarise([once / thousands for once in seconds]),
        "peak_bytes": read_peak(device),
        "parameter_bytes": sum(parameter.nbytes for parameter in trainer.model.parameters()),
    }


def measure_points(
    points: Sequence[Point], limit: float, measure: Callable[[Point], dict[str, Any]]
) -> Iterator[tuple[Point, dict[str, Any] | None]]:
    """Yield each point with what was measured, or with None once the time is up."""
    started = time.monotonic()
    for point in points:
        yield point, measure(point) if time.monotonic() - started < limit else None


def list_axis(record: Mapping[str, Any], axis: str) -> list[dict[str, Any]]:
    """Return the points along an axis, in the order of its sizes."""
    wanted = [{**record["base"], axis: size} for size in record["axes"][axis]]
    measured = [found for found in record["points"] if "error" not in found]
    return [found for sizes in wanted for found in measured if all(found[key] == sizes[key] for key in sizes)]


def compare_ends(record: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the ratio of the highest to the lowest cost on each axis; 1 is flat."""
    flat: dict[str, float | None] = {}
    for axis in record["axes"]:
        costs = [found["seconds_per_1000_triples"]["median"] for found in list_axis(record, axis)]
        flat[axis] = max(costs) / min(costs) if len(costs) > 1 else None
    return flat


def render(record: Record) -> str:
    """Return the section of docs/performance.md."""
    base, device = record["base"], record["config"]["device"]
    stays = ", ".join(f"{base[axis]:,} ({name})" for axis, name in NAMES.items())
    text = (
        f"Training ITransF (hinge loss, SGD, l1, one negative) on {base['triples']:,} random triples, d {base['dim']}. "
        f"One size varies at a time; the others stay at {stays}. Microseconds per triple: the median of "
        f"{record['config']['repetitions']} epochs after a first one, the lowest and the highest. Memory is the peak "
        f"during training{WHERE[device]}, next to the size of the parameters."
    )
    sections = [
        f"### {name}\n\n{describe_axis(record, axis)}" for axis, name in NAMES.items() if axis in record["axes"]
    ]
    missing = [f"- Not measured, as the time was up: {describe_point(point)}" for point in record["skipped"]]
    failed = [f"- {describe_point(p)} failed: {p['error']}" for p in record["points"] if "error" in p]
    setting = "\n".join([*describe_setting(record), *missing, *failed])
    figure = f"![Microseconds per triple against the sizes of model and graph]({FIGURES[device]})"
    title = f"## Scaling on {record['hardware']['gpu' if device == 'cuda' else 'cpu']}"
    return "\n\n".join([title, setting, text, figure, *sections]) + "\n"


def describe_axis(record: Record, axis: str) -> str:
    """Return the measured and the expected growth along an axis, and the table."""
    rows = []
    for point in list_axis(record, axis):
        seconds = point["seconds_per_1000_triples"]
        median, low, high = (format_microseconds(1000 * seconds[key]) for key in ("median", "low", "high"))
        peak = "" if point["peak_bytes"] is None else format_bytes(point["peak_bytes"])
        rows.append([f"{point[axis]:,}", median, f"{low} to {high}", peak, format_bytes(point["parameter_bytes"])])
    flat = record["flat"][axis]
    measured = f"The slowest point costs {flat:.2f} times the fastest. " if flat is not None else ""
    table = make_table([NAMES[axis], "µs per triple", "low to high", "peak memory", "parameters"], rows)
    return f"{measured}In theory {THEORY[axis]}.\n\n{table.rstrip()}"


def format_microseconds(cost: float) -> str:
    """Return a cost with three significant digits."""
    return f"{cost:,.{max(2 - math.floor(math.log10(cost)), 0)}f}"


def describe_point(point: Record) -> str:
    """Return the sizes of a point."""
    return ", ".join(f"{name} {point[axis]:,}" for axis, name in NAMES.items())


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--quick", action="store_true", help="small sizes and few triples, to try it out")
    parser.add_argument("--repetitions", type=int, default=3, help="epochs timed at each point")
    parser.add_argument("--limit-seconds", type=float, default=150.0, help="time after which no point is started")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS / "benchmark-scaling.json")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, writing the record after every point."""
    options = read_options(arguments)
    base, axes = choose_axes(options.device, options.quick)
    config = {key: value for key, value in vars(options).items() if key != "out"}
    record = start_record("scaling", options.seed, config, ("torch", "triton", "numpy"))
    record |= {"base": asdict(base), "axes": dict(axes), "points": [], "skipped": [], "flat": {}}
    device = torch.device(options.device)

    def measure(point: Point) -> dict[str, Any]:
        return measure_point(point, device, options.repetitions, options.seed)

    measure(replace(base, triples=2 * base.batch_size))  # loads and compiles, which the first point should not pay for
    for point, found in measure_points(plan_points(base, axes), options.limit_seconds, measure):
        record["skipped" if found is None else "points"].append(asdict(point) if found is None else found)
        record["flat"] = compare_ends(record)
        write_record(record, options.out)
        cost = (found or {}).get("seconds_per_1000_triples")
        outcome = f"{1000 * cost['median']:.2f} us a triple" if cost else (found or {"error": "no time left"})["error"]
        print(f"{describe_point(asdict(point))}: {outcome}", flush=True)
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
