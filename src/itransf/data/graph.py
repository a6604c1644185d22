"""The graph: facts as numbers, split into train, valid and test, with the names behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from itransf.data.checking import tidy
from itransf.data.encoding import Triples, encode
from itransf.data.known import KnownIndex
from itransf.data.labels import read_labels
from itransf.data.statistics import RelationStatistics
from itransf.data.tables import make_table
from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError, did_you_mean

__all__ = ["SPLITS", "Graph", "NamedFacts", "Triples"]

SPLITS = ("train", "valid", "test")

NamedFacts = Iterable[tuple[str, str, str]]


@dataclass(frozen=True, eq=False)
class Graph:
    """Facts (head, relation, tail) as numbers, in three splits.

    Attributes:
        name: What people call it.
        entities: The entities' names; those of train have the lowest numbers.
        relations: The relations' names.
        train: (n, 3) facts to learn from.
        valid: (n, 3) facts to choose settings by.
        test: (n, 3) facts to measure on.
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
        """Return the facts of "train", "valid" or "test"."""
        if name not in SPLITS:
            raise DataError(f"there is no split {name!r}; use 'train', 'valid' or 'test'.{did_you_mean(name, SPLITS)}")
        facts: Triples = getattr(self, name)
        return facts

    def labelled(self, labels: str | Path | Mapping[str, str]) -> Graph:
        """Return the same graph with readable labels.

        Args:
            labels: A two-column file (id, label), or a mapping; entities and relations alike.
        """
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
        return replace(self, entities=entities, relations=relations, notes=(*self.notes, note))

    @cached_property
    def known(self) -> KnownIndex:
        """Every known answer: of train, valid and test together."""
        facts = np.concatenate([self.split(split) for split in SPLITS])
        return KnownIndex(facts, len(self.entities), len(self.relations))

    @cached_property
    def statistics(self) -> RelationStatistics:
        """What train says about each relation."""
        return RelationStatistics(self.train, len(self.entities), len(self.relations))

    @classmethod
    def from_names(
        cls, name: str, train: NamedFacts, valid: NamedFacts = (), test: NamedFacts = (), strict: bool = False
    ) -> Graph:
        """Build a graph from triples of names.

        Args:
            name: What to call the graph.
            train: (head, relation, tail) names to learn from.
            valid: Facts to choose settings by.
            test: Facts to measure on.
            strict: Refuse entities and relations that train does not hold.
        """
        tables = [make_table(facts, split) for split, facts in zip(SPLITS, (train, valid, test), strict=True)]
        encoded = encode([table.facts for table in tables])
        (train_facts, valid_facts, test_facts), notes = tidy(encoded, tables, strict)
        return cls(
            name,
            Vocabulary(encoded.entities, kind="entity"),
            Vocabulary(encoded.relations, kind="relation"),
            train_facts,
            valid_facts,
            test_facts,
            notes,
        )
