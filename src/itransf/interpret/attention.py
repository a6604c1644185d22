"""Attention: which concepts each part of each relation uses and how strongly, for all relations or chosen ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from itransf.data import Booleans, Graph, Integers, Vocabulary
from itransf.errors import ConfigError, DataError, check_count, did_you_mean
from itransf.models import SIDES, ConceptModel, Model
from itransf.models.concepts import AttentionKind

S = TypeVar("S", bound=str)
_WILD = frozenset("*?[")


@dataclass(frozen=True)
class ConceptWeight:
    """A concept and its attention weight."""

    concept: int
    weight: float


@dataclass(frozen=True, eq=False)
class Attention:
    """The attention of a whole model.

    Attributes:
        weights: (p, r, m) attention of each part, as `ConceptModel.shown_weights` gives it; exactly zero where a
            concept is not used.
        relations: Names and labels of the relations.
        supports: (p, r, k) the concepts each part may use; all concepts where attention is not sparse.
        counts: (r,) training triples per relation.
        kind: `sparse`, `dense`, `l1` or `signed`; only `l1` and `signed` weights can be negative.
        parts: Parts of a relation that have their own attention: "head" and "tail", or "relation" alone.
        symmetries: "symmetric" or "antisymmetric" for each concept; empty for a model whose concepts are neither.
        found: Number of members of an ensemble in which each concept is found; empty for a single model.
        seeds: Number of members.
    """

    weights: npt.NDArray[np.float32]
    relations: Vocabulary
    supports: Integers
    counts: Integers
    kind: AttentionKind = "sparse"
    parts: tuple[str, ...] = SIDES
    symmetries: tuple[str, ...] = ()
    found: tuple[int, ...] = ()
    seeds: int = 1

    def __repr__(self) -> str:
        used, concepts = int(self.used.sum()), self.weights.shape[2]
        return f"Attention({self.kind}: {len(self.relations)} relations, {used} of {concepts} concepts used)"

    @property
    def used(self) -> Booleans:
        """Whether any relation uses each concept, (m,)."""
        return np.asarray((self.weights != 0).any(axis=(0, 1)))

    @property
    def antisymmetric(self) -> frozenset[int]:
        """The antisymmetric concepts."""
        return frozenset(number for number, kind in enumerate(self.symmetries) if kind == "antisymmetric")

    def row(self, relation: int | str, part: str | None = None) -> tuple[ConceptWeight, ...]:
        """Return the concepts of one part of a relation, strongest first.

        Args:
            relation: Number, name or label of the relation.
            part: One of `parts`, such as "head"; not needed where there is one alone.

        Raises:
            DataError: The relation is not known.
            ConfigError: There is no such part.
        """
        place = 0 if part is None and len(self.parts) == 1 else self.parts.index(check_part(part, self.parts))
        if isinstance(relation, str):
            number = self.relations.index(relation)
        else:
            number = check_count("the number of a relation", relation)
        if number >= len(self.relations):
            raise DataError(f"there is no relation {number}; they are numbered 0 to {len(self.relations) - 1}")
        weights = self.weights[place, number]
        return tuple(ConceptWeight(i, float(weights[i])) for i in strongest_first(weights))

    def find(self, relations: Iterable[str] | None = None) -> list[int]:
        """Return the numbers of these relations, or of all, most frequent first."""
        if relations is not None:
            return [self.relations.index(relation) for relation in relations]
        order: list[int] = np.argsort(-self.counts, kind="stable").tolist()
        return order

    def choose(self, relations: Iterable[str]) -> Attention:
        """Return the attention of these relations alone, in this order."""
        numbers = self.find(relations)
        names = [self.relations.name(number) for number in numbers]
        vocabulary = Vocabulary(names, self.relations.labels, kind="relation")
        weights, supports, counts = self.weights[:, numbers], self.supports[:, numbers], self.counts[numbers]
        return replace(self, weights=weights, relations=vocabulary, supports=supports, counts=counts)

    def to_dict(self, relations: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the non-zero concepts of each relation, strongest first, ready for JSON.

        They are listed under the name of their part, or under "concepts" where there is one part alone.
        """
        return {
            "kind": self.kind,
            "concepts": self.weights.shape[2],
            "used_concepts": np.flatnonzero(self.used).tolist(),
            **({"symmetries": list(self.symmetries)} if self.symmetries else {}),
            **({"seeds": self.seeds, "found": list(self.found)} if self.found else {}),
            "relations": [self._describe(relation) for relation in self.find(relations)],
        }

    def _describe(self, relation: int) -> dict[str, Any]:
        keys = self.parts if len(self.parts) > 1 else ("concepts",)
        rows = [[asdict(use) for use in self.row(relation, part)] for part in self.parts]
        return {
            "relation": self.relations.name(relation),
            "label": self.relations.label(relation),
            "train_triples": int(self.counts[relation]),
            **dict(zip(keys, rows, strict=True)),
        }


