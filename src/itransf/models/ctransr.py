"""CTransR."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from itransf.config import setting
from itransf.models.base import Model, Pool, Side, Sizes, TrainingGraph, look_up
from itransf.models.projection import FullProjection
from itransf.models.translation import TranslationConfig, start_vectors
from itransf.models.transr import TransR
from itransf.ops.distance import distance, grouped_distance, limit_length
from itransf.ops.grouped import Grouping, group_rows

FEWEST = 10  # training triples of a cluster, on average
ROUNDS = 10  # of k-means
SCALE = 0.1  # standard deviation of offsets of clusters that are not found in a warm start


@dataclass(frozen=True)
class CTransRConfig(TranslationConfig):
    """Settings of CTransR beside those of the translation family."""

    clusters: int = setting(
        4,
        "Maximum number of clusters per relation; fewer start for relations with few triples (10 per cluster).",
        least=1,
    )
    cluster_weight: float = setting(
        0.001,
        "Weight of the squared distance of a cluster's translation from its relation's (alpha of the publication).",
    )


class CTransR(Model):
    """-min_c (|W[r] h + r_c - W[r] t| + a |r_c - r|^2) over clusters c of the triples of r   (Lin et al., 2015).

    Clusters start as those of the offsets t - h in TransE (`warm_start.epochs`), found by k-means; a triple then
    belongs to the cluster that fits it best. The publication keeps the clusters, and finds them by affinity
    propagation. The table of clusters holds r_c - r.
    """

    Config: ClassVar[type] = CTransRConfig
    config: CTransRConfig
    starts_from: ClassVar[str] = "transe"
    paper = TransR.paper
    train_triples: Tensor | None = None

    def __init__(self, sizes: Sizes, config: CTransRConfig) -> None:
        super().__init__(sizes, config)
        d, length = config.dim, config.entity_constraint
        self.entities = nn.Parameter(start_vectors(sizes.entities, d, length))
        self.relations = nn.Parameter(start_vectors(sizes.relations, d, length))
        self.clusters = nn.Parameter(SCALE * torch.randn(sizes.relations, config.clusters * d, device="cpu"))
        self.projection = FullProjection(sizes.relations, d)

    @classmethod
    def build(cls, graph: TrainingGraph, config: CTransRConfig) -> Model:
        """Return a new model that knows the training triples to cluster."""
        model = cls(Sizes(len(graph.entities), len(graph.relations)), config)
        model.train_triples = torch.as_tensor(graph.train, device="cpu")
        return model

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return the settings of TransR for a graph, with a warm start."""
        found = TransR.defaults(graph, device)
        epochs = found["training"]["epochs"]
        found["training"] |= {"epochs": max(epochs // 2, 1)}
        return found | {"warm_start": {"epochs": max(epochs // 2, 1)}}

    @torch.no_grad()
    def start_from(self, model: Model, counts: Tensor) -> None:
        """Start with the embeddings of TransE, and with clusters of the offsets of its training triples."""
        super().start_from(model, counts)
        if self.train_triples is None:
            return
        heads, relations, tails = self.train_triples.unbind(1)
        entities, tables = self.entities.cpu(), self.clusters.view(self.sizes.relations, self.config.clusters, -1)
        for relation in torch.unique(relations).tolist():
            own = relations == relation
            centres = find_centres(entities[tails[own]] - entities[heads[own]], self.config.clusters)
            tables[relation] = centres.to(tables) - self.relations[relation]

    @torch.no_grad()
    def start_relation(self, heads: Tensor, tails: Tensor) -> None:
        """Start the last relation's embedding at the mean of the translations that would fit its triples exactly."""
        last = torch.full_like(heads, self.sizes.relations - 1)
        self.relations[-1] = (self.project(tails, last) - self.project(heads, last)).mean(0)

    def project(self, entities: Tensor, relations: Tensor) -> Tensor:
        """Return entities (b,) as their relations (b,) project them, (b, d)."""
        moved = self.projection(look_up(self.entities, entities), relations)
        return limit_length(moved, self.config.projected_constraint)

    def translate(self, relations: Tensor) -> tuple[Tensor, Tensor]:
        """Return the translations of the clusters of relations, (b, c, d), and what their clusters cost, (b, c)."""
        offsets = look_up(self.clusters, relations).view(-1, self.config.clusters, self.config.dim)
        costs = self.config.cluster_weight * offsets.square().sum(-1)
        return look_up(self.relations, relations)[:, None] + offsets, costs

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the score of each triple in its best cluster, (b,)."""
        translations, costs = self.translate(relations)
        gaps = (self.project(heads, relations) - self.project(tails, relations))[:, None] + translations
        return -(distance(gaps, self.config.p_norm) + costs).amin(1)

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the scores (b, n) of the pool; it is projected once per relation."""
        grouping = group_rows(relations)
        if grouping.order is not None:
            scores = self.score_pool(anchors[grouping.order], relations[grouping.order], side, pool)
            return torch.empty_like(scores).index_copy(0, grouping.order, scores)
        table = self.entities if pool.entities is None else look_up(self.entities, pool.entities)
        tables = self.projection.project_table(table, grouping.keys)  # (u, n, d)
        translations, costs = self.translate(relations)
        known = self.project(anchors, relations)[:, None]
        wanted = known + translations if side == "tail" else known - translations  # (b, c, d)
        by_cluster = Grouping(grouping.keys, [count * self.config.clusters for count in grouping.counts], None)
        tables = limit_length(tables, self.config.projected_constraint)
        gaps = grouped_distance(wanted.flatten(0, 1), tables, by_cluster, self.config.p_norm)  # (b c, n)
        return -(gaps.view(len(anchors), -1, len(table)) + costs[:, :, None]).amin(1)

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the embeddings of each triple, and its entities as projected."""
        rows = look_up(self.entities, heads), look_up(self.entities, tails), look_up(self.relations, relations)
        return *rows, self.project(heads, relations), self.project(tails, relations)

    def learning_rate_factor(self, parameter: str) -> float:
        """Return the factor of matrices; all else has the full rate."""
        return self.config.matrix_lr_factor if parameter.endswith(".weight") else 1.0

    @torch.no_grad()
    def constrain(self, entities: Tensor | None, relations: Tensor | None) -> None:
        """Apply the constraint on entity embeddings."""
        rows = slice(None) if entities is None else entities
        self.entities[rows] = limit_length(self.entities[rows], self.config.entity_constraint)


def find_centres(points: Tensor, count: int) -> Tensor:
    """Return the centres of clusters of points (n, d) by k-means, (count, d); those of too few points are repeated."""
    generator, chosen = torch.Generator("cpu").manual_seed(0), [0]
    for _ in range(1, min(count, len(points) // FEWEST)):  # far from those before (k-means++)
        squares = torch.cdist(points, points[chosen]).amin(1).square() + torch.finfo(points.dtype).tiny
        chosen.append(int(torch.multinomial(squares, 1, generator=generator)))
    centres = points[chosen]
    for _ in range(ROUNDS):
        nearest = torch.cdist(points, centres).argmin(1)
        sums = torch.zeros_like(centres).index_add_(0, nearest, points)
        sizes = torch.bincount(nearest, minlength=len(centres))[:, None]
        centres = torch.where(sizes > 0, sums / sizes.clamp_min(1), centres)
    return centres[torch.arange(count, device=centres.device) % len(centres)]
