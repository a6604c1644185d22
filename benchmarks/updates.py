"""Updating a run with new triples and entities, compared with training again.

A tenth of the entities, with all their triples, and a tenth of the other triples are held back from train. A run is
trained without them and updated with all of them at once, and in ten parts, one after the other. Training again starts
from nothing, with the same triples and settings. Ranks are filtered with all triples:

- `old`: test triples among old entities, ranked among old entities; before and after the update;
- `new`: test triples with a new entity, ranked among all entities;
- `all`: all test triples.

    python -m benchmarks.updates                                             # world, on a CPU
    python -m benchmarks.updates --dataset fb15k-237 --device cuda --minutes 8

Every result is stored at once; called again, the command continues with what is missing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

import itransf
from benchmarks.markdown import ABSENT, describe_setting, format_verdict, make_table
from benchmarks.records import RESULTS, ROOT, Record, StoredMeasurement, resume_record, write_record
from itransf.data.graph import Graph, Triples
from itransf.data.known import KnownIndex
from itransf.evaluation import rank_triples
from itransf.fitting import Fit
from itransf.models import SIDES, Model
from itransf.teaching import Growth, grow_graph, update_model
from itransf.teaching.fit_rows import rebuild
from itransf.teaching.update import number_triples, read_given

UNSTORED = ("runs", "results", "minutes", "fresh")  # options that do not change results
MOST_FALL, LEAST_SHARE, MOST_DRIFT = 0.005, 0.9, 0.01
MOST_TIME = {"world": 0.5}  # of that of training again
OTHER_TIME = 0.1
Names = list[tuple[str, str, str]]


@dataclass(frozen=True)
class Held:
    """A graph without some entities and triples.

    Attributes:
        base: The graph without them.
        parts: The training triples that were held back, in parts. An entity comes in one of them, and a triple in the
            first in which both its entities are known.
        test: All test triples.
        answers: All triples.
    """

    base: Graph
    parts: list[Names]
    test: Names
    answers: Names


def hold_back(graph: Graph, share: float, parts: int, seed: int) -> Held:
    """Hold back a share of the entities, with their triples, and of the other training triples."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(graph.entities))
    count = round(share * len(order))
    part = np.full(len(order), -1)
    part[order[:count]] = np.arange(count) * parts // max(count, 1)
    days = part[graph.train[:, [0, 2]]].max(axis=1)
    free = (days < 0) & (rng.random(len(days)) < share)
    days[free] = rng.integers(parts, size=int(free.sum()))
    train = graph.train[days < 0]
    seen, used = np.zeros(len(order), dtype=bool), np.zeros(len(graph.relations), dtype=bool)
    seen[train[:, [0, 2]]], used[train[:, 1]] = True, True
    valid, test = (t[seen[t[:, [0, 2]]].all(1) & used[t[:, 1]]] for t in (graph.valid, graph.test))
    base = Graph.from_names(graph.name, *(name_all(graph, triples) for triples in (train, valid, test)))
    held = [name_all(graph, graph.train[days == day]) for day in range(parts)]
    answers = np.concatenate([graph.train, graph.valid, graph.test])
    return Held(base, held, name_all(graph, graph.test), name_all(graph, answers))


def name_all(graph: Graph, triples: Triples) -> Names:
    """Return the names of triples."""
    entities, relations = graph.entities.names, graph.relations.names
    return [(entities[head], relations[relation], entities[tail]) for head, relation, tail in triples.tolist()]


def number_all(graph: Graph, triples: Names) -> Triples:
    """Return the triples whose names the graph has, as numbers."""
    found, *_ = number_triples(graph, read_given(triples, "triples"))
    sizes = [len(graph.entities), len(graph.relations), len(graph.entities)]
    return np.ascontiguousarray(found[(found < sizes).all(1)])


def judge(model: Model, graph: Graph, held: Held) -> dict[str, float]:
    """Return the MRR of a model of this graph, the base graph or a grown one, on old, new and all test triples."""
    old, test = len(held.base.entities), number_all(graph, held.test)
    has_new = (test[:, [0, 2]] >= old).any(1)
    found = {"old": measure(rebuild(model, held.base, model.config), held.base, held.base.test, held.answers)}
    if has_new.any():
        found |= {key: measure(model, graph, t, held.answers) for key, t in (("new", test[has_new]), ("all", test))}
    return found


def measure(model: Model, graph: Graph, triples: Triples, answers: Names) -> float:
    """Return the filtered mean reciprocal rank of triples among the entities of a graph."""
    known = KnownIndex(number_all(graph, answers), len(graph.entities), len(graph.relations))
    ranks = rank_triples(model, triples, known)
    return float(np.mean([1 / ranks.ranks(side) for side in SIDES]))


