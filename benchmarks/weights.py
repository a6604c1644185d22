"""MRR on clean test triples where training triples of low weight are noise: with the weights, and without.

python -m benchmarks.weights --seeds 0 1 2 3 4

False triples whose entities fit the relation are added to train. Confidences of true triples are drawn around 0.8,
those of false ones around 0.2 (beta distributions, which overlap). Valid and test stay as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

import itransf
from benchmarks.doubt import corrupt
from benchmarks.markdown import describe_setting, make_table
from benchmarks.records import RESULTS, Record, start_record, write_record
from itransf.data.splits import Weights
from itransf.interpret.measures.structure import DRAWS, draw_weights, find_interval

Floats = npt.NDArray[np.float64]
SIDES = ("head", "tail")
CONFIDENCE = {False: (8.0, 2.0), True: (2.0, 8.0)}  # of the beta distribution of true and of false triples


def add_noise(graph: itransf.Graph, share: float, seed: int) -> itransf.Graph:
    """Return the graph with false triples at the end of train, `share` of its size, and weights of all of them."""
    corrupted, is_false = corrupt(graph, "typed", seed, share)
    noise, rng = corrupted.train[is_false], np.random.default_rng(seed)
    train = np.concatenate([graph.train, noise])
    parts = [rng.beta(*CONFIDENCE[kind], size=len(part)) for kind, part in ((False, graph.train), (True, noise))]
    return replace(graph, train=train, weights=Weights(train, np.concatenate(parts)))


def measure(graph: itransf.Graph, seed: int, settings: Sequence[str], device: str) -> Floats:
    """Return the reciprocal rank of each test triple, the mean of both sides, (n,)."""
    run = itransf.train(graph, settings=settings, seed=seed, device=device, progress=False)
    ranks = run.evaluate("test").ranks
    return np.asarray(np.mean([1 / ranks.ranks(side) for side in SIDES], axis=0))


def compare(first: Floats, second: Floats, seed: int) -> dict[str, float]:
    """Return the mean difference of reciprocal ranks (s, n) with its interval over seeds and triples."""
    difference, rng = second - first, np.random.default_rng(seed)
    seeds, triples = (draw_weights(count, DRAWS, rng) / count for count in difference.shape)
    low, high = find_interval(np.einsum("ds,sn,dn->d", seeds, difference, triples))
    return {"difference": float(difference.mean()), "low": low, "high": high}


def render(record: Record) -> str:
    """Return the section of a dataset."""
    rows = [[name, *(f"{value:.3f}" for value in record["mrr"][name])] for name in record["mrr"]]
    table = make_table(["", *(f"seed {seed}" for seed in record["config"]["seeds"])], rows)
    gain = record["gain"]
    found = (
        f"Weights raise the MRR by {gain['difference']:.3f}, with a 95 % interval from {gain['low']:.3f} to "
        f"{gain['high']:.3f} (bootstrap over seeds and test triples).\n"
    )
    share = f"### {record['config']['dataset']} and {record['config']['share']:.0%} noise: MRR on clean test triples\n"
    return "\n".join([share, *describe_setting(record), "", table, found])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--share", type=float, default=0.25, help="false triples per training triple")
    parser.add_argument("--settings", nargs="*", default=[], help="such as training.epochs=5")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args(arguments)
    record: dict[str, Any] = start_record("weights", options.seeds[0], vars(options), ["torch", "numpy"])
    graph = itransf.load(options.dataset)
    found: dict[str, list[Floats]] = {"without weights": [], "with weights": []}
    for seed in options.seeds:
        noisy = add_noise(graph, options.share, seed)
        for name, given in zip(found, (replace(noisy, weights=None), noisy), strict=True):
            found[name].append(measure(given, seed, options.settings, options.device))
            print(f"seed {seed}, {name}: MRR {found[name][-1].mean():.4f}", flush=True)
    record["mrr"] = {name: [float(part.mean()) for part in parts] for name, parts in found.items()}
    record["gain"] = compare(*(np.stack(parts) for parts in found.values()), options.seeds[0])
    write_record(record, RESULTS / "benchmark-weights.json")


if __name__ == "__main__":
    main()
