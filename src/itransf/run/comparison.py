"""Several models on one graph under one protocol: trained, ranked, and put into one table."""

import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from itransf.data.datasets import load
from itransf.data.graph import Graph, NamedTriples
from itransf.data.known import Floats
from itransf.errors import ConfigError, DataError, ITransFError, check_count, is_out_of_memory
from itransf.evaluation import METRICS, RuleList, blend_with_rules, format_metric, rank_triples
from itransf.files import write_text
from itransf.interpret.plot import write_tradeoff
from itransf.models import MODELS, SIDES, Model
from itransf.presets import read_preset
from itransf.records import name_member
from itransf.run.opening import train
from itransf.run.settings import Device, check_settings, resolve_config

COMPARED = ("mrr", "mr", "hits@1", "hits@10")
REPLICATES = 1000
Measured = tuple[Floats, Floats, int, float]
"""Of one training: the metrics of each test triple (n, 4) and of each validation triple, parameters, seconds."""


@dataclass(frozen=True)
class Row:
    """One model in a comparison; figures are means over its seeds.

    Attributes:
        name: Name of the model or preset; "with rules" follows where it is blended with one-hop rules.
        uses: What it uses besides single triples, such as "paths".
        test: Filtered metrics on test.
        interval: 95 % interval of each of them, over resampled test triples and, if there are several, seeds.
        valid: Metrics on valid, filtered with train and valid.
        parameters: Number of parameters.
        seconds: Time of training and, with rules, of the choice of their weights.
        problem: Reason why there are no figures.
    """

    name: str
    uses: str
    test: dict[str, float]
    interval: dict[str, tuple[float, float]]
    valid: dict[str, float]
    parameters: int
    seconds: float
    problem: str = ""

    def list_cells(self) -> list[str]:
        """Return the cells of a table; ± is half the width of an interval."""
        if self.problem:
            return [self.name, *["–"] * (len(COMPARED) + 3), self.uses]
        widths = {metric: (high - low) / 2 for metric, (low, high) in self.interval.items()}
        cells = [f"{format_metric(key, self.test[key])}±{format_metric(key, widths[key])}" for key in COMPARED]
        cells += [format_metric("mrr", self.valid["mrr"]), f"{self.parameters:,}", f"{self.seconds:,.1f}"]
        return [self.name, *cells, self.uses]


