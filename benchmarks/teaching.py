"""Learning a relation from a few triples, compared with training the whole model again.

Some relations are held out of a graph together (`benchmarks.held_out`) and a model is trained without them. Each is
then learned from 5, 10 and 20 of its triples with everything else frozen, and other triples of it are ranked (heads and
tails among all entities, filtered with all triples). Compared, with the same triples:

- `retrained`: the whole model trained again with the given triples of all these relations;
- `translation`: only the translation fitted, without projections and without regularization toward its start;
- `random`: random supports instead of chosen ones, then the same fit.

    python -m benchmarks.teaching                                              # world, on a CPU
    python -m benchmarks.teaching --dataset fb15k-237 --held-out 12 --device cuda --minutes 8

Every result is stored at once; called again, the command continues with what is missing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any

import torch

import itransf
from benchmarks.held_out import LEAST_TRIPLES, HeldOut, choose_relations, hold_out
from benchmarks.markdown import describe_setting, format_verdict, make_table
from benchmarks.records import RESULTS, ROOT, Record, StoredMeasurement, resume_record, write_record
from itransf.data.graph import Triples
from itransf.data.known import KnownIndex
from itransf.evaluation import rank_triples
from itransf.fitting import warm_config
from itransf.models import SIDES, Model, Sizes, TransE
from itransf.teaching import learn as teaching

WORLD = ["capital_of", "member_of", "has_coast_on", "independent_from"]
UNSTORED = ("runs", "results", "minutes", "fresh")  # options that do not change results
METHODS = {
    "learned": "learned",
    "retrained": "retrained",
    "translation": "translation alone",
    "random": "random supports",
}
LEAST_SHARE, MOST_SECONDS = 0.8, 10  # targets with the largest number of given triples
RECIPE = "relations that mirror or repeat a held-out one are held out as well"
LEAKING = (
    "Withdrawn: relations that mirror or repeat a held-out relation stayed in train, so that these results were too "
    "good. Measure again with `{}`."
)
Figures = Sequence[Mapping[str, Any]]


def learn(run: itransf.Run, name: str, pairs: list[tuple[str, str]], draw: int) -> Model:
    """Learn a relation as `itransf learn` does."""
    return teaching.learn_relation(run.model, run.graph, run.config, name, pairs)[0]


def learn_translation(run: itransf.Run, name: str, pairs: list[tuple[str, str]], draw: int) -> Model:
    """Learn only the translation of a relation, without projections and regularization."""
    config = warm_config(run.config)
    vectors = run.model.get_parameter("entities")
    plain = TransE(Sizes(len(run.graph.entities), len(run.graph.relations)), config.model).to(vectors.device)
    with torch.no_grad():
        plain.entities.copy_(vectors)
    effort = replace(teaching.RELATION_EFFORT, hold=0.0)
    return teaching.learn_relation(plain, run.graph, config, name, pairs, effort=effort)[0]


def learn_at_random(run: itransf.Run, name: str, pairs: list[tuple[str, str]], draw: int) -> Model:
    """Learn a relation with random supports."""
    model, graph, count = teaching.begin_relation(run.model, run.graph, run.config.name, name, pairs)
    generator = torch.Generator().manual_seed(draw)
    for side in SIDES:
        projection = getattr(model, f"project_{side}")
        chosen = torch.randperm(projection.scores.shape[1], generator=generator)[: projection.support.shape[1]]
        projection.support[-1] = chosen.sort().values
    heads, _, tails = torch.as_tensor(graph.train[-count:], device=model.get_parameter("entities").device).unbind(1)
    model.start_relation(heads, tails)
    rows = teaching.NewRows(teaching.list_relation_tables(model), 1, teaching.RELATION_EFFORT)
    teaching.fit_rows(model, graph, run.config, {"relation": rows}, count)
    return model


WAYS: dict[str, Callable[[itransf.Run, str, list[tuple[str, str]], int], Model]] = {
    "learned": learn,
    "translation": learn_translation,
    "random": learn_at_random,
}


def rank(model: Model, number: int, asked: Triples, answers: Triples) -> dict[str, float]:
    """Return the filtered mean reciprocal rank of triples of the relation with this number in the model."""
    asked, answers = asked.copy(), answers.copy()
    asked[:, 1] = answers[:, 1] = number
    ranks = rank_triples(model, asked, KnownIndex(answers, model.sizes.entities, model.sizes.relations))
    figures = {f"{side} mrr": float((1 / ranks.ranks(side)).mean()) for side in SIDES}
    return {"asked": len(asked), "mrr": mean(figures.values()), **figures}


class Measurement(StoredMeasurement):
    """Relations that a run learns after they were held out."""

    @cached_property
    def held(self) -> HeldOut:
        """The graph without the relations."""
        graph = itransf.load(self.options.dataset, progress=False)
        held = hold_out(graph, self.options.relations or choose_relations(graph, self.options.held_out, 0))
        if held.short:
            raise SystemExit(f"fewer than {LEAST_TRIPLES} triples can be ranked of: {', '.join(held.short)}")
        self.record["companions"] = list(held.companions)
        return held

    @cached_property
    def base(self) -> itransf.Run:
        """The run without the relations."""
        folder = self.options.runs / f"{self.options.dataset}-{self.options.seed}"
        choices: dict[str, Any] = {
            "preset": self.options.preset,
            "settings": ["model.name=itransf", *self.options.settings],
        }
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
            for count in sorted(self.options.counts, reverse=True):  # the targets are for the largest
                if self.is_time_up:
                    print("The time is up; call again to continue.")
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
        """Train the whole model with some triples of every relation, and rank the others of each."""
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
        # The same triples are ranked for every number of given ones.
        asked = self.held.draw(name, draw)[max(self.options.counts) :][: self.options.asked]
        line = {"relation": name, "triples": count, "draw": draw, "method": method, "seconds": seconds}
        self.record["figures"].append({**line, **rank(model, number, asked, self.held.answers[name])})
        print(self.record["figures"][-1], flush=True)
        write_record(self.record, self.path)


def render(record: Record) -> str:
    """Return the section of docs/teaching.md."""
    lines = [f"### {record['config']['dataset']}\n"]
    if record.get("recipe") != RECIPE:  # measured before such relations were held out
        return "\n".join([*lines, f"{LEAKING.format(record['command'])}\n"])
    base, rows = record["base"], summarise(record["figures"])
    also = ", ".join(record["companions"]) or "none"
    lines += [
        *describe_setting(record),
        f"- Held out as well, as they mirror or repeat one of the relations: {also}",
        f"- The model without these relations: validation MRR {base['valid mrr']:.3f}, {base['seconds']:.0f} s\n",
    ]
    if not rows:
        return "\n".join([*lines, "No model was retrained yet.\n"])
    relations = summarise_relations(record["figures"], rows[-1]["triples"])
    titles = ["triples given", *METHODS.values(), "learned / retrained", "slowest learning, s", "a retraining, s"]
    cells = [
        [
            *[str(row["triples"]), *_format_means(row), format_share(row["share"])],
            *[f"{row['slowest']:.1f}", f"{row['training']:.0f}"],
        ]
        for row in rows
    ]
    lines += [make_table(titles, cells), *judge(rows[-1], relations), ""]
    lines += [f"By relation, {rows[-1]['triples']} triples given:\n"]
    cells = [[row["relation"], str(row["asked"]), *_format_means(row)] for row in relations]
    return "\n".join([*lines, make_table(["relation", "ranked", *METHODS.values()], cells)])


def summarise(figures: Figures) -> list[dict[str, Any]]:
    """Return each method's mean MRR over relations for each number of triples, over the draws that were retrained."""
    shared = choose_shared(figures)
    rows = []
    for count in sorted({figure["triples"] for figure in shared}):
        chosen = [figure for figure in shared if figure["triples"] == count]
        means = {method: _mean_over_relations(chosen, method) for method in METHODS}
        learning = [f["seconds"] for f in figures if f["triples"] == count and f["method"] == "learned"]
        training = mean(f["seconds"] for f in chosen if f["method"] == "retrained")
        share = means["learned"] / means["retrained"]
        rows.append({"triples": count, **means, "share": share, "slowest": max(learning), "training": training})
    return rows


