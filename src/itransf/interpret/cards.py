"""Concept cards: the users of a concept, what it does to entities or scores, similar concepts, and its ablation."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from itransf.data.graph import Graph
from itransf.errors import ConfigError, check_count
from itransf.interpret.ablation import Ablation, measure_ablations
from itransf.interpret.attention import Attention, check_concepts
from itransf.interpret.evidence import Evidence
from itransf.interpret.naming import WEAK_USERS, Place, Use, describe_use, find_concept, find_users, name_concepts
from itransf.interpret.sentences import write_triple
from itransf.models import SIDES, ConceptModel, Model, ProjectingConcepts
from itransf.ops.grouped import multiply_transposed
from itransf.prediction.inputs import name_triple

MOST_TRIPLES = 1000
"""Maximum number of validation triples to rank again for one card, by default."""
SHOWN_ENTITIES, SHOWN_TRIPLES, SHOWN_CONCEPTS = 5, 5, 3
MOST_USERS = 8  # named in the text of a card
OF_A_RELATION, MOST_TRIED = 2, 50  # triples that are shown of a relation, and from which they are chosen
MEANINGS = {
    "symmetric": "it adds the same to the score of a triple and of its reverse",
    "antisymmetric": "it adds the opposite to the score of the reverse of a triple",
}


@dataclass(frozen=True)
class MovedEntity:
    """An entity and how far a concept moves it: |D e - e| / |e|."""

    entity: str
    label: str
    movement: float


@dataclass(frozen=True)
class NearConcept:
    """Another concept and their similarity: the cosine of D - I, or the absolute cosine of vectors of the same kind."""

    concept: int
    name: str
    similarity: float


@dataclass(frozen=True)
class ConceptCard:
    """A summary of one concept.

    Attributes:
        concept: Number of the concept.
        name: The name it was given, else the suggestion.
        suggestion: A name made of the relations that use it.
        renamed: Whether it was given a name.
        users: Relation sides that use it, strongest first.
        lighter_users: Number of other sides that use it, each with little weight.
        alone: Users that use no other concept.
        movement: Mean movement of the entities on its users' sides; None where concepts do not project entities.
        moved: Frequent entities among them that it moves most, most first.
        kept: Those that it moves least, least first.
        nearest: The most similar concepts.
        ablation: The drop of validation MRR without it; None where its users have no validation triples.
        symmetry: "symmetric" or "antisymmetric"; empty where concepts are neither.
        raised: Training triples of its users to whose scores it adds most, most first; no entity twice, and two of a
            relation at most.
        found: Number of members of an ensemble in which it is found; None for a single model.
        seeds: Number of members.
    """

    concept: int
    name: str
    suggestion: str
    renamed: bool
    users: tuple[Use, ...]
    lighter_users: int
    alone: tuple[Use, ...]
    movement: float | None
    moved: tuple[MovedEntity, ...]
    kept: tuple[MovedEntity, ...]
    nearest: tuple[NearConcept, ...]
    ablation: Ablation | None
    symmetry: str = ""
    raised: tuple[Evidence, ...] = ()
    found: int | None = None
    seeds: int = 1

    def __repr__(self) -> str:
        worth = "" if self.ablation is None else f", worth {self.ablation.lost_overall:.3f} of validation MRR"
        return f"ConceptCard({self.concept} {self.name!r}: {len(self.users) + self.lighter_users} users{worth})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything that such a concept has, ready for JSON."""
        found = {**asdict(self), "ablation": None if self.ablation is None else self.ablation.to_dict()}
        lacking = ("movement", "moved", "kept") if self.movement is None else ("symmetry", "raised")
        alone = ("found", "seeds") if self.found is None else ()
        return {key: value for key, value in found.items() if key not in (*lacking, *alone)}

    def describe(self) -> list[tuple[str, str]]:
        """Return the card as lines of text, each with its heading."""
        near = ", ".join(f"{near.name} ({near.concept}) {near.similarity:.2f}" for near in self.nearest)
        lines = [
            ("suggested", self.suggestion if self.renamed else ""),
            ("kind", self.describe_symmetry()),
            ("found in", "" if self.found is None else f"{self.found} of {self.seeds} seeds"),
            ("used by", self._list_users()),
            ("without it", self.describe_ablation()),
            ("moves", "" if self.movement is None else f"entities by {self.movement:.0%} of their length on average"),
            ("  most", list_entities(self.moved)),
            ("  least", list_entities(self.kept)),
            ("raises most", ", ".join(f"{write_triple(each)} {each.value:+.2f}" for each in self.raised)),
            ("nearest", near),
        ]
        return [(name, value) for name, value in lines if value]

    def describe_symmetry(self) -> str:
        """Return what the kind of the concept means, if it has one."""
        return f"{self.symmetry}: {MEANINGS[self.symmetry]}" if self.symmetry else ""

    def describe_ablation(self) -> str:
        """Return what validation loses without the concept, without a full stop."""
        if self.ablation is None:
            return "not known: its users have no validation triples"
        left = "give every triple the score 0" if self.symmetry else "leave entities where they are"
        alone = f"; {len(self.alone)} of them use nothing else and then {left}"
        return self.ablation.describe() + alone * bool(self.alone)

    def _list_users(self) -> str:
        """Name the relation sides that use the concept."""
        named = ", ".join(f"{use.name} {use.weight:.2f}" for use in self.users[:MOST_USERS])
        rest = len(self.users) - MOST_USERS
        more = [f"{rest} more"] if rest > 0 else []
        more += [f"{self.lighter_users} with less weight"] if self.lighter_users else []
        return f"{named}; {', '.join(more)}" if more else named or "no relation"


