"""Doubtful training triples: those that look false by the other triples and by the model.

The model has seen the triples it judges, so its score alone is flattering. Type and support of a triple come from the
other triples only. Support and score are compared with those of the other triples of the relation. The three have the
same weight, which found false triples of `world` (seeds 10 to 14 of benchmarks/doubt.py), and of FB15k-237 and CoDEx-S
(seed 10, without a model) as well as other weights.
"""

from dataclasses import dataclass

import numpy as np

from itransf.data import Floats, Graph, Integers
from itransf.data.support import Support, SupportIndex
from itransf.errors import check_count
from itransf.models.base import Model
from itransf.prediction.inputs import LabelledTriple, name_triple
from itransf.prediction.predict import find_only_answers
from itransf.prediction.score import ScoredTriple, score_triples
from itransf.prediction.search import DEFAULT_MEMORY, score_given
from itransf.progress import track

LEAST_EVIDENCE = 0.01  # added to the evidence of all triples before its logarithm is taken
TELLING = 0.5  # part of the doubt from which it is a reason


@dataclass(frozen=True)
class DoubtfulTriple(LabelledTriple):
    """A training triple and the reasons to doubt it.

    Attributes:
        doubt: Sum of the three parts: higher is more doubtful; about 0 for most triples.
        type_misfit: Part of head and tail that do not fit the relation, judged by their other triples.
        lack_of_support: Part of paths of other triples: fewer, or weaker ones, than those of the relation have.
        low_score: Part of the model's score, compared with that of other triples of the relation.
        score: The score.
        head_rank: Rank of the head as in `score`.
        tail_rank: Rank of the tail.
        reason: Reasons to doubt it, in words: other answers where one is allowed, then the parts, the strongest first.
    """

    doubt: float
    type_misfit: float
    lack_of_support: float
    low_score: float
    score: float
    head_rank: float
    tail_rank: float
    reason: str


def doubt_triples(
    model: Model,
    graph: Graph,
    relation: str | None = None,
    *,
    top: int = 20,
    progress: bool = False,
) -> list[DoubtfulTriple]:
    """Return the training triples that are most likely false, the most doubtful first.

    Args:
        model: Scoring model.
        graph: Graph with the training triples.
        relation: Name or label of the only relation to examine; by default all are.
        top: Maximum number of triples.
        progress: Whether to show a progress bar.

    Raises:
        DataError: The relation is not known.
        ConfigError: A number is not positive.
    """
    top = check_count("top", top, least=1)
    number = None if relation is None else graph.relations.index(relation)
    parts, support = measure_doubts(model, graph, progress)
    doubts = parts.sum(axis=0)
    rows = np.argsort(-doubts, kind="stable")
    if number is not None:
        rows = rows[graph.train[rows, 1] == number]
    rows = rows[:top]
    names = [name_triple(graph, triple) for triple in graph.train[rows].tolist()]
    scored = score_triples(model, graph, [each[:3] for each in names])
    found = []
    for row, name, ranked in zip(rows.tolist(), names, scored, strict=True):
        told = give_reason(ranked, parts[:, row], support.fits[:, row], bool(support.patterns[row]))
        reason = "; ".join([*list_rivals(graph, name)[:1], *told]) or "no reason stands out"
        misfit, unsupported, low = parts[:, row].tolist()
        ranks = (ranked.score, ranked.head_rank, ranked.tail_rank)
        found.append(DoubtfulTriple(*name, float(doubts[row]), misfit, unsupported, low, *ranks, reason))
    return found


def measure_doubts(model: Model, graph: Graph, progress: bool = False) -> tuple[Floats, Support]:
    """Return the parts of the doubt of each training triple, (3, n): type, support, score; and what supports them."""
    count, index = len(graph.train), SupportIndex(graph)
    found = Support(np.arange(count), np.zeros((2, count)), np.zeros(count), np.zeros(count, dtype=np.int64))
    with track("checking", len(graph.relations), "relations", progress) as tracker:
        for relation in range(len(graph.relations)):
            own = index.weigh(relation)
            found.fits[:, own.rows], found.evidence[own.rows] = own.fits, own.evidence
            found.patterns[own.rows] = own.patterns
            tracker.advance(1)
    evidence, relations = np.log(found.evidence + LEAST_EVIDENCE), graph.train[:, 1]
    scores = score_given(model, graph.train, DEFAULT_MEMORY).double().cpu().numpy()
    support, score = (compare_within(values, relations) for values in (evidence, scores))
    return -np.stack([np.minimum(found.fits.min(axis=0), 0.0), support, score]), found


def compare_within(values: Floats, relations: Integers) -> Floats:
    """Return by how many deviations values are above the mean of their relation.

    Half the deviation of all values is added to that of each relation, as those of rare relations are uncertain.
    """
    counts = np.maximum(np.bincount(relations), 1)
    centred = values - (np.bincount(relations, values) / counts)[relations]
    deviations = np.sqrt(np.bincount(relations, centred**2) / counts)[relations]
    return np.asarray(centred / (deviations + 0.5 * values.std() + np.finfo(float).tiny))


def list_rivals(graph: Graph, name: tuple[str, ...]) -> list[str]:
    """Return the other answers in train, in words, where the relation allows one for the head, or for the tail."""
    queries = ((*name[:2], None), (None, *name[1:3]))
    others = [other for query in queries for other in find_only_answers(graph, *query)]
    return [
        f"train also has {each.head_label} – {each.relation_label} – {each.tail_label}, where one answer is usual"
        for each in others
        if (each.head, each.tail) != (name[0], name[2])
    ]


def give_reason(triple: ScoredTriple, parts: Floats, fits: Floats, is_connected: bool) -> list[str]:
    """Return the reasons to doubt a triple in words, the strongest first.

    Args:
        triple: The triple with its ranks.
        parts: Parts of its doubt: type, support, score.
        fits: How well head and tail fit.
        is_connected: Whether other paths lead from head to tail.
    """
    head, relation, tail = triple.head_label, triple.relation_label, triple.tail_label
    misfits = [f"{head} is unlike other heads of {relation}", f"{tail} is unlike other tails of {relation}"]
    support = f"pairs connected by other triples like them are seldom linked by {relation}"
    rank, asked = max((triple.tail_rank, tail), (triple.head_rank, head))
    others = "another answer" if rank <= 2 else f"{rank - 1:,.0f} other answers"
    score = f"the model scores it below most triples of {relation}"
    score = f"the model finds {others} more likely than {asked}" if rank > 1 else score
    texts = (misfits[fits.argmin()], support if is_connected else "no other triples connect the two", score)
    return [texts[part] for part in np.argsort(-parts) if parts[part] >= TELLING]