def summarise_relations(figures: Figures, count: int) -> list[dict[str, Any]]:
    """Return each relation's MRR by method with this number of triples, over the draws that were retrained."""
    chosen = [figure for figure in choose_shared(figures) if figure["triples"] == count]
    rows = []
    for name in dict.fromkeys(figure["relation"] for figure in chosen):
        own = [figure for figure in chosen if figure["relation"] == name]
        means = {method: _mean_over_relations(own, method) for method in METHODS}
        rows.append({"relation": name, "asked": own[0]["asked"], **means})
    return rows


def choose_shared(figures: Figures) -> list[Mapping[str, Any]]:
    """Return the figures of the draws for which the model was retrained as well."""
    paired = {(f["relation"], f["triples"], f["draw"]) for f in figures if f["method"] == "retrained"}
    return [f for f in figures if (f["relation"], f["triples"], f["draw"]) in paired]


def judge(row: Mapping[str, Any], relations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return whether each target was met."""
    least, given = format_share(LEAST_SHARE), f"with {row['triples']} triples"
    share = f"{format_share(row['share'])} of retraining's MRR {given}, at least {least}"
    reached = sum(one["learned"] >= LEAST_SHARE * one["retrained"] for one in relations)
    return [
        f"- {share}: {format_verdict(row['share'] >= LEAST_SHARE)}; {reached} of {len(relations)} relations reach it",
        f"- {row['slowest']:.1f} s at most, under {MOST_SECONDS} s: {format_verdict(row['slowest'] < MOST_SECONDS)}",
        f"- better than the translation alone {given}: {format_verdict(row['learned'] > row['translation'])}",
    ]


def format_share(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.0f} %"


def _mean_over_relations(figures: Figures, method: str) -> float:
    names = {figure["relation"] for figure in figures}
    return float(mean(mean(f["mrr"] for f in figures if f["relation"] == n and f["method"] == method) for n in names))


def _format_means(row: Mapping[str, Any]) -> list[str]:
    return [f"{row[method]:.3f}" for method in METHODS]


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--relations", nargs="+", help="held out together (default on world: four)")
    parser.add_argument("--held-out", type=int, default=12, help="number of relations drawn at random otherwise")
    parser.add_argument("--counts", nargs="+", type=int, default=[5, 10, 20], help="numbers of given triples")
    parser.add_argument("--asked", type=int, default=500, help="maximum number of ranked triples of each relation")
    parser.add_argument("--draws", type=int, default=3, help="draws of the given triples")
    parser.add_argument("--retrained", type=int, default=1, help="draws for which the model is retrained")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--preset", help="preset instead of the defaults")
    parser.add_argument("--settings", nargs="+", default=[], help="key=value over those")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--minutes", type=float, default=0, help="time after which no training starts; 0: no limit")
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "held-out", help="folder of the base run")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the record")
    parser.add_argument("--fresh", action="store_true", help="ignore the stored record")
    options = parser.parse_args(arguments)
    if options.dataset == "world" and not options.relations:
        options.relations = WORLD
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    options = parse_options(arguments)
    config = {key: value for key, value in vars(options).items() if key not in UNSTORED and value not in (None, [])}
    if options.relations:
        del config["held_out"]
    path = options.results / f"benchmark-teaching-{options.dataset}.json"
    record = resume_record(path, "teaching", options, config, recipe=RECIPE, figures=[])
    Measurement(options, record, path).run()


if __name__ == "__main__":
    main()
