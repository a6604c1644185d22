"""The demo: three models on the bundled graph, what the best of the family predicts, and why."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from itransf.data import Graph, load
from itransf.errors import MissingExtraError
from itransf.evaluation import Evaluation
from itransf.experiments.discoveries import Discovery, find_discoveries
from itransf.files import make_folder
from itransf.interpret import Attention, write_heatmap
from itransf.run import Run, train
from itransf.storage import RunFolder

MODELS = ("transe", "stranse", "itransf")


@dataclass(frozen=True)
class ModelResult:
    """What one model reached on test.

    Attributes:
        model: Its name.
        evaluation: Its ranks.
        seconds: How long training took.
    """

    model: str
    evaluation: Evaluation
    seconds: float

    @property
    def rare_hits(self) -> float:
        """Hits@10 on the rarest third of relations, each relation counting the same."""
        return float(self.evaluation.buckets[-1]["hits@10"])

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the demo's table, ready for JSON."""
        figures = {key: self.evaluation[key] for key in ("mr", "mrr", "hits@1", "hits@3", "hits@10")}
        return {"model": self.model, **figures, "hits@10_rare": self.rare_hits, "seconds": self.seconds}


@dataclass(frozen=True, eq=False)
class DemoResult:
    """Everything the demo found.

    Attributes:
        graph: The triples.
        models: TransE, STransE and ITransF, measured.
        discoveries: New triples ITransF predicts, and the concepts behind them.
        attention: Of ITransF.
        run_folder: Where ITransF is kept.
        heatmap: Where the picture lies; None where matplotlib is missing.
        missing: What to install for the picture; empty where it was drawn.
    """

    graph: Graph
    models: tuple[ModelResult, ...]
    discoveries: tuple[Discovery, ...]
    attention: Attention
    run_folder: Path
    heatmap: Path | None
    missing: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "graph": self.graph.name,
            "models": [result.to_dict() for result in self.models],
            "rare_relations": self.models[-1].evaluation.buckets[-1]["relations"],
            "discoveries": [discovery.to_dict() for discovery in self.discoveries],
            "attention": self.attention.to_dict(),
            "run": str(self.run_folder),
            "heatmap": None if self.heatmap is None else str(self.heatmap),
        }


def run_demo(
    out: str | Path = "demo",
    seed: int = 0,
    progress: bool = True,
    settings: Sequence[str] = (),
    device: str = "auto",
) -> DemoResult:
    """Train TransE, STransE and ITransF on `world`, measure them, and let ITransF predict and explain.

    Args:
        out: The folder for the heat map and for ITransF's run; an earlier demo there is replaced.
        seed: Of all three trainings.
        progress: Whether to show it.
        settings: Strings such as "training.epochs=5" that override the defaults of all three.
        device: "auto", "cpu" or "cuda".
    """
    folder = Path(out)
    check_place(folder)
    graph = load("world")
    results, run = [], None
    for model in MODELS:
        started = time.perf_counter()
        chosen = [f"model.name={model}", *settings]
        run = train(graph, settings=chosen, seed=seed, device=device, progress=progress)
        results.append(ModelResult(model, run.evaluate(), time.perf_counter() - started))
    assert run is not None, "there is at least one model"
    run.save(folder / "itransf", overwrite=True)
    attention = run.concepts()
    heatmap, missing = draw_if_possible(attention, folder / "attention.png")
    return DemoResult(
        graph,
        tuple(results),
        tuple(find_discoveries(run, attention)),
        attention,
        folder / "itransf",
        heatmap,
        missing,
    )


def check_place(folder: Path) -> None:
    """Refuse, before anything is trained, a folder that the results cannot be written to."""
    make_folder(folder)
    run = RunFolder(folder / "itransf")
    if not run.is_replaceable:
        raise run.refuse()


def draw_if_possible(attention: Attention, path: Path) -> tuple[Path | None, str]:
    """Draw the heat map; where that needs an extra, return what is missing instead."""
    try:
        return write_heatmap(attention, path), ""
    except MissingExtraError as error:
        return None, str(error)


__all__ = ["MODELS", "DemoResult", "ModelResult", "Run", "run_demo"]
