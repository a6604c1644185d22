"""The capability of having concepts: parameters that all relations share and pick a few of by sparse attention."""

import copy
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from itransf.errors import ConfigError
from itransf.models.base import SIDES, Model, Side, look_up
from itransf.ops.attention import scatter_weights, sparse_softmax
from itransf.ops.coding import learn_codes, pursue

AttentionKind = Literal["sparse", "dense", "l1", "signed"]
IMPORTANCE = 2.0  # exponent of a relation's number of triples when the first concepts are chosen
FREE, PINNED, FORBIDDEN = 0, 1, -1  # a person's rule for a concept of a relation


class ConceptAttention(nn.Module):
    """Attention of relations over concepts.

    `support` (r, k) holds the concepts that each relation may use. `rules` (r, m) holds which of them a person pinned
    or forbade; code that writes supports must keep to them.

    Args:
        concepts: Number m of concepts.
        relations: Number of relations.
        support_size: Maximum number k of concepts of a relation; ignored where all concepts are used.
        kind: `sparse` (softmax over at most k), `dense` (softmax over all m), `l1` (free weights of all m), `signed`
            (free weights of at most k).
        temperature: Temperature of the softmax.
    """

    support: Tensor
    rules: Tensor

    def __init__(
        self, concepts: int, relations: int, support_size: int, kind: AttentionKind, temperature: float = 1.0
    ) -> None:
        super().__init__()
        self.kind, self.temperature = kind, temperature
        k = support_size if kind in ("sparse", "signed") else concepts
        # Free weights start as the softmax of equal scores: an even mixture.
        start = 1.0 / k if kind in ("l1", "signed") else 0.0
        self.scores = nn.Parameter(torch.full((relations, concepts), start, device="cpu"))
        everything = torch.arange(concepts, device="cpu").repeat(relations, 1)
        self.register_buffer("support", random_supports(relations, concepts, k) if k < concepts else everything)
        self.register_buffer("rules", torch.full((relations, concepts), FREE, dtype=torch.int8, device="cpu"))

    @property
    def has_free_weights(self) -> bool:
        """Whether weights can have any sign and sum."""
        return self.kind in ("l1", "signed")

    def weights(self, relations: Tensor) -> Tensor:
        """Return the attention weights on each relation's support, (u, k)."""
        scores, support = look_up(self.scores, relations), self.support[relations]  # (u, m), (u, k)
        if self.has_free_weights:
            return scores.gather(-1, support)
        return sparse_softmax(scores, support, self.temperature)

    def attention(self) -> Tensor:
        """Return the attention of every relation over all concepts, (r, m)."""
        everything = torch.arange(len(self.scores), device=self.scores.device)
        return scatter_weights(self.weights(everything), self.support, self.scores.shape[1])

    def fixed(self, weights: Tensor) -> nn.Module:
        """Return attention with these weights (r, m), in the place of this one."""
        relations, concepts = weights.shape
        made = ConceptAttention(concepts, relations, concepts, "signed").to(weights.device)
        made.scores = nn.Parameter(weights, requires_grad=False)
        return made


class ConceptModel(Model):
    """A model whose relations share concepts. Code that reads or edits concepts asks for this class.

    Attributes:
        concepts: Concept parameters, (m, ...).
        parts: Parts of a relation that have their own attention.
    """

    parts: ClassVar[tuple[str, ...]] = SIDES
    concepts: nn.Parameter

    @abstractmethod
    def concept_attention(self, part: str) -> ConceptAttention:
        """Return the attention, supports and rules of one part of all relations."""

    @property
    def symmetries(self) -> tuple[str, ...]:
        """Kind of each concept, "symmetric" or "antisymmetric"; empty where concepts are neither."""
        return ()

    @property
    def has_supports(self) -> bool:
        """Whether attention is sparse, so that each relation chooses its concepts."""
        return self.concept_attention(self.parts[0]).kind in ("sparse", "signed")

    def supports(self, part: str) -> Tensor:
        """Return the concepts of each relation in `part`, (r, k); writing to it changes the model."""
        return self.concept_attention(part).support

    def rules(self, part: str) -> Tensor:
        """Return which concepts are pinned or forbidden to each relation in `part`, (r, m)."""
        return self.concept_attention(part).rules

    def shown_weights(self, part: str) -> Tensor:
        """Return the attention of `part` as people read it, comparable between concepts, (r, m)."""
        return self.concept_attention(part).attention()

    def smaller_config(self, kept: Sequence[int]) -> Any:
        """Return the settings of a model with only these concepts, ascending.

        Raises:
            ConfigError: The model cannot have these alone.
        """
        if not (hasattr(self.config, "concepts") and hasattr(self.config, "support_size")):
            raise ConfigError(
                f"concepts of the model {type(self).__name__} cannot be merged or pruned: "
                "its settings have no model.concepts and model.support_size"
            )
        return replace(self.config, concepts=len(kept), support_size=min(self.config.support_size, len(kept)))

    def with_attention(self, weights: Tensor) -> Model:
        """Return a copy with these attention weights (p, r, m); it shares all parameters but theirs."""
        copies: dict[int, Any] = {id(kept): kept for kept in (*self.parameters(), *self.buffers())}
        for part, own in zip(self.parts, weights, strict=True):
            attention = self.concept_attention(part)
            copies[id(attention)] = attention.fixed(own)
        return copy.deepcopy(self, copies)


