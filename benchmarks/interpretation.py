"""Interpretability in figures: structure, faithfulness, stability and transfer, compared with baselines.

A model, ITransF, IComplEx or ILineaRE, is trained with several seeds, its baselines once with the same settings
(`benchmarks/recipes.toml`): for ITransF STransE, dense attention and dense attention with an l1 penalty, for IComplEx
ComplEx, for ILineaRE LineaRE. Then everything that `itransf interpret` measures is measured; on
planted graphs, whether the true supports are recovered. Accuracy is stored as well.

    python -m benchmarks.interpretation --dataset wn18 --device cuda --jobs 7
    python -m benchmarks.interpretation --dataset fb15k-237 --seeds 6 7 8 9 10
    python -m benchmarks.interpretation --dataset fb15k-icomplex --device cuda
    python -m benchmarks.interpretation --dataset world
    python -m benchmarks.interpretation --dataset world-ilineare
    python -m benchmarks.interpretation --dataset world-reading
    python -m benchmarks.interpretation --dataset planted --seeds 5 6 7 8 9

Every training is stored when it ends; called again, the command continues with what is missing. With --stored, nothing
is trained: what the stored attention alone shows is measured, and added to a record that is complete.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import itransf
from benchmarks.recipes import BASELINES, RECIPES, TITLES, Case, list_cases, list_models, load_graph, make_config
from benchmarks.records import RESULTS, ROOT, StoredMeasurement, describe_commit, resume_record, write_record
from benchmarks.recovery import measure_recovery
from benchmarks.stored_attention import read_stored, write_attention
from benchmarks.streams import run_side_by_side
from itransf.data.graph import Graph
from itransf.data.planted import Planted
from itransf.interpret.measures import Interpretation, interpret_runs
from itransf.interpret.measures.faithfulness import MOST_TRIPLES
from itransf.interpret.measures.reading import Reading, draw_random, read_model
from itransf.interpret.measures.structure import DRAWS
from itransf.run import choose_device

UNSTORED = ("runs", "results", "jobs", "minutes", "fresh", "stored")  # options that do not change results
ACCURACY = ("mr", "mrr", "hits@1", "hits@10")
Example = tuple[Graph, Planted | None]
Trained = tuple[Reading, Planted | None]


@dataclass
class Measurement(StoredMeasurement):
    """Models whose attention is measured.

    Attributes:
        trained: Models of this call by case, with the true concepts of planted graphs.
    """

    trained: dict[Case, Trained] = field(default_factory=dict)

    def run(self) -> None:
        """Train what is missing, then measure everything."""
        if self.record.get("complete") and not self.options.stored:
            print(f"{self.path} is complete; --fresh measures again.")
            return
        cases = list_cases(self.options.dataset, self.options.models, self.options.seeds)
        graphs = [load_graph(self.options.dataset, case) for case in cases]
        if self.options.stored:
            self._read_all(cases, graphs)
        else:
            self._train_all(cases, graphs)
        if self.record.get("complete"):
            self._add_measures()
            return
        self._interpret()
        missing = len(cases) if self.options.stored else len(cases) - len(self.trained)
        self.record["complete"] = not missing
        write_record(self.record, self.path)
        if missing:
            print(f"{missing} trainings are missing; call again to continue.")

    def _read_all(self, cases: Sequence[Case], graphs: Sequence[Example]) -> None:
        """Read the attention that is stored."""
        for case, (graph, truth) in zip(cases, graphs, strict=True):
            reading = read_stored(self.record, case, graph)
            if reading is not None:
                self.trained[case] = reading, truth

    def _train_all(self, cases: Sequence[Case], graphs: Sequence[Example]) -> None:
        """Train what is missing, and store it."""
        tasks = [partial(self._train, case, graph) for case, (graph, _) in zip(cases, graphs, strict=True)]
        for place, run in run_side_by_side(tasks, self.options.jobs, choose_device(self.options.device)):
            if isinstance(run, itransf.Run):
                self._store_run(cases[place], run, graphs[place][1])
            elif run:
                self._store({**cases[place].to_dict(), "error": run})

    def _train(self, case: Case, graph: Graph) -> itransf.Run | str:
        """Return the trained model, the reason of its failure, or nothing if the time is up."""
        folder = self.options.runs / self.options.dataset / case.name
        if self.is_time_up and not folder.exists():
            return ""
        config = make_config(self.options.dataset, case, graph, self.options.settings, self.options.device)
        choices: dict[str, Any] = {"device": self.options.device, "progress": False}
        choices |= {"overwrite": True} if self.options.fresh else {"resume": True}
        try:
            return itransf.train(graph, config=config, out=folder, **choices)
        except (itransf.ITransFError, RuntimeError) as error:
            return str(error) or type(error).__name__

    def _store_run(self, case: Case, run: itransf.Run, truth: Planted | None) -> None:
        """Keep a trained model for the measures, and store its settings, accuracy and attention."""
        self.trained[case] = read_model(run.model, run.graph, TITLES[case.model]), truth
        settings = run.config.to_dict()
        settings.pop("seed")
        self.record["settings"][case.model] = settings
        self._store({**case.to_dict(), **describe_run(run)})

    def _store(self, entry: dict[str, Any]) -> None:
        """Store one training, in place of an earlier one of the same case."""
        keys = [key for key in ("model", "seed", "support size") if key in entry]
        others = [one for one in self.record["runs"] if any(one.get(key) != entry[key] for key in keys)]
        self.record["runs"] = sorted([*others, entry], key=order_run)
        write_record(self.record, self.path)
        shown = json.dumps({key: value for key, value in entry.items() if key != "attention"})
        print(f"{time.monotonic() - self.started:.0f} s: {shown}", flush=True)

    def _interpret(self) -> None:
        """Measure all models, for each support size of planted graphs separately."""
        self.record["models"] = []
        for size in dict.fromkeys(case.size for case in self.trained):
            own = sorted((case for case in self.trained if case.size == size), key=lambda case: order_run(vars(case)))
            main = [self.trained[case] for case in own if case.model in BASELINES]
            others = [self.trained[case] for case in own if case.model not in BASELINES]
            if not main:
                print("There is no run of a model with concepts to measure.")
                continue
            if size is None:
                readings, baselines = ([reading for reading, _ in chosen] for chosen in (main, others))
                triples, draws = self.options.triples, self.options.draws
                ranked = not self.options.stored
                found = interpret_runs(readings, baselines, ranked=ranked, most_triples=triples, draws=draws)
            else:
                random = [(draw_random(main[0][0]), main[0][1])]
                groups = [main, *([other] for other in others), random]
                found = [self._measure_recovery(group) for group in groups]
            mark = {} if size is None else {"support size": size}
            self.record["models"] += [{**mark, **each.to_dict()} for each in found]

    def _add_measures(self) -> None:
        """Add what the stored attention of the main model shows and the record lacks."""
        readings = [reading for case, (reading, _) in self.trained.items() if case.model in BASELINES]
        stored = next(each for each in self.record["models"] if each["name"] == readings[0].name)
        known = {(each["measure"], each["statistic"]) for each in stored["findings"]}
        found = interpret_runs(readings, ranked=False, draws=self.options.draws)[0].to_dict()["findings"]
        new = [each for each in found if (each["measure"], each["statistic"]) not in known]
        stored["findings"] += new
        origin = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "git": describe_commit()}
        names = [f"{each['measure']}, {each['statistic']}" for each in new]
        self.record.setdefault("added", []).append({"findings": names, **origin})
        write_record(self.record, self.path)
        print(f"Added: {', '.join(names) or 'nothing'}.")

    def _measure_recovery(self, group: Sequence[Trained]) -> Interpretation:
        readings, truths = [reading for reading, _ in group], [truth for _, truth in group if truth is not None]
        finding = measure_recovery(readings, truths, self.options.draws)
        return Interpretation(readings[0].name, len(readings), (finding,))


def order_run(entry: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return the sort key of stored runs, whichever training ended first."""
    return entry.get("support size", 0), list(TITLES).index(entry["model"]), entry["seed"]


