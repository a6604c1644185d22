"""PTransE."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import relu

from itransf.config import setting
from itransf.models.base import Paper
from itransf.models.paths import Entries, PathConfig, PathTranslation
from itransf.models.translation import TranslationConfig
from itransf.ops.distance import distance


@dataclass(frozen=True)
class PTransEConfig(PathConfig, TranslationConfig):
    """Settings of PTransE beside those of the family."""

    paths: int = setting(10, "Maximum number of paths of a relation: those that connect its training pairs best.")
    path_bonus: float = setting(2.0, "Bonus b: a path p adds b - |p - r|, weighted by its reliability and Pr(r | p).")
    path_margin: float = setting(1.0, "Margin between the right relation of a path and another one in its loss.")
    path_weight: float = setting(0.1, "Weight of the loss of paths.")


class PTransE(PathTranslation):
    """-|h + r - t| + sum_p R(p | h, t) Pr(r | p) (b - |p - r|), over paths p from h to t   (Lin et al., 2015).

    A path's vector p is the sum of the vectors of its steps (the paper's composition by addition, at most two links);
    a step backwards has the opposite vector. Beside the loss of triples, training minimizes that of paths: the mean by
    R(p | h, t) of [margin + |p - r| - |p - r'|]_+, with another relation r' of the batch.
    """

    Config: ClassVar[type] = PTransEConfig
    config: PTransEConfig
    paper: ClassVar[Paper | None] = Paper(
        "Modeling Relation Paths for Representation Learning of Knowledge Bases",
        "Lin, Liu, Luan, Sun, Rao, Liu",
        "EMNLP 2015",
        "https://aclanthology.org/D15-1082",
    )

    def path_values(self, relations: Tensor, entries: Entries) -> Tensor:
        """Return Pr(r | p) (b - |p - r|), (n,)."""
        distinct, places = torch.unique(relations, return_inverse=True)
        gaps = self.path_vectors(distinct) - self.translate(distinct)[:, None]  # (u, p, d)
        values = self.confidence[distinct] * (self.config.path_bonus - distance(gaps, self.config.p_norm))
        return values[places[entries.rows], entries.slots]

    def penalty(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor | None:
        """Return the loss of paths; the other relation of a triple is that of the triple half a batch away."""
        entries, others = self.connect(heads, relations, tails), relations.roll(len(relations) // 2)
        count = self.paths.shape[1]
        kinds = (relations * self.sizes.relations + others)[entries.rows] * count + entries.slots
        kinds, places = torch.unique(kinds, return_inverse=True)  # a path's loss depends on these alone
        own, other = kinds // count // self.sizes.relations, kinds // count % self.sizes.relations
        vectors = self.slot_vectors(own, kinds % count)
        near, far = (distance(vectors - self.translate(each), self.config.p_norm) for each in (own, other))
        losses = relu(self.config.path_margin + near - far) * (own != other)
        return self.config.path_weight * self.mean_of_paths(losses[places], entries, len(heads))
