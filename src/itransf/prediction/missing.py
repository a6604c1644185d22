"""The most probable new triples of a graph, of an entity or of a relation.

A triple answers two questions, one that asks for its tail and one that asks for its head. Its probability is the
geometric mean of its probabilities as an answer to both, as in `itransf.prediction.score`. Without a calibration,
triples are ordered by that of their softmax. Candidates are the entities that fit the side. Where a relation has one
answer to nearly every question, those that are answered are not asked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from itransf.data.graph import SPLITS, Graph, Triples
from itransf.data.known import Floats, Integers, is_among
from itransf.data.typing import SIDE_NUMBERS
from itransf.errors import DataError
from itransf.files import write_text
from itransf.models.base import SIDES, Model, Side
from itransf.prediction.calibration import (
    Calibration,
    choose_rivals,
    find_probabilities,
    log_odds,
    sum_candidates,
    sum_questions,
)
from itransf.prediction.inputs import LabelledTriple, name_triple
from itransf.prediction.search import EXCLUDED, Search, list_answers, make_triples, mark
from itransf.progress import track

SHORTLIST = 16  # promising answers to the questions of one side, for each triple that is asked for
ENDS: dict[Side, Side] = {"head": "tail", "tail": "head"}


@dataclass(frozen=True)
class MissingTriple(LabelledTriple):
    """A new triple.

    Attributes:
        probability: Chance that it is a missing answer, as in `ScoredTriple`, if the run has a calibration.
        score: Plausibility; comparable within a relation.
        reason: Paths in train that support it, in words, if they were asked for.
    """

    probability: float | None
    score: float
    reason: str | None = None


@dataclass(frozen=True)
class Best:
    """The best triples so far, best first.

    Attributes:
        chances: Logarithms of their chances, (k,).
        triples: (k, 3)
        scores: (k,)
    """

    chances: Floats
    triples: Triples
    scores: Floats

    def merge(self, other: Best, top: int) -> Best:
        """Return the best of both; equal chances in the order of relation, head and tail."""
        chances, triples, scores = (np.concatenate([vars(self)[name], vars(other)[name]]) for name in vars(self))
        order = np.unique(triples[:, [1, 0, 2]], axis=0, return_index=True)[1]
        order = order[np.argsort(-chances[order], kind="stable")][:top]
        return Best(chances[order], triples[order], scores[order])

    def find_bound(self, top: int) -> float:
        """Return the least chance that is kept if there are `top`, as a logarithm."""
        return float(self.chances[-1]) if len(self.chances) == top else -np.inf


NOTHING = Best(np.zeros(0), np.zeros((0, 3), dtype=np.int64), np.zeros(0))


@dataclass(frozen=True)
class Questions:
    """Questions for a side of a relation.

    Attributes:
        search: Settings of the search.
        calibration: Function from scores to probabilities.
        relation: The relation.
        side: Side that is asked for.
    """

    search: Search
    calibration: Calibration | None
    relation: int
    side: Side

    def answer(self, given: Integers | None, best: Best) -> Best:
        """Return the best of the triples so far and of the answers, of the given entities or of all that fit.

        The mean of two logarithms is at most half of one of them. So only answers to the questions of this side whose
        logarithm is at least twice that of the worst triple that is kept are compared with those of the other side.
        """
        top, limit = self.search.top, SHORTLIST * self.search.top
        anchors = self.search.allow_ends(self.relation, ENDS[self.side])
        anchors = anchors if given is None else given[is_among(given, anchors)]
        while True:
            near = self._shortlist(anchors, 2 * best.find_bound(top), limit)
            best = best.merge(self._finish(near), top)
            if len(near.chances) < limit or near.chances[-1] <= 2 * best.find_bound(top):
                return best
            limit *= SHORTLIST

    def _shortlist(self, anchors: Integers, bound: float, limit: int) -> Best:
        """Return the best answers above a bound to the questions of this side alone, best first."""
        best, allowed = NOTHING, self.search.allow_entities(self.relation, self.side)
        is_closed = torch.from_numpy(~is_among(allowed, self.search.allow_ends(self.relation, self.side)))
        test = self.search.graph.known_in("test")
        for part, scores in choose_rivals(self.search).score_chunks(self.relation, self.side, anchors, allowed):
            totals, counts = sum_candidates(scores, self._factor)
            mark(scores, *list_answers(test, anchors[part], self.relation, self.side), allowed, EXCLUDED)
            scores[:, is_closed.to(scores.device)] = EXCLUDED
            promising = self._rate(scores.amax(1).double().cpu().numpy(), totals, counts) >= bound
            values = scores[torch.from_numpy(promising).to(scores.device)].double().cpu().numpy()
            rows, columns = np.nonzero(values != EXCLUDED)
            values, own = values[rows, columns], np.flatnonzero(promising)[rows]
            chances = self._rate(values, totals[own], counts[own])
            kept = np.flatnonzero(chances >= bound)
            kept = kept[np.argpartition(-chances[kept], limit)[:limit]] if len(kept) > limit else kept
            triples = make_triples(anchors[part[own[kept]]], self.relation, allowed[columns[kept]], self.side)
            best = best.merge(Best(chances[kept], triples, values[kept]), limit)
        return best

    def _finish(self, near: Best) -> Best:
        """Return answers with their chances as answers to the questions of both sides."""
        answers, places = np.unique(near.triples[:, 2 * SIDE_NUMBERS[self.side]], return_inverse=True)
        other = replace(self, side=ENDS[self.side])
        asked = (self.relation, other.side, answers, self._factor, torch.float32)
        totals, counts = sum_questions(choose_rivals(self.search), *asked)[:, places]
        return Best((near.chances + other._rate(near.scores, totals, counts)) / 2, near.triples, near.scores)

    def _rate(self, scores: Floats, totals: Floats, counts: Floats) -> Floats:
        """Return the logarithms of the probabilities of answers, or of their softmax."""
        with np.errstate(divide="ignore", invalid="ignore"):  # questions without candidates, and chances of zero
            shares = np.minimum(self._factor * scores - totals, 0.0)
            if self.calibration is not None and self.calibration.covers(self.relation):
                sides = np.full(len(scores), 2 * self.relation + SIDE_NUMBERS[self.side])
                shares = np.log(self.calibration.apply(scores, log_odds(np.exp(shares)), np.maximum(counts, 1), sides))
        return np.nan_to_num(shares, nan=EXCLUDED, neginf=EXCLUDED)

    @property
    def _factor(self) -> float:
        """Factor of scores in the softmax."""
        return 1.0 if self.calibration is None else self.calibration.temperature


@torch.no_grad()
def find_missing(
    model: Model,
    graph: Graph,
    entity: str | None = None,
    relation: str | None = None,
    *,
    top: int = 1000,
    calibration: Calibration | None = None,
    progress: bool = False,
    state: str | Path | None = None,
) -> list[MissingTriple]:
    """Return the most probable triples that are not in the graph, best first.

    Args:
        model: Scoring model.
        graph: Graph with the known triples.
        entity: Name or label of an entity that the triples have; by default any.
        relation: Name or label of their relation; by default any.
        top: Number of triples.
        calibration: Function from scores to probabilities.
        progress: Whether to show a progress bar.
        state: File that keeps what is done after each relation. A later call with the same arguments continues from it
            to the same result; it is removed at the end.

    Raises:
        DataError: A name is not known, or `state` is another file.
        ConfigError: A number is not positive.
    """
    state = None if state is None else Path(state)
    search = Search(model, graph, top, excluded=SPLITS, more=False)
    relations = range(len(graph.relations)) if relation is None else [graph.relations.index(relation)]
    given = None if entity is None else np.array([graph.entities.index(entity)])
    asked = [sum_parameters(model), entity, relation, top, calibration and calibration.to_dict()]
    done, best = read_state(state, asked)
    with track("searching", len(relations), "relations", progress, done) as tracker:
        for place, number in list(enumerate(relations, start=1))[done:]:
            for side in SIDES if given is not None else SIDES[1:]:
                best = Questions(search, calibration, number, side).answer(given, best)
            tracker.advance(1)
            if state is not None:
                lists: dict[str, Any] = {name: values.tolist() for name, values in vars(best).items()}
                write_text(state, json.dumps({"asked": asked, "done": place, **lists}))
    if state is not None:
        state.unlink(missing_ok=True)
    chances = find_probabilities(calibration, search, best.triples)
    rows = zip(best.triples.tolist(), chances, best.scores.tolist(), strict=True)
    found = [MissingTriple(*name_triple(graph, triple), chance, score) for triple, chance, score in rows]
    return sorted(found, key=lambda each: -(each.probability or 0.0))  # the search computes with fewer digits


def sum_parameters(model: Model) -> list[float]:
    """Return the sum of each parameter, which tells models apart."""
    return [float(values.detach().double().sum()) for values in model.parameters()]


def read_state(state: Path | None, asked: list[Any]) -> tuple[int, Best]:
    """Return how many relations an interrupted search with these arguments finished, and the best triples of them.

    Raises:
        DataError: The file is something else.
    """
    if state is None or not state.is_file():
        return 0, NOTHING
    try:
        kept = json.loads(state.read_text(encoding="utf-8"))
        if kept["asked"] != json.loads(json.dumps(asked)):
            return 0, NOTHING
        triples = np.array(kept["triples"], dtype=np.int64).reshape(-1, 3)
        chances, scores = (np.array(kept[name], dtype=np.float64) for name in ("chances", "scores"))
        if not len(chances) == len(triples) == len(scores):
            raise ValueError("a part is missing")
        return int(kept["done"]), Best(chances, triples, scores)
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{state}: is not the state of a search, or damaged; remove it to start again") from None
