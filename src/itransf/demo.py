"""The demo: three models trained on the bundled graph, the new triples that IComplEx predicts, and their concepts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from itransf.data import Graph, load
from itransf.errors import MissingExtraError
from itransf.evaluation import Evaluation
from itransf.files import make_folder
from itransf.interpret import Attention, SharedConcept, concepts_behind, write_heatmap
from itransf.prediction import Query, ScoredTriple, answer_queries
from itransf.run import Run, train
from itransf.storage import RunFolder

MODELS = ("distmult", "complex", "icomplex")
METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10")
MEAN_ANSWERS = 1.05  # a relation with fewer answers per query is functional: a new triple would contradict a known one
RIVALS = 10  # best answers among which the best competitor of a triple is looked for
CANDIDATES = 30  # best new triples of each relation that are compared
SMALLEST_SCORE = 1e-9  # smaller scores are replaced by this one in a denominator


@dataclass(frozen=True)
class ModelResult:
    """Test ranks of one model.

    Attributes:
        model: Name of the model.
        evaluation: Filtered test ranks.
        seconds: Training time, evaluation included.
    """

    model: str
    evaluation: Evaluation
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics of the demo's table, ready for JSON."""
        rare = self.evaluation.buckets[-1]["hits@10"]
        metrics = {key: self.evaluation[key] for key in METRICS}
        return {"model": self.model, **metrics, "hits@10_rare": rare, "seconds": self.seconds}


@dataclass(frozen=True)
class Discovery:
    """A predicted triple that is not in the graph.

    Attributes:
        triple: The triple with its score and ranks.
        lead: Difference to the best competing answer, the mean over both sides.
        concepts: Concepts of the relation, and the relations that share each.
    """

    triple: ScoredTriple
    lead: float
    concepts: dict[str, list[SharedConcept]]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        concepts = {part: [shared.to_dict() for shared in found] for part, found in self.concepts.items()}
        return {**self.triple.to_dict(), "lead": self.lead, "concepts": concepts}


@dataclass(frozen=True, eq=False)
class DemoResult:
    """Results of the demo.

    Attributes:
        graph: The bundled graph.
        models: Results of DistMult, ComplEx and IComplEx.
        discoveries: New triples that IComplEx predicts, and the concepts behind them.
        attention: Attention of IComplEx.
        run_folder: Folder of the IComplEx run.
        heatmap: File of the heat map; None where matplotlib is missing.
        missing: What to install for the heat map; empty where it was drawn.
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
    """Train DistMult, ComplEx and IComplEx on `world`, evaluate them, and predict new triples with IComplEx.

    Args:
        out: Folder for the heat map and the IComplEx run; an earlier demo in it is replaced.
        seed: Random seed of all three trainings.
        progress: Whether to show progress bars.
        settings: Assignments such as "training.epochs=5" that override the defaults of all three models.
        device: "auto", "cpu" or "cuda".
    """
    make_folder(Path(out))
    folder = RunFolder(Path(out) / "run")
    if not folder.is_replaceable:
        raise folder.refuse()
    graph, results, run = load("world"), list[ModelResult](), None
    for model in MODELS:
        started = time.perf_counter()
        run = train(graph, settings=[f"model.name={model}", *settings], seed=seed, device=device, progress=progress)
        results.append(ModelResult(model, run.evaluate(), time.perf_counter() - started))
    assert run is not None, "there is at least one model"
    run.save(folder.path, overwrite=True)
    attention = run.concepts()
    heatmap, missing = None, ""
    try:
        heatmap = write_heatmap(attention, folder.path.parent / "attention.png")
    except MissingExtraError as error:
        missing = str(error)
    discoveries = tuple(find_discoveries(run, attention))
    return DemoResult(graph, tuple(results), discoveries, attention, folder.path, heatmap, missing)


def find_discoveries(run: Run, attention: Attention, count: int = 10, per_relation: int = 2) -> list[Discovery]:
    """Return new triples that a run predicts, those with the largest lead first.

    Args:
        run: A trained model and its graph.
        attention: The model's attention.
        count: Number of triples.
        per_relation: Maximum number of triples of one relation.
    """
    found = [one for relation in open_relations(run.graph) for one in run.predict(relation=relation, top=CANDIDATES)]
    scored = run.score((triple.head, triple.relation, triple.tail) for triple in found if triple.known is None)
    leads = dict(zip(scored, measure_leads(run, scored), strict=True))
    chosen = choose_diverse(sorted(scored, key=lambda triple: -leads[triple]), count, per_relation)
    return [Discovery(triple, leads[triple], concepts_behind(attention, triple.relation)) for triple in chosen]


def open_relations(graph: Graph) -> list[str]:
    """Return the relations that are not functional in either direction, so that a new triple need not be wrong."""
    statistics = graph.statistics
    several = (statistics.tails_per_head >= MEAN_ANSWERS) & (statistics.heads_per_tail >= MEAN_ANSWERS)
    return [graph.relations.name(relation) for relation in np.flatnonzero(several).tolist()]


def measure_leads(run: Run, triples: Sequence[ScoredTriple]) -> list[float]:
    """Return how far each triple is ahead of its best competitor, the mean over both sides.

    Distances of different relations are not comparable, so their differences are relative to the triple's. Dot products
    are log odds, whose differences are comparable.
    """
    if not triples:
        return []
    queries = [Query(triple.head, triple.relation, None) for triple in triples]
    queries += [Query(None, triple.relation, triple.tail) for triple in triples]
    rivals = [float("-inf")] * len(queries)
    # One of the best answers may be the triple itself, and some may be held out.
    for answer in answer_queries(run.model, run.graph, queries, top=RIVALS).to_pylist():
        place = answer["query"] - 1
        triple = triples[place % len(triples)]
        if answer["known"] is None and (answer["head"], answer["tail"]) != (triple.head, triple.tail):
            rivals[place] = max(rivals[place], answer["score"])
    both = zip(triples, rivals[: len(triples)], rivals[len(triples) :], strict=True)
    is_distance = getattr(run.model, "compare", "") != "dot"
    return [
        (t.score - (one + other) / 2.0) / (max(abs(t.score), SMALLEST_SCORE) if is_distance else 1.0)
        for t, one, other in both
    ]


def choose_diverse(triples: Iterable[ScoredTriple], count: int, per_relation: int) -> list[ScoredTriple]:
    """Return the first triples in which no head and no pair of entities repeats, nor a relation too often."""
    chosen: list[ScoredTriple] = []
    relations, heads, pairs = Counter[str](), set[str](), set[frozenset[str]]()
    for triple in triples:
        pair = frozenset((triple.head, triple.tail))
        if relations[triple.relation] >= per_relation or triple.head in heads or pair in pairs:
            continue
        chosen.append(triple)
        relations[triple.relation] += 1
        heads.add(triple.head)
        pairs.add(pair)
        if len(chosen) == count:
            break
    return chosen
