"""Similarity of relations: what a relation is made of, and which relations are its inverse, equivalent or broader.

Roles come from a model's parameters; the shares of triples that fit a role are listed next to them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from itransf.data import Floats, Graph, Integers
from itransf.data.leakage import THRESHOLD, measure_overlaps
from itransf.errors import ConfigError, check_count
from itransf.interpret.attention import ConceptWeight, read_attention
from itransf.interpret.sentences import list_words
from itransf.interpret.sharing import turn
from itransf.models import SIDES, ConceptModel, DistMult, Model, Side, Translation

Rows = Sequence[Tensor] | Tensor
CHOICES = "itransf, icomplex, ilineare, stranse, transr, lineare, transe, complex or distmult"
"""Models whose relations can be compared."""
BACKWARD = ("symmetric", "inverse", "reversed in")
"""Mined roles that compare triples with reversed ones."""
LIKELY = 0.75
"""The score from which the sentence of a profile names a candidate."""
SHORTLIST = 32
"""The number of most similar relations that are compared as sub-relations."""
_MATRIX_BYTES = 64 * 2**20  # memory for matrices of other relations at a time
_RIDGE = 1e-9  # of the mean square; keeps the fit of a relation whose matrices lack rank solvable


@dataclass(frozen=True)
class RelatedRelation:
    """Another relation, and how well it fits a role.

    Attributes:
        relation: Name.
        label: Label.
        score: How well it fits, at most 1.
        matrices: Similarity of the matrices, part of the score; None for a model without them.
        translation: Similarity of the translations, part of the score; None for a model without them.
        attention: Similarity of the attention vectors alone, for comparison; None where there are no concepts.
        triples: Share of the triples that fit: of the relation's that are its triples, reversed for an inverse; of its
            own for a narrower relation.
    """

    relation: str
    label: str
    score: float
    matrices: float | None
    translation: float | None
    attention: float | None
    triples: float = 0.0


@dataclass(frozen=True)
class MinedRole:
    """A role of a relation in the triples of the graph.

    Attributes:
        role: "symmetric", "inverse", "reversed in", "duplicate" or "part of"; "reversed in" and "part of" hold in one
            direction only.
        relation: Name of the other relation.
        label: Its label.
        share: Share of the relation's triples that are also triples of the other one, reversed or as they are.
    """

    role: str
    relation: str
    label: str
    share: float

    def describe(self) -> str:
        """Return the role in words."""
        words = {
            "symmetric": "is symmetric ({share} of its triples hold reversed)",
            "inverse": "is the inverse of {label} ({share} of its triples occur there reversed)",
            "reversed in": "implies {label} reversed ({share}; {label} has more triples)",
            "duplicate": "has the triples of {label} ({share})",
            "part of": "implies {label} ({share})",
        }
        return words[self.role].format(label=self.label, share=f"{self.share:.0%}")


@dataclass(frozen=True)
class RelationProfile:
    """The structure of a relation as a trained model has it.

    With W_head[r] and W_tail[r] the matrices of r (composed of its concepts, or its own), v[r] its translation and
    cos the cosine of all entries:

    - inverse(r, s) = (cos(W_head[r], W_tail[s]) + cos(W_tail[r], W_head[s])) / 4 - cos(v[r], v[s]) / 2
    - equivalent(r, s) = (cos(W_head[r], W_head[s]) + cos(W_tail[r], W_tail[s])) / 4 + cos(v[r], v[s]) / 2
    - symmetric(r) = cos(W_head[r], W_tail[r]) / 2 + (q - |v[r]|^2) / (q + |v[r]|^2) / 2, where q is the median of
      |v|^2 over all relations: the second term is 1 without a translation and 0 for one of median length
    - sub(r, s), "r is a sub-relation of s": with M = [W_head, -W_tail], every pair close under r is close under s if
      M[s] = A M[r] and v[s] = A v[r] for a matrix A that does not stretch. A is the least-squares fit of the first
      with its singular values cut at one; the score is (1 - |M[s] - A M[r]|^2 / |M[s]|^2) / 2 + cos(A v[r], v[s]) / 2,
      computed for the relations with the best equivalent(r, s). Which of two relations is the narrower one shows
      only weakly in a trained model, so the direction is uncertain.

    The constraint on the length of projected vectors is left out here. TransE has identity matrices, so there the
    translations alone decide.

    Where a score is a product with a relation vector w[r], whose complex conjugate is that of the inverse relation,
    inverse(r, s) = cos(w[r], conj(w[s])), equivalent(r, s) = cos(w[r], w[s]) and symmetric(r) = cos(w[r], conj(w[r])),
    which is 1 - 2 x with x the share of the antisymmetric part in |w[r]|^2. There are no sub-relations.

    Attributes:
        relation: Name.
        label: Label.
        head: Concepts of the head side, strongest first; empty for a model without them.
        tail: Concepts of the tail side.
        symmetric: How similar the relation is to its own inverse, between -1 and 1.
        inverse: Relations most similar to its inverse, best first.
        equivalent: Relations most similar to it.
        broader: Relations that it is most likely a sub-relation of.
        narrower: Relations that are most likely sub-relations of it.
        concepts: Concepts of the relation as a whole, in a model that does not have them for each side.
        mined: Roles in the triples of train, valid and test, as `itransf data info` lists them.
        reversed_most: The relation that has most of the triples reversed; None where none has any.
    """

    relation: str
    label: str
    head: tuple[ConceptWeight, ...]
    tail: tuple[ConceptWeight, ...]
    symmetric: float
    inverse: tuple[RelatedRelation, ...]
    equivalent: tuple[RelatedRelation, ...]
    broader: tuple[RelatedRelation, ...]
    narrower: tuple[RelatedRelation, ...]
    concepts: tuple[ConceptWeight, ...] = ()
    mined: tuple[MinedRole, ...] = ()
    reversed_most: MinedRole | None = None

    @property
    def sentence(self) -> str:
        """The roles with a likely candidate, and those in the triples, in two sentences."""
        roles = [f"looks symmetric ({self.symmetric:.2f})"] if self.symmetric >= LIKELY else []
        for words, found in (("looks like the inverse of", self.inverse), ("is similar to", self.equivalent)):
            roles += [f"{words} {other.label} ({other.score:.2f})" for other in found[:1] if other.score >= LIKELY]
        none = "has no likely inverse or equivalent, and does not look symmetric"
        told = f"In the model, {self.label} {list_words(roles, len(roles)) if roles else none}."
        return f"{self.sentence_of_triples} {told}"

    @property
    def sentence_of_triples(self) -> str:
        """The roles in the triples of the graph, or why there are none."""
        roles = [role.describe() for role in self.mined]
        if not any(role.role in BACKWARD for role in self.mined):
            most, others = self.reversed_most, "none of its triples is reversed in any relation"
            if most is not None:
                others = f"at most {most.share:.0%} of its triples are reversed in another relation, {most.label}"
            roles.append(f"has no inverse and is not symmetric ({others})")
        return f"In train, valid and test, {self.label} {list_words(roles, len(roles))}."

    def __repr__(self) -> str:
        return f"RelationProfile({self.sentence.removesuffix('.')})"

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return {**asdict(self), "sentence": self.sentence}


@torch.no_grad()
def profile_relation(model: Model, graph: Graph, relation: str, top: int = 3) -> RelationProfile:
    """Return the concepts of a relation and its inverse, equivalent and sub-relation candidates.

    Args:
        model: Model whose relations have matrices and translations, or vectors to multiply with.
        graph: Names.
        relation: Name or label of the relation.
        top: Number of candidates for each role; those that the triples show are added.

    Raises:
        DataError: The relation is not known.
        ConfigError: The model has no such parameters, or `top` is below one.
    """
    number, top = graph.relations.index(relation), check_count("top", top, least=1)
    concepts: dict[str, tuple[ConceptWeight, ...]] = {}
    straight = crossed = None
    if isinstance(model, ConceptModel):
        attention = read_attention(model, graph)
        concepts = {part: attention.row(number, part) for part in attention.parts}
        weights = attention.weights.astype(np.float64)
        theirs, turned = map(torch.from_numpy, (weights, turn(weights, attention.antisymmetric)))
        straight, crossed = compare_sides(theirs[:, [number]], theirs, turned)
    backward, forward, sizes = measure_overlaps(graph, number)
    others = [other for other in range(len(graph.relations)) if other != number]
    everyone = torch.tensor(others, dtype=torch.int64, device="cpu")
    equivalent: tuple[Tensor, ...]
    inverse: tuple[Tensor, ...]
    broader: tuple[RelatedRelation, ...] = ()
    narrower: tuple[RelatedRelation, ...] = ()
    if isinstance(model, DistMult) and model.is_explainable:
        same, swapped = compare_vectors(model, number)
        symmetric, equivalent, inverse = float(swapped[number]), (same[everyone],), (swapped[everyone],)
    elif isinstance(model, Translation) and model.has_matrices:
        same, swapped, translation = (scores[everyone] for scores in compare_relation(model, number))
        symmetric = score_symmetry(model, number)
        equivalent, inverse = (same, translation), (swapped, -translation)
        shortlist = everyone[(same + translation).argsort(descending=True, stable=True)[:SHORTLIST]]
        own = torch.full_like(shortlist, number)
        broader = rank_candidates(graph, shortlist, compare_width(model, own, shortlist), straight, forward, top)
        held = forward * sizes[number] / np.maximum(sizes, 1)
        narrower = rank_candidates(graph, shortlist, compare_width(model, shortlist, own), straight, held, top)
    else:
        raise ConfigError(
            f"the relations of the model {type(model).__name__} have neither matrices nor vectors that make up its "
            f"score, so they cannot be compared; train {CHOICES}"
        )
    return RelationProfile(
        graph.relations.name(number),
        graph.relations.label(number),
        concepts.get("head", ()),
        concepts.get("tail", ()),
        symmetric,
        rank_candidates(graph, everyone, inverse, crossed, backward, top),
        rank_candidates(graph, everyone, equivalent, straight, forward, top),
        broader,
        narrower,
        concepts.get("relation", ()),
        *list_mined(graph, number, backward, forward, sizes),
    )


def list_mined(
    graph: Graph, relation: int, backward: Floats, forward: Floats, sizes: Integers
) -> tuple[tuple[MinedRole, ...], MinedRole | None]:
    """Return the roles of a relation in the triples, the largest shares first, and where it is reversed most.

    Args:
        graph: Names.
        relation: Number of the relation.
        backward: Shares of its triples that are triples of each relation, reversed, (r,).
        forward: The same as they are, (r,).
        sizes: Number of triples of each relation, (r,).
    """
    found = []
    for shares, mutual, one_way in ((backward, "inverse", "reversed in"), (forward, "duplicate", "part of")):
        for other in np.argsort(-shares, kind="stable").tolist():
            is_mutual = shares[other] * sizes[relation] / max(sizes[relation], sizes[other], 1) >= THRESHOLD
            role = "symmetric" if other == relation else mutual if is_mutual else one_way
            names = graph.relations.name(other), graph.relations.label(other)
            if shares[other] > 0 and (other != relation or shares is backward):
                found.append(MinedRole(role, *names, float(shares[other])))
    backwards = [role for role in found if role.role in BACKWARD]
    mined = sorted((role for role in found if role.share >= THRESHOLD), key=lambda role: role.role not in BACKWARD[:2])
    return tuple(mined), max(backwards, key=lambda role: role.share, default=None)


def rank_candidates(
    graph: Graph,
    numbers: Tensor,
    similarities: tuple[Tensor, ...],
    attention: Tensor | None,
    shares: Floats,
    top: int,
) -> tuple[RelatedRelation, ...]:
    """Return the relations (n,) with the best mean similarity, best first.

    Args:
        graph: Names.
        numbers: Relations, (n,).
        similarities: Of matrices and of translations, or of vectors alone, (n,) each.
        attention: Similarity of attention, (r,).
        shares: Shares of triples that fit, (r,).
        top: Number of relations; those with a share of at least THRESHOLD are added.
    """
    totals, found = torch.stack(similarities).mean(0), []
    for rank, place in enumerate(totals.argsort(descending=True, stable=True).tolist()):
        number = int(numbers[place])
        own = [float(each[place]) for each in similarities] if len(similarities) > 1 else [None, None]
        values = (*own, None if attention is None else float(attention[number]), float(shares[number]))
        if rank < top or shares[number] >= THRESHOLD:
            names = graph.relations.name(number), graph.relations.label(number)
            found.append(RelatedRelation(*names, float(totals[place]), *values))
    return tuple(found)


def compare_vectors(model: DistMult, relation: int) -> tuple[Tensor, Tensor]:
    """Return the cosine of a relation's vector with those of all relations, and of their inverses, both (r,)."""
    vectors = model.relation_table().detach().double()
    own = vectors[[relation]]
    return cosine_similarity(own, vectors).cpu(), cosine_similarity(own, model.invert(vectors)).cpu()


