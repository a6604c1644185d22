"""Faithfulness of explanations: retraining without the training triples that they name.

A model is trained, and held-out triples are drawn whose tail it ranks among the first ten. For each, the triples that
`itransf explain` shows as supporting it are removed from train and the model is trained again with the same seed; the
same with as many random triples about the same two entities; and, as a control, with nothing removed and the triples in
another order, since trained embeddings change a little with the order of batches. Predictions that do not affect one
another share a training, up to `--at-once` of them.

    python -m benchmarks.named_triples --dataset world --jobs 16 --threads 1

Every training is stored when it ends; called again, the command continues with what is missing.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import itransf
from benchmarks.records import RESULTS, resume_record, write_record
from itransf.data.graph import Graph, Triples
from itransf.evaluation import rank_triples
from itransf.interpret.evidence import find_supporting
from itransf.interpret.measures.structure import DRAWS, Finding, draw_weights, find_interval, find_p_value
from itransf.run import Run, resolve_config

MEASURE, STATISTIC = "faithful explanations", "loss without named / random triples"
REMOVING, NOTHING = ("named", "random"), "nothing"
"""Conditions: which triples are removed."""
NAMED = 3
"""Maximum number of triples named, and removed: as many as an explanation shows."""
FOUND = 10
"""A prediction is correct if the tail is ranked among the first ten."""
LEAST_LOSS = 1e-3  # smaller mean losses are replaced by this one in the denominator
UNSTORED = ("jobs", "threads", "results", "fresh")  # options that do not change results


@dataclass(frozen=True, eq=False)
class Trial:
    """A prediction and the triples that are removed for it.

    Attributes:
        triple: Head, relation and tail, (3,).
        named: The training triples that its explanation names, (n, 3).
        random: As many others about its head or tail, (n, 3).
        before: The reciprocal rank of its tail.
    """

    triple: Triples
    named: Triples
    random: Triples
    before: float

    @property
    def ends(self) -> set[int]:
        """Head and tail of the prediction."""
        return set(self.triple[[0, 2]].tolist())

    @property
    def touched(self) -> set[int]:
        """The entities that lose triples, and those of the prediction."""
        triples = np.concatenate((self.triple[None], self.named, self.random))
        return set(triples[:, [0, 2]].reshape(-1).tolist())


def plan_trials(run: Run, count: int, at_once: int = 1, seed: int = 0) -> list[list[Trial]]:
    """Choose correct test predictions and the triples to remove, in groups that share a training.

    Args:
        run: The trained model.
        count: Maximum number of predictions.
        at_once: Maximum number of predictions in a group; triples removed for one are not about another.
        seed: Random seed of the predictions and of the random triples.
    """
    rng = np.random.default_rng(seed)
    triples = run.graph.test
    ranks = rank_triples(run.model, triples, run.graph.known).ranks("tail")
    groups: list[list[Trial]] = []
    for row in rng.permutation(np.flatnonzero(ranks <= FOUND)).tolist():
        if sum(map(len, groups)) == count:
            break
        trial = plan_trial(run, triples[row], 1.0 / ranks[row], rng)
        if trial is None:
            continue
        group = next((group for group in groups if len(group) < at_once and not meets(group, trial)), None)
        if group is None:
            groups.append(group := [])
        group.append(trial)
    return groups


def meets(group: Sequence[Trial], trial: Trial) -> bool:
    """Return whether a trial and one of a group affect each other's entities."""
    return any(trial.ends & other.touched or other.ends & trial.touched for other in group)


def plan_trial(run: Run, triple: Triples, before: float, rng: np.random.Generator) -> Trial | None:
    """Return the triples to remove for one prediction; None if no triple is named or there are too few others."""
    head, relation, tail = triple.tolist()
    found = find_supporting(run.model, run.graph, (head, relation, tail), NAMED)
    named = read_triples(run.graph, [(each.head, each.relation, each.tail) for each in found])
    touching = run.graph.train[np.isin(run.graph.train[:, [0, 2]], (head, tail)).any(axis=1)]
    others = drop_triples(touching, named)
    if not len(named) or len(others) < len(named):
        return None
    return Trial(triple, named, others[rng.permutation(len(others))[: len(named)]], before)


def drop_triples(triples: Triples, gone: Triples) -> Triples:
    """Return triples (n, 3) without some of them."""
    if not len(gone):
        return triples
    kept = (triples[:, None] != gone[None]).any(axis=2).all(axis=1)
    return np.asarray(triples[kept])


def train_without(
    graph: Graph, config: Mapping[str, Any], gone: Triples, asked: Triples, order: int = 0
) -> tuple[list[float], float]:
    """Train without some triples; return the reciprocal ranks of the tails of predictions, and the seconds.

    Args:
        graph: The whole graph.
        config: All settings.
        gone: Training triples to remove, (n, 3).
        asked: The predictions, (n, 3).
        order: Random seed of the order of the training triples; zero keeps their order.
    """
    started, left = time.perf_counter(), drop_triples(graph.train, gone)
    if order:
        left = left[np.random.default_rng(order).permutation(len(left))]
    again = itransf.train(replace(graph, train=left), config=config, device="cpu", progress=False)
    ranks = rank_triples(again.model, asked, graph.known).ranks("tail")
    return [float(1.0 / rank) for rank in ranks], time.perf_counter() - started


