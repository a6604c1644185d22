"""Time of `itransf missing` on a whole graph.

python -m benchmarks.missing --dataset fb15k-237 --run runs/fb15k-237
"""

from __future__ import annotations

import argparse
import time

import torch

import itransf
from benchmarks.records import RESULTS, Record, start_record, write_record


def render(record: Record) -> str:
    """Return the section of docs/answers.md."""
    hardware, commit, run = record["hardware"], str(record["git"]["commit"])[:9], record["run"]
    return (
        f"### The {record['config']['top']:,} most probable new triples of {record['config']['dataset']}\n\n"
        f"`{record['command']}`, {record['date'][:10]}, commit {commit}, {record['threads']} threads, "
        f"{hardware['cpu']}: {record['seconds']:.0f} s ({run['entities']:,} entities, {run['relations']:,} relations, "
        f"{run['model']} of dimension {run['dim']}; load {hardware['load_before']:.1f} before the start).\n"
    )


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="world", help="named in the record")
    parser.add_argument("--run", required=True, help="trained run of the dataset")
    parser.add_argument("--top", type=int, default=1000)
    options = parser.parse_args()
    # The record names no folder of this machine.
    record = start_record("missing", 0, {**vars(options), "run": "RUN"}, ["torch", "numpy"])
    run = itransf.open(options.run, device="cpu")
    graph, config = run.graph, run.config
    started = time.perf_counter()
    found = run.missing(top=options.top, progress=False)
    record["seconds"] = time.perf_counter() - started
    record["threads"] = torch.get_num_threads()
    record["run"] = {"model": config.name, "dim": config.model.dim, "settings": config.to_dict()}
    record["run"] |= {"entities": len(graph.entities), "relations": len(graph.relations)}
    record["found"] = [each.to_dict() for each in found[:10]]
    write_record(record, RESULTS / f"benchmark-missing-{options.dataset}.json")
    print(f"{record['seconds']:.1f} s", *record["found"], sep="\n")


if __name__ == "__main__":
    main()
