"""What has to be trained or measured: a job each, told apart by what it is made of, not by who asks for it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from itransf.config import Config, assignments_layer, build_config
from itransf.presets import list_presets, read_preset
from itransf.run.settings import flatten

STAND_INS = {"wn18": "world", "fb15k": "planted", "wn18rr": "world", "fb15k-237": "planted"}
"""The bundled graphs a quick version uses instead of the published ones."""

QUICK = {
    "training.epochs": 40,
    "training.batch_size": 100,
    "training.block_size": 1,
    "training.learning_rate": 0.01,
    "warm_start.epochs": 20,
    "warm_start.learning_rate": 0.01,
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
"""What a quick version makes of the settings that a preset gives; what a preset does not give stays as it is."""

HARMLESS = ("checkpoint.",)
"""How settings begin that change how safely something is trained, not what comes out."""
LONGEST = 150  # letters of a file's name before its settings are told by a checksum


@dataclass(frozen=True)
class Job:
    """One training, or one thing that is measured without any.

    Attributes:
        dataset: The graph's name.
        preset: The settings it starts from; empty where nothing is trained.
        settings: Strings such as "model.concepts=18" that override the preset.
        seed: Of the training.
        method: What is done: a key of `methods.METHODS`.
        options: Strings such as "atoms=30" for the method itself.
        quick: Whether the preset is cut down to minutes first.
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

    @property
    def key(self) -> str:
        """The name of its result and its run folder; the same for whoever needs the same thing."""
        return f"{self.row_key}-seed{self.seed}" if self.preset else self.row_key

    @property
    def row_key(self) -> str:
        """What it shares with the same job of other seeds."""
        folder, _, row = self.preset.partition("/")
        parts = ["quick"] if self.quick else []
        parts += [self.dataset, *([folder] if folder not in ("", self.dataset) else []), row]
        parts += [self.method] if self.method != "train" else []
        named = "-".join(part for part in parts if part)
        made_of = "+".join([named, *(text for text in self.settings if not text.startswith(HARMLESS)), *self.options])
        plain = re.sub(r"[^\w.=+-]", "_", made_of)
        if len(plain) <= LONGEST:
            return plain
        return f"{named}+{hashlib.sha256(made_of.encode()).hexdigest()[:12]}"

    @property
    def all_settings(self) -> tuple[str, ...]:
        """Everything that overrides the preset, the cuts of a quick version first."""
        return (*self._cuts(), *self.settings)

    def _cuts(self) -> tuple[str, ...]:
        given = flatten(read_preset(self.preset).content) if self.quick and self.preset else {}
        return tuple(f"{key}={value}" for key, value in QUICK.items() if key in given)

    @property
    def words(self) -> tuple[str, ...]:
        """The command that trains the same again, word by word."""
        chosen = (word for setting in self.all_settings for word in ("--set", setting))
        return ("itransf", "train", self.dataset, "--preset", self.preset, *chosen, "--seed", str(self.seed))

    @property
    def training(self) -> Job:
        """The training that a method starts from, without what the method does to it."""
        return replace(self, method="train", options=())

    def resolve(self) -> Config:
        """Return all settings of the training."""
        chosen = (*self.all_settings, f"seed={self.seed}")
        return build_config([read_preset(self.preset), assignments_layer(chosen)])

    def to_dict(self) -> dict[str, Any]:
        """Return what it is made of, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Scope:
    """How much is asked for.

    Attributes:
        quick: A version of minutes, on small bundled graphs.
        seeds: Of each training; without any, as many as a stage thinks right.
        settings: Strings such as "training.epochs=5" that override all else in every training.
    """

    quick: bool = False
    seeds: tuple[int, ...] = ()
    settings: tuple[str, ...] = ()

    def data(self, name: str) -> str:
        """Return the graph that stands for a published one."""
        return STAND_INS[name] if self.quick else name

    def title(self, name: str) -> str:
        """Return what people call the graph that stands for a published one."""
        titles = {"wn18": "WN18", "fb15k": "FB15k", "wn18rr": "WN18RR", "fb15k-237": "FB15k-237"}
        return self.data(name) if self.quick else titles[name]

    def make_job(self, preset: str, *settings: str, **others: Any) -> Job:
        """Return the training of a preset on its graph, or on what stands for it.

        Args:
            preset: Such as "wn18/itransf".
            settings: Strings that override the preset.
            others: Further fields of the job.
        """
        dataset = self.data(preset.partition("/")[0])
        return Job(dataset, preset, (*settings, *self.settings), quick=self.quick, **others)

    def make_variants(self, preset: str, variants: Mapping[str, tuple[str, ...]]) -> dict[str, Job]:
        """Return the trainings of a preset's variants, which are validated only, by what they are called.

        Args:
            preset: Such as "wn18/itransf".
            variants: What each of them sets.
        """
        return {words: self.make_job(preset, *settings, method="validate") for words, settings in variants.items()}

    def make_measure(self, name: str, method: str) -> Job:
        """Return what is measured on a graph, or on what stands for it, without training."""
        return Job(self.data(name), method=method, quick=self.quick)

    def repeat(self, jobs: list[Job], usual: int) -> list[Job]:
        """Return the jobs with every seed; all jobs of one seed come before those of the next.

        Args:
            jobs: Of any seed; those without training are there once.
            usual: How many seeds, where none were asked for.
        """
        seeds = self.seeds or tuple(range(usual))
        trained = [job for job in jobs if job.preset]
        return [job for job in jobs if not job.preset] + [replace(job, seed=seed) for seed in seeds for job in trained]


def find_preset(dataset: str, model: str) -> tuple[str, tuple[str, ...]]:
    """Return the preset of a registered model and what to change in it.

    A model without a preset of its own is trained as STransE is, the closest one that has one.
    """
    own = f"{dataset}/{model}"
    return (own, ()) if own in list_presets() else (f"{dataset}/stranse", (f"model.name={model}",))
