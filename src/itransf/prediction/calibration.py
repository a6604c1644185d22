"""Probabilities of answers: scores calibrated on validation questions.

A question asks for a side of a relation, given the entity on the other side. Its candidates are the entities that fit
the side (see `itransf.data.typing`) and do not answer it in train. The probability of a candidate is the chance that it
is a missing answer, if the question has one: it is fitted to questions that valid answers. It is a logistic function of
the logit of the candidate's softmax among the candidates, the score, the number of candidates, and an offset of the
relation and side that is shrunk to those of all. Of the candidates of a question it grows with the score. Answers in
valid are no candidates; one of them is compared with all candidates, so it may have a lower probability than a worse
candidate, which is compared with the others. The function is fitted to the ten best candidates of each question: they
are what people see, and among thousands of others the few true ones would decide.

Valid questions have answers in test, too, which are not read here. How many is estimated from valid alone (Good and
Turing: test has as many triples of questions of valid as valid has triples that share their question), and as much
weight is taken from unlabelled candidates that look true.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.data.graph import Graph, Triples
from itransf.data.known import Booleans, Floats, Integers, is_among
from itransf.data.typing import SIDE_NUMBERS
from itransf.evaluation.ranking import sample_triples
from itransf.evaluation.skill import NO_BETTER, TOO_FEW, measure_skill
from itransf.models.base import SIDES, Model, Side
from itransf.prediction.inputs import ASKED
from itransf.prediction.search import EXCLUDED, Search, group_questions, list_answers, mark, score_given

LEAST_QUESTIONS = 50  # fewer in valid give no probability
MOST_QUESTIONS, MOST_SCORES = 4000, 10**9  # questions, and questions times entities
BEST, SAMPLED = 10, 30  # candidates of a question: the best, and a sample of the others
KNOT = -2.0  # logit of the softmax above which the slope is another
TEMPERATURES = np.geomspace(0.02, 50.0, 40)
NEAREST = 1e-12  # of a softmax to one
ROUNDS, STEPS = 8, 8  # of weights of unlabelled candidates, and of Newton's method for each
CLOSE = 1e-5  # the largest step that ends Newton's method
RIDGE = 1e-3  # on the weights of features
LEAST_SLOPE = 0.05  # of the logit of the softmax


@dataclass(frozen=True)
class Calibration:
    """A function from scores to probabilities.

    Attributes:
        temperature: Factor of scores in the softmax.
        slopes: Weight of the logit of the softmax, by 2 r for heads and 2 r + 1 for tails of relation r.
        offsets: What is added, likewise.
        by_score: Weight of the score.
        by_count: Weight of the logarithm of the number of candidates.
        by_excess: Weight of what the logit of the softmax exceeds -2 by.
        questions: Number of validation questions that it was fitted to.
        verdicts: Skill of the model at each relation on valid; see `itransf.evaluation.skill`.
    """

    temperature: float
    slopes: tuple[float, ...]
    offsets: tuple[float, ...]
    by_score: float
    by_count: float
    by_excess: float
    questions: int
    verdicts: tuple[str, ...] = ()

    def apply(
        self, scores: npt.ArrayLike, shares: npt.ArrayLike, counts: npt.ArrayLike, sides: npt.ArrayLike
    ) -> Floats:
        """Return probabilities.

        Args:
            scores: Scores of candidates.
            shares: Logits of their softmax at this temperature.
            counts: Numbers of candidates of their questions.
            sides: Numbers of their sides: 2 r for heads and 2 r + 1 for tails of relation r.
        """
        slopes, offsets = (np.array(values)[np.asarray(sides)] for values in (self.slopes, self.offsets))
        logits = slopes * shares + offsets + self.by_score * np.asarray(scores) + self.by_count * np.log(counts)
        logits += self.by_excess * np.maximum(np.asarray(shares) - KNOT, 0.0)
        return sigmoid(logits)

    def covers(self, relation: int) -> bool:
        """Return whether the relation is older than the calibration."""
        return 2 * relation < len(self.slopes)

    def lacks_skill(self, relation: int) -> bool:
        """Return whether the model ranks the answers of the relation no better than their popularity does."""
        return relation < len(self.verdicts) and self.verdicts[relation] == NO_BETTER

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Calibration:
        """Return the calibration that `to_dict` described.

        Raises:
            TypeError: A field is missing or unknown, or not of its kind.
            ValueError: A text is not a number.
        """
        lists = {name: tuple(map(float, content[name])) for name in ("slopes", "offsets")}
        numbers = {name: float(content[name]) for name in ("temperature", "by_score", "by_count")}
        numbers["by_excess"] = float(content.get("by_excess", 0.0))  # earlier runs have none
        kept = {name: value for name, value in content.items() if name != "steps"}  # of earlier runs
        return cls(**{**kept, **lists, **numbers, "verdicts": tuple(content["verdicts"])})


def list_questions(triples: Triples) -> Triples:
    """Return the distinct questions that triples answer, (q, 3), by relation, those that ask for heads first."""
    questions = np.concatenate([triples, triples])
    questions[: len(triples), 0] = questions[len(triples) :, 2] = ASKED
    questions = np.unique(questions, axis=0)
    return questions[np.lexsort((questions[:, 2] == ASKED, questions[:, 1]))]


@dataclass(frozen=True)
class Examples:
    """Candidates of questions, some of them drawn, with weights that restore the whole.

    Attributes:
        questions: Number of each one's question.
        sides: Number of its side, 2 r or 2 r + 1.
        scores: Its score.
        labels: Whether it is true.
        is_best: Whether it is one of the ten best of its question.
        weights: How many candidates it stands for.
        counts: Number of candidates of its question.
        totals: Logarithm of the softmax's denominator of its question at the chosen temperature, once it is chosen.
    """

    questions: Integers
    sides: Integers
    scores: Floats
    labels: Booleans
    is_best: Booleans
    weights: Floats
    counts: Floats
    totals: Floats | None = None

    def find_shares(self, temperature: float, kept: Floats | float = 1.0) -> Floats:
        """Return logits of the softmax within each question, where other candidates count by the weight kept.

        Without totals, its denominator is estimated from the sample.
        """
        best = np.full(self.questions.max() + 1, -np.inf)
        np.maximum.at(best, self.questions, self.scores)
        own = np.exp(temperature * (self.scores - best[self.questions]))
        if self.totals is None:
            total = np.bincount(self.questions, self.weights * own)[self.questions]
        else:
            total = np.exp(self.totals - temperature * best[self.questions])
        total = total - np.bincount(self.questions, self.weights * (1.0 - kept) * own)[self.questions]
        return log_odds(own / np.maximum(total + (1.0 - kept) * own, own))


def draw_examples(search: Search, questions: Triples) -> Examples | None:
    """Return candidates of questions of valid, (q, 3): the best, all true ones, and a sample of the others.

    Triples of the excluded splits of the search are not candidates.
    """
    random, graph, answers = np.random.default_rng(0), search.graph, search.graph.known_in("valid")
    parts: list[tuple[npt.NDArray[Any], ...]] = []
    for group, relation, side, anchors in group_questions(questions):
        allowed = graph.typing.candidates(relation, side)
        for part, chunk in search.score_chunks(relation, side, anchors, allowed):
            true = torch.zeros_like(chunk, dtype=torch.bool)
            mark(true, *list_answers(answers, anchors[part], relation, side), allowed, True)
            values, labels = chunk.double().cpu().numpy(), true.cpu().numpy()
            candidates, best, drawn = values != EXCLUDED, np.zeros_like(labels), np.zeros_like(labels)
            places = chunk.double().topk(min(BEST, len(allowed)), dim=1).indices.cpu().numpy()
            np.put_along_axis(best, places, True, axis=1)
            sure = labels | best
            drawn[:, random.permutation(len(allowed))[:SAMPLED]] = True
            rest, drawn = candidates & ~sure, drawn & candidates & ~sure
            drawn[drawn.sum(1) == 0] = rest[drawn.sum(1) == 0]
            weights = np.where(drawn, rest.sum(1, keepdims=True) / np.maximum(drawn.sum(1, keepdims=True), 1), 1.0)
            rows, columns = np.nonzero((sure & candidates) | drawn)
            sides = np.full(len(rows), 2 * relation + SIDE_NUMBERS[side])
            taken = (array[rows, columns] for array in (values, labels, best, weights))
            parts.append((group[part[rows]], sides, *taken, candidates.sum(1)[rows].astype(np.float64)))
    return Examples(*map(np.concatenate, zip(*parts, strict=True))) if parts else None


def add_totals(examples: Examples, search: Search, questions: Triples, temperature: float) -> Examples:
    """Return examples with the denominators of the softmax over all candidates of their questions."""
    totals = np.zeros(len(questions))
    for rows, relation, side, anchors in group_questions(questions):
        totals[rows] = sum_questions(search, relation, side, anchors, temperature, torch.float64)[0]
    return replace(examples, totals=totals[examples.questions])


def fit_calibration(model: Model, graph: Graph) -> Calibration | None:
    """Return a calibration fitted to validation questions, or None if there are fewer than 50.

    Args:
        model: Scoring model.
        graph: Graph; of its test triples only the number is read.
    """
    questions, search = list_questions(graph.valid), Search(model, graph)
    if len(questions) < LEAST_QUESTIONS:
        return None
    most = min(MOST_QUESTIONS, max(MOST_SCORES // len(graph.entities), LEAST_QUESTIONS))
    questions = sample_triples(questions, len(graph.entities), most)
    examples = draw_examples(search, questions)
    if examples is None or not examples.labels.any() or not np.isfinite(examples.scores).all():
        return None
    counts = np.log1p(graph.statistics.counts)
    answers = np.stack([graph.statistics.heads_per_tail, graph.statistics.tails_per_head], axis=1).ravel()
    constants = np.stack([np.repeat(counts - counts.mean(), 2), np.log(np.maximum(answers, 1.0))], axis=1)  # (2 r, 2)
    temperature = choose_temperature(examples)
    examples = add_totals(examples, search, questions, temperature)
    hidden = estimate_hidden(examples, len(graph.test) / len(graph.valid))
    kept, solution = np.ones(len(examples.scores)), Solution.zero(8, len(constants))
    best, labels, sides = examples.is_best, examples.labels, examples.sides
    for _ in range(ROUNDS):
        features = make_features(examples, temperature, kept, constants)
        solution = fit_logistic(features[best], labels[best], kept[best], sides[best], solution)
        chances = solution.predict(features, sides)
        looks = hidden * chances / (1.0 + hidden * chances - chances)
        kept = np.where(labels, 1.0, 1.0 - looks)
    constant, share, score, count, excess, by_frequency, frequency, several = solution.weights.tolist()
    slopes = np.maximum(share + by_frequency * constants[:, 0], LEAST_SLOPE)
    offsets = constant + solution.offsets + constants @ np.array([frequency, several])
    excess = max(excess, LEAST_SLOPE - float(slopes.min()))
    least = float(slopes.min()) + min(excess, 0.0)
    skills = measure_skill(model, replace(graph, test=graph.test[:0]), "valid", search.memory)
    return Calibration(
        temperature,
        tuple(map(shorten, slopes.tolist())),
        tuple(map(shorten, offsets.tolist())),
        shorten(max(score, -0.9 * temperature * least)),  # the softmax grows faster with the score
        shorten(count),
        shorten(excess),
        len(np.unique(examples.questions)),
        tuple(skills[each].verdict if each in skills else TOO_FEW for each in range(len(graph.relations))),
    )


def shorten(number: float) -> float:
    """Return a number with six digits: the last ones depend on where arrays are in memory."""
    return float(f"{number:.6g}")


def make_features(examples: Examples, temperature: float, kept: Floats, constants: Floats) -> Floats:
    """Return the features of the logistic function, (n, 8)."""
    shares, of_side = examples.find_shares(temperature, kept), constants[examples.sides]
    excess, interaction = np.maximum(shares - KNOT, 0.0), shares * of_side[:, 0]
    columns = (np.ones_like(shares), shares, examples.scores, np.log(examples.counts), excess, interaction)
    return np.column_stack([*columns, of_side])


def choose_temperature(examples: Examples) -> float:
    """Return the temperature at which the softmax of true candidates is the most likely."""
    fits = [np.logaddexp(0.0, -examples.find_shares(each)[examples.labels]).sum() for each in TEMPERATURES]
    return float(TEMPERATURES[int(np.argmin(fits))])


def estimate_hidden(examples: Examples, ratio: float) -> Floats:
    """Return how many true candidates of each one's side are expected in test, for each in valid.

    Args:
        examples: Candidates of validation questions.
        ratio: Number of test triples for each of valid.
    """
    true = np.bincount(examples.questions, examples.labels)[examples.questions]
    answers, single = (np.bincount(examples.sides, examples.labels * chosen) for chosen in (true > 0, true == 1))
    return np.asarray((ratio * (answers - single) / np.maximum(answers, 1.0))[examples.sides])


@dataclass(frozen=True)
class Solution:
    """A logistic regression: weights of features, and an offset of each group shrunk to zero."""

    weights: Floats
    offsets: Floats
    shrinkage: float = 1.0

    @classmethod
    def zero(cls, features: int, groups: int) -> Solution:
        """Return the start of a fit."""
        return cls(np.zeros(features), np.zeros(groups))

    def predict(self, features: Floats, groups: Integers) -> Floats:
        """Return probabilities."""
        return sigmoid(features @ self.weights + self.offsets[groups])


def fit_logistic(features: Floats, labels: Booleans, weights: Floats, groups: Integers, start: Solution) -> Solution:
    """Return a logistic regression by Newton's method.

    The shrinkage of the offsets is the inverse of their variance, estimated with their errors (empirical Bayes).

    Args:
        features: (n, f); the first is constant.
        labels: (n,)
        weights: Weight of each row, (n,).
        groups: Group of each row, (n,).
        start: Where to start.
    """
    size = len(start.offsets)
    ridge = np.where(np.arange(features.shape[1]) > 0, RIDGE, 1e-9)
    found, seen = start, np.bincount(groups, weights, minlength=size) > 0
    for _ in range(STEPS):
        chances = found.predict(features, groups)
        curved, slope = weights * chances * (1.0 - chances), weights * (labels - chances)
        curvature = features.T @ (features * curved[:, None]) + np.diag(ridge)
        mixed = np.stack([np.bincount(groups, curved * column, size) for column in features.T], axis=1)  # (g, f)
        own = np.bincount(groups, curved, size) + found.shrinkage
        along = np.bincount(groups, slope, size) - found.shrinkage * found.offsets
        schur = curvature - mixed.T @ (mixed / own[:, None])
        step = np.linalg.solve(schur, features.T @ slope - ridge * found.weights - mixed.T @ (along / own))
        offsets = (along - mixed @ step) / own
        largest = max(np.abs(step).max(), np.abs(offsets).max())
        damping = min(1.0, 4.0 / max(largest, NEAREST))
        offsets = found.offsets + damping * offsets
        spread = float((offsets[seen] ** 2 + 1.0 / own[seen]).sum())
        found = Solution(found.weights + damping * step, offsets, max(float(seen.sum()) / spread, 0.01))
        if largest < CLOSE:
            break
    return found


def sigmoid(logits: npt.ArrayLike) -> Floats:
    """Return 1 / (1 + exp(-logits))."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -np.asarray(logits, dtype=np.float64))))


