"""Classification: whether given triples are true, by a rule that is fitted to validation triples and false ones.

The rule is a logistic regression on the score of a triple, the logits of its softmax in both questions that it answers
(see `itransf.prediction.calibration`) and how often head and tail occur with the relation in train. Each relation has
its own threshold and its own weights of the scores, shrunk to those of all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from itransf.data import Booleans, Floats, Graph, Integers, Triples
from itransf.data.layout import DETECTED, TRIPLE, Form, Request
from itransf.data.reading import read_columns
from itransf.errors import DataError, name_count
from itransf.models.base import SIDES, Model
from itransf.prediction.calibration import LEAST_QUESTIONS, Calibration, measure_answers, sigmoid
from itransf.prediction.inputs import (
    GivenTriple,
    TripleFile,
    find_problems,
    find_splits,
    list_names,
    name_triple,
    resolve_triples,
)
from itransf.prediction.search import Search

TRUTHS = {"1": True, "true": True, "yes": True, "0": False, "-1": False, "false": False, "no": False}
RIDGES = (1e-6, 0.01, 20.0)  # on the constant, the features, and their products; chosen on valid of CoDEx-S
SHRINKAGES = (0.5, 2.0)  # of relations: on their thresholds, and on their weights of scores
OWN = 4  # features that each relation weighs for itself, the first ones
SWEEPS = 60


@dataclass(frozen=True)
class ClassifiedTriple:
    """A given triple and whether it is true.

    Attributes:
        head: Name of the head as given.
        relation: Name of the relation as given.
        tail: Name of the tail as given.
        verdict: Whether it is true; None if a name is unknown.
        probability: Chance that it is true, where as many are true as in the triples that the rule was fitted to.
        score: Plausibility by the model.
        problem: What is unknown.
        label: Whether it is true, as given.
        known: First split that contains it ("train", "valid" or "test"), or None; the model was shown train.
        head_label: Label of the head; None if a name is unknown.
        relation_label: Label of the relation, likewise.
        tail_label: Label of the tail, likewise.
    """

    head: str
    relation: str
    tail: str
    verdict: bool | None
    probability: float | None = None
    score: float | None = None
    problem: str | None = None
    label: bool | None = None
    known: str | None = None
    head_label: str | None = None
    relation_label: str | None = None
    tail_label: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name, ready for JSON."""
        return asdict(self)


def classify_triples(
    model: Model,
    graph: Graph,
    triples: Iterable[GivenTriple],
    labels: Sequence[bool] | None = None,
    negatives: Iterable[GivenTriple] | None = None,
    *,
    calibration: Calibration | None = None,
) -> list[ClassifiedTriple]:
    """Return whether each triple is true, in the order given; one with an unknown name says so.

    Args:
        model: Scoring model.
        graph: Graph with the names, and the validation triples that the rule is fitted to.
        triples: Names or labels of head, relation and tail.
        labels: Whether each is true, to be stored with the verdict.
        negatives: False triples to fit the rule to; by default validation triples with another head or tail that fits.
        calibration: Calibration with the temperature of the softmax; by default that of the run.

    Raises:
        DataError: There are fewer than 50 validation triples, a negative has an unknown name, or not each triple has a
            label.
    """
    if len(graph.valid) < LEAST_QUESTIONS:
        raise DataError(
            f"{graph.name}: {len(graph.valid)} validation triples are too few to tell true from false; "
            f"train on a folder with train, valid and test, and at least {LEAST_QUESTIONS} in valid"
        )
    if negatives is None:
        false = corrupt(graph)
    else:
        false = resolve_triples(graph, negatives, lambda row: f"negative {row + 1}")
    names = list_names(triples)
    if labels is not None and len(labels) != len(names):
        raise DataError(f"{len(labels)} labels for {name_count(len(names), 'triple')}; give one for each")
    problems = find_problems(graph, names)
    asked = [row for row in range(len(names)) if row not in problems]
    given, known = resolve_triples(graph, [names[row] for row in asked]), np.concatenate([graph.valid, false])
    search, temperature = Search(model, graph), 1.0 if calibration is None else calibration.temperature
    examples, claims = (describe(search, each, temperature) for each in (known, given))
    rule = fit_rule(examples, np.arange(len(known)) < len(graph.valid), known[:, 1], len(graph.relations))
    chances = rule.predict(rule.expand(claims), given[:, 1])
    found = []
    for row, (head, relation, tail) in enumerate(names):
        label = None if labels is None else labels[row]
        found.append(ClassifiedTriple(head, relation, tail, None, problem=problems.get(row), label=label))
    columns = (chances.tolist(), claims[:, 0].tolist(), find_splits(graph, given), given.tolist())
    for row, chance, score, split, triple in zip(asked, *columns, strict=True):
        *_, head_label, relation_label, tail_label = name_triple(graph, triple)
        named = replace(found[row], head_label=head_label, relation_label=relation_label, tail_label=tail_label)
        found[row] = replace(named, verdict=chance > 0.5, probability=chance, score=score, known=split)
    return found


def corrupt(graph: Graph) -> Triples:
    """Return validation triples with another head or tail that fits, in turn; none is in train or valid."""
    random, known = np.random.default_rng(0), graph.known_in("train", "valid")
    false = graph.valid.copy()
    for row, triple in enumerate(false):
        side, place = (("head", 0), ("tail", 2))[row % 2]
        candidates = graph.typing.candidates(int(triple[1]), side)
        for _ in range(20 if len(candidates) else 0):
            triple[place] = random.choice(candidates)
            if not known.contains(triple[None])[0]:
                break
    return false[~known.contains(false)]


