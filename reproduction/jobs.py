"""Jobs: one training, or one measurement without training, identified by its settings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from itransf.config import Config, assignments_layer, build_config
from itransf.presets import read_preset
from itransf.run.settings import flatten

QUICK_GRAPHS = {"wn18": "world", "fb15k": "planted", "wn18rr": "world", "fb15k-237": "planted"}
"""The bundled graphs that replace the published ones in a quick version."""
QUICK = {
    "training.epochs": 40,
    "training.batch_size": 100,
    "training.block_size": 1,
    "warm_start.epochs": 20,
    "model.dim": 20,
    "model.concepts": 12,
    "model.support_size": 3,
    "negatives.per_triple": 8,
    "negatives.shared": "false",  # which has no fused step on a CPU
    "assignment.triples": 100,
    "assignment.every": 5,
    "assignment.start": 5,
    "validation.every": 10,
}
"""Settings of a quick version; a setting that a preset does not give is left alone."""
QUICK_RATES = {"sgd": 0.1, "adagrad": 0.1, "adam": 0.01}
"""Learning rates of a quick version, for the optimiser that the preset has."""
HARMLESS = ("checkpoint.",)
"""Prefixes of settings that do not change the result."""
LONGEST = 150  # characters of a file name; longer lists of settings are replaced by a checksum


@dataclass(frozen=True)
class Job:
    """One training, or one measurement without training.

    Attributes:
        dataset: Name of the graph.
        preset: Settings to start from; empty where nothing is trained.
        settings: Overrides such as "model.concepts=18".
        seed: Random seed of the training.
        method: Key of `methods.METHODS`.
        options: Arguments of the method such as "atoms=30".
        quick: Whether the preset is cut down to minutes.
    """

    dataset: str
    preset: str = ""
    settings: tuple[str, ...] = ()
    seed: int = 0
    method: str = "train"
    options: tuple[str, ...] = ()
    quick: bool = False

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Job:
        """Return the job that `to_dict` described."""
        return cls(**{**fields, "settings": tuple(fields["settings"]), "options": tuple(fields["options"])})

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, ready for JSON."""
        return asdict(self)

    @property
    def key(self) -> str:
        """Name of the result file and of the run folder."""
        return f"{self.row_key}-seed{self.seed}" if self.preset else self.row_key

    @property
    def row_key(self) -> str:
        """Part of the key that all seeds share."""
        folder, _, row = self.preset.partition("/")
        parts = ["quick"] if self.quick else []
        parts += [self.dataset, *([folder] if folder not in ("", self.dataset) else []), row]
        parts += [self.method] if self.method != "train" else []
        name = "-".join(part for part in parts if part)
        text = "+".join([name, *(each for each in self.settings if not each.startswith(HARMLESS)), *self.options])
        plain = re.sub(r"[^\w.=+-]", "_", text)
        return plain if len(plain) <= LONGEST else f"{name}+{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @property
    def all_settings(self) -> tuple[str, ...]:
        """All overrides of the preset, those of a quick version first."""
        return (*self._cuts(), *self.settings)

    def _cuts(self) -> tuple[str, ...]:
        if not (self.quick and self.preset):
            return ()
        given = flatten(read_preset(self.preset).content)
        rate = QUICK_RATES[given.get("training.optimizer", "sgd")]
        cuts = {**QUICK, "training.learning_rate": rate, "warm_start.learning_rate": rate}
        return tuple(f"{key}={value}" for key, value in cuts.items() if given.get(key))  # zero switches a part off

    @property
    def command(self) -> tuple[str, ...]:
        """The words of the command that trains the same model."""
        chosen = (word for setting in self.all_settings for word in ("--set", setting))
        return ("itransf", "train", self.dataset, "--preset", self.preset, *chosen, "--seed", str(self.seed))

    @property
    def training(self) -> Job:
        """The training that a method starts from."""
        return replace(self, method="train", options=())

    @property
    def timing(self) -> Job:
        """The measurement of how long an epoch of this training takes."""
        kept = tuple(each for each in self.settings if not each.startswith("training.epochs="))
        return replace(self, method="timing", settings=kept, seed=0)

    def resolve(self) -> Config:
        """Return all settings of the training."""
        chosen = (*self.all_settings, f"seed={self.seed}")
        return build_config([read_preset(self.preset), assignments_layer(chosen)])
