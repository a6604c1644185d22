"""Time and memory of each step on a large graph: a million entities and five million triples on two cores.

    python -m benchmarks.large                                          # results/benchmark-large.json
    python -m benchmarks.large --entities 100000 --triples 500000 --results build   # smaller, to try it out

The graph is drawn: relations join two of twenty kinds of entities, and a few entities and relations have most of the
triples. It is written to a file and read as any other. Every step runs in a process of its own, with the run that
training wrote; what it reads first is not timed, and its memory is the peak of the whole process after that. Training
has the default settings but for the number of epochs. With --share an epoch ends early and fewer test triples are
ranked; the time of the whole is extrapolated.

Every step is stored at once; called again, the command continues with what is missing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import torch

import itransf
from benchmarks.markdown import describe_setting, format_bytes, format_verdict, make_table
from benchmarks.records import RESULTS, ROOT, Record, StoredMeasurement, resume_record, write_record
from benchmarks.speed import read_peak, reset_peak
from itransf.data.splits import keep_distinct
from itransf.evaluation import sample_triples
from itransf.fitting import choose_weight, describe_plan
from itransf.memory import estimate_memory
from itransf.run import resolve_config
from itransf.training import Trainer

UNSTORED = ("folder", "results", "minutes", "fresh", "step")  # options that do not change results
KINDS = 20  # of entities
SKEW = 3.0  # half of the ends of triples are at an eighth of the entities
MOST_BYTES = 8e9
MOST_DIFFERENCE = 0.3  # of the memory that is announced, relative to the peak
CPU = torch.device("cpu")
Integers = npt.NDArray[np.int64]
Measured = dict[str, Any]


def draw_triples(entities: int, relations: int, triples: int, seed: int) -> Integers:
    """Return distinct triples, (n, 3); every entity is a head of at least one, if there are as many."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(10, relations + 10)

    def draw_ends(kinds: Integers) -> Integers:
        counts = (entities - 1 - kinds) // KINDS + 1
        return kinds + KINDS * (counts * rng.random(len(kinds)) ** SKEW).astype(np.int64)

    heads = np.arange(entities)
    chosen = heads % KINDS + KINDS * rng.integers(relations // KINDS, size=entities)
    found = np.stack([heads, chosen, draw_ends((7 * chosen + 3) % KINDS)], axis=1)
    while len(found) < triples:
        chosen = rng.choice(relations, size=max(triples - len(found), 1000), p=shares / shares.sum())
        drawn = np.stack([draw_ends(chosen % KINDS), chosen, draw_ends((7 * chosen + 3) % KINDS)], axis=1)
        found = keep_distinct(np.concatenate([found, drawn]))
    return found[:triples][rng.permutation(triples)]


def write_graph(path: Path, options: argparse.Namespace) -> None:
    """Draw a graph and write it to a file of three columns."""
    drawn = draw_triples(options.entities, options.relations, options.triples, options.seed)
    columns = [
        pc.binary_join_element_wise(prefix, pa.array(column).cast(pa.string()), "")
        for prefix, column in zip(("entity ", "relation ", "entity "), drawn.T, strict=True)
    ]
    style = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    pyarrow.csv.write_csv(pa.table(columns, names=["head", "relation", "tail"]), path, style)


class Step:
    """One step, in a process of its own.

    Args:
        options: The command line.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.file, self.run = options, options.folder / "triples.tsv", options.folder / "run"
        self.settings = [*options.settings, "warm_start.epochs=1", "training.epochs=1"]
        shuffle = Trainer._shuffle
        count = round(options.share * options.triples)
        Trainer._shuffle = lambda trainer: shuffle(trainer)[:count]  # type: ignore[method-assign]

    def measure(self, name: str) -> Measured:
        """Return seconds, peak memory and findings of a step."""
        step: Callable[[], Callable[[], Measured | None]] = getattr(self, f"start_{name}")
        timed = step()
        reset_peak(CPU)
        started = time.perf_counter()
        found = timed()
        seconds = time.perf_counter() - started
        return {"seconds": seconds, "peak_bytes": read_peak(CPU), **(found or {})}

    def _load(self) -> itransf.Graph:
        return itransf.load(self.file, progress=False)

    def start_read(self) -> Callable[[], Measured]:
        """Read the file."""

        def read() -> Measured:
            graph = self._load()
            sizes = {"entities": len(graph.entities), "relations": len(graph.relations)}
            return {"sizes": sizes | {split: len(graph.split(split)) for split in ("train", "valid", "test")}}

        return read

    def start_settings(self) -> Callable[[], Measured]:
        """Choose the default settings, and announce the memory of a training."""
        graph = self._load()

        def resolve() -> Measured:
            config = resolve_config(graph, settings=self.options.settings, device="cpu")
            return {"config": config.to_dict(), "plan": describe_plan(graph, config, CPU)}

        return resolve

    def start_weight(self) -> Callable[[], Measured]:
        """Choose the weight of the regularizer, which training begins with."""
        graph = self._load()
        config = resolve_config(graph, settings=self.options.settings, device="cpu")
        return lambda: {"weight": choose_weight(graph, config, CPU).regularizer.weight}

    def start_train(self) -> Callable[[], Measured]:
        """Train for few epochs with a given weight of the regularizer, with validation and calibration."""
        graph, settings = self._load(), [*self.settings, "regularizer.weight=0.015"]
        announced = estimate_memory(graph, resolve_config(graph, settings=settings, device="cpu"), CPU)

        def train() -> Measured:
            run = itransf.train(graph, settings=settings, out=self.run, overwrite=True, device="cpu", progress=False)
            epochs = {line["phase"]: line["seconds"] for line in run.history}
            return {"epochs": epochs, "announced_bytes": announced}

        return train

    def start_open(self) -> Callable[[], None]:
        """Open the run."""
        return lambda: itransf.open(self.run, "cpu") and None

    def start_typing(self) -> Callable[[], Measured]:
        """Find the entities that fit each side of each relation."""
        graph = itransf.open(self.run, "cpu").graph
        relations = range(len(graph.relations))

        def find() -> Measured:
            counts = [len(graph.typing.candidates(each, side)) for each in relations for side in ("head", "tail")]
            return {"candidates": float(np.mean(counts))}

        return find

    def start_calibrate(self) -> Callable[[], Measured]:
        """Fit probabilities and measure the skill of each relation."""
        run = itransf.open(self.run, "cpu")
        return lambda: {"is_calibrated": run.calibrate().calibration is not None}

    def start_evaluate(self) -> Callable[[], Measured]:
        """Rank test triples, or a share of those that are ranked by default."""
        run = itransf.open(self.run, "cpu")
        whole = len(sample_triples(run.graph.test, len(run.graph.entities)))
        count = max(round(self.options.share * whole), 1)
        return lambda: {"queries": run.evaluate(triples=count)["queries"], "triples": count, "whole": whole}

    def start_predict(self) -> Callable[[], Measured]:
        """Answer a question."""
        run = itransf.open(self.run, "cpu")
        head, relation, _ = run.graph.test[0].tolist()
        asked = {"head": run.graph.entities.name(head), "relation": run.graph.relations.name(relation)}
        return lambda: {"answers": len(run.predict(**asked))}

    def start_score(self) -> Callable[[], Measured]:
        """Score a thousand triples, with probabilities and ranks."""
        run = itransf.open(self.run, "cpu")
        entities, relations = run.graph.entities.names, run.graph.relations.names
        given = [(entities[h], relations[r], entities[t]) for h, r, t in run.graph.test[:1000].tolist()]
        return lambda: {"triples": len(run.score(given))}


STEPS = {
    "read": "reading the file, splitting it",
    "settings": "default settings",
    "weight": "choosing `regularizer.weight`",
    "train": "training",
    "open": "opening the run",
    "typing": "entities that fit each side",
    "calibrate": "calibration and skill, as after training",
    "evaluate": "evaluation",
    "predict": "`predict`, one query",
    "score": "`score`, a thousand triples",
}


class Measurement(StoredMeasurement):
    """All steps, one after the other."""

    def run(self) -> None:
        """Measure what is not stored yet."""
        options = self.options
        options.folder.mkdir(parents=True, exist_ok=True)
        for name in STEPS:
            if self.is_time_up:
                print("The time is up; call again to continue.")
                return
            if name in self.record["steps"]:
                continue
            if not (options.folder / "triples.tsv").exists():
                write_graph(options.folder / "triples.tsv", options)
            self.record["steps"][name] = run_apart(options, name)
            print(name, self.record["steps"][name], flush=True)
            write_record(self.record, self.path)


def run_apart(options: argparse.Namespace, step: str) -> Measured:
    """Return what a step measures in a process of its own."""
    given = {key: value for key, value in vars(options).items() if key not in ("step", "fresh")}
    words = [word for key, value in given.items() for word in _write_option(key, value)]
    command = [sys.executable, "-m", "benchmarks.large", *words, "--step", step]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _write_option(key: str, value: object) -> list[str]:
    return [f"--{key}", *map(str, value if isinstance(value, list) else [value])]


def render(record: Record) -> str:
    """Return the section of docs/performance.md."""
    steps = record["steps"]
    lines = ["## A large graph\n", *describe_setting(record), ""]
    if set(steps) != set(STEPS):
        return "\n".join([*lines, "The measurement is not complete.\n"])
    sizes, config, epochs = steps["read"]["sizes"], steps["settings"]["config"], steps["train"]["epochs"]
    triples = sum(sizes[split] for split in ("train", "valid", "test"))
    announced, peak = steps["train"]["announced_bytes"], steps["train"]["peak_bytes"]
    most = max(step["peak_bytes"] for step in steps.values())
    share, ranked = record["config"]["share"], steps["evaluate"]
    lines.append(
        f"{sizes['entities']:,} entities, {sizes['relations']:,} relations and {triples:,} triples, {sizes['train']:,} "
        f"of them in train, drawn with few frequent entities and relations. Default settings: dimension "
        f"{config['model']['dim']}, {config['loss']['candidates']:,} candidates, {config['warm_start']['epochs']} and "
        f"{config['training']['epochs']} epochs. Training was measured with an epoch of each model, a validation, a "
        f"checkpoint and calibration; an epoch took {share:.0%} of the triples, and "
        f"evaluation ranked {ranked['triples']:,} of the {ranked['whole']:,} test triples that it ranks by default. "
        "Each step ran in a process of its own; memory is the peak of the process, with the graph and the model.\n"
    )
    rows = []
    for name, title in STEPS.items():
        rows.append([title, f"{steps[name]['seconds']:,.1f} s", format_bytes(steps[name]["peak_bytes"])])
        if name == "train":
            rows += [
                [f"a whole epoch of {model}", f"{seconds / share:,.0f} s", ""]
                for model, seconds in zip(("ComplEx", "IComplEx"), epochs.values(), strict=True)
            ]
        if name == "evaluate" and share < 1:
            seconds = ranked["seconds"] * ranked["whole"] / ranked["triples"]
            rows.append(["a whole evaluation", f"{seconds:,.0f} s", ""])
    met = format_verdict(most <= MOST_BYTES)
    right = format_verdict(abs(announced / peak - 1) <= MOST_DIFFERENCE)
    lines += [
        make_table(["step", "time", "peak memory"], rows),
        f"No step above {format_bytes(MOST_BYTES)}: {met}. Estimated before the training: {format_bytes(announced)}, "
        f"within {MOST_DIFFERENCE:.0%} of its peak: {right}.\n",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, writing the record after every step; or measure one step and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=10**6)
    parser.add_argument("--relations", type=int, default=200)
    parser.add_argument("--triples", type=int, default=5 * 10**6)
    parser.add_argument("--share", type=float, default=1.0, help="of the triples that an epoch takes")
    parser.add_argument("--settings", nargs="*", default=[], help="such as model.dim=4")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/large", help="for the graph and the run")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--minutes", type=float, default=0.0, help="time after which no step is started; 0: no limit")
    parser.add_argument("--fresh", action="store_true", help="ignore the stored record")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.step:
        print(json.dumps(Step(options).measure(options.step)))
        return
    config = {key: value for key, value in vars(options).items() if key not in UNSTORED}
    path = options.results / "benchmark-large.json"
    Measurement(options, resume_record(path, "large", options, config, steps={}), path).run()


if __name__ == "__main__":
    main()
