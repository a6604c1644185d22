"""Table 3 and Figure 4: what sparse attention costs and what it saves, beside dense and l1-regularised attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from itransf.experiments.reproduction import comparing, paper
from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.results import Record, Results
from itransf.experiments.reproduction.sections import MISSING, Picture, Section, Table, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.stages.attention import picture_attention, read_all
from itransf.experiments.reproduction.summaries import summarise
from itransf.experiments.reproduction.timing import EpochTimes
from itransf.interpret import Attention
from itransf.interpret.heatmap import Words

MATRICES = {"wn18": 22, "fb15k": 15}
"""How many concepts the paper takes here, so that dense attention can be trained at all."""
QUICK_MATRICES = 8
PAPERS_EPOCHS = 2000
"""How long the paper trains for this table."""
KINDS = {"dense": "Dense", "l1": "Dense + l1", "sparse": "Sparse"}
FLOORS = (0.01, 0.1)
"""Shares of a side's largest weight from which a weight is counted."""
CAPTION = "l1-regularised attention; each row is a side, as shares of its largest weight."
SHARES = Words(colours="share")
COLUMNS = ("Attention", "Epochs", "Kept", *comparing.COMPARED, "Epoch, paper", "Epoch", "Steps")
SIZES = ("Weights of a side", *(f"≥ {floor:g}" for floor in FLOORS), "In the five largest, %")
METHOD = (
    f"{comparing.METHOD} The paper trained {PAPERS_EPOCHS} epochs for this table; here each kind is trained as long as "
    "the preset says, and as long as in the paper, at the preset's rate. As everywhere, the weights that did best on "
    "validation are ranked; *kept* is their epoch, which can be long before the last one. An *epoch* is timed apart "
    "from the training, with nothing else on the device; those with a choice of concepts count as much as there are of "
    "them in a training. Each time is of one process; from one process to the next it can change by more than from "
    "epoch to epoch. *Steps* are fused into few kernels or plain; times of the two kinds do not compare. The l1 "
    "penalty is a mean over triples, as the loss is."
)
WEIGHING = (
    "How many weights of a relation side are at least so large a share of its largest one, on average over sides and "
    "seeds (the pictures are of seed 0, trained as long as the preset says): l1-regularised weights are free to be "
    "large or small as a whole, as projected vectors are brought to unit length anyway. Weights are stored with four "
    "decimals, so smaller shares than these are not counted."
)


def make_training(scope: Scope, dataset: str, kind: str, epochs: int = 0, **others: str) -> Job:
    """Return a training of ITransF with this kind of attention, or what is measured of it.

    Args:
        scope: How much is asked for.
        dataset: The graph.
        kind: Of attention.
        epochs: How many; zero trains as long as the preset says.
        others: Further fields of the job.
    """
    matrices = QUICK_MATRICES if scope.quick else MATRICES[dataset]
    settings = [f"model.concepts={matrices}"]
    if kind != "sparse":  # as the preset has it: may be trained already
        settings.append(f"model.attention={kind}")
    if epochs:
        settings.append(f"training.epochs={epochs}")
    return scope.make_job(f"{dataset}/itransf", *settings, **others)


def list_lengths(scope: Scope) -> tuple[int, ...]:
    """Return how many epochs are trained, zero for the preset's: one length if that is given or cut down to minutes."""
    given = any(setting.startswith("training.epochs=") for setting in scope.settings)
    return (0,) if scope.quick or given else (0, PAPERS_EPOCHS)


def list_jobs(scope: Scope) -> list[Job]:
    """Return what the table needs: each training, and the time of its epochs."""
    rows = [(dataset, kind) for dataset in MATRICES for kind in KINDS]
    trainings = [make_training(scope, *row, epochs) for epochs in list_lengths(scope) for row in rows]
    return trainings + [make_training(scope, *row, method="timing") for row in rows]


