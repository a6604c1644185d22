"""What training on a triple costs as the graph and the model grow: entities, relations, concepts, support, batch.

    python -m benchmarks.scaling                          # on a GPU: results/benchmark-scaling.json
    python -m benchmarks.scaling --device cpu --quick     # smaller, for a rehearsal

Triples are random and the same number at every point, so a whole epoch costs as much as its triples. One axis moves
at a time, the others stay at the base. The ends of each axis come first, and the record is written after every point.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from benchmarks.memory import forget_peak, read_peak
from benchmarks.records import RESULTS, start_record
from itransf.data import Graph
from itransf.data.vocabulary import Vocabulary
from itransf.experiments.bench.clock import time_call
from itransf.experiments.bench.costs import Shape
from itransf.experiments.bench.records import summarise, write_record
from itransf.experiments.bench.settings import configure
from itransf.models import MODELS, Sizes
from itransf.training import Trainer


@dataclass(frozen=True)
class Point:
    """The sizes of one measurement.

    Attributes:
        entities: In the graph.
        relations: In the graph.
        concepts: m.
        support_size: k.
        batch_size: Triples of an update.
        dim: d.
        triples: Training triples.
    """

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


def choose_axes(device: str, quick: bool) -> tuple[Point, Axes]:
    """Return the base and the axes: smaller on a CPU, smaller still for a rehearsal."""
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
    """Return a graph of distinct random triples that has sizes, but no names.

    Args:
        point: The sizes.
        seed: Of the triples.
    """
    shape = (point.entities, point.relations, point.entities)
    drawn = np.random.default_rng(seed).integers(np.prod(shape, dtype=np.int64), size=point.triples)
    triples = np.stack(np.unravel_index(np.unique(drawn), shape), axis=1)
    # Training asks only how many there are, and ten million names would take longer than all else.
    entities, relations = (cast(Vocabulary, range(size)) for size in (point.entities, point.relations))
    return Graph("random", entities, relations, triples, triples[:0], triples[:0])


def make_trainer(point: Point, device: torch.device, seed: int) -> Trainer:
    """Return a trainer at its first epoch."""
    shape = Shape(point.dim, point.concepts, point.support_size, point.batch_size)
    config = configure(shape, seed)
    torch.manual_seed(seed)
    with torch.device(device):  # made there, not moved there: the largest tables take long to draw on a CPU
        model = MODELS[config.name](Sizes(point.entities, point.relations), config.model)
    return Trainer(model, make_graph(point, seed), config)


def measure_point(point: Point, device: torch.device, repetitions: int, seed: int) -> dict[str, Any]:
    """Return seconds per thousand triples of whole epochs, and the most memory held, or why there is neither."""
    gc.collect()  # what the point before left behind
    try:
        trainer = make_trainer(point, device, seed)
        forget_peak(device)  # what drawing the first weights took is no part of training
        epochs = trainer.epochs()
        next(epochs)  # compiles, records, sets up
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
    """Return what was measured along an axis, in the order of its sizes, the other sizes being the base's."""
    wanted = [{**record["base"], axis: size} for size in record["axes"][axis]]
    measured = [found for found in record["points"] if "error" not in found]
    return [found for sizes in wanted for found in measured if all(found[key] == sizes[key] for key in sizes)]


def compare_ends(record: Mapping[str, Any]) -> dict[str, float | None]:
    """Return, for each axis, how many times the cheapest point the dearest costs; one is flat."""
    flat: dict[str, float | None] = {}
    for axis in record["axes"]:
        costs = [found["seconds_per_1000_triples"]["median"] for found in list_axis(record, axis)]
        flat[axis] = max(costs) / min(costs) if len(costs) > 1 else None
    return flat


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--quick", action="store_true", help="small sizes and few triples, for a rehearsal")
    parser.add_argument("--repetitions", type=int, default=3, help="epochs timed at each point; the median counts")
    parser.add_argument("--limit-seconds", type=float, default=150.0, help="no point is begun after that")
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

    measure(
        replace(base, triples=2 * base.batch_size)
    )  # loads and compiles, so that the first point does not stand out
    for point, found in measure_points(plan_points(base, axes), options.limit_seconds, measure):
        record["skipped" if found is None else "points"].append(asdict(point) if found is None else found)
        record["flat"] = compare_ends(record)
        write_record(record, options.out)
        cost = (found or {}).get("seconds_per_1000_triples")
        told = f"{1000 * cost['median']:.2f} us a triple" if cost else (found or {"error": "no time left"})["error"]
        print(f"{', '.join(f'{key} {size:,}' for key, size in asdict(point).items())}: {told}", flush=True)
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
