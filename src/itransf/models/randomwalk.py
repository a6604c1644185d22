"""Random-walk path features."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from itransf.models.base import Defaults, Paper, Part, Pool, Side, Sizes, Split, look_up
from itransf.models.distmult import ADAGRAD
from itransf.models.paths import Entries, PathConfig, PathModel


class RandomWalk(PathModel):
    """b[r] + sum_p w[r,p] P(h -p-> t), over paths p   (Wei et al., 2016).

    P is the probability that a random walk from h along the relations of p ends in t. The linear model of the path
    ranking algorithm (Lao et al., 2011); walks are counted exactly instead of sampled.
    """

    Config: ClassVar[type] = PathConfig
    config: PathConfig
    paper: ClassVar[Paper | None] = Paper(
        "Mining Inference Formulas by Goal-Directed Random Walks",
        "Wei, Zhao, Liu",
        "EMNLP 2016",
        "https://aclanthology.org/D16-1145",
    )
    chosen: ClassVar[Defaults] = {  # a linear model needs few epochs
        "training": {**ADAGRAD, "epochs": 8, "learning_rate": 0.3},
        "validation": {"every": 2},
    }

    def __init__(self, sizes: Sizes, config: PathConfig) -> None:
        super().__init__(sizes, config)
        self.relations = nn.Parameter(torch.zeros(sizes.relations, config.paths + 1, device="cpu"))  # the bias is last

    def direct(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the bias of each relation, (b,)."""
        return look_up(self.relations, relations)[:, -1]

    def direct_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the bias of each relation for all entities of the pool, (b, n)."""
        count = self.sizes.entities if pool.entities is None else len(pool.entities)
        return look_up(self.relations, relations)[:, -1:].expand(-1, count)

    def split_direct(self, triples: Tensor) -> Split:
        """Return the bias as a part."""
        values = self.direct(*triples.unbind(1)).double()
        return Split((Part("relation", None, None),), values[:, None], values)

    def path_values(self, relations: Tensor, entries: Entries) -> Tensor:
        """Return the weight of each path, (n,)."""
        return look_up(self.relations, relations)[entries.rows, entries.slots]

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the weights of each triple's relation."""
        return (look_up(self.relations, relations),)