def check_part(part: str | None, parts: Sequence[S]) -> S:
    """Return the part of this name; models with several parts have sides."""
    for known in parts:
        if part == known:
            return known
    kind, listed = "side" if len(parts) > 1 else "part", " or ".join(map(repr, parts))
    raise ConfigError(f"there is no {kind} {part!r}; use {listed}.{did_you_mean(str(part), parts)}")


def strongest_first(weights: npt.NDArray[np.float32]) -> list[int]:
    """Return the places of non-zero weights, the largest absolute weight first, equal ones in order."""
    order = np.argsort(-np.abs(weights), kind="stable")
    found: list[int] = order[weights[order] != 0].tolist()
    return found


def check_concepts(model: Model) -> ConceptModel:
    """Return the model if its relations share concepts.

    Raises:
        ConfigError: They do not.
    """
    if not isinstance(model, ConceptModel):
        raise ConfigError(
            f"the model {type(model).__name__} has no concepts; train icomplex, itransf, ilineare or pitransf"
        )
    return model


@torch.no_grad()
def read_attention(model: Model, graph: Graph) -> Attention:
    """Read the attention of a trained model.

    Raises:
        ConfigError: The model has no concepts.
    """
    concepts = check_concepts(model)
    weights = torch.stack([concepts.shown_weights(part) for part in concepts.parts])
    supports = torch.stack([concepts.supports(part) for part in concepts.parts])
    return Attention(
        weights.float().cpu().numpy(),
        graph.relations,
        supports.cpu().numpy(),
        graph.statistics.counts,
        concepts.concept_attention(concepts.parts[0]).kind,
        concepts.parts,
        concepts.symmetries,
    )


def choose_relations(attention: Attention, patterns: Iterable[str] = (), top: int | None = None) -> list[str]:
    """Return the names of matching relations, most frequent first; those given by name in the order given.

    Args:
        attention: Attention of all relations.
        patterns: Names or labels, or patterns such as "*capital*"; a relation has to match one.
        top: Number of the most frequent matching relations to keep.

    Raises:
        DataError: A name is not known, or nothing matches.
    """
    asked = list(patterns)
    numbers = find_matching(attention, asked) if asked else attention.find()
    if top is not None:
        most = check_count("top", top, least=1)
        frequent = set(sorted(numbers, key=lambda number: -attention.counts[number])[:most])
        numbers = [number for number in numbers if number in frequent]
    return [attention.relations.name(number) for number in numbers]


def find_matching(attention: Attention, patterns: Sequence[str]) -> list[int]:
    """Return the relations with these names, labels or patterns, each once; those of a pattern most frequent first."""
    vocabulary, found = attention.relations, dict[int, None]()
    for pattern in patterns:
        if not _WILD & set(pattern) or pattern in vocabulary:
            found[vocabulary.index(pattern)] = None
            continue
        called = {number: (vocabulary.name(number), vocabulary.label(number)) for number in attention.find()}
        matching = [number for number, names in called.items() if any(fnmatchcase(name, pattern) for name in names)]
        if not matching:
            raise DataError(f"no relation matches {pattern!r}; * stands for any letters, ? for one, [ab] for a or b")
        found |= dict.fromkeys(matching)
    return list(found)
