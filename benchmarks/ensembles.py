"""Ensembles over seeds: their accuracy beside that of single seeds, and how many concepts other seeds have, too.

python -m benchmarks.ensembles --dataset world --seeds 5
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from itertools import permutations
from statistics import mean
from typing import Any

import numpy as np

import itransf
from benchmarks.markdown import describe_setting, make_table
from benchmarks.records import RESULTS, Record, start_record, write_record
from itransf.interpret.attention import Attention
from itransf.interpret.sharing import FOUND, match_concepts

METRICS = ("mr", "mrr", "hits@1", "hits@10")
SHUFFLES = 20


def find_shares(attentions: list[Attention], shuffles: int) -> dict[str, float]:
    """Return the share of used concepts that are found in another seed, and after relations are shuffled."""
    rng, count = np.random.default_rng(0), len(attentions[0].relations)
    found: dict[str, list[float]] = {"found": [], "found by chance": []}
    for left, right in permutations(attentions, 2):
        found["found"] += (match_concepts(left, right)[left.used] >= FOUND).tolist()
        for _ in range(shuffles):
            shuffled = replace(right, weights=right.weights[:, rng.permutation(count)])
            found["found by chance"] += (match_concepts(left, shuffled)[left.used] >= FOUND).tolist()
    return {name: mean(values) for name, values in found.items()}


def measure(dataset: str, seeds: int, seed: int, device: str) -> dict[str, Any]:
    """Train an ensemble with the default settings; return the metrics of its members and its own."""
    graph, started = itransf.load(dataset, progress=False), time.perf_counter()
    run = itransf.train(graph, seed=seed, seeds=seeds, device=device, progress=False)
    seconds = time.perf_counter() - started
    scores = {
        name: [{metric: found[metric] for metric in METRICS} for found in evaluations]
        for name, evaluations in {
            "members": [member.evaluate("test") for member in run.members],
            "ensemble": [run.evaluate("test")],
        }.items()
    }
    shares = find_shares([member.concepts() for member in run.members], SHUFFLES)
    return {"seconds": seconds, "settings": run.config.to_dict(), **scores, **shares}


def render(record: Record) -> str:
    """Return the section of a dataset."""
    rows = []
    for title, key in (("one seed", "members"), ("all seeds together", "ensemble")):
        cells = []
        for metric in METRICS:
            factor, digits = (1, 3) if metric == "mrr" else (100 if "hits" in metric else 1, 1)
            values = sorted(factor * entry[metric] for entry in record[key])
            spread = f" ({values[0]:.{digits}f} to {values[-1]:.{digits}f})" if len(values) > 1 else ""
            cells.append(f"{mean(values):.{digits}f}{spread}")
        rows.append([title, *cells])
    table = make_table(["", "MR", "MRR", "Hits@1", "Hits@10"], rows)
    shares = (
        f"Of the concepts of a seed, {record['found']:.0%} are found in another seed, and "
        f"{record['found by chance']:.0%} if the relations of the other seed are shuffled.\n"
    )
    return "\n".join([f"### {record['config']['dataset']}\n", *describe_setting(record), "", table, shares])


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    record = start_record("ensembles", options.seed, vars(options), ["torch", "numpy"])
    record |= measure(options.dataset, options.seeds, options.seed, options.device)
    write_record(record, RESULTS / f"benchmark-ensembles-{options.dataset}.json")


if __name__ == "__main__":
    main()
