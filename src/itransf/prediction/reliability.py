"""How well probabilities agree with the truth, on the ten best candidates of each question of a split."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from itransf.data.graph import SPLITS, Graph
from itransf.data.typing import SIDE_NUMBERS
from itransf.errors import ConfigError
from itransf.models.base import Model
from itransf.prediction.calibration import Calibration, Floats, list_questions, log_odds, score_questions, sigmoid
from itransf.prediction.chunks import DEFAULT_MEMORY, EXCLUDED

TOP = 10
BINS = 10
BUCKETS = ("all", "frequent", "medium", "rare")
QUANTILE = 1.959964  # of 97.5 % of a normal distribution


def assess_calibration(
    model: Model,
    graph: Graph,
    split: str = "test",
    *,
    memory: int = DEFAULT_MEMORY,
    calibration: Calibration | None = None,
) -> dict[str, Any]:
    """Compare probabilities with the truth, on the ten best candidates of each question that the split answers.

    Answers in the other splits are no candidates. The interval is that of the difference of observed and expected
    hits, by questions, with the error of a calibration that was fitted to as many questions as it was.

    Args:
        model: Scoring model.
        graph: Graph.
        split: "valid" or "test".
        memory: Bytes for one chunk of scores.
        calibration: Function from scores to probabilities; by default that of the run.

    Returns:
        Brier score and log loss of the probabilities, of the sigmoid of scores ("uncalibrated") and of the share of
        true candidates ("constant"); expected and observed hits of all relations and by frequency; bins of reliability.

    Raises:
        ConfigError: There is no calibration, or the split has no questions.
    """
    if calibration is None:
        raise ConfigError(
            "the run has no calibration: it has fewer than 50 validation questions, or is of an old version"
        )
    known, answers = graph.known_in(*(each for each in SPLITS if each != split)), graph.known_in(split)
    frequency = graph.statistics.frequency_buckets() + 1
    parts: list[tuple[npt.NDArray[Any], ...]] = []
    asked = 0
    for relation, side, anchors in list_questions(graph.split(split)):
        allowed = graph.typing.candidates(relation, side)
        for part, chunk in score_questions(model, graph, relation, side, anchors, known, memory):
            places = chunk.topk(min(TOP, len(allowed)), dim=1).indices.cpu().numpy()
            values = chunk.cpu().numpy()
            mass = np.exp(calibration.temperature * (values - np.maximum(values.max(axis=1, keepdims=True), -1e300)))
            rows, order = np.nonzero(np.take_along_axis(values, places, axis=1) != EXCLUDED)
            columns = places[rows, order]
            shares = log_odds(mass[rows, columns] / mass.sum(axis=1)[rows])
            counts = (values != EXCLUDED).sum(axis=1)[rows]
            number = np.full(len(rows), 2 * relation + SIDE_NUMBERS[side])
            chances = calibration.apply(values[rows, columns], shares, np.maximum(counts, 1), number)
            ends = (part[rows], allowed[columns]) if side == "tail" else (allowed[columns], part[rows])
            labels = answers.contains(np.stack([ends[0], np.full(len(rows), relation), ends[1]], axis=1))
            parts.append(
                (rows + asked, np.full(len(rows), frequency[relation]), chances, labels, values[rows, columns])
            )
            asked += len(part)
    if not parts:
        raise ConfigError(f"{split} has no questions; choose another split")
    questions, buckets, chances, labels, scores = [np.concatenate(each) for each in zip(*parts, strict=True)]
    guesses = {"probability": chances, "uncalibrated": sigmoid(scores), "constant": np.full(len(labels), labels.mean())}
    hits = []
    for bucket, name in enumerate(BUCKETS):
        mine = (buckets == bucket) | (bucket == 0)
        missed = np.bincount(questions[mine], labels[mine] - chances[mine], minlength=asked)
        error = QUANTILE * float(np.sqrt((missed**2).sum() * (1.0 + asked / calibration.questions)))
        expected, observed = float(chances[mine].sum()), int(labels[mine].sum())
        agree = abs(observed - expected) <= error
        entry = {"expected": expected, "low": expected - error, "high": expected + error, "observed": observed}
        hits.append({"relations": name, "questions": len(np.unique(questions[mine])), **entry, "agree": agree})
    return {
        "split": split,
        "questions": asked,
        "candidates": len(labels),
        "brier": {name: float(((guess - labels) ** 2).mean()) for name, guess in guesses.items()},
        "log_loss": {name: find_log_loss(guess, labels) for name, guess in guesses.items()},
        "hits": hits,
        "bins": make_bins(chances, labels),
    }


def find_log_loss(chances: Floats, labels: npt.NDArray[np.bool_]) -> float:
    """Return the mean of minus the logarithm of the probability of what is the case."""
    right = np.where(labels, chances, 1.0 - chances)
    return float(-np.log(np.maximum(right, 1e-15)).mean())


def make_bins(chances: Floats, labels: npt.NDArray[np.bool_]) -> list[dict[str, float]]:
    """Return the mean probability and the share of true candidates in bins of equal width, with Wilson's intervals."""
    bins = []
    places = np.minimum((chances * BINS).astype(np.int64), BINS - 1)
    for place in np.unique(places).tolist():
        mine = places == place
        size, share = int(mine.sum()), float(labels[mine].mean())
        spread = QUANTILE**2 / size
        middle = (share + spread / 2.0) / (1.0 + spread)
        width = float(np.sqrt(share * (1.0 - share) * spread + spread**2 / 4.0)) / (1.0 + spread)
        entry = {"candidates": size, "probability": float(chances[mine].mean()), "true": share}
        bins.append({**entry, "low": middle - width, "high": middle + width})
    return bins
