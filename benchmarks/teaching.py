"""How well a relation is learned from a handful of triples, beside training everything again.

Some relations are taken out of a graph together and a model is trained without them. Each is then learned from 5, 10
and 20 of its triples with all else frozen, and triples that were not given are ranked (heads and tails among all
entities, filtered with all triples). Beside it, with the same triples:

- `retrained`: the whole model trained again, with the given triples of all these relations;
- `translation`: the translation alone fitted, entities left where they are on both sides, not held to its start;
- `random`: random supports in place of chosen ones, then the same fit.

    python -m benchmarks.teaching                                              # world, on a CPU
    python -m benchmarks.teaching --dataset fb15k-237 --held-out 12 --device cuda --minutes 8
    python -m benchmarks.teaching --render          # the figures of docs/teaching.md from what is stored

Every figure is stored as it comes; called again, the command goes on with what is missing.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any

import torch

import itransf
from benchmarks.holding_out import LEAST_TRIPLES, HeldOut, choose_relations, find_short, hold_out
from benchmarks.records import RESULTS, ROOT, read_records, start_record
from benchmarks.sections.teaching import put_figures, render
from itransf.data.graph import Triples
from itransf.data.known import KnownIndex
from itransf.evaluation import rank_triples
from itransf.experiments.bench.records import write_record
from itransf.files import write_text
from itransf.fitting import warm_config
from itransf.models import SIDES, Model, Sizes, TransE
from itransf.teaching import relations as teaching

WORLD = ["capital_of", "member_of", "has_coast_on", "independent_from"]
HOW = ("runs", "results", "minutes", "anew", "render")  # options that do not change what is measured


def learn(run: itransf.Run, name: str, pairs: list[tuple[str, str]], draw: int) -> Model:
    """Learn a relation as `itransf learn` does."""
    return teaching.learn_relation(run.model, run.graph, run.config, name, pairs)[0]


def learn_translation(run: itransf.Run, name: str, pairs: list[tuple[str, str]], draw: int) -> Model:
    """Learn a relation as if entities were not projected: its translation alone, free, which serves it best."""
    config = warm_config(run.config)
    vectors = run.model.get_parameter("entities")
    plain = TransE(Sizes(len(run.graph.entities), len(run.graph.relations)), config.model).to(vectors.device)
    with torch.no_grad():
        plain.entities.copy_(vectors)
    effort = replace(teaching.RELATION_EFFORT, hold=0.0)
    return teaching.learn_relation(plain, run.graph, config, name, pairs, effort=effort)[0]


def learn_at_random(run: itransf.Run, name: str, pairs: list[tuple[str, str]], draw: int) -> Model:
    """Learn a relation with random supports."""
    model, graph = teaching.begin_relation(run.model, run.graph, run.config.name, name, pairs)
    generator = torch.Generator().manual_seed(draw)
    for side in SIDES:
        projection = getattr(model, f"project_{side}")
        chosen = torch.randperm(projection.scores.shape[1], generator=generator)[: projection.support.shape[1]]
        projection.support[-1] = chosen.sort().values
    triples = torch.as_tensor(graph.train[-len(pairs) :], device=model.relations.device)
    teaching.start_translation(model, triples)
    teaching.fit_relation(model, graph, run.config, len(pairs), teaching.RELATION_EFFORT)
    return model


WAYS: dict[str, Callable[[itransf.Run, str, list[tuple[str, str]], int], Model]] = {
    "learned": learn,
    "translation": learn_translation,
    "random": learn_at_random,
}


def rank(model: Model, number: int, asked: Triples, answers: Triples) -> dict[str, float]:
    """Return the filtered mean reciprocal rank of triples of one relation, which has this number in the model."""
    asked, answers = asked.copy(), answers.copy()
    asked[:, 1] = answers[:, 1] = number
    ranks = rank_triples(model, asked, KnownIndex(answers, model.sizes.entities, model.sizes.relations))
    figures = {f"{side} mrr": float((1 / ranks.ranks(side)).mean()) for side in SIDES}
    return {"asked": len(asked), "mrr": mean(figures.values()), **figures}


@dataclass
class Measurement:
    """A record that goes on where it stands.

    Attributes:
        options: Those of the command line.
        record: What is stored so far.
        path: Where.
        started: When this call began.
    """

    options: argparse.Namespace
    record: dict[str, Any]
    path: Path
    started: float = field(default_factory=time.monotonic)

    @cached_property
    def held(self) -> HeldOut:
        """The graph without the relations."""
        graph = itransf.load(self.options.dataset, progress=False)
        held = hold_out(graph, self.options.relations or choose_relations(graph, self.options.held_out, 0))
        if find_short(held):
            raise SystemExit(f"fewer than {LEAST_TRIPLES} triples can be asked of: {', '.join(find_short(held))}")
        return held

    @cached_property
    def base(self) -> itransf.Run:
        """The run without the relations."""
        folder = self.options.runs / f"{self.options.dataset}-{self.options.seed}"
        choices: dict[str, Any] = {"preset": self.options.preset, "settings": self.options.settings}
        choices |= {"seed": self.options.seed, "device": self.options.device, "progress": False}
        run = itransf.train(self.held.graph, out=folder, resume=True, **choices)
        self.record["settings"] = run.config.to_dict()
        self.record["base"] = {"valid mrr": run.evaluate("valid")["mrr"], "seconds": run.info()["seconds"]}
        return run

    def run(self) -> None:
        """Train, learn and rank what is not stored yet."""
        for draw in range(self.options.draws):
            for count in self.options.counts:
                for name in self.held.triples:
                    self._learn(name, draw, count)
        for draw in range(self.options.retrained):
            for count in sorted(self.options.counts, reverse=True):  # what the bars speak of comes first
                if 0 < 60 * self.options.minutes < time.monotonic() - self.started:
                    print("No training is begun any more; call again to go on.")
                    return
                self._retrain(draw, count)

    def _learn(self, name: str, draw: int, count: int) -> None:
        """Measure each way of learning one relation."""
        pairs = self.held.name_pairs(self.held.draw(name, draw)[:count])
        for method, way in WAYS.items():
            if self._is_stored(name, draw, count, method):
                continue
            base, started = self.base, time.perf_counter()
            model = way(base, name, pairs, draw)
            model.get_parameter("relations").sum().item()  # waits for the device
            seconds = time.perf_counter() - started
            self._store(model, len(base.graph.relations), name, draw, count, method, seconds)

    def _retrain(self, draw: int, count: int) -> None:
        """Train everything again with some triples of every relation, and rank the others of each."""
        missing = [name for name in self.held.triples if not self._is_stored(name, draw, count, "retrained")]
        if not missing:
            return
        graph = self.held.put_back({name: self.held.draw(name, draw)[:count] for name in self.held.triples})
        settings, device = self.record["settings"], self.options.device
        run = itransf.train(graph, config=settings, device=device, progress=False)
        for name in missing:
            number = graph.relations.index(name)
            self._store(run.model, number, name, draw, count, "retrained", run.info()["seconds"])

    def _is_stored(self, name: str, draw: int, count: int, method: str) -> bool:
        wanted = {"relation": name, "draw": draw, "triples": count, "method": method}
        return any(wanted.items() <= figure.items() for figure in self.record["figures"])

    def _store(self, model: Model, number: int, name: str, draw: int, count: int, method: str, seconds: float) -> None:
        # The same triples are asked, however many were given.
        asked = self.held.draw(name, draw)[max(self.options.counts) :][: self.options.asked]
        line = {"relation": name, "triples": count, "draw": draw, "method": method, "seconds": seconds}
        self.record["figures"].append({**line, **rank(model, number, asked, self.held.answers[name])})
        print(self.record["figures"][-1], flush=True)
        write_record(self.record, self.path)


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--relations", nargs="+", help="taken out together (default on world: four)")
    parser.add_argument("--held-out", type=int, default=12, help="else so many, drawn at random")
    parser.add_argument("--counts", nargs="+", type=int, default=[5, 10, 20], help="triples that are given")
    parser.add_argument("--asked", type=int, default=500, help="triples that are ranked, at most, of each relation")
    parser.add_argument("--draws", type=int, default=3, help="draws of the given triples")
    parser.add_argument("--retrained", type=int, default=1, help="of which so many are trained again for")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--preset", help="a preset in place of the defaults")
    parser.add_argument("--settings", nargs="+", default=[], help="key=value over those")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--minutes", type=float, default=0, help="after which no training is begun; 0: no limit")
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "teaching", help="where the base is kept")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where figures are stored")
    parser.add_argument("--anew", action="store_true", help="measure again what is stored")
    parser.add_argument("--render", action="store_true", help="only write the page")
    options = parser.parse_args(arguments)
    if options.dataset == "world" and not options.relations:
        options.relations = WORLD
    return options


def open_record(options: argparse.Namespace, path: Path) -> dict[str, Any]:
    """Return what is stored of this measurement, or a record without figures."""
    told = {key: value for key, value in vars(options).items() if key not in HOW and value not in (None, [])}
    if options.relations:
        del told["held_out"]
    stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() and not options.anew else {}
    if stored.get("config") == told:
        return stored
    return {**start_record("teaching", options.seed, told, ["torch", "numpy"]), "figures": []}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, or write the page from what was measured."""
    options = parse_options(arguments)
    if options.render:
        page = ROOT / "docs" / "teaching.md"
        write_text(page, put_figures(page.read_text(encoding="utf-8"), render(read_records(options.results))))
    else:
        path = options.results / f"benchmark-teaching-{options.dataset}.json"
        Measurement(options, open_record(options, path), path).run()


if __name__ == "__main__":
    main()
