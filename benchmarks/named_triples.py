"""Whether explanations name the training triples that an answer rests on: training again without them.

A model is trained, and held-out triples are drawn whose tail it puts among the first ten. For each, the triples that
`itransf explain` shows as backing it are taken out of the training triples and the model is trained again with the same
seed; the same with as many random triples about the same two entities; and with nothing taken out, the triples in
another order, as often as `--controls` says. Predictions whose triples do not touch one another share a training, up to
`--at-once` of them.

    python -m benchmarks.named_triples --dataset world --jobs 16 --threads 1

Every training is stored as it ends; called again, the command goes on with what is missing.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch

import itransf
from benchmarks.records import RESULTS, start_record
from itransf.data.graph import Graph, Triples
from itransf.experiments.bench.records import write_record
from itransf.experiments.named_triples import REMOVING, measure_explanations, plan_trials, train_without
from itransf.run import resolve_config

HOW = ("jobs", "threads", "results", "anew")  # options that do not change what is measured
NOTHING = "nothing"


def plan(graph: Graph, config: Mapping[str, Any], count: int, at_once: int, seed: int) -> dict[str, Any]:
    """Train a model with all triples and return what is to be taken out for which of its predictions."""
    run = itransf.train(graph, config=config, device="cpu", progress=False)
    groups = plan_trials(run, count, at_once, seed)
    predictions = [
        {
            "group": number,
            "triple": write_triples(graph, trial.triple[None])[0],
            "before": trial.before,
            **{condition: write_triples(graph, getattr(trial, condition)) for condition in REMOVING},
        }
        for number, group in enumerate(groups)
        for trial in group
    ]
    figures = run.evaluate("test")
    return {"base": {key: figures[key] for key in ("mrr", "hits@1", "hits@10")}, "predictions": predictions}


def write_triples(graph: Graph, triples: Triples) -> list[list[str]]:
    """Return triples by name."""
    entities, relations = graph.entities, graph.relations
    return [[entities.name(h), relations.name(r), entities.name(t)] for h, r, t in triples.tolist()]


def read_triples(graph: Graph, triples: Sequence[Sequence[str]]) -> Triples:
    """Return triples by number, (n, 3)."""
    entities, relations = graph.entities, graph.relations
    rows = [(entities.index(h), relations.index(r), entities.index(t)) for h, r, t in triples]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def train_and_time(
    graph: Graph, config: Mapping[str, Any], gone: Triples, asked: Triples, order: int
) -> tuple[list[float], float]:
    """Train without some triples and return the reciprocal ranks of others, and the seconds it took."""
    started = time.perf_counter()
    return train_without(graph, config, gone, asked, order), time.perf_counter() - started


@dataclass
class Measurement:
    """A record that goes on where it stands.

    Attributes:
        options: Those of the command line.
        graph: What is learned.
        record: What is stored so far.
        path: Where.
    """

    options: argparse.Namespace
    graph: Graph
    record: dict[str, Any]
    path: Path

    def run(self) -> None:
        """Plan, then train what is not stored yet, several at once."""
        with ProcessPoolExecutor(
            self.options.jobs,
            multiprocessing.get_context("spawn"),
            initializer=torch.set_num_threads,
            initargs=(self.options.threads,),
        ) as pool:
            try:
                self._run_in(pool)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _run_in(self, pool: ProcessPoolExecutor) -> None:
        planned = None
        if not self.record["predictions"]:
            sizes = (self.options.predictions, self.options.at_once, self.options.seed)
            planned = pool.submit(plan, self.graph, self.record["settings"], *sizes)
        # Trained with nothing taken out, a model answers for all predictions, whichever they will be.
        tasks = self._submit(pool, [(NOTHING, number) for number in range(self.options.controls)])
        if planned is not None:
            self.record |= planned.result()
            write_record(self.record, self.path)
        groups = sorted({prediction["group"] for prediction in self.record["predictions"]})
        print(f"{len(self.record['predictions'])} predictions in {len(groups)} groups", flush=True)
        tasks |= self._submit(pool, [(condition, number) for number in groups for condition in REMOVING])
        for future in as_completed(tasks):
            self._store(*tasks[future], *future.result())

    def _submit(
        self, pool: ProcessPoolExecutor, wanted: Sequence[tuple[str, int]]
    ) -> dict[Future[tuple[list[float], float]], tuple[str, int]]:
        """Begin the trainings that are not stored yet."""
        stored = {(training["condition"], training["number"]) for training in self.record["trainings"]}
        tasks = {}
        for condition, number in wanted:
            if (condition, number) in stored:
                continue
            gone, asked, order = self.graph.train[:0], self.graph.test, number + 1
            if condition != NOTHING:
                group = self._list_members(number)
                gone = read_triples(self.graph, [triple for one in group for triple in one[condition]])
                asked, order = read_triples(self.graph, [one["triple"] for one in group]), 0
            task = pool.submit(train_and_time, self.graph, self.record["settings"], gone, asked, order)
            tasks[task] = condition, number
        return tasks

    def _list_members(self, group: int) -> list[dict[str, Any]]:
        return [prediction for prediction in self.record["predictions"] if prediction["group"] == group]

    def _store(self, condition: str, number: int, found: list[float], seconds: float) -> None:
        if condition == NOTHING:
            place_of = {tuple(triple): place for place, triple in enumerate(self.graph.test.tolist())}
            triples = read_triples(self.graph, [one["triple"] for one in self.record["predictions"]])
            found = [found[place_of[tuple(triple)]] for triple in triples.tolist()]
        line = {"condition": condition, "number": number, "seconds": seconds, "reciprocal ranks": found}
        self.record["trainings"].append(line)
        lines = gather(self.record)
        if lines:
            self.record["finding"] = measure_explanations(lines).to_dict()
            print(f"{len(lines)} predictions: {self.record['finding']}", flush=True)
        self.record["complete"] = len(lines) == len(self.record["predictions"]) and self._count_controls() == 0
        write_record(self.record, self.path)

    def _count_controls(self) -> int:
        """Return how many controls are missing."""
        wanted: int = self.options.controls
        return wanted - sum(1 for training in self.record["trainings"] if training["condition"] == NOTHING)


def gather(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a line for each prediction whose trainings are all stored: its reciprocal ranks, by condition."""
    found: dict[tuple[str, int], list[float]] = {
        (training["condition"], training["number"]): training["reciprocal ranks"] for training in record["trainings"]
    }
    controls = [ranks for (condition, _), ranks in found.items() if condition == NOTHING]
    lines, seen = [], dict.fromkeys((one["group"] for one in record["predictions"]), 0)
    for place, prediction in enumerate(record["predictions"]):
        group = prediction["group"]
        within, seen[group] = seen[group], seen[group] + 1
        if controls and all((condition, group) in found for condition in REMOVING):
            after = {condition: found[condition, group][within] for condition in REMOVING}
            after[NOTHING] = mean(ranks[place] for ranks in controls)
            lines.append({"group": group, "before": prediction["before"], **after})
    return lines


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--predictions", type=int, default=100, help="how many")
    parser.add_argument("--at-once", type=int, default=7, help="predictions that share a training, at most")
    parser.add_argument("--controls", type=int, default=4, help="trainings with nothing taken out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--settings", nargs="+", default=[], help="key=value over the defaults")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once, a process for each")
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where figures are stored")
    parser.add_argument("--anew", action="store_true", help="measure again what is stored")
    return parser.parse_args(arguments)


def open_record(options: argparse.Namespace, graph: Graph, path: Path) -> dict[str, Any]:
    """Return what is stored of this measurement, or a record without figures."""
    told = {key: value for key, value in vars(options).items() if key not in HOW and value != []}
    stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() and not options.anew else {}
    if stored.get("config") == told:
        return dict(stored)
    settings = resolve_config(graph, settings=[*options.settings, f"seed={options.seed}"], device="cpu").to_dict()
    record = start_record("named_triples", options.seed, told, ["torch", "numpy"])
    return {**record, "settings": settings, "predictions": [], "trainings": []}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    options = parse_options(arguments)
    graph = itransf.load(options.dataset, progress=False)
    path = options.results / "interpretation-named-triples.json"
    Measurement(options, graph, open_record(options, graph, path), path).run()


if __name__ == "__main__":
    main()