def describe_run(run: itransf.Run) -> dict[str, Any]:
    """Return the duration and accuracy of a training, and the attention of a model with supports."""
    info = run.info()
    evaluations = {split: run.evaluate(split) for split in ("valid", "test")}
    metrics = {split: {name: found[name] for name in ACCURACY} for split, found in evaluations.items()}
    found: dict[str, Any] = {"epochs": info["epochs"], "seconds": info["seconds"], "best": info["best"], **metrics}
    if run.has_concepts and getattr(run.config.model, "attention", "sparse") == "sparse":
        found["attention"] = write_attention(run)
    return found


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world", help="a recipe, or what itransf.load takes")
    parser.add_argument("--models", nargs="+", choices=list(TITLES), help="by default the recipe's model and baselines")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4], help="baselines use the first")
    parser.add_argument("--settings", nargs="+", default=[], help="key=value over the recipe, for all models")
    parser.add_argument(
        "--triples", type=int, default=MOST_TRIPLES, help="ranked of each relation for faithfulness; 0: all"
    )
    parser.add_argument("--draws", type=int, default=DRAWS, help="resamplings and permutations")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--jobs", type=int, default=1, help="concurrent trainings on a GPU")
    parser.add_argument("--minutes", type=float, default=0, help="time after which no training starts; 0: no limit")
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "interpretation", help="folder of trained models")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the record")
    parser.add_argument("--fresh", action="store_true", help="ignore the stored record and trained models")
    parser.add_argument("--stored", action="store_true", help="train nothing, measure the attention that is stored")
    options = parser.parse_args(arguments)
    options.models = options.models or list_models(options.dataset)
    return options


def open_record(options: argparse.Namespace, path: Path) -> dict[str, Any]:
    """Return the stored record, or a new one if the options or the recipe differ."""
    config = {key: value for key, value in vars(options).items() if key not in UNSTORED and value != []}
    empty: dict[str, Any] = {"settings": {}, "runs": [], "models": []}
    return resume_record(path, "interpretation", options, config, recipe=RECIPES.get(options.dataset, {}), **empty)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    options = parse_options(arguments)
    path = options.results / f"interpretation-{options.dataset}.json"
    Measurement(options, open_record(options, path), path).run()


if __name__ == "__main__":
    main()
