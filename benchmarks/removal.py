"""Explanations measured by retraining, in the protocol of Kelpie (Rossi et al., SIGMOD 2022).

Test triples (h, r, t) are drawn whose tail the model ranks first. A method explains each by at most four training
triples about h. All of them together change the training triples, and the model is trained again:

- necessary: the explanations of all predictions are removed; the tails of the predictions should lose their rank;
- sufficient: the explanations are given to ten other entities c each, h replaced by c; t should become the first answer
  to (c, r, ?).

Compared, with the same predictions and entities: what `itransf explain` shows; data poisoning (Zhang et al., 2019),
Criage (Pezeshkpour et al., 2019) and random triples about h. With nothing changed, another seed shows the noise.

    python -m benchmarks.removal --dataset world
    python -m benchmarks.removal --dataset fb15k-237 --device cuda --jobs 3

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
import torch

import itransf
from benchmarks.explainers import METHODS, Question, list_own, replace_entity
from benchmarks.markdown import describe_setting, make_table
from benchmarks.named_triples import read_triples, write_triples
from benchmarks.records import RESULTS, ROOT, Record, resume_record, write_record
from itransf.data.graph import SPLITS, Graph, Triples
from itransf.data.known import Integers, KnownIndex
from itransf.data.statistics import MANY
from itransf.evaluation import rank_triples
from itransf.run import Run

RECEIVERS, MOST_TRIPLES = 10, 200
"""Entities that are given a sufficient explanation, and the maximum number of training triples of one."""
MODES = ("necessary", "sufficient")
NOTHING = "nothing, another seed"
CORES = 2  # that explanations are timed on
PUBLISHED = "Kelpie with ComplEx and TransE, as published (Hits@1, MRR): {}."
KELPIE = {"fb15k-237": "-0.59, -0.41 and -0.54, -0.36", "wn18rr": "-0.98, -0.91 and -0.92, -0.90"}
UNSTORED = ("jobs", "runs", "results", "fresh")  # options that do not change results


def draw_receivers(run: Run, triple: tuple[int, int, int], rng: np.random.Generator) -> Integers:
    """Draw entities c for which (c, r, t) neither is known nor ranks t first.

    As in Kelpie's code they have 1 to 200 training triples and, where a head has one tail, no known tail; of those that
    are left, heads of the relation are taken if there are enough.
    """
    graph, (head, relation, tail) = run.graph, triple
    counts = np.bincount(graph.train[:, [0, 2]].reshape(-1), minlength=len(graph.entities))
    able = (counts > 0) & (counts <= MOST_TRIPLES)
    able[[head, tail]] = False
    known = np.concatenate([graph.split(split) for split in SPLITS])
    same = known[known[:, 1] == relation]
    is_single = graph.statistics.tails_per_head[relation] < MANY
    able[same[:, 0] if is_single else same[same[:, 2] == tail, 0]] = False
    usual = np.intersect1d(np.flatnonzero(able), graph.statistics.domain(relation, "head"))
    for entities in (usual, np.flatnonzero(able)):
        drawn = rng.permutation(entities)[: 5 * RECEIVERS]
        asked = np.stack([drawn, np.full_like(drawn, relation), np.full_like(drawn, tail)], axis=1)
        chosen = drawn[rank_tails(run, asked, graph.known) > 1][:RECEIVERS]
        if len(chosen) == RECEIVERS:
            break
    return np.asarray(chosen)


def rank_tails(run: Run, triples: Triples, known: KnownIndex) -> Any:
    """Return the filtered ranks of the tails of triples, (n,)."""
    return rank_triples(run.model, triples, known, sides=["tail"]).ranks("tail")


def plan(run: Run, count: int, seed: int) -> dict[str, Any]:
    """Draw predictions and entities, and explain each prediction by every method; times are of one process."""
    graph, rng = run.graph, np.random.default_rng(seed)
    rows = rng.permutation(np.flatnonzero(rank_tails(run, graph.test, graph.known) == 1))
    rows = [row for row in rows.tolist() if len(list_own(graph, graph.test[row, 0]))][:count]
    threads = torch.get_num_threads()
    torch.set_num_threads(CORES)
    predictions = []
    for triple in graph.test[rows].tolist():
        receivers = draw_receivers(run, triple, rng)
        prediction: dict[str, Any] = {"triple": write_triples(graph, np.array([triple]))[0]}
        prediction["receivers"] = [graph.entities.name(entity) for entity in receivers.tolist()]
        asked = np.array([(entity, *triple[1:]) for entity in receivers.tolist()], dtype=np.int64).reshape(-1, 3)
        prediction["before"] = (1 / rank_tails(run, asked, graph.known)).tolist()
        for mode in MODES:
            given = receivers if mode == "sufficient" else receivers[:0]
            for method, explain in METHODS.items():
                started = time.perf_counter()
                found = explain(Question(run, tuple(triple), list_own(graph, triple[0]), given, rng))
                milliseconds = 1000 * (time.perf_counter() - started)
                explained = {"triples": write_triples(graph, found), "ms": round(milliseconds, 2)}
                prediction.setdefault(mode, {})[method] = explained
        predictions.append(prediction)
    torch.set_num_threads(threads)
    figures = run.evaluate("test")
    return {"base": {key: figures[key] for key in ("mrr", "hits@1", "hits@10")}, "predictions": predictions}


@dataclass(frozen=True, eq=False)
class Change:
    """A change of the training triples, and what is asked after a training with them.

    Attributes:
        gone: Triples that are removed, (n, 3).
        added: Triples that are added, (n, 3).
        asked: Triples whose tails are ranked, by mode.
    """

    gone: Triples
    added: Triples
    asked: Mapping[str, Triples]


def list_changes(graph: Graph, predictions: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Change]:
    """Return the trainings of a measurement by mode and method."""
    none, asked = read_triples(graph, []), {mode: list_asked(graph, predictions, mode) for mode in MODES}
    changes = {}
    for method in METHODS:
        gone, added = [none], [none]
        for prediction in predictions:
            gone.append(read_triples(graph, prediction["necessary"][method]["triples"]))
            given, head = read_triples(graph, prediction["sufficient"][method]["triples"]), prediction["triple"][0]
            entities = [graph.entities.index(name) for name in (head, *prediction["receivers"])]
            added += [replace_entity(given, entities[0], entity) for entity in entities[1:]]
        changes["necessary", method] = Change(np.concatenate(gone), none, {"necessary": asked["necessary"]})
        changes["sufficient", method] = Change(none, np.concatenate(added), {"sufficient": asked["sufficient"]})
    return {("both", NOTHING): Change(none, none, asked), **changes}


def list_asked(graph: Graph, predictions: Sequence[Mapping[str, Any]], mode: str) -> Triples:
    """Return the triples whose tails are ranked: the predictions, or with other entities as heads."""
    if mode == "necessary":
        return read_triples(graph, [one["triple"] for one in predictions])
    return read_triples(graph, [(name, *one["triple"][1:]) for one in predictions for name in one["receivers"]])


def train_changed(dataset: str, settings: Mapping[str, Any], device: str, change: Change) -> dict[str, Any]:
    """Train with changed training triples; return the reciprocal ranks of the tails asked for, and the seconds."""
    started, graph = time.perf_counter(), itransf.load(dataset, progress=False)
    added = np.unique(change.added, axis=0)
    added = added[~graph.known_in("train").contains(added)]
    gone = KnownIndex(change.gone, len(graph.entities), len(graph.relations))
    train = np.concatenate([graph.train[~gone.contains(graph.train)], added])
    run = itransf.train(replace(graph, train=train), config=settings, device=device, progress=False)
    everything = np.concatenate([*(graph.split(split) for split in SPLITS), added])
    known = KnownIndex(everything, len(graph.entities), len(graph.relations))
    ranks = {mode: (1 / rank_tails(run, asked, known)).tolist() for mode, asked in change.asked.items()}
    return {"changed": len(graph.train) - len(train), "seconds": time.perf_counter() - started, "ranks": ranks}


def measure(options: argparse.Namespace, graph: Graph, record: dict[str, Any], path: Path) -> None:
    """Plan, then run the trainings that are not stored yet, several at once."""
    if not record["predictions"]:
        folder = options.runs / f"{options.dataset}-{options.device}-{options.seed}"
        choices = {"settings": options.settings, "seed": options.seed, "device": options.device, "progress": False}
        itransf.train(graph, out=folder, resume=not options.fresh, overwrite=options.fresh, **choices)
        run = itransf.open(folder, device="cpu")
        record |= {"settings": run.config.to_dict(), **plan(run, options.predictions, options.seed)}
        write_record(record, path)
    done = {(one["mode"], one["method"]) for one in record["trainings"]}
    missing = {key: change for key, change in list_changes(graph, record["predictions"]).items() if key not in done}
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        tasks = {}
        for key, change in missing.items():
            settings = {**record["settings"], "seed": options.seed + (key[1] == NOTHING)}
            tasks[pool.submit(train_changed, options.dataset, settings, options.device, change)] = key
        try:
            for future in as_completed(tasks):
                mode, method = tasks[future]
                record["trainings"].append({"mode": mode, "method": method, **future.result()})
                write_record(record, path)
                print(f"{mode}, {method}: {record['trainings'][-1]['seconds']:.0f} s", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    print(make_table(TITLES, tabulate(record)))


SHOWN = {"itransf explain": "supporting triples of itransf"}  # methods that have another name in records
TITLES = ["method", "triples", "Hits@1", "MRR", "triples", "Hits@1", "MRR", "ms", "slowest, ms"]


def tabulate(record: Record) -> list[list[str]]:
    """Return a row per method: the changes when its explanations are removed, when they are added, and the time."""
    predictions, rows = record["predictions"], []
    before = {"necessary": [1.0] * len(predictions), "sufficient": [x for one in predictions for x in one["before"]]}
    for method in (*METHODS, NOTHING):
        trainings = [one for one in record["trainings"] if one["method"] == method]
        row = [SHOWN.get(method, method)]
        for mode in MODES:
            found = next((one for one in trainings if mode in one["ranks"]), None)
            if found is None:
                row += ["", "", ""]
                continue
            pairs = list(zip(found["ranks"][mode], before[mode], strict=True))
            hits, mrr = mean((new == 1) - (old == 1) for new, old in pairs), mean(new - old for new, old in pairs)
            row += [str(-found["changed"]), f"{hits:+.3f}", f"{mrr:+.3f}"]
        times = [one[mode][method]["ms"] for one in predictions for mode in MODES[:1] if method in one[mode]]
        rows.append([*row, *([f"{mean(times):.1f}", f"{max(times):.0f}"] if times else ["", ""])])
    return rows


def render(record: Record) -> str:
    """Return the section of a dataset."""
    dataset, base, settings = record["config"]["dataset"], record["base"], record["settings"]
    lines = [
        f"### {dataset}\n",
        *describe_setting(record),
        f"- Model: {settings['model']['name']}, {len(record['predictions'])} predictions; MRR on test "
        f"{base['mrr']:.3f}, Hits@1 {100 * base['hits@1']:.1f}\n",
        make_table(TITLES, tabulate(record)),
    ]
    return "\n".join([*lines, *([PUBLISHED.format(KELPIE[dataset]) + "\n"] if dataset in KELPIE else [])])


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--predictions", type=int, default=100, help="number of predictions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--settings", nargs="+", default=[], help="key=value over the defaults")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--jobs", type=int, default=1, help="concurrent trainings, each in its own process")
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "removal", help="folder of the trained model")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the record")
    parser.add_argument("--fresh", action="store_true", help="ignore the stored record and the trained model")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    options = parse_options(arguments)
    graph = itransf.load(options.dataset, progress=False)
    config = {key: value for key, value in vars(options).items() if key not in UNSTORED and value != []}
    path = options.results / f"benchmark-removal-{options.dataset}.json"
    measure(options, graph, resume_record(path, "removal", options, config, predictions=[], trainings=[]), path)


if __name__ == "__main__":
    main()
