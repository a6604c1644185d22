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
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch

import itransf
from benchmarks.records import RESULTS, ROOT, read_records, start_record
from itransf.config import Config
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
METHODS = ("learned", "retrained", "translation", "random")
BEGIN, END = "<!-- begin: figures -->", "<!-- end: figures -->"


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


def learn(run: itransf.Run, held: HeldOut, given: Triples) -> Model:
    """Learn the relation as `itransf learn` does."""
    pairs = held.name_pairs(given)
    return teaching.learn_relation(run.model, run.graph, run.config, held.name, pairs)[0]


def learn_translation(run: itransf.Run, held: HeldOut, given: Triples) -> Model:
    """Learn the relation as if entities were not projected: its translation alone."""
    config = warm_config(run.config)
    plain = TransE(Sizes(len(run.graph.entities), len(run.graph.relations)), config.model)
    with torch.no_grad():
        plain.entities.copy_(run.model.get_parameter("entities"))
    return teaching.learn_relation(plain, run.graph, config, held.name, held.name_pairs(given))[0]


def learn_at_random(run: itransf.Run, held: HeldOut, given: Triples, draw: int = 0) -> Model:
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


def retrain(config: Config, held: HeldOut, given: Triples) -> Model:
    """Train everything again with the given facts among the others."""
    relations = Vocabulary([*held.graph.relations.names, held.name], held.graph.relations.labels, "relation")
    graph = replace(held.graph, relations=relations, train=np.concatenate([held.graph.train, given]))
    return itransf.train(graph, config=config.to_dict(), device="cpu", progress=False).model


def rank(model: Model, held: HeldOut, asked: Triples) -> dict[str, float]:
    """Return the filtered mean reciprocal rank of facts that were not given."""
    ranks = rank_facts(model, asked, held.known)
    figures = {f"{side} mrr": float((1 / ranks.ranks(side)).mean()) for side in SIDES}
    return {"mrr": mean(figures.values()), **figures}


def measure(options: argparse.Namespace, record: dict[str, Any], path: Path) -> None:
    """Train, learn and rank, storing every figure as it comes."""
    graph = itransf.load(options.dataset, progress=False)
    for name in options.relations:
        held = hold_out(graph, name)
        run = itransf.train(held.graph, settings=options.settings, seed=options.seed, device="cpu", progress=False)
        record["settings"] = run.config.to_dict()
        for draw in range(options.draws):
            order = held.draw(draw)
            for count in options.counts:
                given, asked = order[:count], order[count:]
                ways: dict[str, Callable[[], Model]] = {
                    "learned": lambda: learn(run, held, given),  # noqa: B023 - called before the next round
                    "translation": lambda: learn_translation(run, held, given),  # noqa: B023
                    "random": lambda: learn_at_random(run, held, given, draw),  # noqa: B023
                }
                if draw < options.retrained:
                    ways["retrained"] = lambda: retrain(run.config, held, given)  # noqa: B023
                for method, make in ways.items():
                    started = time.perf_counter()
                    model = make()
                    seconds = time.perf_counter() - started
                    line = {"relation": name, "facts": count, "draw": draw, "method": method, "seconds": seconds}
                    record["figures"].append({**line, "asked": len(asked), **rank(model, held, asked)})
                    print(record["figures"][-1], flush=True)
                    write_record(record, path)


def summarise(figures: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return, for each number of facts, each method's mean MRR over relations, over the draws that were retrained."""
    paired = {(f["relation"], f["facts"], f["draw"]) for f in figures if f["method"] == "retrained"}
    rows = []
    for count in sorted({f["facts"] for f in figures}):
        chosen = [f for f in figures if f["facts"] == count and (f["relation"], count, f["draw"]) in paired]
        means = {method: _mean_over_relations(chosen, method) for method in METHODS}
        seconds = [f["seconds"] for f in figures if f["facts"] == count and f["method"] == "learned"]
        rows.append({"facts": count, **means, "share": means["learned"] / means["retrained"], "slowest": max(seconds)})
    return rows


def _mean_over_relations(figures: Sequence[Mapping[str, Any]], method: str) -> float:
    names = {f["relation"] for f in figures}
    return mean(mean(f["mrr"] for f in figures if f["relation"] == n and f["method"] == method) for n in names)


def render(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the figures of all stored records as Markdown."""
    parts = [_describe(record) for name, record in records.items() if name.split("-")[0] == "teaching"]
    return "\n".join(parts) or "Nothing is stored yet.\n"


def _describe(record: Mapping[str, Any]) -> str:
    lines = [
        f"### {record['config']['dataset']}\n",
        f"`{record['command']}`, {record['date'][:10]}, commit {str(record['git']['commit'])[:9]}, "
        f"{record['hardware']['cores']} cores {record['hardware']['cpu']}. MRR on the relation's facts that were not "
        "given, both sides, filtered; the mean over relations, each counting the same.\n",
        "| facts given | learned | retrained | learned / retrained | translation alone | random supports "
        "| slowest learning, s |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in summarise(record["figures"]):
        means = [f"{row[method]:.3f}" for method in METHODS]
        cells = [*means[:2], f"{100 * row['share']:.0f} %", *means[2:], f"{row['slowest']:.1f}"]
        lines.append(f"| {row['facts']} | {' | '.join(cells)} |")
    most = max(f["facts"] for f in record["figures"])
    lines += ["", f"By relation, {most} facts given, mean over draws:\n"]
    lines += ["| relation | learned | retrained | translation alone | random supports |", "|---|---|---|---|---|"]
    chosen = [f for f in record["figures"] if f["facts"] == most]
    for name in dict.fromkeys(f["relation"] for f in chosen):
        own = [f for f in chosen if f["relation"] == name]
        found = [[f["mrr"] for f in own if f["method"] == method] for method in METHODS]
        cells = " | ".join(f"{mean(values):.3f}" if values else "–" for values in found)
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


def put_figures(page: str, figures: str) -> str:
    """Return the page with the figures between its two marks."""
    marked = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return marked.sub(lambda _: f"{BEGIN}\n\n{figures}\n{END}", page)


def main() -> None:
    """Measure, or render what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world")
    parser.add_argument(
        "--relations",
        nargs="+",
        default=["capital_of", "member_of", "in_timezone", "has_coast_on", "independent_from"],
    )
    parser.add_argument("--counts", nargs="+", type=int, default=[5, 10, 20])
    parser.add_argument("--draws", type=int, default=3, help="draws of the given facts")
    parser.add_argument("--retrained", type=int, default=1, help="of which so many are trained again for")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--settings", nargs="*", default=[], help="key=value over the defaults")
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    if not options.render:
        config = {key: value for key, value in vars(options).items() if key != "render" and value != []}
        record = start_record("teaching", options.seed, config, ["torch", "numpy"])
        record["figures"] = []
        name = "teaching" if options.dataset == "world" else f"teaching-{options.dataset}"
        measure(options, record, RESULTS / f"benchmark-{name}.json")
    page = ROOT / "docs" / "teaching.md"
    if page.is_file():
        write_text(page, put_figures(page.read_text(encoding="utf-8"), render(read_records())))


if __name__ == "__main__":
    main()