def render(results: Results, scope: Scope) -> Section:
    """Return a table for each graph, the weights behind them, and the heat maps of l1-regularised attention."""
    parts: list[str | Table | Picture] = [METHOD]
    weights: list[tuple[str, ...]] = []
    pictures: list[Picture] = []
    for dataset, matrices in MATRICES.items():
        trainings = [(dataset, kind, epochs) for epochs in list_lengths(scope) for kind in KINDS]
        rows = [write_row(results, scope, *each) for each in trainings]
        weights += [write_weights(results, scope, *each) for each in trainings]
        title = f"{scope.title(dataset)}, {QUICK_MATRICES if scope.quick else matrices} concepts"
        parts.append(make_table(COLUMNS, rows, title=title))
        if found := find_shares(results, make_training(scope, dataset, "l1")):
            pictures.append(picture_attention(found[0], "attention-l1", CAPTION, scope, dataset, SHARES))
    parts += [WEIGHING, make_table(("Graph", "Attention", "Epochs", *SIZES), weights, names=2), *pictures]
    return Section("Sparse and dense attention (Table 3, Figure 4)", tuple(parts))


def write_row(results: Results, scope: Scope, dataset: str, kind: str, epochs: int) -> tuple[str, ...]:
    """Return the row of a kind of attention, trained for so many epochs."""
    published = None if scope.quick else paper.SPARSENESS[kind][dataset]
    training = make_training(scope, dataset, kind, epochs)
    found = results.find_seeds(training)
    timed = results.find_seeds(make_training(scope, dataset, kind, method="timing"))
    return (
        KINDS[kind],
        write_length(training),
        write_kept(found),
        *comparing.compare_with_paper(summarise(found), published),
        format_seconds(published.seconds) if published and published.seconds else "–",
        format_seconds(find_time(timed[0], training)) if timed else MISSING,
        timed[0]["steps"] if timed else "–",
    )


def write_weights(results: Results, scope: Scope, dataset: str, kind: str, epochs: int) -> tuple[str, ...]:
    """Return how many weights of some size a kind of attention has, trained for so many epochs."""
    training = make_training(scope, dataset, kind, epochs)
    return (scope.title(dataset), KINDS[kind], write_length(training), *count_weights(find_shares(results, training)))


def write_length(training: Job) -> str:
    """Return how many epochs a training has."""
    return f"{training.resolve().training.epochs:,}"


def write_kept(records: Sequence[Record]) -> str:
    """Return the epoch whose weights were kept, or the first and the last of the seeds'."""
    epochs = [record["training"]["best"]["epoch"] for record in records if record["training"]["best"]]
    return "–".join(f"{epoch:,}" for epoch in sorted({min(epochs), max(epochs)})) if epochs else "–"


def find_time(record: Record, training: Job) -> float:
    """Return how long an epoch of a training takes on average."""
    return EpochTimes.read(record["seconds_of_epochs"], training).mean


def format_seconds(seconds: float) -> str:
    """Return a time as the paper writes it, or in seconds where it is short."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s"


def scale_rows(attention: Attention) -> Attention:
    """Return attention whose weights are shares of the largest (in size) of their side."""
    largest = np.abs(attention.weights).max(axis=2, keepdims=True)
    weights = (attention.weights / np.where(largest > 0, largest, 1)).astype(np.float32)
    return replace(attention, weights=weights, kind="l1" if (weights < 0).any() else "sparse")


def find_shares(results: Results, training: Job) -> list[Attention]:
    """Return the stored attention of each seed of a training, as shares of each side's largest weight."""
    return [scale_rows(attention) for attention in read_all(results.find_seeds(training))]


def list_sizes(found: Sequence[Attention]) -> npt.NDArray[np.float64]:
    """Return the sizes of all weights, a row for each side of each relation in each seed."""
    weights = [attention.weights.reshape(-1, attention.weights.shape[2]) for attention in found]
    return np.abs(np.concatenate(weights)).astype(np.float64)


def count_weights(found: Sequence[Attention]) -> tuple[str, ...]:
    """Return how many weights a side has, how many of them are of some size, and what the largest five make up."""
    if not found:
        return (MISSING, *["–"] * (len(SIZES) - 1))
    sizes = list_sizes(found)
    largest = np.sort(sizes, axis=1)[:, -5:].sum(axis=1) / np.maximum(sizes.sum(axis=1), FLOORS[0])
    counts = (f"{(sizes >= floor).sum(axis=1).mean():.1f}" for floor in FLOORS)
    return (str(sizes.shape[1]), *counts, f"{100 * largest.mean():.0f}")


SPARSENESS = Stage("sparseness", "Table 3, Figure 4", list_jobs, render)
