"""Probabilities and classification with the default settings on a dataset.

python -m benchmarks.calibration --dataset world
python -m benchmarks.calibration --dataset codex-s --negatives valid_negatives.txt test_negatives.txt
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import itransf
from benchmarks.markdown import make_table
from benchmarks.records import RESULTS, Record, start_record, write_record
from itransf.prediction import judge, read_triples


def measure_classification(run: itransf.Run, valid: str, test: str) -> dict[str, dict[str, float]]:
    """Classify test triples and given false ones, by thresholds from given and from corrupted false triples."""
    graph = run.graph
    true = [
        (graph.entities.name(head), graph.relations.name(relation), graph.entities.name(tail))
        for head, relation, tail in graph.test.tolist()
    ]
    false = list(read_triples(test).names)
    labels = [True] * len(true) + [False] * len(false)
    given = read_triples(valid).names
    return {
        name: judge(run.classify([*true, *false], labels, negatives))
        for name, negatives in (("given negatives", given), ("corrupted negatives", None))
    }


def render(record: Record) -> str:
    """Return the section of docs/answers.md."""
    rows = [
        [each["relations"], *(f"{each[key]:,.0f}" for key in ("expected", "low", "high", "observed"))]
        for each in record["test"]["hits"]
    ]
    commit, dirty = str(record["git"]["commit"])[:9], ", with changes" if record["git"]["dirty"] else ""
    brier, steps = record["test"]["brier"], ""
    if "isotonic" in record:  # step functions instead of logistic ones, in older records
        steps = f"with isotonic regression instead {record['isotonic']['brier']['probability']:.3f}; "
    lines = [
        f"### {record['config']['dataset']}",
        f"`{record['command']}`, {record['date'][:10]}, commit {commit}{dirty}.",
        make_table(["relations", "expected hits", "least", "most", "observed"], rows),
        f"Brier score {brier['probability']:.3f}; {steps}the share of true candidates as a constant "
        f"{brier['constant']:.3f}, the sigmoid of scores {brier['uncalibrated']:.3f}.",
    ]
    judged = record.get("classification", {})
    cells = [
        [name, *(f"{100 * each[key]:.1f}" for key in ("accuracy", "f1")), f"{each['brier']:.3f}"]
        for name, each in judged.items()
    ]
    if cells:
        lines.append(make_table(["classify, thresholds from", "accuracy", "F1", "Brier score"], cells))
    return "\n\n".join(line.rstrip() for line in lines) + "\n"


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", default="", help="trained run of the dataset; by default one is trained")
    parser.add_argument("--negatives", nargs="*", default=[], help="files of false triples of valid and of test")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    # The record names files, not folders, of this machine.
    config = {**vars(options), "run": "", "negatives": [Path(path).name for path in options.negatives]}
    record: dict[str, Any] = start_record("calibration", options.seed, config, ["torch", "numpy"])
    if options.run:
        run = itransf.open(options.run, device=options.device)
    else:
        run = itransf.train(options.dataset, seed=options.seed, device=options.device, progress=False)
    started = time.perf_counter()
    run.calibrate()
    record["seconds"] = time.perf_counter() - started
    record["settings"] = run.config.to_dict()
    record["run"] = {
        **{key: run.info()[key] for key in ("id", "created", "version", "seed")},
        "opened": bool(options.run),
    }
    record["test"] = run.assess_calibration()
    if options.negatives:
        record["classification"] = measure_classification(run, *options.negatives)
    mark = "" if options.device == "cpu" else f"-{options.device}"
    write_record(record, RESULTS / f"benchmark-calibration-{options.dataset}{mark}.json")
    print(record["test"]["brier"], record["test"]["log_loss"], *record["test"]["hits"], sep="\n")
    print(record.get("classification"))


if __name__ == "__main__":
    main()
