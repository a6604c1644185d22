"""Trials by force, stored as results/trust.json.

python -m benchmarks.trust --seed 1
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

import itransf
from benchmarks.records import RESULTS, start_record, write_record
from benchmarks.trust import bombs, concurrency, corruption, hostility, kills
from benchmarks.trust.page import FILE
from benchmarks.trust.trials import Count, make_runs
from itransf.storage import RunFolder
from itransf.training import trainer


def measure_opening(root: Path, megabytes: int) -> dict[str, float]:
    """Return the time to open a large run, and the share of it that checksums take."""
    entities = megabytes * 10**6 // (4 * 100)
    triples = [(f"entity {number}", "r", f"entity {(number + 1) % entities}") for number in range(entities)]
    graph = itransf.Graph.from_names("large", triples, triples[:10], triples[:10])
    settings = ["model.name=transe", "model.dim=100", "training.epochs=0"]
    run = itransf.train(graph, settings=settings, device="cpu", progress=False)
    run.save(root / "large")
    size = sum(path.stat().st_size for path in (root / "large").iterdir())
    times: dict[str, list[float]] = {"open": [], "verify": []}
    for _ in range(3):
        started = time.perf_counter()
        itransf.open(root / "large", device="cpu")
        times["open"].append(time.perf_counter() - started)
        started = time.perf_counter()
        RunFolder(root / "large").verify()
        times["verify"].append(time.perf_counter() - started)
    opening, verifying = min(times["open"]), min(times["verify"])
    return {"bytes": size, "open_seconds": opening, "checksum_seconds": verifying, "share": verifying / opening}


def run_trials(options: argparse.Namespace) -> dict[str, Any]:
    """Run all trials and return their counts."""
    seed, counts, details = options.seed, dict[str, Count](), dict[str, Any]()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        runs = make_runs(root / "runs")
        counts |= corruption.corrupt(runs, options.flips, options.truncations, seed)
        report("corruption")
        counts["resumed from a damaged checkpoint"] = corruption.resume_damaged(
            runs["interrupted"], root, seed, options.resumed
        )
        counts["hostile folders"], details["hostile folders"] = hostility.attack(runs, root, options.folders, seed)
        report("hostile folders")
        counts["bombs"], details["bombs"] = bombs.explode(root)
        report("bombs")
        for way, is_kill in (("kill", True), ("full-disk", False)):
            found = kills.inject(root / way, is_kill, options.stride)
            counts |= {f"{way}: {name}": count for name, count in found.items()}
            report(way)
        counts["two trainings in one folder"] = concurrency.train_twice(root, options.rounds)
        counts["readers while a run is replaced"] = concurrency.read_while_overwritten(root, 10 * options.rounds)
        counts["two processes fill the cache"] = concurrency.fill_cache_twice(root, options.rounds)
        counts["eight threads ask one run"] = concurrency.ask_in_threads(options.rounds)
        report("concurrency")
        details["opening"] = measure_opening(root, options.megabytes)
    return {"counts": {name: count.to_dict() for name, count in counts.items()}, "details": details}


def report(part: str) -> None:
    """Say that a part is done."""
    print(f"{time.strftime('%H:%M:%S')} {part}: done", flush=True)


def main() -> None:
    """Run the trials, and write the record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--flips", type=int, default=10_000)
    parser.add_argument("--truncations", type=int, default=2_000)
    parser.add_argument("--resumed", type=int, default=50)
    parser.add_argument("--folders", type=int, default=5_000)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--out", type=Path, default=RESULTS / FILE)
    options = parser.parse_args()
    torch.set_num_threads(1)
    trainer.make_engine = lambda *_: None  # loading compiled steps takes longer than these trainings
    logging.getLogger("itransf").addHandler(logging.NullHandler())
    config = {name: value for name, value in vars(options).items() if name != "out"}
    started = time.monotonic()
    record = start_record("trust", options.seed, config, ("torch", "numpy", "pyarrow", "safetensors"))
    record |= run_trials(options)
    record["minutes"] = (time.monotonic() - started) / 60
    write_record(record, options.out)
    failed = {name: count["examples"] for name, count in record["counts"].items() if count["failures"]}
    print(json.dumps(failed, indent=2) if failed else "No failures.")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
