"""The graph: triples as numbers, split into train, valid and test, with the names behind them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from itransf.data.frames import NamedTriples, gather_triples
from itransf.data.known import KnownIndex
from itransf.data.layout import Remark
from itransf.data.reading import read_labels
from itransf.data.splits import (
    SPLITS,
    TEST_SHARE,
    VALID_SHARE,
    Encoded,
    Triples,
    encode_and_split,
    encode_splits,
)
from itransf.data.statistics import RelationStatistics
from itransf.data.vocabulary import Vocabulary, check_text
from itransf.errors import DataError, did_you_mean

__all__ = ["SPLITS", "Graph", "NamedTriples", "Triples"]

_LOG = logging.getLogger("itransf.data")


@dataclass(frozen=True, eq=False)
class Graph:
    """Triples (head, relation, tail) as numbers, in three splits.

    Arrays are there to be read: what is known of the triples is worked out once. Other triples make another graph.

    Attributes:
        name: What people call it.
        entities: The entities' names; those of train have the lowest numbers.
        relations: The relations' names.
        train: (n, 3) triples to learn from.
        valid: (n, 3) triples to choose settings by.
        test: (n, 3) triples to measure on.
        notes: What reading found worth saying, as plain sentences.
    """

    name: str
    entities: Vocabulary
    relations: Vocabulary
    train: Triples
    valid: Triples
    test: Triples
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(self.split(split)):,} {split}" for split in SPLITS)
        names = f"{len(self.entities):,} entities, {len(self.relations):,} relations"
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
            labels: A two-column file (id, label), or a mapping; entities and relations alike.
        """
        if not isinstance(labels, Mapping | str | os.PathLike):
            raise DataError(
                f"labels are a file or a mapping from names to labels, not {type(labels).__name__}; "
                "make it one with dict(...)"
            )
        given = labels if isinstance(labels, Mapping) else read_labels(Path(labels))
        entities, relations = self.entities.with_labels(given), self.relations.with_labels(given)
        strange = [name for name in given if not (entities.has_name(name) or relations.has_name(name))]
        if given and len(strange) == len(given):
            where = "" if isinstance(labels, Mapping) else f" of {labels}"
            raise DataError(
                f"none of the {len(given):,} labels{where} belongs to a name in {self.name!r}; "
                "the first column must hold the graph's own names, such as "
                f"{next(iter(self.entities.names), '')!r}"
            )
        if not strange:
            return replace(self, entities=entities, relations=relations)
        told = f"{len(strange):,} of {len(given):,} labels {'are' if len(strange) > 1 else 'is'} not used"
        note = f"{told}: the graph has no name {strange[0]!r}{' (the first of them)' if len(strange) > 1 else ''}."
        _log([note])
        return replace(self, entities=entities, relations=relations, notes=(*self.notes, note))

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
    def _indexes(self) -> dict[tuple[str, ...], KnownIndex]:
        """The indexes built so far, by the splits they cover."""
        return {}

    @cached_property
    def statistics(self) -> RelationStatistics:
        """What train says about each relation."""
        return RelationStatistics(self.train, len(self.entities), len(self.relations))

    @classmethod
    def from_names(
        cls, name: str, train: NamedTriples, valid: NamedTriples = (), test: NamedTriples = (), strict: bool = False
    ) -> Graph:
        """Build a graph from triples that are split already.

        Args:
            name: What to call the graph.
            train: Triples to learn from: rows of three names (head, relation, tail), or a data frame with three columns
                or with columns called so.
            valid: Triples to choose settings by.
            test: Triples to measure on.
            strict: Refuse entities and relations that train does not hold.
        """
        _check_name(name)
        tables = [gather_triples(triples, split) for split, triples in zip(SPLITS, (train, valid, test), strict=True)]
        return build_graph(name, encode_splits(tables, strict))

    @classmethod
    def from_triples(
        cls,
        triples: NamedTriples,
        name: str = "triples",
        valid_share: float = VALID_SHARE,
        test_share: float = TEST_SHARE,
        seed: int = 0,
    ) -> Graph:
        """Build a graph from triples that are not split yet, as `itransf.load` does from one file.

        Args:
            triples: Rows of three names (head, relation, tail), or a data frame with three columns or with columns
                called so.
            name: What to call the graph.
            valid_share: The share of triples held out for valid.
            test_share: The share of triples held out for test.
            seed: Which split.
        """
        _check_name(name)
        return build_graph(name, encode_and_split(gather_triples(triples, name), valid_share, test_share, seed))


def build_graph(name: str, encoded: Encoded) -> Graph:
    """Build a graph from its numbered splits, and log what was noted about them."""
    _log(encoded.notes)
    entities, relations = Vocabulary(encoded.entities), Vocabulary(encoded.relations, kind="relation")
    train, valid, test = encoded.splits
    return Graph(name, entities, relations, train, valid, test, encoded.notes)


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