def log_odds(chances: Floats) -> Floats:
    """Return the logits of probabilities."""
    inner = np.clip(chances, 1e-300, 1.0 - NEAREST)
    return np.asarray(np.log(inner) - np.log1p(-inner))


@dataclass(frozen=True)
class Measured:
    """Triples as answers to one question each; arrays of (n,).

    Attributes:
        scores: Their scores.
        shares: Logits of the softmax of each among the candidates and itself.
        counts: Number of candidates of each question.
        fits: Whether each fits the side that its question asks for.
    """

    scores: Floats
    shares: Floats
    counts: Floats
    fits: Booleans


def sum_candidates(scores: Tensor, temperature: float) -> Floats:
    """Return the logarithm of the softmax's denominator and the number of candidates of questions, (2, q)."""
    columns = (temperature * scores).logsumexp(1), (scores > EXCLUDED).sum(1, dtype=torch.int32)
    return np.stack([column.double().cpu().numpy() for column in columns])


def sum_questions(
    search: Search, relation: int, side: Side, anchors: Integers, temperature: float, precision: torch.dtype
) -> Floats:
    """Return what `sum_candidates` does for the questions of these anchors, computed in this precision."""
    chunks = search.score_chunks(relation, side, anchors, search.allow_entities(relation, side))
    sums = [sum_candidates(scores.to(precision), temperature) for _, scores in chunks]
    return np.concatenate(sums, axis=1) if sums else np.tile([[-np.inf], [0.0]], len(anchors))


