"""Fast training steps beside the plain ones, which compute the same: triples per second on one graph, in turn.

python -m benchmarks.steps --dataset codex-s --threads 1
python -m benchmarks.steps --dataset fb15k-237 --device cuda
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

import torch

import itransf
from benchmarks.markdown import describe_setting, format_rate, make_table
from benchmarks.records import RESULTS, Record, start_record, write_record
from benchmarks.speed import Clock, make_trainer, train_until
from itransf.config import Config
from itransf.data import Graph
from itransf.run import choose_device
from itransf.run.settings import resolve_config

COMMON = ("training.epochs=1000000", "validation.every=0", "warm_start.epochs=0", "training.batch_size=1000")
N3 = ("regularizer.weight=0.02", "training.optimizer=adagrad")
SAMPLED = ("loss.name=self_adversarial", "negatives.per_triple=64", "negatives.shared=false", "regularizer.weight=0.0")
CASES: dict[str, tuple[str, ...]] = {
    "IComplEx, all entities, N3": ("model.name=icomplex", "loss.candidates=0", *N3),
    "IComplEx, 512 candidates, N3": ("model.name=icomplex", "loss.candidates=512", *N3),
    "IComplEx, all entities, N3, relation prediction": (
        "model.name=icomplex", "loss.candidates=0", "loss.relation_weight=0.1", *N3,
    ),
    "IComplEx, all entities, l2 regularization": (
        "model.name=icomplex", "loss.candidates=0", *N3, "regularizer.name=l2",
    ),
    "ComplEx, all entities, N3": ("model.name=complex", "loss.candidates=0", *N3),
    "ComplEx, 64 negatives": ("model.name=complex", *SAMPLED),
    "RotatE, 64 negatives": ("model.name=rotate", *SAMPLED),
    "LineaRE, 64 negatives": ("model.name=lineare", *SAMPLED),
    "LineaRE, 64 negatives, subsampling": ("model.name=lineare", "loss.subsampling=0.5", *SAMPLED),
    "LineaRE, 64 negatives, dropout": ("model.name=lineare", *SAMPLED, "model.dropout=0.05"),
    "LineaRE, 64 negatives that triples share": ("model.name=lineare", *SAMPLED, "negatives.shared=true"),
    "ILineaRE, 64 negatives": ("model.name=ilineare", *SAMPLED),
    "ITransF, 64 negatives": ("model.name=itransf", *SAMPLED),
    "TransE, all entities, cross-entropy": ("model.name=transe", "loss.candidates=0", *N3),
}  # fmt: skip
"""Settings of each training beside those of the graph."""


def measure_rate(graph: Graph, config: Config, device: torch.device, fast: bool, seconds: float) -> float | None:
    """Return the triples per second of one training; None if there are no fast steps."""
    trainer, clock = make_trainer(graph, config, device), Clock(seconds / 3, seconds)
    if fast and trainer.engine is None:
        return None
    if not fast:
        trainer.engine = None
    train_until(clock.count, trainer)
    return clock.units / clock.elapsed


def measure(graph: Graph, device: torch.device, dim: int, rounds: int, seconds: float) -> dict[str, Any]:
    """Return the triples per second of fast and of plain steps of each case."""
    found: dict[str, Any] = {}
    for name, settings in CASES.items():
        config = resolve_config(graph, settings=[*COMMON, f"model.dim={dim}", *settings], device=str(device))
        rates: dict[str, list[float]] = {"plain": [], "fast": []}
        for _ in range(rounds):
            for kind, values in rates.items():
                rate = measure_rate(graph, config, device, kind == "fast", seconds)
                if rate is not None:
                    values.append(rate)
        found[name] = {
            kind: {"median": median(values), "low": min(values), "high": max(values)} if values else None
            for kind, values in rates.items()
        }
        print(name, found[name], flush=True)
    return found


def render(record: Record) -> str:
    """Return the section of a graph and a device."""
    rows = []
    for name, rates in record["cases"].items():
        plain, fast = rates["plain"], rates["fast"]
        ratio = f"{fast['median'] / plain['median']:.1f}x" if fast else ""
        rows.append([name, format_rate(plain), format_rate(fast) if fast else "none", ratio])
    options = record["config"]
    place = "GPU" if options["device"] == "cuda" else "CPU"
    title = f"## Fast steps beside plain ones: {options['dataset']}, {place}\n"
    note = (
        f"Training triples per second: d {options['dim']}, batches of 1,000, medians of {options['rounds']} rounds "
        "with the lowest and highest in brackets; fast and plain steps in turn. TransE has the l2 norm: its distances "
        "to all entities are matrix products.\n"
    )
    table = make_table(["training", "plain (triples/s)", "fast (triples/s)", "ratio"], rows)
    return "\n".join([title, *describe_setting(record), "", note, table])


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="codex-s")
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="measured time of each training")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device, graph = choose_device(options.device), itransf.load(options.dataset, progress=False)
    record: dict[str, Any] = start_record("steps", 0, vars(options), ["torch", "numpy", "numba", "triton"])
    record["cases"] = measure(graph, device, options.dim, options.rounds, options.seconds)
    suffix = "-cuda" if device.type == "cuda" else ""
    write_record(record, RESULTS / f"benchmark-steps-{options.dataset}{suffix}.json")


if __name__ == "__main__":
    main()
