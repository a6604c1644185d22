"""The capability of having concepts: parameters that all relations share and pick a few of by sparse attention."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor, nn

from itransf.models.base import Model, Side
from itransf.models.projection import ConceptProjection


class ConceptModel(Model):
    """A model whose relations share concepts. Code that reads, chooses or edits concepts asks for this class.

    Attributes:
        concepts: Concept parameters, (m, ...).
    """

    concepts: nn.Parameter

    @abstractmethod
    def concept_projection(self, side: Side) -> ConceptProjection:
        """Return the attention, supports and rules of one side."""

    @property
    def has_supports(self) -> bool:
        """Whether attention is sparse, so that each side of a relation chooses its concepts."""
        return self.concept_projection("head").kind == "sparse"

    def supports(self, side: Side) -> Tensor:
        """Return the concepts of each relation on `side`, (r, k); writing to it changes the model."""
        return self.concept_projection(side).support

    def rules(self, side: Side) -> Tensor:
        """Return which concepts are pinned or forbidden to each relation on `side`, (r, m)."""
        return self.concept_projection(side).rules

    @abstractmethod
    def single_concept_scores(self, heads: Tensor, relations: Tensor, tails: Tensor, side: Side) -> Tensor:
        """Return the scores of triples if `side` used one concept alone, for each concept, (b, m)."""

    @abstractmethod
    def project_alone(self, entities: Tensor) -> Tensor:
        """Return the projection of entities (b,) by each concept alone, (b, m, d)."""

    @abstractmethod
    def exact_translations(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the relation vector that would fit each triple exactly, (b, d)."""