def measure_explanations(lines: Sequence[Mapping[str, Any]], draws: int = DRAWS) -> Finding:
    """Return how much more a prediction loses without the named triples than without random ones.

    loss(c) = mean over predictions of (1 / rank with nothing removed - 1 / rank without the triples of condition c),
    tails, filtered; the ratio is loss(named) / max(loss(random), LEAST_LOSS). Predictions that share a training are not
    independent: the interval is over such groups, and the null swaps named and random triples, group by group.

    Args:
        lines: One per prediction: its `group`, and its reciprocal rank `before` and after retraining with `nothing`,
            `named` or `random` triples removed.
        draws: Resamplings and permutations.
    """
    losses = np.array([[line["nothing"] - line[condition] for condition in REMOVING] for line in lines])
    numbers, group_of = np.unique([line["group"] for line in lines], return_inverse=True)
    members = (group_of[None] == np.arange(len(numbers))[:, None]).astype(np.float64)  # (g, n)
    sizes, sums = members.sum(axis=1), members @ losses  # (g,), (g, 2)
    rng = np.random.default_rng(0)

    def divide(means: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray(means[:, 0] / np.maximum(means[:, 1], LEAST_LOSS))

    value = float(divide(losses.mean(axis=0)[None])[0])
    drawn = draw_weights(len(numbers), draws, rng)  # (draws, g)
    low, high = find_interval(divide((drawn @ sums) / (drawn @ sizes)[:, None]))
    swapped = rng.integers(0, 2, (draws, len(numbers), 1)).astype(np.bool_)
    null = divide(np.where(swapped, sums[:, ::-1], sums).sum(axis=1) / len(lines))
    named, random = losses.mean(axis=0)
    moved = float(np.mean([line["before"] - line["nothing"] for line in lines]))
    remark = (
        f"mean reciprocal rank lost without named triples {named:.4f}, without random ones {random:.4f}, "
        f"by retraining alone {moved:.4f}; {len(numbers)} groups; the null is a median"
    )
    chance, p = float(np.median(null)), find_p_value(value, null)
    return Finding(MEASURE, STATISTIC, value, low, high, chance, p, len(lines), "predictions", (value,), remark)


def plan(graph: Graph, config: Mapping[str, Any], count: int, at_once: int, seed: int) -> dict[str, Any]:
    """Train a model with all triples and return its accuracy, predictions and the triples to remove."""
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


def measure(options: argparse.Namespace, graph: Graph, record: dict[str, Any], path: Path) -> None:
    """Plan, then run the trainings that are not stored yet, several at once."""
    settings = record["settings"]
    if not record["predictions"]:
        record |= plan(graph, settings, options.predictions, options.at_once, options.seed)
        write_record(record, path)
    groups: dict[int, list[dict[str, Any]]] = {}
    for prediction in record["predictions"]:
        groups.setdefault(prediction["group"], []).append(prediction)
    print(f"{len(record['predictions'])} predictions in {len(groups)} groups", flush=True)
    wanted = {(NOTHING, number): record["predictions"] for number in range(options.controls)}
    wanted |= {(condition, number): group for number, group in groups.items() for condition in REMOVING}
    for training in record["trainings"]:
        del wanted[training["condition"], training["number"]]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, spawn, torch.set_num_threads, (options.threads,)) as pool:
        tasks = {}
        for (condition, number), chosen in wanted.items():
            named = [triple for one in chosen for triple in one.get(condition, ())]
            gone, asked = read_triples(graph, named), read_triples(graph, [one["triple"] for one in chosen])
            order = number + 1 if condition == NOTHING else 0
            tasks[pool.submit(train_without, graph, settings, gone, asked, order)] = condition, number
        try:
            for future in as_completed(tasks):
                condition, number = tasks[future]
                ranks, seconds = future.result()
                line = {"condition": condition, "number": number, "seconds": seconds, "reciprocal ranks": ranks}
                record["trainings"].append(line)
                record["complete"] = len(record["trainings"]) == options.controls + len(groups) * len(REMOVING)
                if lines := gather(record):
                    record["finding"] = measure_explanations(lines).to_dict()
                    print(f"{len(lines)} predictions: {record['finding']}", flush=True)
                write_record(record, path)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def gather(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the reciprocal ranks by condition of each prediction whose trainings are all stored."""
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
    parser.add_argument("--predictions", type=int, default=100, help="number of predictions")
    parser.add_argument("--at-once", type=int, default=7, help="maximum number of predictions that share a training")
    parser.add_argument("--controls", type=int, default=4, help="trainings with nothing removed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--settings", nargs="+", default=[], help="key=value over the defaults")
    parser.add_argument("--jobs", type=int, default=1, help="concurrent trainings, each in its own process")
    parser.add_argument("--threads", type=int, default=1, help="torch threads of each process")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the record")
    parser.add_argument("--fresh", action="store_true", help="ignore the stored record")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    options = parse_options(arguments)
    graph = itransf.load(options.dataset, progress=False)
    path = options.results / "interpretation-named-triples.json"
    config = {key: value for key, value in vars(options).items() if key not in UNSTORED and value != []}
    chosen = ["model.name=itransf", *options.settings, f"seed={options.seed}"]
    settings = resolve_config(graph, settings=chosen, device="cpu").to_dict()
    empty: dict[str, Any] = {"settings": settings, "predictions": [], "trainings": []}
    measure(options, graph, resume_record(path, "named_triples", options, config, **empty), path)


if __name__ == "__main__":
    main()