def describe(search: Search, triples: Triples, temperature: float) -> Floats:
    """Return the features of triples, (n, 6); the first is the score."""
    known = search.graph.known_in("train")
    heads, tails = (measure_answers(search, triples, side, temperature) for side in SIDES)
    counts = [known.count(triples[:, 2 - column], triples[:, 1], side) for side, column in (("tail", 2), ("head", 0))]
    columns = (tails.scores, heads.shares, tails.shares, np.minimum(heads.shares, tails.shares))
    return np.column_stack([*columns, *map(np.log1p, counts)])


@dataclass(frozen=True)
class Rule:
    """A logistic regression on standardised features and their products, with weights of each relation added.

    Attributes:
        centre: Mean of each feature.
        scale: Standard deviation of each feature.
        weights: Of the constant, the features and their products.
        own: What is added to the constant and the first features for each relation, (r, 1 + OWN).
    """

    centre: Floats
    scale: Floats
    weights: Floats
    own: Floats

    def expand(self, features: Floats) -> Floats:
        """Return the constant, the standardised features and their products."""
        plain = (features - self.centre) / self.scale
        left, right = np.triu_indices(plain.shape[1])
        return np.column_stack([np.ones(len(plain)), plain, plain[:, left] * plain[:, right]])

    def predict(self, columns: Floats, relations: Integers) -> Floats:
        """Return probabilities from what `expand` returns."""
        return sigmoid(columns @ self.weights + (columns[:, : 1 + OWN] * self.own[relations]).sum(axis=1))


def fit_rule(features: Floats, labels: Booleans, relations: Integers, count: int) -> Rule:
    """Return the rule with the greatest penalised likelihood, by steps of Newton's method for a part at a time.

    Args:
        features: (n, f)
        labels: Whether each triple is true, (n,).
        relations: Relation of each triple, (n,).
        count: Number of relations.
    """
    width = features.shape[1]
    ridge = np.repeat(RIDGES, (1, width, width * (width + 1) // 2))
    weights, own = np.zeros(len(ridge)), np.zeros((count, 1 + OWN))
    rule = Rule(features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9), weights, own)
    columns = rule.expand(features)
    for _ in range(SWEEPS):
        chances = rule.predict(columns, relations)
        curvature = columns.T @ (columns * (chances * (1.0 - chances))[:, None]) + np.diag(ridge)
        weights += np.linalg.solve(curvature, columns.T @ (labels - chances) - ridge * weights)
        for place in range(1 + OWN):
            chances, shrinkage = rule.predict(columns, relations), SHRINKAGES[place > 0]
            slope = np.bincount(relations, columns[:, place] * (labels - chances), count) - shrinkage * own[:, place]
            bend = np.bincount(relations, columns[:, place] ** 2 * chances * (1.0 - chances), count) + shrinkage
            own[:, place] += slope / bend
    return rule


def read_claims(path: str | Path, form: Form = DETECTED) -> tuple[TripleFile, list[bool] | None]:
    """Read triples to classify, and whether they are true where a fourth column or one named "label" says so.

    Args:
        path: The file.
        form: What is said about its form.

    Raises:
        DataError: The file cannot be read, or a label is not 1, 0, true or false.
    """
    table = read_columns(path, Request((*TRIPLE, "label"), optional=("label",), form=form))
    rows = table.rows()
    if not rows:
        raise DataError(f"{path}: it has no triples; write one per line: {', '.join(TRIPLE)}")
    if len(rows[0]) == len(TRIPLE):
        return TripleFile(rows, table.locate, table.notes), None
    labels = []
    for number, (*_, label) in enumerate(rows):
        if label.strip().lower() not in TRUTHS:
            raise DataError(f"{table.locate(number)}: the label {label!r} is not 1, 0, true or false")
        labels.append(TRUTHS[label.strip().lower()])
    return TripleFile([row[: len(TRIPLE)] for row in rows], table.locate, table.notes), labels


def judge(rows: Sequence[ClassifiedTriple]) -> dict[str, float]:
    """Return how well labelled triples were classified.

    Returns:
        Accuracy, F1, and the Brier score: of the probabilities, of the sigmoid of scores, and of a constant, the share
        of true ones. Triples with unknown names are left out.

    Raises:
        DataError: No triple has both a verdict and a label.
    """
    known = [row for row in rows if row.verdict is not None and row.label is not None]
    if not known:
        raise DataError("no triple has both a verdict and a label to compare it with; give labels of known names")
    columns = np.array([[row.verdict, row.label, row.probability, row.score] for row in known], dtype=float).T
    verdicts, labels, chances, scores = columns
    guesses = {
        "brier": chances,
        "brier_uncalibrated": sigmoid(scores),
        "brier_constant": np.full(len(known), labels.mean()),
    }
    return {
        "triples": len(known),
        "accuracy": float((verdicts == labels).mean()),
        "f1": float(2.0 * (verdicts * labels).sum() / max(verdicts.sum() + labels.sum(), 1)),
        **{name: float(((guess - labels) ** 2).mean()) for name, guess in guesses.items()},
    }
