"""KG2E."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from itransf.config import setting
from itransf.errors import ConfigError
from itransf.models.base import SCORES_AT_ONCE, SMALL, Model, Paper, Pool, Side, Sizes, TrainingGraph, look_up
from itransf.models.translation import start_vectors
from itransf.ops.distance import Length, limit_length


@dataclass(frozen=True)
class KG2EConfig:
    """Settings of KG2E."""

    dim: int = setting(100, "Dimension d of means and variances.", "64 under 20,000 triples, else 100")
    similarity: Literal["kl", "el"] = setting(
        "kl", "Score: kl (negated Kullback-Leibler divergence) or el (logarithm of the expected likelihood)."
    )
    min_variance: float = setting(0.05, "Smallest variance (c_min of the publication).")
    max_variance: float = setting(5.0, "Largest variance (c_max of the publication).")
    entity_constraint: Literal["unit", "ball", "none"] = setting(
        "none",
        "Constraint on the length of means of entities after each update: unit length, unit ball, or none. Means of "
        "relations stay in the unit ball, or are free with none.",
    )

    def __post_init__(self) -> None:
        """Refuse bounds that no variance has."""
        if not 0 < self.min_variance <= self.max_variance:
            raise ConfigError(
                f"model.min_variance = {self.min_variance} must be above zero and at most model.max_variance = "
                f"{self.max_variance}"
            )


class KG2E(Model):
    """-KL(H - T || R), or log E[N(H - T; R)], with a Gaussian for each entity and relation   (He et al., 2015).

    H - T has the mean m = m_h - m_t and the variances v = v_h + v_t. The divergence is the sum over dimensions of
    (v / v_r + (m - m_r)^2 / v_r - log(v / v_r) - 1) / 2, the logarithm of the expected likelihood that of
    -((m - m_r)^2 / (v + v_r) + log(v + v_r)) / 2, without its constant. A row of a table holds means, then variances.
    """

    Config: ClassVar[type] = KG2EConfig
    config: KG2EConfig
    starts_from: ClassVar[str] = "transe"
    paper = Paper(
        "Learning to Represent Knowledge Graphs with Gaussian Embedding",
        "He, Liu, Ji, Zhao",
        "CIKM 2015",
        "https://doi.org/10.1145/2806416.2806502",
    )

    def __init__(self, sizes: Sizes, config: KG2EConfig) -> None:
        super().__init__(sizes, config)
        self.entities, self.relations = (self.start_table(rows) for rows in (sizes.entities, sizes.relations))

    def start_table(self, rows: int) -> nn.Parameter:
        """Return random means, and variances in the middle of their bounds by logarithm."""
        means = start_vectors(rows, self.config.dim, self.config.entity_constraint)
        middle = (self.config.min_variance * self.config.max_variance) ** 0.5
        return nn.Parameter(torch.cat([means, torch.full_like(means, middle)], dim=1))

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return settings for a graph: sampled candidates, as a score is no product of vectors."""
        found = super().defaults(graph, device)
        found["training"] |= {"learning_rate": 0.1 if len(graph.train) < SMALL else 0.02}
        return found | {"loss": {"candidates": 64}, "validation": found["validation"] | {"triples": 300}}

    def split(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the means and the variances, within their bounds, of rows of a table."""
        means, variances = rows.chunk(2, dim=-1)
        return means, variances.clamp(self.config.min_variance, self.config.max_variance)

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the negated divergences, or the logarithms of the expected likelihoods, (b,)."""
        return self.measure(self.aim(heads, relations, "tail"), look_up(self.entities, tails))

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the scores (b, n) of the pool; its rows are looked up once."""
        table = self.entities if pool.entities is None else look_up(self.entities, pool.entities)
        size = max(1, SCORES_AT_ONCE // max(len(table), 1))
        parts = zip(torch.split(anchors, size), torch.split(relations, size), strict=True)
        aims = ([each[:, None] for each in self.aim(*part, side)] for part in parts)
        return torch.cat([self.measure(aim, table) for aim in aims])

    def aim(self, anchors: Tensor, relations: Tensor, side: Side) -> tuple[Tensor, Tensor, Tensor]:
        """Return the means that entities on `side` should have, and the variances of anchors and relations, (b, d)."""
        means, variances = self.split(look_up(self.entities, anchors))
        shifts, own = self.split(look_up(self.relations, relations))
        return means - shifts if side == "tail" else means + shifts, variances, own

    def measure(self, aim: Sequence[Tensor], rows: Tensor) -> Tensor:
        """Return the scores of rows of the table of entities; both sides are broadcast."""
        wanted, variances, own = aim
        means, others = self.split(rows)
        squares, variances = (wanted - means).square(), variances + others
        if self.config.similarity == "el":
            variances = variances + own
            return (squares / variances + variances.log()).sum(-1) / -2
        weighed = torch.einsum("...d,...d->...", squares + variances, 1 / own)
        return (weighed - variances.log().sum(-1) + own.log().sum(-1) - self.config.dim) / -2

    def entity_vectors(self) -> Tensor:
        """Return the means, (e, d)."""
        return self.entities.detach()[:, : self.config.dim]

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the means of each triple."""
        rows = look_up(self.entities, heads), look_up(self.relations, relations), look_up(self.entities, tails)
        return tuple(each[:, : self.config.dim] for each in rows)

    @torch.no_grad()
    def constrain(self, entities: Tensor | None, relations: Tensor | None) -> None:
        """Keep variances within their bounds, and means within their length; relations may be shorter than one."""
        own = self.config.entity_constraint
        of_relations: Length = "none" if own == "none" else "ball"
        for table, rows, length in ((self.entities, entities, own), (self.relations, relations, of_relations)):
            means, variances = self.split(table if rows is None else table[rows])
            limited = torch.cat([limit_length(means, length), variances], dim=1)
            table.copy_(limited) if rows is None else table.index_copy_(0, rows, limited)

    @torch.no_grad()
    def start_from(self, model: Model, counts: Tensor) -> None:
        """Start means with the embeddings of TransE, the signs of relations turned; variances keep their start."""
        tables, d = model.embeddings(), self.config.dim
        self.entities[:, :d] = tables["entities"]
        self.relations[:, :d] = -tables["relations"]

    @torch.no_grad()
    def start_relation(self, heads: Tensor, tails: Tensor) -> None:
        """Start the last relation at the mean of its triples' differences."""
        (m_h, v_h), (m_t, v_t) = self.split(self.entities[heads]), self.split(self.entities[tails])
        self.relations[-1] = torch.cat([m_h - m_t, v_h + v_t], dim=1).mean(0)
        last = torch.tensor([self.sizes.relations - 1], device=heads.device)
        self.constrain(last[:0], last)
