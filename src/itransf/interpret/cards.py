"""Concept cards: what one concept does, for whom, to which entities, and what is lost without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from itransf.data.graph import Graph
from itransf.errors import ConfigError, check_count
from itransf.interpret.ablation import Ablation, measure_ablations
from itransf.interpret.attention import Attention, strongest_first
from itransf.interpret.naming import LETTERS, check_concept, find_concept, suggest_names
from itransf.interpret.sharing import LEAST_WEIGHT, Use, describe_use
from itransf.models import SIDES, ConceptModel, Side
from itransf.ops.grouped import multiply_transposed

MOST_TRIPLES = 1000
"""The most validation triples ranked again for one card, unless more are asked for."""
SHOWN_ENTITIES, SHOWN_CONCEPTS = 5, 3
MOST_USERS = 8  # named in the text of a card
WEAK_USERS = 5  # told of a concept nobody uses strongly


@dataclass(frozen=True)
class MovedEntity:
    """An entity and how far a concept moves it: |D e - e| / |e|."""

    entity: str
    label: str
    movement: float


@dataclass(frozen=True)
class NearConcept:
    """Another concept and how alike the two matrices are: the cosine of D - I."""

    concept: int
    name: str
    similarity: float


@dataclass(frozen=True)
class ConceptCard:
    """What one concept is.

    Attributes:
        concept: Its number.
        name: What to call it: what a person named it, else the suggestion.
        suggestion: A name made of the relations it serves.
        renamed: Whether a person named it.
        users: The relation sides that use it, strongest first.
        lighter_users: How many more sides use it, each with little weight.
        alone: Of the users, those that use no other concept.
        movement: How far it moves the entities its users speak of, on average.
        moved: Well-known entities among them that it moves most, most first.
        kept: Those that it moves least, least first.
        nearest: The concepts most like it.
        ablation: What validation loses without it; None where its users have no validation triples.
    """

    concept: int
    name: str
    suggestion: str
    renamed: bool
    users: tuple[Use, ...]
    lighter_users: int
    alone: tuple[Use, ...]
    movement: float
    moved: tuple[MovedEntity, ...]
    kept: tuple[MovedEntity, ...]
    nearest: tuple[NearConcept, ...]
    ablation: Ablation | None

    def __repr__(self) -> str:
        worth = "" if self.ablation is None else f", worth {self.ablation.lost_overall:.3f} of validation MRR"
        return f"ConceptCard({self.concept} {self.name!r}: {len(self.users) + self.lighter_users} users{worth})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {**asdict(self), "ablation": None if self.ablation is None else self.ablation.to_dict()}

    def describe(self) -> list[tuple[str, str]]:
        """Return the card as lines of text, each with its heading."""
        near = ", ".join(f"{near.concept} {near.name} ({near.similarity:.2f})" for near in self.nearest)
        lines = [
            ("suggested", self.suggestion if self.renamed else ""),
            ("used by", self._list_users()),
            ("without it", self.describe_ablation()),
            ("moves", f"entities by {self.movement:.0%} of their length on average"),
            ("  most", list_entities(self.moved)),
            ("  least", list_entities(self.kept)),
            ("nearest", near),
        ]
        return [(name, value) for name, value in lines if value]

    def describe_ablation(self) -> str:
        """Return what validation loses without the concept, without a full stop."""
        if self.ablation is None:
            return "not known: its users have no validation triples"
        alone = f"; {len(self.alone)} of them use nothing else and then leave entities where they are"
        return self.ablation.describe() + alone * bool(self.alone)

    def _list_users(self) -> str:
        """Name the relation sides that use the concept."""
        named = ", ".join(f"{use.label} ({LETTERS[use.side]}) {use.weight:.2f}" for use in self.users[:MOST_USERS])
        rest = len(self.users) - MOST_USERS
        more = [f"{rest} more"] if rest > 0 else []
        more += [f"{self.lighter_users} with less weight"] if self.lighter_users else []
        return f"{named}; {', '.join(more)}" if more else named or "nobody"


def list_entities(entities: Sequence[MovedEntity]) -> str:
    """Return entities with how far they are moved, in percent of their length."""
    return ", ".join(f"{entity.label} {entity.movement:.0%}" for entity in entities)


def make_cards(
    model: ConceptModel,
    graph: Graph,
    attention: Attention,
    concepts: Iterable[int | str] | None = None,
    names: Mapping[int, str] | None = None,
    most_triples: int = MOST_TRIPLES,
    progress: bool = False,
) -> list[ConceptCard]:
    """Return the cards of these concepts, or of all that are used, those that are missed most first.

    Args:
        model: What has learned; it is the same afterwards.
        graph: What it learned from.
        attention: The model's.
        concepts: Their numbers, or the names they were given; the cards come in this order.
        names: What people call some of them.
        most_triples: The most validation triples ranked again for one card, evenly chosen; zero takes all.
        progress: Whether to show it.

    Raises:
        ConfigError: There is no such concept, or the number of triples is none.
    """
    reader = _Reader(model, graph, attention, names or {})
    most_triples = check_count("most_triples", most_triples)
    used = np.flatnonzero(attention.used).tolist()
    wanted = used if concepts is None else list_concepts(concepts, reader.names, len(model.concepts))
    users = [(concept, reader.find_relations(concept)) for concept in wanted]
    ablations = measure_ablations(model, graph, users, most_triples, progress)
    cards = [reader.make_card(concept, ablation) for concept, ablation in zip(wanted, ablations, strict=True)]
    if concepts is not None:
        return cards
    return sorted(cards, key=lambda card: (-(card.ablation.lost_overall if card.ablation else 0.0), -len(card.users)))


def list_concepts(concepts: Iterable[int | str], names: Mapping[int, str], count: int) -> list[int]:
    """Return the numbers of concepts that are told by number or name."""
    if isinstance(concepts, str) or not isinstance(concepts, Iterable):
        raise ConfigError(f"concepts must be a list of numbers or names, not {concepts!r}")
    return [check_concept(find_concept(names, concept), count) for concept in concepts]


class _Reader:
    """Reads single cards off a model; what they have in common is computed once."""

    def __init__(self, model: ConceptModel, graph: Graph, attention: Attention, names: Mapping[int, str]) -> None:
        self.model, self.graph, self.attention, self.names = model, graph, attention, names

    @cached_property
    def frequencies(self) -> npt.NDArray[np.int64]:
        """In how many training triples each entity is, (e,)."""
        ends = self.graph.train[:, [0, 2]].reshape(-1)
        return np.bincount(ends, minlength=len(self.graph.entities)).astype(np.int64)

    @cached_property
    def likeness(self) -> npt.NDArray[np.float32]:
        """The cosine of every two concepts' matrices minus the identity, (m, m)."""
        concepts = self.model.concepts.detach()
        change = (concepts - torch.eye(concepts.shape[1], device=concepts.device)).flatten(1)  # (m, d, d) -> (m, d * d)
        unit = torch.nn.functional.normalize(change)
        found: npt.NDArray[np.float32] = multiply_transposed(unit, unit).float().cpu().numpy()
        return found

    @cached_property
    def suggestions(self) -> list[str]:
        """A name for each concept, (m,)."""
        concepts = range(self.attention.weights.shape[2])
        return suggest_names([self.list_users(concept) for concept in concepts], self.attention.relations)

    def call(self, concept: int) -> str:
        """Return what to call a concept."""
        return self.names.get(concept) or self.suggestions[concept]

    def find_users(self, concept: int) -> list[tuple[int, int]]:
        """Return the (side, relation) numbers that use a concept, strongest first; at least a few weak ones."""
        flat = self.attention.weights[:, :, concept].reshape(-1)  # (2, r) -> (2 r,)
        order = strongest_first(flat)
        strong = [place for place in order if abs(flat[place]) >= LEAST_WEIGHT]
        relations = self.attention.weights.shape[1]
        return [divmod(place, relations) for place in strong or order[:WEAK_USERS]]

    def find_relations(self, concept: int) -> npt.NDArray[np.int64]:
        """Return the numbers of the relations that use a concept, ascending."""
        return np.unique(np.array([relation for _, relation in self.find_users(concept)], dtype=np.int64))

    def list_users(self, concept: int) -> list[Use]:
        """Return the sides that use a concept, strongest first."""
        return [describe_use(self.attention, concept, side, relation) for side, relation in self.find_users(concept)]

    def make_card(self, concept: int, ablation: Ablation | None) -> ConceptCard:
        """Return the card of one concept."""
        places = self.find_users(concept)
        users = [describe_use(self.attention, concept, *place) for place in places]
        used = self.attention.weights != 0
        alone = [use for use, (side, relation) in zip(users, places, strict=True) if used[side, relation].sum() == 1]
        movement, moved, kept = self._find_moved(concept, [(SIDES[side], relation) for side, relation in places])
        return ConceptCard(
            concept,
            self.call(concept),
            self.suggestions[concept],
            concept in self.names,
            tuple(users),
            int(used[:, :, concept].sum()) - len(users),
            tuple(alone),
            movement,
            moved,
            kept,
            self._find_nearest(concept),
            ablation,
        )

    @torch.no_grad()
    def _find_moved(
        self, concept: int, sides: Sequence[tuple[Side, int]]
    ) -> tuple[float, tuple[MovedEntity, ...], tuple[MovedEntity, ...]]:
        """Return how far a concept moves the entities on these sides, and well-known ones at both ends."""
        statistics = self.graph.statistics
        domains = [
            statistics.head_domain(relation) if side == "head" else statistics.tail_domain(relation)
            for side, relation in sides
        ]
        entities = np.unique(np.concatenate([*domains, np.zeros(0, dtype=np.int64)]))
        if not len(entities):
            return 0.0, (), ()
        table = self.model.embeddings()["entities"]
        vectors = table[torch.from_numpy(entities).to(table.device)]
        moved = multiply_transposed(vectors, self.model.concepts[concept]) - vectors
        lengths = vectors.norm(dim=1).clamp_min(torch.finfo(vectors.dtype).tiny)
        distances = (moved.norm(dim=1) / lengths).float().cpu().numpy()
        # The frequent half: their vectors are well trained, and people know them.
        counts = self.frequencies[entities]
        typical = np.flatnonzero(counts >= np.median(counts))
        order = typical[np.argsort(-distances[typical], kind="stable")]
        half = min(SHOWN_ENTITIES, (len(order) + 1) // 2)
        ends = order[:half], order[::-1][: min(SHOWN_ENTITIES, len(order) // 2)]
        most, least = (tuple(self._describe(entities[i], distances[i]) for i in end.tolist()) for end in ends)
        return float(distances.mean()), most, least

    def _describe(self, entity: int, movement: float) -> MovedEntity:
        vocabulary = self.graph.entities
        return MovedEntity(vocabulary.name(int(entity)), vocabulary.label(int(entity)), float(movement))

    def _find_nearest(self, concept: int) -> tuple[NearConcept, ...]:
        """Return the used concepts most like this one."""
        order = np.argsort(-self.likeness[concept], kind="stable").tolist()
        others = [other for other in order if other != concept and self.attention.used[other]][:SHOWN_CONCEPTS]
        return tuple(NearConcept(other, self.call(other), float(self.likeness[concept, other])) for other in others)
