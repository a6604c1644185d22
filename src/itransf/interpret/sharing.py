"""Sharing of concepts: which relations use the same ones, and what is transferred between them.

Every side s of a relation r spreads its attention over the concepts; a[s, r, i] is the share of concept i, the absolute
weights divided by their sum. The sharing graph is made of two figures:

- link(r, q) = 1/2 max(o(Hr, Hq) + o(Tr, Tq), o(Hr, Tq) + o(Tr, Hq)), where o(x, y) = sum_i min(a[x, i], a[y, i]) is
  the overlap of two sides. It is 1 for relations with the same attention on both sides and 0 for those that share
  nothing; a link is crossed where heads correspond to tails, as they do for inverse relations: where half of
  the second sum is larger by at least LEAST_WEIGHT.
- transfer(q -> r) = 1/2 sum_s sum_i a[s, r, i] n_q (a[H, q, i] + a[T, q, i]) / sum_p n_p (a[H, p, i] + a[T, p, i]), n
  being training triples: a concept is assumed to have learned from each relation in proportion to its triples and its
  attention. Over all q, r itself among them, it sums to one.

Where a relation has no sides but one signed sum of symmetric and antisymmetric concepts, transfer is the same with one
part, and link(r, q) = max(o(r, q), o(r, turned q)). The overlap o counts the concepts whose weights have the same sign;
`turned` changes the signs of antisymmetric concepts, which gives the inverse relation. The link is crossed where the
turned overlap is larger by as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from itransf.data.known import Booleans, Floats, Integers
from itransf.errors import name_first
from itransf.interpret.attention import Attention, strongest_first
from itransf.interpret.naming import LEAST_WEIGHT, Use, call_concept, describe_use, find_users, name_concepts

RARE = 2
"""The frequency bucket, of three, whose relations are called rare."""
DONORS, LINKS = 5, 5
"""Donors listed of each relation, and links kept: its strongest, and those it is among the strongest of."""
FOUND = 0.5
"""The similarity from which a concept counts as found in another model."""
_CONCEPTS = 3  # listed of each link


@dataclass(frozen=True)
class SharedConcept:
    """A concept of one part of a relation.

    Attributes:
        concept: Number of the concept.
        weight: Attention of the part.
        others: Other users of the concept, strongest first.
        name: Name of the concept.
        found: Number of members of an ensemble in which it is found; None for a single model.
        seeds: Number of members.
    """

    concept: int
    weight: float
    others: tuple[Use, ...]
    name: str = ""
    found: int | None = None
    seeds: int = 1

    def describe(self, most: int = 4) -> str:
        """Return a line such as "lies in (6), weight 0.98: shared with capital_of (H), city_in (H) and 3 more"."""
        called = call_concept(self.concept, {self.concept: self.name})
        found = "" if self.found is None else f", found in {self.found} of {self.seeds} seeds"
        return f"{called}, weight {self.weight:.2f}{found}: {list_users(self.others, most)}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON; the number of seeds is left out for a single model."""
        left_out = ("found", "seeds") if self.found is None else ()
        return {key: value for key, value in asdict(self).items() if key not in left_out}


def list_users(users: Sequence[Use], most: int) -> str:
    """Return the other users of a concept, such as "shared with capital_of (H) and 3 more"."""
    return f"shared with {name_first([use.name for use in users], most)}" if users else "not shared"


def concepts_behind(
    attention: Attention, relation: str, names: Mapping[int, str] | None = None
) -> dict[str, tuple[SharedConcept, ...]]:
    """Return the concepts that each part of a relation uses, strongest first, and who shares each.

    Args:
        attention: Attention of the whole model.
        relation: Name or label of the relation.
        names: Names that were given to concepts; others have suggested ones.

    Raises:
        DataError: The relation is not known.
    """
    number, called = attention.relations.index(relation), name_concepts(attention, names)
    found: dict[str, tuple[SharedConcept, ...]] = {}
    for own, part in enumerate(attention.parts):
        weights, shared = attention.weights[own, number], list[SharedConcept]()
        for concept in strongest_first(weights):
            if abs(weights[concept]) >= LEAST_WEIGHT:
                others = [place for place in find_users(attention, concept) if place != (own, number)]
                users = tuple(describe_use(attention, concept, *place) for place in others)
                seen = attention.found[concept] if attention.found else None
                name = called.get(concept, "")
                shared.append(SharedConcept(concept, float(weights[concept]), users, name, seen, attention.seeds))
        found[part] = tuple(shared)
    return found


