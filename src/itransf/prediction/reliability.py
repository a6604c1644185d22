"""How well probabilities agree with the truth, on the ten best candidates of each question of a split."""

from typing import Any

import numpy as np

from itransf.data import SPLITS, Booleans, Floats, Graph
from itransf.errors import ConfigError
from itransf.evaluation.skill import NORMAL_QUANTILE
from itransf.models.base import Model
from itransf.prediction.calibration import BEST, Calibration, list_questions, rate_answers, sigmoid
from itransf.prediction.inputs import ASKED
from itransf.prediction.search import DEFAULT_MEMORY, Search, find_answers

BINS = 10
BUCKETS = ("all", "frequent", "medium", "rare")


def assess_calibration(
    model: Model,
    graph: Graph,
    split: str = "test",
    *,
    memory: int = DEFAULT_MEMORY,
    calibration: Calibration | None = None,
) -> dict[str, Any]:
    """Compare probabilities with the truth, on the ten best candidates of each question that the split answers.

    Answers in the other splits are not candidates. The interval is that of the difference of observed and expected
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
            "the run has no calibration: it has fewer than 50 validation queries, or is of an old version"
        )
    questions = list_questions(graph.split(split))
    if not len(questions):
        raise ConfigError(f"{split} has no queries; choose another split")
    search = Search(model, graph, BEST, excluded=[each for each in SPLITS if each != split], memory=memory)
    found = find_answers(search, questions)
    chances, _ = rate_answers(calibration, search, found.triples, questions[found.queries] == ASKED)
    labels = graph.known_in(split).contains(found.triples)
    buckets = graph.statistics.frequency_buckets()[found.triples[:, 1]] + 1
    constant = np.full(len(labels), labels.mean())
    guesses = {"probability": chances, "uncalibrated": sigmoid(found.scores), "constant": constant}
    hits = []
    for bucket, name in enumerate(BUCKETS):
        mine = (buckets == bucket) | (bucket == 0)
        missed = np.bincount(found.queries[mine], labels[mine] - chances[mine])
        error = NORMAL_QUANTILE * float(np.sqrt((missed**2).sum() * (1.0 + len(questions) / calibration.questions)))
        expected, observed = float(chances[mine].sum()), int(labels[mine].sum())
        agree = abs(observed - expected) <= error
        entry = {"expected": expected, "low": expected - error, "high": expected + error, "observed": observed}
        hits.append({"relations": name, "questions": len(np.unique(found.queries[mine])), **entry, "agree": agree})
    return {
        "split": split,
        "questions": len(questions),
        "candidates": len(labels),
        "brier": {name: float(((guess - labels) ** 2).mean()) for name, guess in guesses.items()},
        "log_loss": {name: find_log_loss(guess, labels) for name, guess in guesses.items()},
        "hits": hits,
        "bins": make_bins(chances, labels),
    }


def find_log_loss(chances: Floats, labels: Booleans) -> float:
    """Return the mean of minus the logarithm of the probability of what is the case."""
    right = np.where(labels, chances, 1.0 - chances)
    return float(-np.log(np.maximum(right, 1e-15)).mean())


def make_bins(chances: Floats, labels: Booleans) -> list[dict[str, float]]:
    """Return the mean probability and the share of true candidates in bins of equal width, with Wilson's intervals."""
    bins = []
    places = np.minimum((chances * BINS).astype(np.int64), BINS - 1)
    for place in np.unique(places).tolist():
        mine = places == place
        size, share = int(mine.sum()), float(labels[mine].mean())
        spread = NORMAL_QUANTILE**2 / size
        middle = (share + spread / 2.0) / (1.0 + spread)
        width = float(np.sqrt(share * (1.0 - share) * spread + spread**2 / 4.0)) / (1.0 + spread)
        entry = {"candidates": size, "probability": float(chances[mine].mean()), "true": share}
        bins.append({**entry, "low": middle - width, "high": middle + width})
    return bins
