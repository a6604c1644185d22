"""How the default settings do: train models on a dataset with several seeds, rank test, store and describe it.

python -m benchmarks.defaults --dataset world --models transe stranse itransf --seeds 0 1 2 3 4
python -m benchmarks.defaults --render          # docs/defaults.md from what is stored
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from statistics import mean, stdev
from typing import Any

import itransf
from benchmarks.records import RESULTS, ROOT, read_records, start_record
from itransf.experiments.bench.records import write_record
from itransf.files import write_text

METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10", "rare hits@10")
OPENING = """# How the defaults do

Written by `python -m benchmarks.defaults --render` from the records in `results/`; change those by measuring, not this
page. Filtered test ranks, mean over seeds (+- standard deviation); "rare" is Hits@10 on the rarest third of relations,
each relation counting the same. Defaults means `itransf.train(graph)` with `model.name` set and nothing else.

How to read it: for small graphs the settings of each model were chosen by validation MRR on world, in stored trials
(`results/tuning-world-*.json`, `python -m benchmarks.tuning`): 28 for each model, and for ITransF, whose choices are
many more, as many again when the start of its concepts changed and a dozen near the best of those. For large graphs
the concepts and the rate of ITransF were chosen by validation on CoDEx-S (`results/tuning-codex-s.json`). Before that,
about a dozen trials on world and dozens on CoDEx-S were not stored and showed test figures beside validation figures,
so the CoDEx-S figure is a little optimistic. A row with one seed has no spread.
"""


def measure(dataset: str, model: str, seed: int) -> dict[str, Any]:
    """Train one model with the defaults and return its test figures."""
    graph = itransf.load(dataset)
    started = time.perf_counter()
    run = itransf.train(graph, settings=[f"model.name={model}"], seed=seed, device="cpu", progress=False)
    seconds = time.perf_counter() - started
    evaluation = run.evaluate()
    figures = {name: evaluation[name] for name in METRICS[:-1]}
    rare = evaluation.buckets[-1]["hits@10"]
    return {"model": model, "seed": seed, "seconds": seconds, **figures, METRICS[-1]: rare}


def render(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page."""
    parts = [OPENING]
    for name, record in records.items():
        if name.startswith("defaults-"):
            parts.append(_describe(record))
    return "\n".join(parts)


def _describe(record: Mapping[str, Any]) -> str:
    runs = record["runs"]
    models = list(dict.fromkeys(run["model"] for run in runs))
    lines = [
        f"\n## {record['config']['dataset']}\n",
        f"`{record['command']}`, {record['date'][:10]}, commit {str(record['git']['commit'])[:9]}, "
        f"{record['hardware']['cores']} cores {record['hardware']['cpu']}.\n",
        "| model | seeds | MR | MRR | Hits@1 | Hits@3 | Hits@10 | rare Hits@10 | training, s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for model in models:
        chosen = [run for run in runs if run["model"] == model]
        cells = [_spread([run[name] for run in chosen], name) for name in METRICS]
        lines.append(
            f"| {model} | {len(chosen)} | {' | '.join(cells)} | {mean(run['seconds'] for run in chosen):.0f} |"
        )
    return "\n".join(lines) + "\n"


def _spread(values: Sequence[float], name: str) -> str:
    factor, digits = (100, 1) if "hits" in name else (1, 1 if name == "mr" else 4)
    scaled = [factor * value for value in values]
    spread = f" +- {stdev(scaled):.{digits}f}" if len(scaled) > 1 else ""
    return f"{mean(scaled):.{digits}f}{spread}"


def main() -> None:
    """Measure, or render what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--models", nargs="+", default=["transe", "stranse", "itransf"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once, in processes of their own")
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    if not options.render:
        config = {key: getattr(options, key) for key in ("dataset", "models", "seeds", "jobs")}
        record = start_record("defaults", options.seeds[0], config, ["torch", "numpy"])
        record["settings"] = {
            model: itransf.run.resolve_config(
                itransf.load(options.dataset), settings=[f"model.name={model}"], device="cpu"
            ).to_dict()
            for model in options.models
        }
        asked = [(options.dataset, model, seed) for seed, model in itertools.product(options.seeds, options.models)]
        with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
            record["runs"] = list(pool.map(measure, *zip(*asked, strict=True)))
        write_record(record, RESULTS / f"benchmark-defaults-{options.dataset}.json")
    write_text(ROOT / "docs" / "defaults.md", render(read_records()))


if __name__ == "__main__":
    main()
