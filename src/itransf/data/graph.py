"""The graph: numbered triples in three splits, with the names of entities and relations."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from itransf.data.frames import NamedTriples, gather_triples
from itransf.data.known import KnownIndex, Triples
from itransf.data.layout import EXTRA, Remark, Request
from itransf.data.literals import find_bin, list_bins
from itransf.data.reading import read_labels
from itransf.data.search import MATCHES, FoundName
from itransf.data.splits import SPLITS, Encoded, SplitRule, Weights, encode_and_split, encode_splits, keep_distinct
from itransf.data.statistics import RelationStatistics
from itransf.data.typing import Types, Typing, read_types
from itransf.data.vocabulary import Vocabulary, check_text, note_similar
from itransf.errors import DataError, check_count, did_you_mean, name_count

RARELY_ANSWERED = 0.2
"""Share of the entities that fit below which a relation is rarely answered: its new triples are less probable."""

__all__ = ["RARELY_ANSWERED", "SPLITS", "Graph", "NamedTriples", "Triples"]

_LOG = logging.getLogger("itransf.data")


@dataclass(frozen=True, eq=False)
class Graph:
    """Triples (head, relation, tail) as numbers, in three splits.

    The arrays must not be changed: indexes and statistics are computed from them once.

    Attributes:
        name: Name of the graph.
        entities: Names of the entities; those of train have the lowest numbers.
        relations: Names of the relations.
        train: (n, 3) triples for training.
        valid: (n, 3) triples for model selection.
        test: (n, 3) triples for the final evaluation.
        notes: What the reader noticed, in sentences.
        rule: Rule that made the splits, if they were not given.
        weights: Weights of the triples in the loss, if any.
        types: Given types of entities, if any.
    """

    name: str
    entities: Vocabulary
    relations: Vocabulary
    train: Triples
    valid: Triples
    test: Triples
    notes: tuple[str, ...] = ()
    rule: SplitRule | None = None
    weights: Weights | None = None
    types: Types | None = None

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(self.split(split)):,} {split}" for split in SPLITS)
        names = f"{len(self.entities):,} entities, {name_count(len(self.relations), 'relation')}"
        return f"Graph({self.name!r}: {names}, {sizes})"

    def split(self, name: str) -> Triples:
        """Return the triples of "train", "valid" or "test"."""
        if name not in SPLITS:
            raise DataError(
                f"there is no split {name!r}; use 'train', 'valid' or 'test'.{did_you_mean(str(name), SPLITS)}"
            )
        triples: Triples = getattr(self, name)
        return triples

    def labelled(self, labels: str | Path | Mapping[str, str]) -> Graph:
        """Return the same graph with readable labels.

        Args:
            labels: A two-column file (name, label) or a mapping, for entities and relations together.
        """
        if not isinstance(labels, Mapping | str | os.PathLike):
            raise DataError(
                f"labels are a file or a mapping from names to labels, not {type(labels).__name__}; "
                "make it one with dict(...)"
            )
        given = labels if isinstance(labels, Mapping) else read_labels(Path(labels))
        entities, relations = self.entities.with_labels(given), self.relations.with_labels(given)
        unused = [name for name in given if not (entities.has_name(name) or relations.has_name(name))]
        notes = []
        if given and len(unused) == len(given):
            where = "" if isinstance(labels, Mapping) else f" of {labels}"
            raise DataError(
                f"none of the {len(given):,} labels{where} belongs to a name in {self.name!r}; "
                f"the first column must hold names of the graph, such as {next(iter(self.entities), '')!r}"
            )
        if unused:
            amount = f"{len(unused):,} of {len(given):,} labels {'are' if len(unused) > 1 else 'is'} not used"
            notes.append(f"{amount}: the graph has no name {unused[0]!r}{' (first)' if len(unused) > 1 else ''}.")
            _log(notes)
        return replace(self, entities=entities, relations=relations, notes=(*self.notes, *notes))

    def typed(self, types: str | Path, domains: str | Path | None = None) -> Graph:
        """Return the same graph with given types of entities; see `itransf.data.typing.read_types`."""
        found, notes = read_types(self.entities, self.relations, types, domains)
        _log(notes)
        return replace(self, types=found, notes=(*self.notes, *notes))

    def merged(self) -> Graph:
        """Return the graph with the triples of all splits in train."""
        train = keep_distinct(np.concatenate([self.train, self.valid, self.test]))
        return replace(self, train=train, valid=train[:0], test=train[:0], rule=None)

    def find(self, text: str, top: int = 10) -> list[FoundName]:
        """Find entities and relations by name or label, typos allowed.

        Args:
            text: Name or label, or a part of it.
            top: Maximum number of results.

        Returns:
            Exact matches, then names that begin so, names with a word that begins so, and names with similar letters.

        Raises:
            DataError: The text is empty, or no text.
            ConfigError: The number is not at least 1.
        """
        top = check_count("top", top, least=1)
        if not isinstance(text, str):
            raise DataError(f"{text!r} is not text; give a name, or a part of one")
        if not text.strip():
            raise DataError("there is no text to search for; give a name, or a part of one")
        found = []
        for names, columns in ((self.entities, (0, 2)), (self.relations, (1,))):
            counts = np.bincount(self.train[:, columns].reshape(-1), minlength=len(names))
            for number, match, likeness in names.search(text, top):
                name, label = names.name(number), names.label(number)
                each = FoundName(names.kind, name, label, MATCHES[match], int(counts[number]))
                found.append((match, -likeness, each))
        return [each for *_, each in sorted(found, key=lambda row: row[:2])][:top]

    @property
    def known(self) -> KnownIndex:
        """The known answers of train, valid and test together."""
        return self.known_in(*SPLITS)

    def known_in(self, *splits: str) -> KnownIndex:
        """Return the known answers of some splits; each choice of splits is indexed once.

        Args:
            splits: Names of splits, in any order: `known_in("train", "valid")` filters validation ranks.
        """
        parts = {split: self.split(split) for split in splits}
        chosen = tuple(sorted(parts))
        if chosen not in self._indexes:
            triples = np.concatenate([self.train[:0], *parts.values()])
            self._indexes[chosen] = KnownIndex(triples, len(self.entities), len(self.relations))
        return self._indexes[chosen]

    @cached_property
    def bins(self) -> list[str]:
        """Names of the entities that are bins of numbers or dates; see `itransf.data.literals`."""
        return list_bins(self.entities.names)

    def find_bin(self, relation: str, text: str) -> str | None:
        """Return the bin that a value of a relation, given by name or label, belongs to; None if there is none."""
        number = self.relations.find(relation)
        return None if number is None else find_bin(self.relations.name(number), text, self.bins)

    @cached_property
    def _indexes(self) -> dict[tuple[str, ...], KnownIndex]:
        """The indexes built so far, by the splits they cover."""
        return {}

    @cached_property
    def statistics(self) -> RelationStatistics:
        """Statistics of each relation in train."""
        return RelationStatistics(self.train, len(self.entities), len(self.relations))

    @cached_property
    def typing(self) -> Typing:
        """Which entities fit the sides of relations, by given types or learned from train."""
        return Typing(self.train, len(self.entities), len(self.relations), self.types)

    def share_answered(self, relation: int) -> float:
        """Return which share of the entities that fit a relation have an answer; NaN if questions have several answers.

        If one answer is usual for heads and for tails, the larger share counts.
        """
        known = np.concatenate([triples[triples[:, 1] == relation] for triples in map(self.split, SPLITS)])
        share = np.nan
        for column, side, have_one in ((0, "head", self.statistics.one_tail), (2, "tail", self.statistics.one_head)):
            if have_one[relation]:
                found = np.isin(self.typing.candidates(relation, side), known[:, column])
                share = np.fmax(share, found.mean())
        return float(share)

    @classmethod
    def from_names(
        cls, name: str, train: NamedTriples, valid: NamedTriples = (), test: NamedTriples = (), strict: bool = False
    ) -> Graph:
        """Build a graph from triples that are split already.

        Args:
            name: Name of the graph.
            train: Triples for training: rows of three names (head, relation, tail), or a data frame with three columns
                or with columns of these names.
            valid: Triples for model selection.
            test: Triples for the final evaluation.
            strict: Whether to refuse entities and relations that train does not have.
        """
        _check_name(name)
        tables = [
            gather_triples(triples, split, Request(extra=EXTRA))
            for split, triples in zip(SPLITS, (train, valid, test), strict=True)
        ]
        return build_graph(name, encode_splits(tables, strict))

    @classmethod
    def from_triples(
        cls,
        triples: NamedTriples,
        name: str = "triples",
        valid_share: float = SplitRule.valid_share,
        test_share: float = SplitRule.test_share,
        seed: int = 0,
    ) -> Graph:
        """Build a graph from triples that are not split yet, as `itransf.load` does from one file.

        Args:
            triples: Rows of three names (head, relation, tail), or a data frame with three columns or with columns of
                these names.
            name: Name of the graph.
            valid_share: Share of the triples for valid.
            test_share: Share of the triples for test.
            seed: Random seed of the split.
        """
        _check_name(name)
        rule = SplitRule(seed, valid_share, test_share)
        return build_graph(name, encode_and_split(gather_triples(triples, name, Request(extra=EXTRA)), rule))


def build_graph(name: str, encoded: Encoded) -> Graph:
    """Build a graph from its numbered splits, and log what was noted about them."""
    triples = np.concatenate(encoded.splits)
    similar = note_similar(encoded.relations, triples[:, 1], "relations")
    notes = (*encoded.notes, *similar, *note_similar(encoded.entities, triples[:, (0, 2)], "entities"))
    _log(notes)
    entities, relations = Vocabulary(encoded.entities), Vocabulary(encoded.relations, kind="relation")
    train, valid, test = encoded.splits
    return Graph(name, entities, relations, train, valid, test, notes, encoded.rule, encoded.weights)


def _log(notes: Iterable[str]) -> None:
    """Log notes for Python users: possible mistakes as warnings, other notes as information."""
    for note in notes:
        _LOG.log(logging.INFO if isinstance(note, Remark) else logging.WARNING, "%s", note)


def _check_name(name: object) -> None:
    """Refuse a graph's name that is not text."""
    try:
        check_text(name, "name", "the graph")
    except DataError as error:
        raise DataError(f"{error}; write Graph.from_names('name', train) or Graph.from_triples(triples)") from None
