"""How far ITransF can be read, in figures: structure, faithfulness, stability and sharing beside its baselines.

ITransF is trained with several seeds; STransE, dense attention and dense attention with an l1 penalty are trained once
with the same recipe (`benchmarks.recipes`), and the matrices of STransE are coded sparsely. Then everything is measured
that `itransf interpret` measures, with intervals and permutation nulls; on planted graphs, whether the true supports
are found again. Accuracy stands beside it.

    python -m benchmarks.interpretation --dataset wn18 --device cuda --jobs 7
    python -m benchmarks.interpretation --dataset fb15k-237 --seeds 6 7 8 9 10
    python -m benchmarks.interpretation --dataset world
    python -m benchmarks.interpretation --dataset world-reading
    python -m benchmarks.interpretation --dataset planted --seeds 5 6 7 8 9
    python -m benchmarks.interpretation --render          # docs/interpretation.md from what is stored

Every training and every model's figures are stored as they come; called again, the command goes on with what is
missing. Trained models stay in `--runs`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import itransf
from benchmarks.reading import Group, Member, interpret_groups, interpret_quickly
from benchmarks.recipes import TITLES, Case, list_cases, load_graph, make_config, write_recipe
from benchmarks.records import RESULTS, ROOT, start_record
from benchmarks.sections.interpretation import render
from itransf.data.graph import Graph
from itransf.data.planted import Planted
from itransf.experiments.bench.records import write_record
from itransf.experiments.side_by_side import run_side_by_side
from itransf.files import write_text
from itransf.interpret import Attention
from itransf.interpret.measures import DRAWS, Interpretation, read_model
from itransf.interpret.measures.faithfulness import MOST_TRIPLES
from itransf.models import SIDES, ITransF
from itransf.run.settings import choose_device

HOW = ("runs", "results", "page", "jobs", "seconds_left", "anew", "render")
"""Options that do not change what is measured."""
ACCURACY = ("mrr", "hits@10")


@dataclass
class Measurement:
    """A record that goes on where it stands.

    Attributes:
        options: Those of the command line.
        record: What is stored so far.
        path: Where.
        groups: What was trained, by model and support size.
        started: When this call began.
    """

    options: argparse.Namespace
    record: dict[str, Any]
    path: Path
    groups: dict[tuple[str, int | None], Group] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Train what is not trained yet, then measure it."""
        if self.record.get("complete"):
            print(f"{self.path} is complete; --anew measures again.")
            return
        cases = list_cases(self.options.dataset, self.options.models, self.options.seeds)
        graphs = [load_graph(self.options.dataset, case) for case in cases]
        tasks = [partial(self._train, case, graph) for case, (graph, _) in zip(cases, graphs, strict=True)]
        missing = len(cases)
        for place, run in run_side_by_side(tasks, self.options.jobs, choose_device(self.options.device)):
            if isinstance(run, itransf.Run):
                self._store_run(cases[place], run, graphs[place][1])
                missing -= 1
            elif run:
                self._store({**cases[place].to_dict(), "error": run})
        self._interpret()
        self.record["complete"] = not missing
        self._write()
        if missing:
            print(f"{missing} trainings are missing; call again to go on.")

    def _train(self, case: Case, graph: Graph) -> itransf.Run | str:
        """Train one model, or go on with what lies in its folder.

        Returns:
            The run; else why it failed, so that the others go on; nothing where no time is left to begin.
        """
        folder = self.options.runs / self.options.dataset / case.name
        left = self.options.seconds_left - (time.monotonic() - self.started)
        if self.options.seconds_left and left < 0 and not folder.exists():
            return ""
        config = make_config(self.options.dataset, case, graph, self.options.settings, self.options.device)
        choices: dict[str, Any] = {"device": self.options.device, "progress": False}
        choices |= {"overwrite": True} if self.options.anew else {"resume": True}
        try:
            return itransf.train(graph, config=config, out=folder, **choices)
        except (itransf.ITransFError, RuntimeError) as error:
            return str(error) or type(error).__name__

    def _store_run(self, case: Case, run: itransf.Run, truth: Planted | None) -> None:
        """Keep a trained model for the measures, and store how accurate it is and what its attention is."""
        group = self.groups.setdefault((case.model, case.size), Group())
        group.add(Member(case.seed, read_model(run.model, run.graph, TITLES[case.model]), truth))
        settings = run.config.to_dict()
        settings.pop("seed")
        self.record["settings"][case.model] = settings
        if case.model == "itransf":
            self._store_findings(case.size, [interpret_quickly(group)], final=False)
        self._store({**case.to_dict(), **describe_run(run)})

    def _store(self, entry: dict[str, Any]) -> None:
        """Store how one training went, in place of what was stored of it."""
        keys = [key for key in ("model", "seed", "support size") if key in entry]
        others = [one for one in self.record["runs"] if any(one.get(key) != entry[key] for key in keys)]
        self.record["runs"] = sorted([*others, entry], key=order_run)
        self._write()
        self._tell(json.dumps({key: value for key, value in entry.items() if key != "attention"}))

    def _tell(self, text: str) -> None:
        print(f"{time.monotonic() - self.started:.0f} s: {text}", flush=True)

    def _interpret(self) -> None:
        """Measure every group, and store what is found about each as it comes."""
        for size in dict.fromkeys(size for _, size in self.groups):
            own = {model: group for (model, other), group in self.groups.items() if other == size}
            main = own.pop("itransf", None)
            if main is None:
                print("There is no run of ITransF to measure.")
                continue
            found: list[Interpretation] = []
            for interpretation in interpret_groups(main, list(own.values()), self.options.draws, self.options.triples):
                found.append(interpretation)
                self._store_findings(size, found, final=True)
                self._write()
                self._tell(f"measured {interpretation.name}")

    def _store_findings(self, size: int | None, found: Sequence[Interpretation], final: bool) -> None:
        """Replace what is stored about the models of this support size."""
        mark = {} if size is None else {"support size": size}
        others = [one for one in self.record["models"] if one.get("support size") != size]
        mine = [{**mark, **each.to_dict(), "final": final} for each in found]
        self.record["models"] = [*others, *mine]

    def _write(self) -> None:
        write_record(self.record, self.path)