class Measurement(StoredMeasurement):
    """Updates of a run on a graph of which a part was held back."""

    @cached_property
    def held(self) -> Held:
        """The graph without some of its entities and triples."""
        graph = itransf.load(self.options.dataset, progress=False)
        return hold_back(graph, self.options.share, self.options.parts, self.options.seed)

    @cached_property
    def base(self) -> itransf.Run:
        """The run before the updates."""
        folder = self.options.runs / f"{self.options.dataset}-{self.options.seed}"
        choices = {"seed": self.options.seed, "device": self.options.device, "progress": False}
        return itransf.train(self.held.base, settings=self.options.settings, out=folder, resume=True, **choices)

    @cached_property
    def growth(self) -> Growth:
        """The graph with everything that was held back."""
        return grow_graph(self.base.graph, [triple for part in self.held.parts for triple in part])

    def run(self) -> None:
        """Measure what is not stored yet."""
        steps = {
            "before": self._judge_base,
            "updated": self._update,
            "again": self._train_again,
            "in parts": self._update_in_parts,
        }
        for name, step in steps.items():
            if self.is_time_up:
                print("The time is up; call again to continue.")
                return
            if name not in self.record["figures"]:
                self.record["figures"][name] = step()
                print(name, self.record["figures"][name], flush=True)
                write_record(self.record, self.path)

    def _judge_base(self) -> dict[str, Any]:
        self.record["settings"] = self.base.config.to_dict()
        graph, counts = self.base.graph, self.growth.counts
        self.record["sizes"] = {"entities": len(graph.entities), "train": len(graph.train), "given": dict(counts)}
        return judge(self.base.model, self.base.graph, self.held)

    def _update(self) -> dict[str, Any]:
        self._warm_up()
        started = time.perf_counter()
        model, _ = update_model(self.base.model, self.growth, self.base.config, self.options.epochs)
        return {"seconds": self._wait(started), **judge(model, self.growth.graph, self.held)}

    def _train_again(self) -> dict[str, Any]:
        fit = Fit(self.growth.graph, self.base.config, next(self.base.model.parameters()).device, progress=False)
        started = time.perf_counter()
        model = fit.run()
        return {"seconds": self._wait(started), **judge(model, self.growth.graph, self.held)}

    def _update_in_parts(self) -> dict[str, Any]:
        model, graph, started = self.base.model, self.base.graph, time.perf_counter()
        for part in self.held.parts:
            growth = grow_graph(graph, part)
            model, _ = update_model(model, growth, self.base.config, self.options.epochs)
            graph = growth.graph
        return {"seconds": self._wait(started), **judge(model, graph, self.held)}

    def _warm_up(self) -> None:
        """Compile what is compiled once in a process, which training again profits from as well."""
        update_model(self.base.model, grow_graph(self.base.graph, self.held.parts[0][:1]), self.base.config, 1)

    def _wait(self, started: float) -> float:
        """Return the seconds since then, when the device is done."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter() - started


def render(record: Record) -> str:
    """Return the section of docs/teaching.md."""
    figures, dataset = record["figures"], record["config"]["dataset"]
    lines = [f"### {dataset}, updated\n", *describe_setting(record), ""]
    if not {"before", "updated", "again", "in parts"} <= set(figures):
        return "\n".join([*lines, "The measurement is not complete.\n"])
    sizes = record["sizes"]
    lines += [
        f"{sizes['train']:,} training triples with {sizes['entities']:,} entities; {sizes['given']['added']:,} triples "
        f"with {sizes['given']['entities']:,} new entities were held back.\n"
    ]
    titles = ["", "old triples", "new entities", "all", "seconds"]
    words = {"before": "before", "updated": "updated at once", "in parts": f"in {record['config']['parts']} updates"}
    columns = {"old": ".3f", "new": ".3f", "all": ".3f", "seconds": ".1f"}
    rows = [
        [
            title,
            *(format(figures[key][part], form) if part in figures[key] else ABSENT for part, form in columns.items()),
        ]
        for key, title in {**words, "again": "trained again"}.items()
    ]
    before, updated, again, parts = (figures[key] for key in ("before", "updated", "again", "in parts"))
    fall, share = before["old"] - updated["old"], updated["new"] / again["new"]
    slow, most = updated["seconds"] / again["seconds"], MOST_TIME.get(dataset, OTHER_TIME)
    drift = again["all"] - parts["all"]
    verdicts = [
        f"- the MRR of old triples falls by {fall:.3f} (negative: it rises), at most {MOST_FALL}: "
        f"{format_verdict(fall <= MOST_FALL)}",
        f"- new entities reach {share:.0%} of training again, at least {LEAST_SHARE:.0%}: "
        f"{format_verdict(share >= LEAST_SHARE)}",
        f"- the update takes {slow:.0%} of the time, at most {most:.0%}: {format_verdict(slow <= most)}",
        f"- {record['config']['parts']} updates end {drift:.3f} below training again (negative: above), at most "
        f"{MOST_DRIFT}: {format_verdict(drift <= MOST_DRIFT)}\n",
    ]
    return "\n".join([*lines, make_table(titles, rows), *verdicts])


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--share", type=float, default=0.1, help="of entities, and of other triples, held back")
    parser.add_argument("--parts", type=int, default=10, help="number of updates in a row")
    parser.add_argument("--epochs", type=int, help="epochs of an update (default: as `itransf update`)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--settings", nargs="+", default=[], help="key=value over the defaults")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--minutes", type=float, default=0, help="time after which no step starts; 0: no limit")
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "updates", help="folder of the base run")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the record")
    parser.add_argument("--fresh", action="store_true", help="ignore the stored record")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    options = parse_options(arguments)
    config = {key: value for key, value in vars(options).items() if key not in UNSTORED and value not in (None, [])}
    path = options.results / f"benchmark-updates-{options.dataset}.json"
    Measurement(options, resume_record(path, "updates", options, config, figures={}), path).run()


if __name__ == "__main__":
    main()
