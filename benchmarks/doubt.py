"""Average precision of `itransf doubt` where a share of the triples of all splits is replaced by false ones.

python -m benchmarks.doubt --dataset world --seeds 0 1 2 3 4
python -m benchmarks.doubt --dataset fb15k-237 --device cuda --seeds 0 1 2
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import itransf
from benchmarks.markdown import make_table
from benchmarks.records import RESULTS, Record, start_record, summarise, write_record
from itransf.prediction.doubt import measure_doubts

Kind = Literal["any", "typed"]
KINDS: tuple[Kind, Kind] = ("any", "typed")
KIND_TITLES = {"any": "any entity", "typed": "one that train has on that side"}
PARTS = ("type", "support", "score")


def corrupt(graph: itransf.Graph, kind: Kind, seed: int, share: float) -> tuple[itransf.Graph, npt.NDArray[np.bool_]]:
    """Return the graph with some triples of each split made false, and which training triples are.

    Args:
        graph: Graph to corrupt.
        kind: Entities that replace a head or tail: any, or those that train has on that side of the relation.
        seed: Random seed.
        share: Share of the triples of each split.
    """
    generator, splits, marks = np.random.default_rng(seed), {}, {}
    for split in ("train", "valid", "test"):
        triples = graph.split(split).copy()
        is_false, made = np.zeros(len(triples), dtype=np.bool_), set[tuple[int, ...]]()
        for row in generator.permutation(len(triples)):
            if is_false.sum() >= round(share * len(triples)):
                break
            side, relation, new = int(generator.integers(2)), int(triples[row, 1]), triples[row].copy()
            domain = graph.statistics.domain(relation, ("head", "tail")[side])
            new[2 * side] = generator.choice(domain) if kind == "typed" else generator.integers(len(graph.entities))
            key = tuple(new.tolist())
            if new[0] != new[2] and key not in made and not graph.known.contains(new[None])[0]:
                made.add(key)
                triples[row], is_false[row] = new, True
        splits[split], marks[split] = triples, is_false
    return replace(graph, **splits), marks["train"]


def measure_precision(doubts: npt.NDArray[np.floating], is_false: npt.NDArray[np.bool_]) -> float:
    """Return the average precision of the order by doubt."""
    found = is_false[np.argsort(-doubts, kind="stable")]
    return float((np.cumsum(found) / np.arange(1, len(found) + 1))[found].mean())


def measure(graph: itransf.Graph, kind: Kind, seed: int, share: float, device: str) -> dict[str, Any]:
    """Train with the defaults on a corrupted graph and return the precision of the doubt and of each part."""
    corrupted, is_false = corrupt(graph, kind, seed, share)
    run = itransf.train(corrupted, seed=seed, device=device, progress=False)
    started = time.perf_counter()
    parts, _ = measure_doubts(run.model, corrupted)
    seconds = time.perf_counter() - started
    alone = {name: measure_precision(part, is_false) for name, part in zip(PARTS, parts, strict=True)}
    precision = measure_precision(parts.sum(axis=0), is_false)
    found = {"kind": kind, "seed": seed, "false": int(is_false.sum()), "triples": len(is_false)}
    return {**found, "average_precision": precision, "alone": alone, "seconds": seconds}


def render(record: Record) -> str:
    """Return the section of docs/answers.md."""
    config, commit = record["config"], str(record["git"]["commit"])[:9]
    rows = [
        [KIND_TITLES[kind], *(f"{found[key]:.3f}" for key in ("median", "low", "high"))]
        for kind, found in record["average_precision"].items()
    ]
    return (
        f"### Doubtful triples of {config['dataset']}\n\n`{record['command']}`, {record['date'][:10]}, "
        f"commit {commit}: {100 * config['share']:.0f} % of the triples are false.\n\n"
        f"{make_table(['false head or tail', 'average precision', 'least', 'most'], rows)}"
    )


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    record = start_record("doubt", options.seeds[0], vars(options), ["torch", "numpy"])
    graph, record["runs"] = itransf.load(options.dataset), []
    for seed in options.seeds:
        for kind in KINDS:
            record["runs"].append(measure(graph, kind, seed, options.share, options.device))
            print(record["runs"][-1], flush=True)
    record["average_precision"] = {
        kind: summarise([run["average_precision"] for run in record["runs"] if run["kind"] == kind]) for kind in KINDS
    }
    mark = "" if options.device == "cpu" else f"-{options.device}"
    write_record(record, RESULTS / f"benchmark-doubt-{options.dataset}{mark}.json")


if __name__ == "__main__":
    main()
