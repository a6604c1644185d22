"""The sharing graph: relations joined by the concepts they share, and who lends strength to the rare ones.

Every side s of a relation r spreads its attention over the concepts; a[s, r, i] is the share of concept i, the sizes of
the weights divided by their sum. Two figures are made of it:

- link(r, q) = 1/2 max(o(Hr, Hq) + o(Tr, Tq), o(Hr, Tq) + o(Tr, Hq)), where o(x, y) = sum_i min(a[x, i], a[y, i]) is
  what two sides have in common. It is 1 for relations that read both ends alike and 0 for those that share nothing;
  a link is crossed where heads answer to tails, as they do for inverse relations.
- lent(q -> r) = 1/2 sum_s sum_i a[s, r, i] n_q (a[H, q, i] + a[T, q, i]) / sum_p n_p (a[H, p, i] + a[T, p, i]), n being
  training triples: a concept is taken to have learned from each relation in proportion to its triples and its
  attention. Over all q, r itself among them, it sums to one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from itransf.interpret.attention import Attention
from itransf.interpret.sharing import WORTH_TELLING

Floats = npt.NDArray[np.float64]
DONORS = 5
"""How many donors are told of each relation."""
RARE = 2
"""The frequency bucket, of three, whose relations are called rare."""
LINKS = 5
"""How many links of each relation are kept: its strongest, and those it is among the strongest of."""
_CONCEPTS = 3  # told of each link


@dataclass(frozen=True)
class Donor:
    """A relation whose triples taught another relation's concepts, and which share of them."""

    relation: str
    label: str
    train_triples: int
    share: float


@dataclass(frozen=True)
class Member:
    """A relation in the sharing graph.

    Attributes:
        relation: Its name.
        label: What people read for it.
        train_triples: How many triples it was trained on.
        rare: Whether it is among the rarest third.
        own: The share of its concepts' strength that its own triples gave.
        donors: Who gave most of the rest, strongest first.
    """

    relation: str
    label: str
    train_triples: int
    rare: bool
    own: float
    donors: tuple[Donor, ...]


@dataclass(frozen=True)
class Link:
    """Two relations and what they share; `concepts` are those they have most in common."""

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
        """The rare relations, those that borrow most first."""
        return sorted((member for member in self.members if member.rare), key=lambda member: member.own)

    def choose(self, relations: Iterable[str]) -> SharingGraph:
        """Return the graph of these relations alone, their donors still being told."""
        wanted = set(relations)
        members = tuple(member for member in self.members if member.relation in wanted)
        links = tuple(link for link in self.links if link.left in wanted and link.right in wanted)
        return SharingGraph(members, links)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        members = [{**asdict(member), "donors": [asdict(donor) for donor in member.donors]} for member in self.members]
        return {
            "relations": members,
            "links": [{**asdict(link), "concepts": list(link.concepts)} for link in self.links],
        }


def build_sharing_graph(
    attention: Attention, rare: npt.NDArray[np.bool_], links: int = LINKS, donors: int = DONORS
) -> SharingGraph:
    """Return which relations share concepts, and who lends strength to whom.

    Args:
        attention: Of the whole model: what a concept has learned depends on all its users.
        rare: Which relations are rare, (r,).
        links: How many links of each relation are kept.
        donors: How many donors are told of each relation.
    """
    shares = share_attention(attention.weights)
    lent = measure_lending(shares, attention.counts)
    names, order = attention.relations, attention.find()
    members = []
    for number in order:
        best = [other for other in np.argsort(-lent[number], kind="stable").tolist() if other != number][:donors]
        members.append(
            Member(
                names.name(number),
                names.label(number),
                int(attention.counts[number]),
                bool(rare[number]),
                float(lent[number, number]),
                tuple(
                    Donor(
                        names.name(other), names.label(other), int(attention.counts[other]), float(lent[number, other])
                    )
                    for other in best
                    if lent[number, other] > 0
                ),
            )
        )
    return SharingGraph(tuple(members), tuple(_link(attention, shares, links)))


def share_attention(weights: npt.NDArray[np.float32]) -> Floats:
    """Return the sizes of weights as shares of their side's sum, (2, r, m); a side without weights keeps zeros."""
    sizes = np.abs(weights).astype(np.float64)
    totals = sizes.sum(axis=2, keepdims=True)
    return np.asarray(sizes / np.where(totals == 0, 1.0, totals))


def share_teaching(shares: Floats, counts: npt.NDArray[np.int64]) -> Floats:
    """Return which share of each concept each relation taught, (r, m); zeros where nobody uses a concept."""
    pulls = counts[:, None] * shares.sum(axis=0)
    totals = pulls.sum(axis=0)
    return np.asarray(pulls / np.where(totals == 0, 1.0, totals))


def measure_lending(shares: Floats, counts: npt.NDArray[np.int64]) -> Floats:
    """Return lent(q -> r) as (r, q)."""
    return np.asarray(0.5 * shares.sum(axis=0) @ share_teaching(shares, counts).T)


def measure_links(shares: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return link(r, q), (r, r), and whether heads answer to tails there."""
    count = shares.shape[1]
    weights, crossed = np.zeros((count, count)), np.zeros((count, count), dtype=np.bool_)
    heads, tails = shares
    for number in range(count):  # a row at a time: all pairs at once would take r^2 m numbers
        head, tail = heads[number], tails[number]
        straight = np.minimum(head, heads).sum(axis=1) + np.minimum(tail, tails).sum(axis=1)
        across = np.minimum(head, tails).sum(axis=1) + np.minimum(tail, heads).sum(axis=1)
        weights[number] = 0.5 * np.maximum(straight, across)
        crossed[number] = across > straight + 1e-9  # rounding must not turn a tie into a cross
    return weights, crossed


def _link(attention: Attention, shares: Floats, most: int) -> list[Link]:
    """Return each relation's strongest links, strongest of all first."""
    weights, crossed = measure_links(shares)
    np.fill_diagonal(weights, 0.0)
    best = np.argsort(-weights, axis=1, kind="stable")[:, :most]  # (r, most)
    pairs = {
        (min(number, other), max(number, other))
        for number, others in enumerate(best.tolist())
        for other in others
        if weights[number, other] >= WORTH_TELLING
    }
    found = []
    for left, right in sorted(pairs, key=lambda pair: (-weights[pair], pair)):
        others = shares[::-1, right] if crossed[left, right] else shares[:, right]  # (2, m)
        common = np.minimum(shares[:, left], others).sum(axis=0)
        concepts = [i for i in np.argsort(-common, kind="stable")[:_CONCEPTS].tolist() if common[i] >= WORTH_TELLING]
        names = (attention.relations.name(left), attention.relations.name(right))
        found.append(Link(*names, float(weights[left, right]), bool(crossed[left, right]), tuple(concepts)))
    return found