def list_entities(entities: Sequence[MovedEntity]) -> str:
    """Return entities with how far they are moved, in percent of their length."""
    return ", ".join(f"{entity.label} {entity.movement:.0%}" for entity in entities)


def make_cards(
    model: Model,
    graph: Graph,
    attention: Attention,
    concepts: Iterable[int | str] | None = None,
    names: Mapping[int, str] | None = None,
    most_triples: int = MOST_TRIPLES,
    progress: bool = False,
) -> list[ConceptCard]:
    """Return the cards of these concepts in this order, or of all that are used, most important first.

    Args:
        model: A model with concepts and entity embeddings.
        graph: Graph it was trained on.
        attention: Attention of the model.
        concepts: Numbers of concepts, or the names they were given.
        names: Names that were given to concepts.
        most_triples: Maximum number of validation triples to rank again for one card, evenly chosen; 0 ranks all.
        progress: Whether to show progress.

    Raises:
        ConfigError: There is no such concept, the number of triples is not valid, or the model has no concepts.
    """
    explained = check_concepts(model)
    called, most_triples = names or {}, check_count("most_triples", most_triples)
    if isinstance(concepts, str) or not isinstance(concepts, Iterable | None):
        raise ConfigError(f"concepts must be a list of numbers or names, not {concepts!r}")
    wanted = np.flatnonzero(attention.used).tolist()
    if concepts is not None:
        wanted = [find_concept(concept, called, len(explained.concepts)) for concept in concepts]
    places = [find_users(attention, concept, WEAK_USERS) for concept in wanted]
    users = [np.unique([relation for _, relation in found]).astype(np.int64) for found in places]
    pairs = list(zip(wanted, users, strict=True))
    ablations = measure_ablations(explained, graph, pairs, most_triples, progress)
    maker = _CardMaker(explained, graph, attention, called)
    cards = [maker.make_card(*each) for each in zip(wanted, places, ablations, strict=True)]
    if concepts is not None:
        return cards
    return sorted(cards, key=lambda card: (-(card.ablation.lost_overall if card.ablation else 0.0), -len(card.users)))


