"""ITransF over paths."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import relu

from itransf.config import setting
from itransf.errors import ConfigError
from itransf.models.base import SIDES, Side, Sizes, look_up
from itransf.models.itransf import ITransF, ITransFConfig
from itransf.models.paths import STAY, Entries, PathTranslation, find_relations
from itransf.models.projection import ConceptProjection
from itransf.models.ptranse import PTransEConfig
from itransf.ops.distance import distance


@dataclass(frozen=True)
class PITransFConfig(PTransEConfig, ITransFConfig):
    """Settings of ITransF over paths."""

    path_bonus: float = setting(
        4.0, "Bonus b: a path p adds b minus its energy, weighted by its reliability and Pr(r | p)."
    )
    path_attention: Literal["own", "composed"] = setting(
        "composed",
        "own: each path learns its attention; composed: it reuses the head attention of its first relation and the "
        "tail attention of its last.",
    )


class PITransF(PathTranslation, ITransF):
    """-f(h, r, t) + sum_p R(p | h, t) Pr(r | p) (b - f(h, p, t)), over paths p   (Xie et al., 2017).

    f(h, r, t) is ITransF's energy, and f(h, p, t) = |sum_i a_head[p, i] D[i] h + sum_{s in p} s - sum_i a_tail[p, i]
    D[i] t| the paper's energy of a path, for which it plans the same sparse attention. Beside the loss of triples,
    training minimizes the mean by R(p | h, t) of [margin + f(h, p, t) - f(h, p, t')]_+, with the tail t' of another
    triple of the batch.
    """

    Config: ClassVar[type] = PITransFConfig
    config: PITransFConfig
    tuned: ClassVar[tuple[float, float]] = (0.08, 0.002)
    paper = ITransF.paper
    path_projections: Any  # nn.ModuleDict, whose elements have no type

    def __init__(self, sizes: Sizes, config: PITransFConfig) -> None:
        super().__init__(sizes, config)
        rows = sizes.relations * config.paths
        own = (rows, config.support_size, config.temperature, config.attention)
        self.path_projections = torch.nn.ModuleDict(
            {side: ConceptProjection(self.concepts, *own) for side in SIDES if config.path_attention == "own"}
        )

    def smaller_config(self, kept: Any) -> Any:
        """Return the settings of a model with only these concepts; attention of paths cannot be merged."""
        if self.path_projections:
            raise ConfigError("concepts cannot be merged or pruned with model.path_attention = own; train composed")
        return super().smaller_config(kept)

    @torch.no_grad()
    def match_supports(self, side: Side) -> None:
        """Give paths the supports of the relations at their ends, which assignment steps and edits change."""
        relation, is_back = self.find_ends(side)
        heads, tails = (self.supports(each)[relation] for each in (SIDES if side == "head" else SIDES[::-1]))
        self.path_projections[side].support.copy_(torch.where(is_back[:, None], tails, heads))

    def find_ends(self, side: Side) -> tuple[Tensor, Tensor]:
        """Return the relation at one end of each path, and whether it is read backwards, (r p,)."""
        first, second = self.paths.flatten(0, 1).unbind(1)
        steps = first if side == "head" else torch.where(second == STAY, first, second)
        return find_relations(steps), steps % 2 == 1

    def project_ends(self, paths: Tensor, entities: Tensor, side: Side) -> Tensor:
        """Return entities as their paths (n,), numbered over all relations, project them on `side`, (n, d).

        Every distinct pair is projected once.
        """
        pairs, places = torch.unique(paths * self.sizes.entities + entities, return_inverse=True)
        paths, entities = pairs // self.sizes.entities, pairs % self.sizes.entities
        if self.path_projections:
            self.match_supports(side)
            vectors = self.path_projections[side](look_up(self.entities, entities), paths)
            return self.limit_projected(vectors)[places]
        relations, is_back = (each[paths] for each in self.find_ends(side))
        found = self.entities.new_empty(len(pairs), self.config.dim)
        for back in (False, True):
            rows = (is_back == back).nonzero().squeeze(1)
            at = SIDES[(side == "tail") != back]
            found = found.index_copy(0, rows, self.project(entities[rows], relations[rows], at))
        return found[places]

    def path_energies(self, relations: Tensor, entries: Entries, tails: Tensor) -> Tensor:
        """Return f(h, p, t) of each path, with these tails (n,), (n,)."""
        paths = relations[entries.rows] * self.paths.shape[1] + entries.slots
        heads = self.project_ends(paths, entries.heads, "head")
        vectors = self.slot_vectors(relations[entries.rows], entries.slots)
        return distance(heads + vectors - self.project_ends(paths, tails, "tail"), self.config.p_norm)

    def path_values(self, relations: Tensor, entries: Entries) -> Tensor:
        """Return Pr(r | p) (b - f(h, p, t)), (n,)."""
        confidence = self.confidence[relations[entries.rows], entries.slots]
        return confidence * (self.config.path_bonus - self.path_energies(relations, entries, entries.tails))

    def penalty(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor | None:
        """Return the loss of paths and the penalty of the attention, if any."""
        entries, others = self.connect(heads, relations, tails), tails.roll(len(tails) // 2)
        near, far = (self.path_energies(relations, entries, ends[entries.rows]) for ends in (tails, others))
        losses = relu(self.config.path_margin + near - far)
        own = self.config.path_weight * self.mean_of_paths(losses, entries, len(heads))
        attention = super().penalty(heads, relations, tails)
        return own if attention is None else own + attention
