"""rTransE."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn.functional import relu

from itransf.config import setting
from itransf.models.base import Paper, look_up
from itransf.models.paths import PathConfig, StepVectors
from itransf.models.translation import TranslationConfig
from itransf.ops.distance import distance


@dataclass(frozen=True)
class RTransEConfig(PathConfig, TranslationConfig):
    """Settings of rTransE beside those of the family."""

    path_margin: float = setting(1.0, "Margin between the tail of a path and another one in the loss of paths.")
    path_weight: float = setting(0.1, "Weight of the loss of paths.")
    composition_weight: float = setting(0.1, "Weight of the distance of a path from its relation, in that loss.")


class RTransE(StepVectors):
    """-|h + r - t|, trained to have -|h + r1 + r2 - t| high for paths, too   (Garcia-Duran et al., 2015).

    The loss of paths p = r1 + r2 between the ends of training triples is added to that of triples: the mean by
    R(p | h, t) of [margin + |h + p - t| - |h + p - t'|]_+ + c |p - r|, with the tail t' of another triple of the batch.
    """

    Config: ClassVar[type] = RTransEConfig
    config: RTransEConfig
    paper: ClassVar[Paper | None] = Paper(
        "Composing Relationships with Translations",
        "Garcia-Duran, Bordes, Usunier",
        "EMNLP 2015",
        "https://aclanthology.org/D15-1034",
    )

    def penalty(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor | None:
        """Return the loss of paths; the other tail is that of the triple half a batch away."""
        entries, norm = self.connect(heads, relations, tails), self.config.p_norm
        paths = self.slot_vectors(relations[entries.rows], entries.slots)
        ends = look_up(self.entities, heads)[entries.rows] + paths
        near, far = (
            distance(ends - look_up(self.entities, others)[entries.rows], norm)
            for others in (tails, tails.roll(len(tails) // 2))
        )
        apart = distance(paths - self.translate(relations)[entries.rows], norm)
        losses = relu(self.config.path_margin + near - far) + self.config.composition_weight * apart
        return self.config.path_weight * self.mean_of_paths(losses, entries, len(heads))
