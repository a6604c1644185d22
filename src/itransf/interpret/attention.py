"""Attention: which concepts each side of each relation uses and how strongly, for all relations or chosen ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from itransf.data.graph import Graph
from itransf.data.vocabulary import Vocabulary
from itransf.errors import ConfigError, DataError, check_count, did_you_mean
from itransf.models import SIDES, ConceptModel, Model, Side
from itransf.models.concepts import AttentionKind

_WILD = frozenset("*?[")


@dataclass(frozen=True)
class ConceptWeight:
    """A concept and its attention weight."""

    concept: int
    weight: float


@dataclass(frozen=True)
class AttentionRow:
    """The concepts of one side of a relation, strongest first."""

    relation: str
    label: str
    side: Side
    concepts: tuple[ConceptWeight, ...]


@dataclass(frozen=True, eq=False)
class Attention:
    """The attention of a whole model.

    Attributes:
        weights: (2, r, m) attention of heads, then of tails; exactly zero where a concept is not used.
        relations: Names and labels of the relations.
        supports: (2, r, k) the concepts each side may use; all concepts where attention is not sparse.
        counts: (r,) training triples per relation.
        kind: `sparse`, `dense` or `l1`; only `l1` weights can be negative.
    """

    weights: npt.NDArray[np.float32]
    relations: Vocabulary
    supports: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    kind: AttentionKind = "sparse"

    def __repr__(self) -> str:
        used, concepts = int(self.used.sum()), self.weights.shape[2]
        return f"Attention({self.kind}: {len(self.relations)} relations, {used} of {concepts} concepts used)"

    @property
    def used(self) -> npt.NDArray[np.bool_]:
        """Whether any relation uses each concept, (m,)."""
        return np.asarray((self.weights != 0).any(axis=(0, 1)))

    def row(self, relation: int | str, side: str) -> AttentionRow:
        """Return the concepts of one side of a relation.

        Args:
            relation: Number, name or label of the relation.
            side: "head" or "tail".

        Raises:
            DataError: The relation is not known.
            ConfigError: The side is neither "head" nor "tail".
        """
        asked = check_side(side)
        if isinstance(relation, str):
            number = self.relations.index(relation)
        else:
            number = check_count("the number of a relation", relation)
        if number >= len(self.relations):
            raise DataError(f"there is no relation {number}; they are numbered 0 to {len(self.relations) - 1}")
        weights = self.weights[SIDES.index(asked), number]
        concepts = tuple(ConceptWeight(i, float(weights[i])) for i in strongest_first(weights))
        return AttentionRow(self.relations.name(number), self.relations.label(number), asked, concepts)

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
        return Attention(
            self.weights[:, numbers], vocabulary, self.supports[:, numbers], self.counts[numbers], self.kind
        )

    def to_dict(self, relations: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the non-zero concepts of each relation and side, strongest first, ready for JSON."""
        return {
            "kind": self.kind,
            "concepts": self.weights.shape[2],
            "used_concepts": np.flatnonzero(self.used).tolist(),
            "relations": [self._describe(relation) for relation in self.find(relations)],
        }

    def _describe(self, relation: int) -> dict[str, Any]:
        sides: dict[str, Any] = {side: [asdict(use) for use in self.row(relation, side).concepts] for side in SIDES}
        return {
            "relation": self.relations.name(relation),
            "label": self.relations.label(relation),
            "train_triples": int(self.counts[relation]),
            **sides,
        }


def check_side(side: str) -> Side:
    """Return the side of this name."""
    for known in SIDES:
        if side == known:
            return known
    raise ConfigError(f"there is no side {side!r}; use 'head' or 'tail'.{did_you_mean(str(side), SIDES)}")


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
        raise ConfigError(f'the model {type(model).__name__} has no concepts; train one with model.name = "itransf"')
    return model


@torch.no_grad()
def read_attention(model: Model, graph: Graph) -> Attention:
    """Read the attention of a trained model.

    Raises:
        ConfigError: The model has no concepts.
    """
    concepts = check_concepts(model)
    projections = [concepts.concept_attention(side) for side in SIDES]
    weights = torch.stack([projection.attention() for projection in projections])
    supports = torch.stack([projection.support for projection in projections])
    return Attention(
        weights.float().cpu().numpy(),
        graph.relations,
        supports.cpu().numpy(),
        graph.statistics.counts,
        projections[0].kind,
    )


def choose_relations(
    attention: Attention, patterns: Iterable[str] = (), domain: str | None = None, top: int | None = None
) -> list[str]:
    """Return the names of matching relations, most frequent first; those given by name in the order given.

    Args:
        attention: Attention of all relations.
        patterns: Names or labels, or patterns such as "*capital*"; a relation has to match one.
        domain: Prefix of the name that ends where a word does: "/film" matches "/film/film/genre", not "/films".
        top: Number of the most frequent matching relations to keep.

    Raises:
        DataError: A name is not known, or nothing matches.
    """
    vocabulary = attention.relations
    asked = list(patterns)
    numbers = find_matching(attention, asked) if asked else attention.find()
    if domain is not None:
        numbers = [number for number in numbers if is_within(vocabulary.name(number), domain)]
        if not numbers:
            raise DataError(
                f"no relation{' asked for' * bool(asked)} is in the domain {domain!r}; {list_domains(vocabulary)}"
            )
    if top is not None:
        most = check_count("top", top, least=1)
        frequent = set(sorted(numbers, key=lambda number: -attention.counts[number])[:most])
        numbers = [number for number in numbers if number in frequent]
    return [vocabulary.name(number) for number in numbers]


def find_matching(attention: Attention, patterns: Sequence[str]) -> list[int]:
    """Return the relations with these names, labels or patterns, each once; those of a pattern most frequent first."""
    vocabulary, found = attention.relations, dict[int, None]()
    for pattern in patterns:
        matching = (
            [vocabulary.index(pattern)]
            if not _WILD & set(pattern) or pattern in vocabulary
            else [
                number
                for number in attention.find()
                if fnmatchcase(vocabulary.name(number), pattern) or fnmatchcase(vocabulary.label(number), pattern)
            ]
        )
        if not matching:
            raise DataError(f"no relation matches {pattern!r}; * stands for any letters, ? for one, [ab] for a or b")
        found |= dict.fromkeys(matching)
    return list(found)


def is_within(name: str, domain: str) -> bool:
    """Return whether a name starts with a domain that ends where a word does."""
    if not domain or not name.startswith(domain):
        return False
    rest = name[len(domain) :]
    return not rest or not domain[-1].isalnum() or not rest[0].isalnum()


def list_domains(vocabulary: Vocabulary) -> str:
    """Return some prefixes of the names, as a hint."""
    domains = sorted({f"/{name.split('/')[1]}" for name in vocabulary.names if name.startswith("/")})
    if not domains:
        return f"it is the prefix of a name, and names look like {vocabulary.name(0)!r}"
    more = f" and {len(domains) - 5} more" if len(domains) > 5 else ""
    return f"there are {', '.join(domains[:5])}{more}"