@dataclass(frozen=True)
class Donor:
    """A relation that another relation's concepts learned from, and its share of them."""

    relation: str
    label: str
    train_triples: int
    share: float


@dataclass(frozen=True)
class Member:
    """A relation in the sharing graph.

    Attributes:
        relation: Name.
        label: Label.
        train_triples: Number of training triples.
        rare: Whether it is among the rarest third.
        own: Share of its concepts that they learned from its own triples.
        donors: The relations they learned most of the rest from, strongest first.
    """

    relation: str
    label: str
    train_triples: int
    rare: bool
    own: float
    donors: tuple[Donor, ...]

    def describe(self) -> str:
        """Return the frequency and the donors in one line."""
        kind = "rare, " if self.rare else ""
        donors = ", ".join(f"{donor.label} {donor.share:.0%}" for donor in self.donors)
        others = f"; from others: {donors}" if donors else ""
        learned = f"Its concepts learned {self.own:.0%} from its own triples{others}."
        return f"{self.label}: {kind}{self.train_triples:,} training triples. {learned}"


@dataclass(frozen=True)
class Link:
    """Two relations and their overlap; `concepts` are those they have most in common."""

    left: str
    right: str
    weight: float
    crossed: bool
    concepts: tuple[int, ...]


@dataclass(frozen=True)
class SharingGraph:
    """Relations, most frequent first, and the links between them, strongest first."""

    members: tuple[Member, ...]
    links: tuple[Link, ...]

    def __repr__(self) -> str:
        return (
            f"SharingGraph({len(self.members):,} relations, {len(self.rare):,} of them rare, {len(self.links):,} links)"
        )

    @property
    def rare(self) -> list[Member]:
        """The rare relations, those whose concepts learned most from others first."""
        return sorted((member for member in self.members if member.rare), key=lambda member: member.own)

    def choose(self, relations: Iterable[str]) -> SharingGraph:
        """Return the graph of these relations alone; donors outside of it stay listed."""
        wanted = set(relations)
        members = tuple(member for member in self.members if member.relation in wanted)
        links = tuple(link for link in self.links if link.left in wanted and link.right in wanted)
        return SharingGraph(members, links)

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        found = asdict(self)
        return {"relations": found["members"], "links": found["links"]}


def build_sharing_graph(attention: Attention, rare: Booleans) -> SharingGraph:
    """Return which relations share concepts, and which relations their concepts learned from.

    Args:
        attention: Attention of the whole model.
        rare: Whether each relation is rare, (r,).
    """
    shares = find_shares(attention.weights)
    transfer = find_transfer(shares, attention.counts)
    names, counts = attention.relations, attention.counts
    members = []
    for number in attention.find():
        others = [other for other in np.argsort(-transfer[number], kind="stable").tolist() if other != number]
        donors = tuple(
            Donor(names.name(other), names.label(other), int(counts[other]), float(transfer[number, other]))
            for other in others[:DONORS]
            if transfer[number, other] > 0
        )
        own = float(transfer[number, number])
        name, label = names.name(number), names.label(number)
        members.append(Member(name, label, int(counts[number]), bool(rare[number]), own, donors))
    return SharingGraph(tuple(members), tuple(_find_links(attention, shares)))


def find_shares(weights: npt.NDArray[np.float32]) -> Floats:
    """Return absolute weights as shares of their part's sum, (p, r, m); zeros for a part without weights."""
    sizes = np.abs(weights).astype(np.float64)
    totals = sizes.sum(axis=2, keepdims=True)
    return np.asarray(sizes / np.where(totals == 0, 1.0, totals))


def find_origins(shares: Floats, counts: Integers) -> Floats:
    """Return the share of each concept learned from each relation, (r, m); zeros for an unused concept."""
    pulls = counts[:, None] * shares.sum(axis=0)
    totals = pulls.sum(axis=0)
    return np.asarray(pulls / np.where(totals == 0, 1.0, totals))


def find_transfer(shares: Floats, counts: Integers) -> Floats:
    """Return transfer(q -> r) as (r, q)."""
    return np.asarray(shares.mean(axis=0) @ find_origins(shares, counts).T)


def turn(shares: Floats, antisymmetric: Iterable[int] = ()) -> Floats:
    """Return the shares (p, r, m) that the inverse relations would have.

    Heads and tails are exchanged; where there is one part, the signs of antisymmetric concepts change.
    """
    turned = shares[::-1].copy()
    if len(shares) == 1:
        turned[:, :, list(antisymmetric)] *= -1
    return turned