def measure_answers(search: Search, triples: Triples, side: Side, temperature: float) -> Measured:
    """Compare triples with the candidates of the questions for one side that they answer.

    Args:
        search: Model and graph; triples of the excluded splits are not candidates.
        triples: Triples, (n, 3).
        side: Side that the questions ask for.
        temperature: Factor of scores in the softmax.
    """
    graph, column = search.graph, 2 * SIDE_NUMBERS[side]
    logits = temperature * (scores := score_given(search.model, triples, search.memory).double().cpu().numpy())
    sums, fits = np.zeros((2, len(triples))), np.zeros(len(triples), dtype=np.bool_)
    for relation in np.unique(triples[:, 1]).tolist():
        rows = np.flatnonzero(triples[:, 1] == relation)
        fits[rows] = is_among(triples[rows, column], graph.typing.candidates(relation, side))
        anchors, places = np.unique(triples[rows, 2 - column], return_inverse=True)
        sums[:, rows] = sum_questions(search, relation, side, anchors, temperature, torch.float64)[:, places]
    is_loop = (triples[:, 0] == triples[:, 2]) & ~graph.statistics.allows_loops[triples[:, 1]]
    is_candidate = fits & ~is_loop & ~graph.known_in(*search.excluded).contains(triples)
    totals = np.where(is_candidate, sums[0], np.logaddexp(sums[0], logits))
    return Measured(scores, log_odds(np.exp(np.minimum(logits - totals, 0.0))), np.maximum(sums[1], 1.0), fits)


