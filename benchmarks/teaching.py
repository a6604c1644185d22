"""How well a relation is learned from a handful of facts, beside training everything again.

For each relation: train without it, then learn it from 5, 10 and 20 of its facts with all else frozen, and rank the
facts that were not given (heads and tails, filtered with all facts). Beside it, with the same facts:

- `retrained`: the whole model trained again with them;
- `translation`: the translation alone fitted, entities left where they are on both sides;
- `random`: random supports in place of chosen ones, then the same fit.

    python -m benchmarks.teaching --dataset world --relations capital_of member_of
    python -m benchmarks.teaching --render          # the figures of docs/teaching.md from what is stored
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch

import itransf
from benchmarks.records import RESULTS, ROOT, read_records, start_record
from benchmarks.sections.teaching import METHODS, put_figures, render
from itransf.data.graph import SPLITS, Graph, Triples
from itransf.data.known import KnownIndex
from itransf.data.vocabulary import Vocabulary
from itransf.evaluation import rank_facts
from itransf.experiments.bench.records import write_record
from itransf.files import write_text
from itransf.fitting import warm_config
from itransf.models import SIDES, Model, Sizes, TransE
from itransf.teaching import relations as teaching

LEAST_FACTS = 60
HOW = ("runs", "trainings", "anew", "render")  # options that do not change what is measured


@dataclass(frozen=True)
class HeldOut:
    """A graph without a relation, and the relation's facts."""

    name: str
    graph: Graph
    facts: Triples

    @property
    def known(self) -> KnownIndex:
        """All facts: of the rest and of the relation."""
        every = np.concatenate([*(self.graph.split(split) for split in SPLITS), self.facts])
        return KnownIndex(every, len(self.graph.entities), len(self.graph.relations) + 1)

    def draw(self, draw: int) -> Triples:
        """Return the relation's facts in a random order, the same for the same draw."""
        return self.facts[np.random.default_rng(draw).permutation(len(self.facts))]

    def name_pairs(self, facts: Triples) -> list[tuple[str, str]]:
        """Return facts as pairs of names."""
        names = self.graph.entities.names
        return [(names[head], names[tail]) for head, _, tail in facts.tolist()]


def hold_out(graph: Graph, name: str) -> HeldOut:
    """Take a relation out of a graph; its facts get the next free number."""
    number = graph.relations.index(name)
    rest, own = {}, []
    for split in SPLITS:
        facts = graph.split(split)
        is_own = facts[:, 1] == number
        own.append(facts[is_own])
        kept = facts[~is_own].copy()
        kept[:, 1] -= kept[:, 1] > number
        rest[split] = kept
    names = [other for other in graph.relations.names if other != graph.relations.name(number)]
    facts = np.concatenate(own)
    facts[:, 1] = len(names)
    if len(facts) < LEAST_FACTS:
        raise SystemExit(f"{name} has {len(facts)} facts; choose a relation with at least {LEAST_FACTS}")
    return HeldOut(name, replace(graph, relations=Vocabulary(names, graph.relations.labels, "relation"), **rest), facts)


def learn(run: itransf.Run, held: HeldOut, given: Triples, draw: int) -> Model:
    """Learn the relation as `itransf learn` does."""
    pairs = held.name_pairs(given)
    return teaching.learn_relation(run.model, run.graph, run.config, held.name, pairs)[0]


def learn_translation(run: itransf.Run, held: HeldOut, given: Triples, draw: int) -> Model:
    """Learn the relation as if entities were not projected: its translation alone."""
    config = warm_config(run.config)
    plain = TransE(Sizes(len(run.graph.entities), len(run.graph.relations)), config.model)
    with torch.no_grad():
        plain.entities.copy_(run.model.get_parameter("entities"))
    return teaching.learn_relation(plain, run.graph, config, held.name, held.name_pairs(given))[0]


def learn_at_random(run: itransf.Run, held: HeldOut, given: Triples, draw: int) -> Model:
    """Learn the relation with random supports."""
    model, graph = teaching.begin_relation(run.model, run.graph, run.config.name, held.name, held.name_pairs(given))
    generator = torch.Generator().manual_seed(draw)
    for side in SIDES:
        projection = getattr(model, f"project_{side}")
        chosen = torch.randperm(projection.scores.shape[1], generator=generator)[: projection.support.shape[1]]
        projection.support[-1] = chosen.sort().values
    teaching.start_translation(model, torch.as_tensor(graph.train[-len(given) :]))
    teaching.fit_relation(model, graph, run.config, len(given), teaching.RELATION_EFFORT)
    return model


def retrain(run: itransf.Run, held: HeldOut, given: Triples, draw: int) -> Model:
    """Train everything again with the given facts among the others."""
    relations = Vocabulary([*held.graph.relations.names, held.name], held.graph.relations.labels, "relation")
    graph = replace(held.graph, relations=relations, train=np.concatenate([held.graph.train, given]))
    return itransf.train(graph, config=run.config.to_dict(), device="cpu", progress=False).model


