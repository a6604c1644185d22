"""How the default settings do: train models on a dataset with several seeds, rank test, store and describe it.

python -m benchmarks.defaults --dataset world --models transe stranse itransf --seeds 0 1 2 3 4
python -m benchmarks.defaults --render          # docs/defaults.md from what is stored
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
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

How to read it: for small graphs the settings of each model were chosen by validation MRR on world, in the same number
of stored trials for each (`results/tuning-world-*.json`, `python -m benchmarks.tuning`), so the comparison on world is
between models tuned alike. An earlier round of about a dozen trials on world, and the dozens on CoDEx-S behind the
settings for large graphs, were not stored and showed test figures beside validation figures; there only ITransF was
tuned, so the CoDEx-S figure is optimistic. A row with one seed has no spread.
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
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    if not options.render:
        config = {"dataset": options.dataset, "models": options.models, "seeds": options.seeds}
        record = start_record("defaults", options.seeds[0], config, ["torch", "numpy"])
        record["settings"] = {
            model: itransf.run.resolve_config(
                itransf.load(options.dataset), settings=[f"model.name={model}"], device="cpu"
            ).to_dict()
            for model in options.models
        }
        record["runs"] = [measure(options.dataset, m, s) for s in options.seeds for m in options.models]
        write_record(record, RESULTS / f"benchmark-defaults-{options.dataset}.json")
    write_text(ROOT / "docs" / "defaults.md", render(read_records()))


if __name__ == "__main__":
    main()