def rate_answers(
    calibration: Calibration, search: Search, triples: Triples, asked: Booleans
) -> tuple[Floats, Booleans]:
    """Return the probability of each answer, the geometric mean where it answers for both sides, and whether it fits.

    Args:
        calibration: Calibration of the model.
        search: Model and graph; triples of the excluded splits are not candidates.
        triples: Answers, (n, 3), of relations that the calibration covers.
        asked: Which parts of each were asked for, (n, 3). It answers for both sides unless one of them was.
    """
    chances, fits = np.ones(len(triples)), np.ones(len(triples), dtype=np.bool_)
    for number, side in enumerate(SIDES):
        rows = np.flatnonzero(asked[:, 2 * number] | ~asked[:, 2 - 2 * number])
        found = measure_answers(search, triples[rows], side, calibration.temperature)
        sides = 2 * triples[rows, 1] + number
        chances[rows] *= calibration.apply(found.scores, found.shares, found.counts, sides)
        fits[rows] &= found.fits
    return np.where(asked[:, 0] == asked[:, 2], np.sqrt(chances), chances), fits


def choose_rivals(search: Search) -> Search:
    """Return a search for the candidates that answers are compared with: those not in train or valid."""
    return Search(search.model, search.graph, excluded=("train", "valid"), memory=search.memory)


