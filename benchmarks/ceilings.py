"""Training and ranking speed relative to what the machine can do: a float32 matrix product and a copy.

    python -m benchmarks.ceilings --data world --device cpu

The arithmetic and memory traffic of a triple and of a query are counted by formula, at the paper's sizes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.markdown import describe_setting, make_table
from benchmarks.records import RESULTS, Record, start_record, summarise, write_record
from benchmarks.speed import Clock, make_config, make_trainer, time_call, time_calls, train_until
from itransf.config import Config
from itransf.data import Graph, load
from itransf.data.graph import Triples
from itransf.evaluation import rank_triples
from itransf.fitting import build_model
from itransf.run import choose_device

SIDE = {"cpu": 1024, "cuda": 8192}  # of the square matrices: large enough for the full rate
COPIED = {"cpu": 1 << 26, "cuda": 1 << 28}  # numbers: too many for any cache
FEWEST = 100  # triples ranked to find out how many fit into the time
FLOAT = 4  # bytes
COUNTED = {
    "triple": "A triple: three rows (head, tail, one negative) projected forward and backward, 18 d^2; the matrices of "
    "the u relations of a batch of b composed forward and backward, 12 k d^2 u / b; two distances forward and "
    "backward, 16 d. Bytes: those rows read and written once, and the concepts in use once per batch.",
    "query": "A query: its own row projected, 2 d^2; its distances to all e entities, 3 e d; its share of the s "
    "relation sides that are composed and project the entity table once for all q queries, (2 e d^2 + 2 k d^2) s / q. "
    "Bytes: the table read, written projected and read again, once per relation side.",
}


@dataclass(frozen=True)
class Shape:
    """Sizes of ITransF (`dim` is d, `concepts` m, `support_size` k) and of its batches."""

    dim: int
    concepts: int
    support_size: int = 5
    batch_size: int = 1000

    def configure(self, seed: int) -> Config:
        """Return the paper's settings at these sizes."""
        sizes = {f"model.{key}": getattr(self, key) for key in ("dim", "concepts", "support_size")}
        return make_config({**sizes, "training.batch_size": self.batch_size, "seed": seed})


SHAPES = (Shape(50, 30), Shape(100, 300))  # the paper's on WN18 and on FB15k


@dataclass(frozen=True)
class Cost:
    """Floating point operations (a multiplication and an addition are two), and bytes read and written."""

    flops: float
    bytes: float


def cost_of_triple(shape: Shape, relations: float) -> Cost:
    """Return the cost of training on a triple with one negative, with `relations` distinct ones in a batch."""
    d, k, b = shape.dim, shape.support_size, shape.batch_size
    flops = 18 * d**2 + 12 * k * d**2 * relations / b + 16 * d
    concepts = min(shape.concepts, 2 * k * relations)
    return Cost(flops, 2 * FLOAT * (3 * d + concepts * d**2 / b))


def cost_of_query(shape: Shape, entities: int, share: float) -> Cost:
    """Return the cost of ranking one query among all entities, with `share` relation sides per query."""
    d, k = shape.dim, shape.support_size
    flops = 2 * d**2 + 3 * entities * d + (2 * entities * d**2 + 2 * k * d**2) * share
    return Cost(flops, 3 * FLOAT * entities * d * share)


def expect_relations(train: Triples, batch: int) -> float:
    """Return the expected number of distinct relations in a random batch."""
    shares = np.bincount(train[:, 1]) / len(train)
    return float((1.0 - (1.0 - shares) ** min(batch, len(train))).sum())


def share_sides(ranked: Triples) -> float:
    """Return relation sides per query if these triples are ranked on both sides."""
    return len(np.unique(ranked[:, 1])) / max(len(ranked), 1)


def measure_ceilings(device: torch.device, seconds: float) -> dict[str, Any]:
    """Return the fastest float32 matrix product in FLOP/s, and the fastest copy in bytes/s read and written."""
    side, copied = SIDE[device.type], COPIED[device.type]
    left, right = torch.rand(side, side, device=device), torch.rand(side, side, device=device)
    product, source = torch.empty_like(left), torch.rand(copied, device=device)
    target = torch.empty_like(source)
    products = time_calls(lambda: torch.mm(left, right, out=product), device, seconds)
    copies = time_calls(lambda: target.copy_(source), device, seconds)
    return {
        "product": {"flops": 2.0 * side**3 / min(products), "side": side},
        "copy": {"bytes": 2.0 * source.nbytes / min(copies), "numbers": copied},
    }