def score_symmetry(model: Translation, relation: int) -> float:
    """Return symmetric(r), see `RelationProfile`."""
    wanted = torch.tensor([relation], device=model.entities.device)
    head, tail = (read_matrices(model, wanted, side).flatten(1) for side in SIDES)
    squares = model.relations.detach().square().sum(1).double()  # (r,)
    middle, own = float(squares.median()), float(squares[relation])
    smallness = (middle - own) / (middle + own) if middle + own > 0 else 1.0
    return float(cosine_similarity(head, tail)[0]) / 2 + smallness / 2


def compare_relation(model: Translation, relation: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the similarities of one relation with all, each (r,), on the CPU.

    They are those of the matrices of the same sides, of the matrices of opposite sides, and of the translations.
    """
    everyone = torch.arange(model.sizes.relations, device=model.entities.device)
    own = [read_matrices(model, everyone[[relation]], side).flatten(1) for side in SIDES]
    found = []
    for numbers in torch.split(everyone, max(1, _MATRIX_BYTES // (32 * model.config.dim**2))):
        theirs = [read_matrices(model, numbers, side).flatten(1) for side in SIDES]
        found.append(compare_sides(own, theirs, theirs[::-1]))
    same, swapped = (torch.cat(parts) for parts in zip(*found, strict=True))
    vectors = model.relations.detach().double()
    return same, swapped, cosine_similarity(vectors[[relation]], vectors).cpu()


def compare_sides(own: Rows, theirs: Rows, turned: Rows) -> tuple[Tensor, Tensor]:
    """Return the mean cosine of rows (1, f), one per part, with stacks of rows (n, f), as they are and turned."""
    same, swapped = (
        torch.stack([cosine_similarity(*pair) for pair in zip(own, others, strict=True)]).mean(0).cpu()
        for others in (theirs, turned)
    )
    return same, swapped


def read_matrices(model: Translation, relations: Tensor, side: Side) -> Tensor:
    """Return the matrices of one side of relations (u,), in double precision, (u, d, d), or diagonals, (u, d)."""
    return model.projection(side).matrices(relations).double()


def compare_width(model: Translation, narrow: Tensor, wide: Tensor) -> tuple[Tensor, Tensor]:
    """Return how well wide relations (u,) follow from narrow ones (u,), pair by pair, by matrices and by translations.

    With M = [W_head, -W_tail], A is the least-squares solution of A M[narrow] = M[wide], its singular values cut at
    one.
    """
    maps, vectors = [], []
    for relations in (narrow.to(model.entities.device), wide.to(model.entities.device)):
        head, tail = (read_matrices(model, relations, side) for side in SIDES)
        if head.dim() == 2:
            head, tail = head.diag_embed(), tail.diag_embed()
        maps.append(torch.cat([head, -tail], 2))
        vectors.append(model.relations.detach()[relations].double())
    gram = maps[0] @ maps[0].transpose(1, 2)  # (u, d, d)
    mean = gram.diagonal(dim1=1, dim2=2).mean(1).clamp_min(torch.finfo(gram.dtype).eps)  # above zero if maps are zero
    ridge = _RIDGE * mean[:, None, None] * torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
    best = torch.linalg.solve(gram + ridge, maps[0] @ maps[1].transpose(1, 2)).transpose(1, 2)  # A, (u, d, d)
    left, values, right = torch.linalg.svd(best)
    best = left @ (values.clamp_max(1.0)[:, :, None] * right)
    whole = maps[1].square().sum((1, 2)).clamp_min(torch.finfo(gram.dtype).tiny)
    shares = 1.0 - (maps[1] - best @ maps[0]).square().sum((1, 2)) / whole
    moved = (best @ vectors[0][:, :, None]).squeeze(2)  # (u, d)
    return shares.cpu(), cosine_similarity(moved, vectors[1]).cpu()