@dataclass(frozen=True)
class Comparison:
    """Models on one graph, those with the highest MRR on valid first, those that failed last."""

    graph: str
    seeds: int
    settings: tuple[str, ...]
    rows: tuple[Row, ...]

    HEADS = ("Model", *(METRICS[metric] for metric in COMPARED), "Valid", "Parameters", "Seconds", "Uses")

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; Hits@k are fractions."""
        return asdict(self)

    def to_markdown(self) -> str:
        """Return the table in Markdown, how it was made, and why models failed."""
        ruler = ["---", *["---:"] * (len(self.HEADS) - 2), "---"]
        table = [f"| {' | '.join(line)} |" for line in (self.HEADS, ruler, *(row.list_cells() for row in self.rows))]
        failed = [f"- {row.name} failed: {row.problem}" for row in self.rows if row.problem]
        return "\n".join([f"# Models on {self.graph}", "", *table, "", self.describe(), *failed, ""])

    def describe(self) -> str:
        """Return how the figures were made."""
        seeds = f"means of {self.seeds} seeds" if self.seeds > 1 else "one seed"
        over = f"test triples{' and seeds' if self.seeds > 1 else ''}"
        given = f" Settings: {', '.join(self.settings)}." if self.settings else ""
        return f"Filtered ranks on test among all entities, {seeds}; ±: 95 % interval over {over}; Valid: MRR.{given}"

    def plot(self, path: str | Path) -> Path:
        """Draw the MRR of the models over training time and over parameters, as .png or .svg, and return the path.

        Raises:
            ConfigError: The path has another ending.
            MissingExtraError: matplotlib is not installed.
        """
        return write_tradeoff([asdict(row) for row in self.rows if "rules" not in row.uses and row.test], path)


def compare(
    graph: Graph | str | Path | NamedTriples,
    models: Sequence[str],
    settings: Sequence[str] = (),
    *,
    seeds: int = 1,
    rules: bool = False,
    out: str | Path | None = None,
    device: Device = "auto",
    progress: bool = True,
) -> Comparison:
    """Train models one after the other and rank valid and test with each, by the same protocol.

    A model that fails has a row with the reason; the others go on. The table is written after each model.

    Args:
        graph: Graph, or anything that `itransf.load` accepts.
        models: Names of models ("transe"), which get their default settings for the graph, or of presets
            ("fb15k/transe").
        settings: Strings such as "training.epochs=50" that override the settings of all models.
        seeds: Number of trainings of each model.
        rules: Whether to add each model blended with one-hop rules, and the rules alone.
        out: Folder for comparison.json, comparison.md and a run folder for each training. What is trained there
            already is not trained again. By default nothing is written.
        device: "auto", "cpu", "cuda" or "cuda:1", or a torch device.
        progress: Whether to show progress.

    Raises:
        ConfigError: There is no such model or preset.
        DataError: The graph has no validation or no test triples.
    """
    seeds, given = check_count("seeds", seeds, least=1), tuple(check_settings(settings))
    if isinstance(models, str) or not models:
        raise ConfigError('name models to compare, as a list such as ["transe", "wn18/itransf"]')
    for name in models:
        (read_preset if "/" in name else MODELS.__getitem__)(name)  # raises if there is none
    triples = graph if isinstance(graph, Graph) else load(graph, progress=progress)
    for split in ("valid", "test"):
        if not len(triples.split(split)):
            raise DataError(f"the graph has no {split} triples to compare models on; give some, or a file to split")
    folder = None if out is None else Path(out)
    mined = RuleList(triples) if rules else None
    rows = [] if mined is None else [summarise("rules alone", "rules", [measure(mined, triples, 0.0)])]
    for name in dict.fromkeys(models):
        if progress:
            print(f"Model: {name}", file=sys.stderr, flush=True)
        preset, own = (name, ()) if "/" in name else (None, (f"model.name={name}",))
        options = {"preset": preset, "settings": (*own, *given), "device": device, "progress": progress}
        try:
            rows += rank_seeds(triples, name, seeds, folder, mined, **options)
        except (ITransFError, MemoryError, RuntimeError) as error:
            if not isinstance(error, ITransFError) and not is_out_of_memory(error):
                raise
            rows.append(Row(name, "", {}, {}, {}, 0, 0.0, str(error) or "out of memory"))
        rows.sort(key=lambda row: -row.valid.get("mrr", -1.0))
        found = Comparison(triples.name, seeds, given, tuple(rows))
        if folder is not None and any(row.test for row in rows):
            write_text(folder / "comparison.json", json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")
            write_text(folder / "comparison.md", found.to_markdown())
    return found


def rank_seeds(
    graph: Graph, name: str, seeds: int, out: Path | None, rules: RuleList | None, **options: Any
) -> Iterator[Row]:
    """Train the seeds of a model and yield its row and, with rules, the row of the blend."""
    plain, blended, uses = list[Measured](), list[Measured](), ""
    first = resolve_config(graph, options["preset"], None, options["settings"], options["device"]).seed
    for seed in range(first, first + seeds):
        folder = out and out / re.sub(r"[^\w.-]+", "-", name) / name_member(seed)
        run = train(graph, **options, seed=seed, out=folder, resume=folder is not None)
        if run.is_interrupted:
            raise KeyboardInterrupt
        uses, seconds = getattr(run.model, "uses", ""), run.record.seconds
        plain.append(measure(run.model, graph, seconds))
        if rules is not None:
            started = time.perf_counter()
            blend = blend_with_rules(run.model, graph, rules, options["progress"])
            blended.append(measure(blend, graph, seconds + time.perf_counter() - started))
    yield summarise(name, uses, plain)
    if rules is not None:
        yield summarise(f"{name} with rules", ", ".join(filter(None, (uses, "rules"))), blended)


def measure(model: Model, graph: Graph, seconds: float) -> Measured:
    """Rank test and valid with a model, filtered, among all entities; for valid, test is no part of the filter."""
    found = []
    for triples, known in ((graph.test, graph.known), (graph.valid, graph.known_in("train", "valid"))):
        ranks = rank_triples(model, triples, known)
        both = np.stack([ranks.ranks(side) for side in SIDES])  # (2, n)
        found.append(np.stack([1 / both, both, both <= 1, both <= 10], axis=2).mean(axis=0))
    return found[0], found[1], sum(parameter.numel() for parameter in model.parameters()), seconds


def summarise(name: str, uses: str, seeds: Sequence[Measured]) -> Row:
    """Return the means over seeds, with intervals over resampled test triples and seeds."""
    test, valid, parameters, seconds = zip(*seeds, strict=True)
    values, rng = np.stack(test), np.random.default_rng(0)  # (s, n, 4)
    drawn = []
    for _ in range(REPLICATES):
        chosen = values[rng.integers(len(seeds), size=len(seeds))].mean(axis=0)
        drawn.append(chosen[rng.integers(len(chosen), size=len(chosen))].mean(axis=0))
    bounds = np.quantile(drawn, (0.025, 0.975), axis=0).T.tolist()
    interval = dict(zip(COMPARED, map(tuple, bounds), strict=True))
    figures = [dict(zip(COMPARED, np.concatenate(split).mean(axis=0).tolist(), strict=True)) for split in (test, valid)]
    return Row(name, uses, figures[0], interval, figures[1], parameters[0], float(np.mean(seconds)))