def measure_training(graph: Graph, shape: Shape, device: torch.device, seconds: float, seed: int) -> dict[str, Any]:
    """Return the triples per second of training: shuffling, negative sampling, updates and constraints."""
    clock = Clock(0.0, seconds)
    train_until(clock.count, make_trainer(graph, shape.configure(seed), device))
    cost = cost_of_triple(shape, expect_relations(graph.train, shape.batch_size))
    return describe("training", "triples", shape, clock.units, clock.units / clock.elapsed, cost)


def measure_ranking(graph: Graph, shape: Shape, device: torch.device, seconds: float, seed: int) -> dict[str, Any]:
    """Return the filtered queries per second under l1, of all test triples or as many as fit into the time."""
    model, known = build_model(graph, shape.configure(seed), device).eval(), graph.known
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
    return describe("ranking", "queries", shape, 2 * count, 2 * count / summarise(spent)["median"], cost)


def describe(activity: str, unit: str, shape: Shape, counted: int, rate: float, cost: Cost) -> dict[str, Any]:
    """Return a measurement as stored."""
    return {
        "activity": activity,
        "unit": unit,
        **vars(shape),
        "counted": counted,
        "rate": rate,
        "cost": vars(cost),
        "flops": rate * cost.flops,
        "bytes": rate * cost.bytes,
    }


def measure(data: str, device: str, seconds: float, seed: int) -> dict[str, Any]:
    """Measure the ceilings, then training and ranking, and return the record."""
    place, graph = choose_device(device), load(data, progress=False)
    config = {"data": data, "device": place.type, "seconds": seconds, "seed": seed}
    record = start_record("ceilings", seed, config, ("torch", "numpy", "numba", "triton"))
    record |= {"threads": torch.get_num_threads(), "counted": COUNTED, "ceilings": measure_ceilings(place, seconds)}
    product, copy = record["ceilings"]["product"]["flops"], record["ceilings"]["copy"]["bytes"]
    record["measures"] = []
    for shape in SHAPES:
        for found in (f(graph, shape, place, seconds, seed) for f in (measure_training, measure_ranking)):
            shares = {"of_product": found["flops"] / product, "of_copy": found["bytes"] / copy}
            record["measures"].append(found | shares)
    return record


def render(record: Record) -> str:
    """Return the section of docs/performance.md."""
    product, copy, config = record["ceilings"]["product"], record["ceilings"]["copy"], record["config"]
    titles = ["ITransF", "measured on", "rate", "kFLOP each", "GFLOP/s", "of the product", "GB/s", "of the copy"]
    rows = [
        [
            f"{found['activity']}, d {found['dim']}, m {found['concepts']}",
            f"{found['counted']:,} {found['unit']}",
            f"{found['rate']:,.0f} {found['unit']}/s",
            f"{found['cost']['flops'] / 1e3:,.1f}",
            f"{found['flops'] / 1e9:,.2f}",
            f"{found['of_product']:.1%}",
            f"{found['bytes'] / 1e9:,.2f}",
            f"{found['of_copy']:.1%}",
        ]
        for found in record["measures"]
    ]
    text = (
        f"Ceilings on {config['device']}: {product['flops'] / 1e9:,.1f} GFLOP/s in a float32 matrix product, "
        f"{copy['bytes'] / 1e9:,.1f} GB/s in a copy, reading and writing counted. "
        f"{' '.join(record['counted'].values())}"
    )
    setting = "\n".join(describe_setting(record))
    title = f"## Relative to the machine's ceilings: {config['data']} on {config['device']}"
    return f"{title}\n\n{setting}\n\n{text}\n\n{make_table(titles, rows)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the section, and write the record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ceilings", description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="world", help="dataset name, folder, file or archive")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--seconds", type=float, default=3.0, help="for each measurement")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None, help="default: results/benchmark-ceilings-DEVICE.json")
    options = parser.parse_args(arguments)
    if not 0 < options.seconds < float("inf"):
        parser.error(f"--seconds must be a number above zero, not {options.seconds:g}")
    record = measure(options.data, options.device, options.seconds, options.seed)
    print(render(record))
    write_record(record, options.out or RESULTS / f"benchmark-ceilings-{record['config']['device']}.json")


if __name__ == "__main__":
    main()
