"""The demo: three models trained on the bundled graph, what IComplEx recovers and predicts, and its concepts."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from itransf.data import RARELY_ANSWERED, Graph, load
from itransf.errors import MissingExtraError
from itransf.evaluation import BETTER, Ranks, measure_skill
from itransf.files import make_folder
from itransf.interpret import write_heatmap
from itransf.models import SIDES
from itransf.prediction import LabelledTriple, MissingTriple, name_triple
from itransf.run import Run, train
from itransf.run.report import choose_triples
from itransf.storage import RunFolder

MODELS = ("distmult", "complex", "icomplex")
METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10")
SHOWN = 6  # triples of each kind
MOST_ANSWERED = 0.8  # largest share of the fitting entities that have an answer, for a relation with gaps


def run_demo(
    out: str | Path = "demo",
    seed: int = 0,
    progress: bool = True,
    settings: Sequence[str] = (),
    device: str = "auto",
) -> tuple[dict[str, Any], Run, str]:
    """Train DistMult, ComplEx and IComplEx on `world`, evaluate them, and predict new triples with IComplEx.

    Args:
        out: Folder for the heat map and the IComplEx run; an earlier demo in it is replaced.
        seed: Random seed of all three trainings.
        progress: Whether to show progress bars.
        settings: Assignments such as "training.epochs=5" that override the defaults of all three models.
        device: "auto", "cpu" or "cuda".

    Returns:
        The results, ready for JSON; the run of IComplEx; and what to install for the heat map, empty where it was
        drawn.
    """
    make_folder(Path(out))
    folder = RunFolder(Path(out) / "run")
    folder.check_free(overwrite=True)
    graph, models = load("world"), []
    for model in MODELS:
        started = time.perf_counter()
        run = train(graph, settings=[f"model.name={model}", *settings], seed=seed, device=device, progress=progress)
        evaluation = run.evaluate()
        metrics, rare = {key: evaluation[key] for key in METRICS}, evaluation.buckets[-1]
        seconds = time.perf_counter() - started
        models.append({"model": model, **metrics, "hits@10_rare": rare["hits@10"], "seconds": seconds})
    run.save(folder.path, overwrite=True)
    attention, heatmap, missing = run.concepts(), None, ""
    try:
        heatmap = str(write_heatmap(attention, folder.path.parent / "attention.png"))
    except MissingExtraError as error:
        missing = str(error)
    found = {
        "graph": graph.name,
        "models": models,
        "rare_relations": rare["relations"],
        "hidden": {name: evaluation.typed["both"][name] for name in ("hits@1", "hits@10")},
        "recovered": find_recovered(graph, evaluation.typed_ranks),
        "discoveries": [triple.to_dict() for triple in find_discoveries(run)],
        "attention": attention.to_dict(),
        "run": str(folder.path),
        "heatmap": heatmap,
    }
    return found, run, missing


def find_recovered(graph: Graph, ranks: Ranks) -> list[dict[str, Any]]:
    """Return test triples whose tail is ranked first, with the number of candidates; see `choose_triples`."""
    found, side = [], SIDES.index("tail")
    for row in choose_triples(ranks, hits=SHOWN)[0]:
        triple = LabelledTriple(*name_triple(graph, ranks.triples[row].tolist()))
        found.append({**triple.to_dict(), "candidates": int(ranks.rivals[0, side, row]) + 1})
    return found


def find_discoveries(run: Run, count: int = SHOWN) -> list[MissingTriple]:
    """Return the most probable new triples of relations with gaps, each with a reason.

    Args:
        run: A trained model and its graph.
        count: Maximum number of triples.
    """
    skills, found = measure_skill(run.model, run.graph), list[MissingTriple]()
    for relation in list_gaps(run.graph):
        if relation in skills and skills[relation].verdict == BETTER:
            found += run.missing(relation=run.graph.relations.name(relation), top=count, explain=True)
    return sorted(found, key=lambda triple: -(triple.probability or 0.0))[:count]


def list_gaps(graph: Graph) -> list[int]:
    """Return the relations with one answer to a query, which some but not all of the entities that fit have.

    Where nearly all have an answer, the others are exceptions; where few have one, the relation is for few.
    """
    relations = range(len(graph.relations))
    return [each for each in relations if RARELY_ANSWERED <= graph.share_answered(each) <= MOST_ANSWERED]