def find_common(left: Floats, right: Floats) -> Floats:
    """Return the overlap of shares at each place: the smaller one, zero where their signs differ."""
    return np.asarray(np.where(left * right > 0, np.minimum(np.abs(left), np.abs(right)), 0.0))


def measure_links(shares: Floats, antisymmetric: Iterable[int] = ()) -> tuple[Floats, Booleans]:
    """Return link(r, q), (r, r), and whether it is crossed; shares (p, r, m) have signs where there is one part."""
    count = shares.shape[1]
    weights, crossed = np.zeros((count, count)), np.zeros((count, count), dtype=np.bool_)
    turned = turn(shares, antisymmetric)
    for number in range(count):  # a row at a time: all pairs at once would take r^2 m numbers
        own = shares[:, number, None]  # (p, 1, m)
        straight, across = (find_common(own, others).sum(axis=2).mean(axis=0) for others in (shares, turned))
        weights[number] = np.maximum(straight, across)
        crossed[number] = across >= straight + LEAST_WEIGHT
    return weights, crossed


def _find_links(attention: Attention, shares: Floats) -> list[Link]:
    """Return each relation's strongest links, strongest of all first."""
    antisymmetric = attention.antisymmetric
    if attention.kind == "signed":
        shares = shares * np.sign(attention.weights)
    weights, crossed = measure_links(shares, antisymmetric)
    turned = turn(shares, antisymmetric)
    np.fill_diagonal(weights, 0.0)
    best = np.argsort(-weights, axis=1, kind="stable")[:, :LINKS]  # (r, links)
    pairs = {
        (min(number, other), max(number, other))
        for number, others in enumerate(best.tolist())
        for other in others
        if weights[number, other] >= LEAST_WEIGHT
    }
    found = []
    for left, right in sorted(pairs, key=lambda pair: (-weights[pair], pair)):
        others = turned if crossed[left, right] else shares
        common = find_common(shares[:, left], others[:, right]).sum(axis=0)  # (m,)
        concepts = [i for i in np.argsort(-common, kind="stable")[:_CONCEPTS].tolist() if common[i] >= LEAST_WEIGHT]
        names = (attention.relations.name(left), attention.relations.name(right))
        found.append(Link(*names, float(weights[left, right]), bool(crossed[left, right]), tuple(concepts)))
    return found


def align_concepts(attentions: Sequence[Attention]) -> tuple[int, tuple[int, ...]]:
    """Compare the concepts of models of the same relations.

    Returns:
        The number of the model whose concepts are most similar to those of the others, and the number of models, itself
        included, in which each of its concepts is found; 0 for a concept that no relation uses.
    """
    matched = [[match_concepts(left, right) for right in attentions] for left in attentions]
    chosen = int(np.argmax([np.concatenate(row).mean() for row in matched]))
    return chosen, tuple((np.stack(matched[chosen]) >= FOUND).sum(axis=0).tolist())


def match_concepts(left: Attention, right: Attention) -> Floats:
    """Return the similarity of each concept of a model with its counterpart in another one, (m,).

    similarity(i, j) = 2 sum_x min(a[x, i], b[x, j]) / sum_x (a[x, i] + b[x, j]), where a[x, i] and b[x, j] are the
    shares of the concepts in part x of a relation (absolute weights divided by their sum): the share of their use that
    both have in common. It is 0 between a symmetric and an antisymmetric concept. Counterparts are chosen one to one,
    the most similar first; a concept without one has the similarity 0.
    """
    own, other = (find_shares(each.weights).reshape(-1, each.weights.shape[2]) for each in (left, right))
    similarity = np.zeros((own.shape[1], other.shape[1]))
    for concept, column in enumerate(own.T):
        rows = column.nonzero()[0]
        common = 2 * np.minimum(column[rows, None], other[rows]).sum(axis=0)
        similarity[concept] = common / np.maximum(column.sum() + other.sum(axis=0), np.finfo(float).tiny)
    if left.symmetries:
        similarity *= np.array(left.symmetries)[:, None] == np.array(right.symmetries)
    found = np.zeros(len(similarity))
    for _ in range(min(similarity.shape)):
        place = np.unravel_index(similarity.argmax(), similarity.shape)
        found[place[0]] = similarity[place]
        similarity[place[0]], similarity[:, place[1]] = -1.0, -1.0
    return np.maximum(found, 0.0)