WAYS: dict[str, Callable[[itransf.Run, HeldOut, Triples, int], Model]] = {
    "learned": learn,
    "retrained": retrain,
    "translation": learn_translation,
    "random": learn_at_random,
}


def rank(model: Model, held: HeldOut, asked: Triples) -> dict[str, float]:
    """Return the filtered mean reciprocal rank of facts that were not given."""
    ranks = rank_facts(model, asked, held.known)
    figures = {f"{side} mrr": float((1 / ranks.ranks(side)).mean()) for side in SIDES}
    return {"mrr": mean(figures.values()), **figures}


@dataclass
class Measurement:
    """A record that goes on where it stands; every figure is stored as it comes.

    Args:
        options: Those of the command line.
        record: What is stored so far.
        path: Where.
    """

    options: argparse.Namespace
    record: dict[str, Any]
    path: Path
    trainings: int = 0

    def run(self) -> None:
        """Train, learn and rank what is not stored yet."""
        graph = itransf.load(self.options.dataset, progress=False)
        for name in self.options.relations:
            held = hold_out(graph, name)
            missing = [task for task in self._list_tasks() if not self._is_stored(name, *task)]
            if not missing or self._is_enough():
                continue
            run = self._open_base(held)
            self.record.setdefault("settings", run.config.to_dict())
            for draw, count, method in missing:
                if method == "retrained" and self._is_enough():
                    continue
                self._measure(run, held, draw, count, method)

    def _list_tasks(self) -> list[tuple[int, int, str]]:
        cheap = [method for method in METHODS if method != "retrained"]
        draws, counts = range(self.options.draws), self.options.counts
        tasks = [(draw, count, method) for draw in draws for count in counts for method in cheap]
        return tasks + [(draw, count, "retrained") for draw in range(self.options.retrained) for count in counts]

    def _is_stored(self, name: str, draw: int, count: int, method: str) -> bool:
        wanted = {"relation": name, "draw": draw, "facts": count, "method": method}
        return any(wanted.items() <= figure.items() for figure in self.record["figures"])

    def _is_enough(self) -> bool:
        return bool(self.options.trainings) and self.trainings >= self.options.trainings

    def _open_base(self, held: HeldOut) -> itransf.Run:
        """Open the run without the relation, or train it."""
        folder = self.options.runs / f"{self.options.dataset}-{held.name}-{self.options.seed}"
        if (folder / "model.safetensors").is_file():
            return itransf.open(folder, device="cpu")
        self.trainings += 1
        # Later relations are trained with the settings of the first, whatever the defaults are by then.
        choices: dict[str, Any] = {"config": self.record.get("settings"), "seed": self.options.seed, "device": "cpu"}
        choices["settings"] = self.options.settings
        return itransf.train(held.graph, out=folder, overwrite=True, progress=False, **choices)

    def _measure(self, run: itransf.Run, held: HeldOut, draw: int, count: int, method: str) -> None:
        order = held.draw(draw)
        given, asked = order[:count], order[count:]
        self.trainings += method == "retrained"
        started = time.perf_counter()
        model = WAYS[method](run, held, given, draw)
        seconds = time.perf_counter() - started
        line = {"relation": held.name, "facts": count, "draw": draw, "method": method, "seconds": seconds}
        self.record["figures"].append({**line, "asked": len(asked), **rank(model, held, asked)})
        print(self.record["figures"][-1], flush=True)
        write_record(self.record, self.path)


def main() -> None:
    """Measure, or render what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world")
    parser.add_argument(
        "--relations",
        nargs="+",
        default=["capital_of", "member_of", "has_coast_on", "independent_from"],
    )
    parser.add_argument("--counts", nargs="+", type=int, default=[5, 10, 20])
    parser.add_argument("--draws", type=int, default=3, help="draws of the given facts")
    parser.add_argument("--retrained", type=int, default=1, help="of which so many are trained again for")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--settings", nargs="*", default=[], help="key=value over the defaults")
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "teaching", help="where runs are kept")
    parser.add_argument("--trainings", type=int, default=0, help="stop after so many; call again to go on")
    parser.add_argument("--anew", action="store_true", help="measure again what is stored")
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    if not options.render:
        config = {key: value for key, value in vars(options).items() if key not in HOW and value != []}
        name = "teaching" if options.dataset == "world" else f"teaching-{options.dataset}"
        path = RESULTS / f"benchmark-{name}.json"
        record = start_record("teaching", options.seed, config, ["torch", "numpy"])
        stored = {} if options.anew or not path.is_file() else json.loads(path.read_text(encoding="utf-8"))
        same = stored.get("config") == json.loads(json.dumps(config))
        Measurement(options, stored if same else {**record, "figures": []}, path).run()
    page = ROOT / "docs" / "teaching.md"
    write_text(page, put_figures(page.read_text(encoding="utf-8"), render(read_records())))


if __name__ == "__main__":
    main()
