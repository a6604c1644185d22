"""Time of explanations of test triples.

    python -m benchmarks.explanation_time --datasets world codex-s fb15k-237

The model is IComplEx with default settings, by default of the dimension that a GPU takes. It is not trained:
which training triples and concepts an explanation names depends on training, its time hardly does.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import itransf
from benchmarks.markdown import describe_setting, make_table
from benchmarks.records import RESULTS, Record, start_record, write_record
from itransf.fitting import build_model
from itransf.interpret.evidence import find_supporting
from itransf.run import Run

WAYS = ("whole", "training triples of the head")
KEYS = ("median", "mean", "slowest")
TITLES = ["graph", "dimension", "explanation", "median, ms", "mean, ms", "slowest, ms"]


def measure(dataset: str, dim: int, count: int, seed: int) -> dict[str, Any]:
    """Return the milliseconds of each explanation after the first, which indexes the triples."""
    graph = itransf.load(dataset, progress=False)
    config = itransf.run.resolve_config(graph, settings=[f"model.dim={dim}"], device="cpu")
    run = Run(graph, config, build_model(graph, config, torch.device("cpu")).eval(), [])
    rng = np.random.default_rng(seed)
    triples = [tuple(row) for row in graph.test[rng.permutation(len(graph.test))[: count + 1]].tolist()]
    ways: dict[str, Callable[[tuple[int, int, int]], object]] = {
        WAYS[0]: lambda triple: run.explain(*name_triple(graph, triple)),
        WAYS[1]: lambda triple: find_supporting(run.model, graph, triple, 4, about=["head"]),
    }
    found: dict[str, Any] = {"dataset": dataset, "dim": dim}
    for way, explain in ways.items():
        times = []
        for triple in triples:
            started = time.perf_counter()
            explain(triple)
            times.append(1000 * (time.perf_counter() - started))
        found[way] = {
            "first": times[0],
            "median": statistics.median(times[1:]),
            "mean": statistics.mean(times[1:]),
            "slowest": max(times[1:]),
        }
    return found


def name_triple(graph: itransf.Graph, triple: tuple[int, int, int]) -> tuple[str, str, str]:
    """Return the names of a triple."""
    head, relation, tail = triple
    return graph.entities.name(head), graph.relations.name(relation), graph.entities.name(tail)


def render(record: Record) -> str:
    """Return the section of docs/explaining.md."""
    rows = [
        [
            f"{each['dataset']}",
            str(each["dim"]),
            way,
            *(f"{each[way][key]:.1f}" for key in ("median", "mean", "slowest")),
        ]
        for each in record["graphs"]
        for way in ("whole", "training triples of the head")
    ]
    lines = [
        "### Time of an explanation\n",
        *describe_setting(record),
        "",
        "*Whole*: all that `itransf explain` shows. *Training triples of the head*: the search measured above.\n",
        make_table(TITLES, rows),
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["world", "codex-s", "fb15k-237"])
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--triples", type=int, default=100, help="test triples to explain of each graph")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    record = start_record("explanation_time", options.seed, vars(options), ["torch", "numpy"])
    record["graphs"] = [measure(dataset, options.dim, options.triples, options.seed) for dataset in options.datasets]
    write_record(record, RESULTS / "benchmark-explanation_time.json")
    print(render(record))


if __name__ == "__main__":
    main()
