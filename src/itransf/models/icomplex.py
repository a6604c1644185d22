"""IComplEx: ComplEx whose relations are composed of a few shared concepts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from itransf.config import CHOOSE, setting
from itransf.errors import ConfigError
from itransf.models.base import SMALL, Model, Part, Sizes, TrainingGraph
from itransf.models.complex import ComplEx
from itransf.models.concepts import CodedConcepts, ConceptAttention, check_support_size
from itransf.models.distmult import SCALE, DistMultConfig

FEW_RELATIONS = 20  # below which there are as many concepts as relations
SMALL_EPOCHS, FEWEST_EPOCHS, MOST_EPOCHS = 30, 15, 45  # of ComplEx and of fine-tuning together
VISITS = {"cpu": 1_500_000, "cuda": 9_000_000}  # triples seen in all epochs together


@dataclass(frozen=True)
class IComplExConfig(DistMultConfig):
    """Settings of IComplEx."""

    dim: int = setting(
        100, "Dimension d of entity and relation embeddings.", "100; 300 on a GPU from 20,000 triples on"
    )
    concepts: int = setting(
        30,
        "Number m of concept vectors that all relations share.",
        "a third of the relations, two thirds under 20,000 triples, all of them where there are fewer than 20",
    )
    support_size: int = setting(
        5,
        "Maximum number k of concepts per relation, at most half of them (rounded up) of one kind, unless "
        "the other has too few.",
        "5, or fewer where there are fewer",
    )
    symmetric_concepts: int = setting(0, "Number of symmetric concepts; 0: half of them, rounded up.")
    attention_lr_factor: float = setting(
        1.0,
        "Learning-rate multiplier for attention. Values below 1 keep it close to its initialization from ComplEx.",
        "0.1 under 20,000 triples, 1 from there on",
    )

    def __post_init__(self) -> None:
        """Refuse impossible sizes."""
        if self.concepts < 2:
            raise ConfigError(f"model.concepts must be at least 2, not {self.concepts}")
        check_support_size(self.concepts, self.support_size)
        if self.symmetric_concepts > self.concepts:
            raise ConfigError(
                f"model.symmetric_concepts = {self.symmetric_concepts} is larger than model.concepts = {self.concepts}"
            )


class IComplEx(ComplEx, CodedConcepts):
    """Re <h, w, conj(t)> with w = sum_i a[r, i] c[i] over at most k shared concepts.

    A concept is symmetric (a real vector, which adds the same to (h, r, t) and (t, r, h)) or antisymmetric (an
    imaginary one, which adds the opposite). A symmetric relation uses no antisymmetric concept; inverse relations use
    the same concepts with opposite weights of the antisymmetric ones.

    Training starts with ComplEx (`warm_start.epochs`); its relation vectors are then coded sparsely.
    """

    Config: ClassVar[type] = IComplExConfig
    config: IComplExConfig
    paper = None  # from this package
    fused: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("relation",)
    starts_from: ClassVar[str] = "complex"

    def __init__(self, sizes: Sizes, config: IComplExConfig) -> None:
        Model.__init__(self, sizes, config)
        self.entities = self.start_table(sizes.entities)
        self.concepts = nn.Parameter(SCALE * torch.randn(config.concepts, config.dim, device="cpu"))
        self.attention = ConceptAttention(config.concepts, sizes.relations, config.support_size, "signed")

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return settings for a graph, chosen on validation; see docs/defaults.md."""
        found = super().defaults(graph, device)
        triples, relations = max(len(graph.train), 1), len(graph.relations)
        is_small, wanted = triples < SMALL, relations
        if relations >= FEW_RELATIONS:
            wanted = relations * 2 // 3 if is_small else relations // 3
        concepts = max(wanted, 2)
        total = SMALL_EPOCHS if is_small else min(max(VISITS[device] // triples, FEWEST_EPOCHS), MOST_EPOCHS)
        last = total // 3
        dim = 100 if is_small or device == "cpu" else 300
        batch = min(max(triples // 32, 32), 256) if is_small else 1000
        found["model"] = {"dim": dim, "concepts": concepts, "support_size": min(5, concepts)}
        found["model"] |= {"attention_lr_factor": 0.1 if is_small else 1.0}
        rate = 0.05 if is_small or device == "cuda" else 0.1
        found["training"] |= {"epochs": last, "batch_size": batch, "learning_rate": rate}
        found["loss"] = {"candidates": 0 if is_small or device == "cuda" else found["loss"]["candidates"]}
        found["regularizer"] = {"weight": 0.02 if is_small else CHOOSE}
        found["validation"] = {"every": max(last // 3, 1)}
        return found | {"warm_start": {"epochs": total - last, "learning_rate": 0.1}}

    def learning_rate_factor(self, parameter: str) -> float:
        """Return the factor of attention, or one."""
        return self.config.attention_lr_factor if parameter.endswith(".scores") else 1.0

    @property
    def symmetric(self) -> int:
        """Number of symmetric concepts; they come first."""
        return self.config.symmetric_concepts or -(-len(self.concepts) // 2)

    @property
    def symmetries(self) -> tuple[str, ...]:
        """Kind of each concept."""
        return ("symmetric",) * self.symmetric + ("antisymmetric",) * (len(self.concepts) - self.symmetric)

    def concept_attention(self, part: str) -> ConceptAttention:
        """Return the attention, supports and rules of all relations."""
        return self.attention

    def relation_table(self) -> Tensor:
        """Return the vectors that relations compose of concepts, (r, 2 d)."""
        return self.compose(self.attention.scores.masked_fill(~self.is_supported("relation"), 0.0))

    def part_vectors(self, part: str) -> Tensor:
        """Return the vectors of relations, (r, 2 d)."""
        return self.relation_table()

    @property
    def blocks(self) -> list[int]:
        """Number of symmetric and of antisymmetric concepts."""
        return [self.symmetric, len(self.concepts) - self.symmetric]

    def split_relation(self, relation: int) -> tuple[tuple[Part, ...], Tensor]:
        """Return the weighted concepts of a relation, and which they are, (k', 2 d)."""
        shown = self.shown_weights("relation")[relation]
        used = shown.nonzero().squeeze(1)
        weights = torch.zeros(len(used), len(shown), device=used.device, dtype=shown.dtype)
        weights.scatter_(1, used[:, None], self.attention.scores[relation, used][:, None])
        parts = [Part("relation", i, float(shown[i]), symmetry=self.symmetries[i]) for i in used.tolist()]
        return tuple(parts), self.compose(weights)

    def relation_vectors(self, relations: Tensor) -> Tensor:
        """Return the vectors of relations, (b, 2 d)."""
        return self.relation_table().index_select(0, relations)

    def compose(self, weights: Tensor) -> Tensor:
        """Return sums of concepts with these weights (n, m), (n, 2 d): real parts, then imaginary ones."""
        count = self.symmetric
        real, imaginary = weights[:, :count] @ self.concepts[:count], weights[:, count:] @ self.concepts[count:]
        return torch.cat([real, imaginary], dim=1)

    @torch.no_grad()
    def start_from(self, model: Model, counts: Tensor) -> None:
        """Start with the entities of a trained ComplEx and with sparse codes of its relation vectors.

        Args:
            model: ComplEx of the same dimension.
            counts: Training triples of each relation, (r,).
        """
        assert isinstance(model, ComplEx), "the model that `starts_from` names"
        self.entities.copy_(model.entities)
        self.start_codes(model.relation_table()[None], counts)

    def smaller_config(self, kept: Sequence[int]) -> IComplExConfig:
        """Return the settings of a model with only these concepts, ascending."""
        symmetric = sum(concept < self.symmetric for concept in kept)
        if not symmetric:
            raise ConfigError("no symmetric concept would be left; keep more concepts")
        smaller: IComplExConfig = replace(super().smaller_config(kept), symmetric_concepts=symmetric)
        return smaller

    def set_vector(self, relation: int, vector: Tensor) -> None:
        """Compose the vector of a relation of concepts."""
        self.code("relation", torch.tensor([relation], device=vector.device), vector[None])