def order_run(entry: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return what puts stored runs into the order of tables, whichever training ended first."""
    return entry.get("support size", 0), list(TITLES).index(entry["model"]), entry["seed"]


def describe_run(run: itransf.Run) -> dict[str, Any]:
    """Return how a training went, how accurate the model is, and its attention where that is sparse."""
    info = run.info()
    evaluations = {split: run.evaluate(split) for split in ("valid", "test")}
    figures = {split: {name: found[name] for name in ACCURACY} for split, found in evaluations.items()}
    found: dict[str, Any] = {"epochs": info["epochs"], "seconds": info["seconds"], "best": info["best"], **figures}
    if isinstance(run.model, ITransF) and run.model.config.attention == "sparse":
        found["attention"] = write_attention(run.concepts())
    return found


def write_attention(attention: Attention) -> dict[str, dict[str, str]]:
    """Return the weights of each relation side as text such as "3:0.731 8:0.269", heaviest first."""
    return {
        side: {name: write_weights(row) for name, row in zip(attention.relations.names, rows, strict=True)}
        for side, rows in zip(SIDES, attention.weights, strict=True)
    }


def write_weights(row: npt.NDArray[np.float32]) -> str:
    """Return the weights of one relation side as text."""
    order = np.argsort(-row, kind="stable")[: np.count_nonzero(row)]
    return " ".join(f"{concept}:{row[concept]:.3f}" for concept in order)


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world", help="planted, or what itransf.load takes")
    parser.add_argument("--models", nargs="+", default=list(TITLES), choices=list(TITLES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4], help="baselines take the first")
    parser.add_argument("--settings", nargs="+", default=[], help="key=value over the recipe, for all models")
    parser.add_argument(
        "--triples", type=int, default=MOST_TRIPLES, help="ranked of a relation for faithfulness; 0: all"
    )
    parser.add_argument("--draws", type=int, default=DRAWS, help="resamplings and permutations")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once on a GPU")
    parser.add_argument("--seconds-left", type=float, default=0, help="after which no training is begun; 0: no limit")
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "interpretation", help="where models are kept")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where figures are stored")
    parser.add_argument("--anew", action="store_true", help="train and measure again what is stored")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "interpretation.md", help="what is written")
    parser.add_argument("--render", action="store_true", help="only write the page")
    return parser.parse_args(arguments)


def open_record(options: argparse.Namespace, path: Path) -> dict[str, Any]:
    """Return what is stored of this measurement, or a record without figures."""
    told = {key: value for key, value in vars(options).items() if key not in HOW and value != []}
    stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() and not options.anew else {}
    recipe = write_recipe(options.dataset)
    if stored.get("config") == told and stored.get("recipe") == recipe:
        return dict(stored)
    record = start_record("interpretation", options.seeds[0], told, ["torch", "numpy", "scikit-learn"])
    return {**record, "recipe": recipe, "settings": {}, "runs": [], "models": []}


def read_interpretations(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the stored records that the page is made of, by the name that follows "interpretation-"."""
    paths = sorted(folder.glob("interpretation-*.json"))
    return {path.stem.removeprefix("interpretation-"): json.loads(path.read_text(encoding="utf-8")) for path in paths}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, unless only the page is asked for, and write the page."""
    options = parse_options(arguments)
    if not options.render:
        path = options.results / f"interpretation-{options.dataset}.json"
        Measurement(options, open_record(options, path), path).run()
    if options.results == RESULTS or options.render:
        write_text(options.page, render(read_interpretations(options.results)))
        print(f"wrote {options.page}")


if __name__ == "__main__":
    main()
