"""TransD."""

import torch
from torch import Tensor, nn

from itransf.models.base import Model, Paper, Sizes, look_up
from itransf.models.projection import Projection
from itransf.models.translation import Translation, TranslationConfig
from itransf.ops.distance import limit_length

SCALE = 0.1  # standard deviation of initial projection vectors, so that projections start near the identity


class TransD(Translation):
    """-|P(h) + r - P(t)|, P(v) = v + (v' . v) r' with projection vectors v' and r'   (Ji et al., 2015).

    The space of relations has the dimension of that of entities. A row of the table of entities holds v, then v'.
    """

    paper = Paper(
        "Knowledge Graph Embedding via Dynamic Mapping Matrix",
        "Ji, He, Xu, Liu, Zhao",
        "ACL 2015",
        "https://aclanthology.org/P15-1067",
    )

    def __init__(self, sizes: Sizes, config: TranslationConfig) -> None:
        super().__init__(sizes, config)
        drawn = SCALE * torch.randn(sizes.entities, config.dim, device="cpu")
        self.entities = nn.Parameter(torch.cat([self.entities.detach(), drawn], dim=1))
        self.project_head = self.project_tail = DynamicProjection(sizes.relations, config.dim)

    def limit_entities(self, rows: Tensor) -> Tensor:
        """Apply the constraint on entity embeddings, which are the first half of each row."""
        vectors, others = rows.chunk(2, dim=1)
        return torch.cat([limit_length(vectors, self.config.entity_constraint), others], dim=1)

    def entity_vectors(self) -> Tensor:
        """Return the first vector of each entity, (e, d)."""
        return self.entities.detach()[:, : self.config.dim]

    @torch.no_grad()
    def start_from(self, model: Model, counts: Tensor) -> None:
        """Start with the embeddings of TransE; projection vectors keep their random start."""
        tables = model.embeddings()
        self.entities[:, : self.config.dim] = tables["entities"]
        self.relations.copy_(tables["relations"])


class DynamicProjection(Projection):
    """Adds a multiple of a relation's projection vector, by the product of an entity's two vectors."""

    def __init__(self, relations: int, dim: int) -> None:
        super().__init__()
        self.vectors = nn.Parameter(SCALE * torch.randn(relations, dim, device="cpu"))

    def forward(self, vectors: Tensor, relations: Tensor) -> Tensor:
        """Return v + (v' . v) r' for each row (b, 2 d), (b, d)."""
        own, others = vectors.chunk(2, dim=-1)
        return own + (own * others).sum(-1, keepdim=True) * look_up(self.vectors, relations)

    def project_table(self, table: Tensor, relations: Tensor) -> Tensor:
        """Return each row of a table (n, 2 d) as each relation (u,) projects it, (u, n, d)."""
        own, others = table.chunk(2, dim=1)
        return own + (own * others).sum(1, keepdim=True) * look_up(self.vectors, relations)[:, None]