def find_answered(graph: Graph, triples: Triples, asked: Booleans) -> Booleans:
    """Return which triples answer a question for one side whose only answer is in train; arguments as below."""
    found, known = np.zeros(len(triples), dtype=np.bool_), graph.known_in("train")
    for number, side in enumerate(SIDES):
        have_one = graph.statistics.one_head if side == "head" else graph.statistics.one_tail
        is_answered = known.count(triples[:, 2 - 2 * number], triples[:, 1], side) > 0
        found |= asked[:, 2 * number] & ~asked[:, 2 - 2 * number] & have_one[triples[:, 1]] & is_answered
    return found


def find_probabilities(
    calibration: Calibration | None, search: Search, triples: Triples, asked: Booleans | None = None
) -> list[float | None]:
    """Return the probability of each answer.

    It is None without a calibration, in train, for an entity that does not fit, and where one side was asked for, the
    relation allows one answer there, and train has it.

    Args:
        calibration: Calibration of the model, if there is one.
        search: Model and graph.
        triples: Answers, (n, 3).
        asked: Which parts of each were asked for, (n, 3); by default none, which gives the mean of both sides.
    """
    found = np.full(len(triples), None, dtype=object)
    if calibration is not None and len(triples):
        covered = 2 * triples[:, 1] < len(calibration.slopes)
        parts = np.zeros_like(triples, dtype=np.bool_) if asked is None else asked
        is_open = ~search.graph.known_in("train").contains(triples) & ~find_answered(search.graph, triples, parts)
        rows = np.flatnonzero(covered & is_open)
        chances, fits = rate_answers(calibration, choose_rivals(search), triples[rows], parts[rows])
        found[rows[fits]] = chances[fits]
    return found.tolist()
