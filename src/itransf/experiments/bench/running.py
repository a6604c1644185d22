"""Training and ranking at the paper's sizes, beside the machine's ceilings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any

import numpy as np
import torch

from itransf.data.datasets import load
from itransf.data.graph import Graph, Triples
from itransf.errors import ConfigError
from itransf.evaluation import rank_triples
from itransf.experiments.bench.ceilings import measure_ceilings
from itransf.experiments.bench.clock import Clock, TimeIsUpError, time_call
from itransf.experiments.bench.costs import (
    PER_QUERY,
    PER_TRIPLE,
    Cost,
    Shape,
    cost_of_query,
    cost_of_triple,
    expect_relations,
    share_sides,
)
from itransf.experiments.bench.records import start_record, summarise
from itransf.experiments.bench.settings import configure
from itransf.fitting import build_model
from itransf.progress import track
from itransf.run import choose_device
from itransf.training import Trainer

SHAPES = (Shape(50, 30), Shape(100, 300))  # the paper's on WN18 and on FB15k
FEWEST = 100  # triples ranked to find out how many the time allows
PACKAGES = ("torch", "numpy", "numba", "triton")


def run_bench(
    data: str = "world", device: str = "auto", seconds: float = 3.0, seed: int = 0, progress: bool = True
) -> dict[str, Any]:
    """Measure the machine's ceilings, then training and ranking beside them, and return the record.

    Args:
        data: A named dataset, or anything else that `itransf.load` takes.
        device: "auto", "cpu" or "cuda".
        seconds: What each measurement may take, its setting up not counted.
        seed: Of weights, batches, negatives and the choice of the triples that are ranked.
        progress: Whether to show it.
    """
    if not 0 < seconds < inf:
        raise ConfigError(f"--seconds must be a number above zero, not {seconds:g}")
    place, graph = choose_device(device), load(data, progress=progress)
    config = {"data": data, "device": place.type, "seconds": seconds, "seed": seed}
    record = start_record("bench", ("itransf", "bench"), seed, config, PACKAGES)
    record |= {
        "threads": torch.get_num_threads(),
        "counted": {"triple": PER_TRIPLE, "query": PER_QUERY},
        "measures": [],
    }
    with track("measuring", 1 + 2 * len(SHAPES), "measurements", progress) as tracker:
        tracker.advance(0, "ceilings")
        record["ceilings"] = measure_ceilings(place, seconds)
        tracker.advance()
        for shape in SHAPES:
            for measure in (measure_training, measure_ranking):
                found = measure(graph, shape, place, seconds, seed)
                record["measures"].append(found | compare(found, record["ceilings"]))
                tracker.advance(1, f"{found['activity']}: {found['rate']:,.0f} {found['unit']}/s")
    return record


def measure_training(graph: Graph, shape: Shape, device: torch.device, seconds: float, seed: int) -> dict[str, Any]:
    """Return how many triples a second are trained on: shuffling, corruption, updates and constraints."""
    config = configure(shape, seed)
    trainer = Trainer(build_model(graph, config, device), graph, config)
    clock = Clock(0.0, seconds)
    train_until(clock.count, trainer)
    cost = cost_of_triple(shape, expect_relations(graph.train, shape.batch_size))
    return describe("training", "triples", shape, clock.units / clock.elapsed, cost) | {"counted": clock.units}


def train_until(count: Callable[[int], None], trainer: Trainer) -> None:
    """Train until counting raises `TimeIsUpError`; counted are the triples that were trained on without a pause."""
    size, total, before = trainer.config.training.batch_size, len(trainer.train), 0

    def count_triples() -> None:
        nonlocal before
        done = min(trainer.progress.batches * size, total)
        count(done - before)
        before = done % total

    with suppress(TimeIsUpError):
        for _ in trainer.epochs(after_batch=count_triples):
            pass


def measure_ranking(graph: Graph, shape: Shape, device: torch.device, seconds: float, seed: int) -> dict[str, Any]:
    """Return the filtered queries ranked per second under l1, of all test triples or as many as time allows."""
    model, known = build_model(graph, configure(shape, seed), device).eval(), graph.known
    triples = np.random.default_rng(seed).permutation(graph.test if len(graph.test) else graph.train)

    def time_ranking(chosen: Triples) -> float:
        return time_call(lambda: rank_triples(model, chosen, known), device)

    count = min(FEWEST, len(triples))
    time_ranking(triples[:count])  # compiles and sets up
    spent = [time_ranking(triples[:count])]
    while count < len(triples) and spent[0] < seconds / 2:
        count = min(2 * count, len(triples))
        spent = [time_ranking(triples[:count])]
    while sum(spent) < seconds / 2:
        spent.append(time_ranking(triples[:count]))
    cost = cost_of_query(shape, len(graph.entities), share_sides(triples[:count]))
    rate = 2 * count / summarise(spent)["median"]
    return describe("ranking", "queries", shape, rate, cost) | {"counted": 2 * count}


def describe(activity: str, unit: str, shape: Shape, rate: float, cost: Cost) -> dict[str, Any]:
    """Return a measurement with what it was of."""
    return {"activity": activity, "unit": unit, **vars(shape), "rate": rate, "cost": vars(cost)}


def compare(found: dict[str, Any], ceilings: dict[str, Any]) -> dict[str, Any]:
    """Return the arithmetic and the traffic a rate comes to, and their share of the ceilings."""
    flops, moved = found["rate"] * found["cost"]["flops"], found["rate"] * found["cost"]["bytes"]
    return {
        "flops": flops,
        "bytes": moved,
        "of_product": flops / ceilings["product"]["flops"],
        "of_copy": moved / ceilings["copy"]["bytes"],
    }