class CodedConcepts(ConceptModel):
    """A concept model whose concepts (m, d) add up to the vectors of each part of a relation, with signed weights.

    Training starts with a model that has these vectors (`starts_from`); they are then coded sparsely.
    """

    @property
    def blocks(self) -> list[int]:
        """Number of concepts in each block of a vector, see `ops.coding`; one block by default."""
        return [len(self.concepts)]

    @abstractmethod
    def part_vectors(self, part: str) -> Tensor:
        """Return the vectors that one part of the relations composes of concepts, (r, n)."""

    @torch.no_grad()
    def start_codes(self, vectors: Tensor, counts: Tensor, length: float = 1.0) -> None:
        """Choose concepts, and compose the vectors (p, r, n) of all parts of them.

        Args:
            vectors: In the order of `parts`.
            counts: Training triples of each relation, (r,).
            length: Length of each concept.
        """
        importance = counts.repeat(len(vectors)).to(vectors) ** IMPORTANCE
        size = self.supports(self.parts[0]).shape[1]
        codes = learn_codes(vectors.flatten(0, 1), importance, self.blocks, size)
        self.concepts.copy_(codes.atoms * length)
        tables = (table.view(len(self.parts), -1, size) for table in (codes.support, codes.weights))
        for part, support, weights in zip(self.parts, *tables, strict=True):
            attention = self.concept_attention(part)
            attention.support.copy_(support)
            attention.scores.zero_().scatter_(1, support, weights / length)

    @torch.no_grad()
    def code(self, part: str, relations: Tensor, vectors: Tensor, kept: Tensor | None = None) -> None:
        """Give a part of relations at most k concepts each whose sums come close to vectors, by matching pursuit.

        Args:
            part: One of `parts`.
            relations: (b,)
            vectors: (b, n)
            kept: Concepts that each relation shall have beside pinned ones, at most k together, bool (b, m).
        """
        attention, lengths = self.concept_attention(part), self.concepts.norm(dim=1)
        lengths = lengths.clamp_min(torch.finfo(lengths.dtype).tiny)
        atoms = torch.split(self.concepts / lengths[:, None], self.blocks)
        rules, size = attention.rules[relations], attention.support.shape[1]
        first = rules == PINNED if kept is None else (rules == PINNED) | kept
        support, weights = pursue(vectors, list(atoms), size, first, rules == FORBIDDEN)
        scores = torch.zeros_like(attention.scores[relations]).scatter_(1, support, weights / lengths[support])
        attention.scores[relations] = scores
        attention.support[relations] = support.sort(dim=1).values

    def is_supported(self, part: str) -> Tensor:
        """Return whether a concept is in the support of one part of a relation, bool (r, m)."""
        attention = self.concept_attention(part)
        return torch.zeros_like(attention.rules, dtype=torch.bool).scatter_(1, attention.support, True)

    def shown_weights(self, part: str) -> Tensor:
        """Return a[r, i] |c[i]| / sum_j |a[r, j]| |c[j]|, (r, m).

        Scores alone are not comparable, because the length of a concept is free. Absolute values sum to one, as the
        weights of a softmax do; a relation without weights has zeros.
        """
        return normalize(self.concept_attention(part).attention() * self.concepts.norm(dim=1), p=1.0)


class ProjectingConcepts(ConceptModel):
    """A concept model whose concepts project entities; the assignment step of the paper chooses the supports."""

    @abstractmethod
    def single_concept_scores(self, heads: Tensor, relations: Tensor, tails: Tensor, side: Side) -> Tensor:
        """Return the scores of triples if `side` used one concept alone, for each concept, (b, m)."""

    @abstractmethod
    def project_alone(self, entities: Tensor) -> Tensor:
        """Return the projection of entities (b,) by each concept alone, (b, m, d)."""

    @abstractmethod
    def exact_translations(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the relation vector that would fit each triple exactly, (b, d)."""


def check_support_size(concepts: int, support_size: int) -> None:
    """Refuse a support that is empty or larger than the number of concepts.

    Raises:
        ConfigError: It is.
    """
    if not 1 <= support_size <= concepts:
        raise ConfigError(f"model.support_size must be from 1 to model.concepts = {concepts}, not {support_size}")


def random_supports(relations: int, concepts: int, size: int, generator: torch.Generator | None = None) -> Tensor:
    """Return `size` distinct concepts per relation, ascending, (r, k)."""
    drawn = torch.rand(relations, concepts, generator=generator, device="cpu")
    return drawn.argsort(dim=1)[:, :size].sort(dim=1).values