class _CardMaker:
    """Makes single cards; what all cards need is computed once.

    Args:
        model: A model with concepts and entity embeddings.
        graph: Graph it was trained on.
        attention: Attention of the model.
        names: Names that were given to concepts.
    """

    @torch.no_grad()
    def __init__(self, model: ConceptModel, graph: Graph, attention: Attention, names: Mapping[int, str]) -> None:
        self.model, self.graph, self.attention, self.names = model, graph, attention, names
        self.used = attention.weights != 0
        self.suggestions = name_concepts(attention)
        self.frequencies = np.bincount(graph.train[:, [0, 2]].reshape(-1), minlength=len(graph.entities))
        directions, is_projecting = model.concepts.detach(), isinstance(model, ProjectingConcepts)
        if is_projecting:
            directions = directions - torch.eye(directions.shape[1], device=directions.device)
        unit = torch.nn.functional.normalize(directions.flatten(1))
        similarity = multiply_transposed(unit, unit).float().cpu().numpy()  # (m, m)
        # The sign of a vector is arbitrary: signed weights change with it.
        self.similarity = similarity if is_projecting else np.abs(similarity)
        self.symmetries = attention.symmetries or ("",) * len(unit)

    def make_card(self, concept: int, places: Sequence[Place], ablation: Ablation | None) -> ConceptCard:
        """Return the card of one concept, given its users and its ablation."""
        users = [describe_use(self.attention, concept, *place) for place in places]
        alone = [use for use, place in zip(users, places, strict=True) if self.used[place].sum() == 1]
        return ConceptCard(
            concept,
            self._call(concept),
            self.suggestions[concept],
            concept in self.names,
            tuple(users),
            int(self.used[:, :, concept].sum()) - len(users),
            tuple(alone),
            *self._find_moved(concept, places),
            self._find_nearest(concept),
            ablation,
            self.symmetries[concept],
            self._find_raised(concept, places),
            self.attention.found[concept] if self.attention.found else None,
            self.attention.seeds,
        )

    def _call(self, concept: int) -> str:
        return self.names.get(concept) or self.suggestions[concept]

    @torch.no_grad()
    def _find_moved(
        self, concept: int, places: Sequence[Place]
    ) -> tuple[float | None, tuple[MovedEntity, ...], tuple[MovedEntity, ...]]:
        """Return how far a concept moves the entities on its users' sides, and frequent ones at both ends."""
        if not isinstance(self.model, ProjectingConcepts):
            return None, (), ()
        domains = [self.graph.statistics.domain(relation, SIDES[side]) for side, relation in places]
        entities = np.unique(np.concatenate([*domains, np.zeros(0, dtype=np.int64)]))
        if not len(entities):
            return 0.0, (), ()
        table = self.model.embeddings()["entities"]
        vectors = table[torch.from_numpy(entities).to(table.device)]
        moved = multiply_transposed(vectors, self.model.concepts[concept]) - vectors
        lengths = vectors.norm(dim=1).clamp_min(torch.finfo(vectors.dtype).tiny)
        distances = (moved.norm(dim=1) / lengths).float().cpu().numpy()
        # The more frequent half: their embeddings are well trained, and people know them.
        counts = self.frequencies[entities]
        typical = np.flatnonzero(counts >= np.median(counts))
        order = typical[np.argsort(-distances[typical], kind="stable")]
        ends = order[: (len(order) + 1) // 2], order[::-1][: len(order) // 2]
        names = self.graph.entities
        most, least = (
            tuple(MovedEntity(names.name(entities[i]), names.label(entities[i]), float(distances[i])) for i in end)
            for end in (ends[0][:SHOWN_ENTITIES], ends[1][:SHOWN_ENTITIES])
        )
        return float(distances.mean()), most, least

    @torch.no_grad()
    def _find_raised(self, concept: int, places: Sequence[Place]) -> tuple[Evidence, ...]:
        """Return the training triples of a concept's users to whose scores it adds most, if scores are such sums."""
        if isinstance(self.model, ProjectingConcepts) or not self.model.is_explainable:
            return ()
        train, best = self.graph.train, list[tuple[float, list[int]]]()
        for relation in {relation for _, relation in places}:
            triples = torch.tensor(train[train[:, 1] == relation], device=self.model.concepts.device)
            if len(triples):
                split = self.model.split_scores(triples)
                columns = [number for number, part in enumerate(split.parts) if part.concept == concept]
                added = split.values[:, columns].sum(1) * (-1 if split.is_distance else 1)
                values, rows = added.topk(min(MOST_TRIED, len(triples)))
                best += zip(values.tolist(), triples[rows].tolist(), strict=True)
        found, seen = list[Evidence](), Counter[tuple[str, int]]()
        for value, (head, relation, tail) in sorted(best, reverse=True):
            entities, own = {("entity", head), ("entity", tail)}, ("relation", relation)
            if value > 0 and len(found) < SHOWN_TRIPLES and not entities & set(seen) and seen[own] < OF_A_RELATION:
                found.append(Evidence(*name_triple(self.graph, (head, relation, tail)), value))
                seen.update([*entities, own])
        return tuple(found)

    def _find_nearest(self, concept: int) -> tuple[NearConcept, ...]:
        """Return the used concepts most similar to this one."""
        row, used = self.similarity[concept], self.attention.used
        order = np.argsort(-row, kind="stable").tolist()
        kind = self.symmetries[concept]
        others = [each for each in order if each != concept and used[each] and self.symmetries[each] == kind]
        return tuple(NearConcept(each, self._call(each), float(row[each])) for each in others[:SHOWN_CONCEPTS])
