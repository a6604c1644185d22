"""Training from settings to a fitted model: phases, checkpoints, progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import torch
from torch import Tensor

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.data.leakage import mine_structure
from itransf.errors import CheckpointError, ConfigError
from itransf.evaluation import rank_triples, summarise
from itransf.models import MODELS, SIDES, ITransF, Model, Sizes
from itransf.models.translation import TranslationConfig
from itransf.progress import noticing_interrupts, track
from itransf.storage import CHECKPOINT, WEIGHTS, RunFolder
from itransf.training import EpochReport, Trainer
from itransf.training.mirroring import SHARE, mirror_supports
from itransf.training.trainer import load_weights

_drawing = threading.Lock()  # the random state that first weights are drawn from is the whole process's


def build_model(graph: Graph, config: Config, device: torch.device) -> Model:
    """Return a fresh model, the same for the same seed on any device."""
    with _drawing, torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = MODELS[config.name](Sizes(len(graph.entities), len(graph.relations)), config.model)
    return model.to(device)


@dataclass
class Fit:
    """One training, from the first phase to the best weights.

    Args:
        graph: What is learned.
        config: All settings.
        device: Where.
        folder: Where checkpoints go, if anywhere.
        progress: Whether to show it.
        start: Weights to start from, if not from random ones.
    """

    graph: Graph
    config: Config
    device: torch.device
    folder: RunFolder | None = None
    progress: bool = True
    start: dict[str, Tensor] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    _last_saved: float = field(default_factory=time.monotonic)

    def run(self, resume: bool = False) -> Model:
        """Train (or go on from the folder's checkpoint) and return the model with its best weights."""
        tensors, meta = self._read_checkpoint() if resume else (None, {})
        self.history = meta.get("history", [])
        warm_start = self.config.warm_start
        phase = meta.get("phase", "warm start" if warm_start.epochs and not warm_start.run else "training")
        start = self._read_vectors() if warm_start.run and tensors is None else None
        repeats = self.config.training.deterministic and self.device.type == "cuda"
        with torch.inference_mode(False), torch.enable_grad(), deterministic(repeats):
            if phase == "warm start":
                warm = self._make_trainer(warm_config(self.config), None)
                self._run_phase(warm, phase, tensors, meta)
                start, tensors = vectors_of(warm.model), None
            trainer = self._make_trainer(self.config, self._make_validate())
            if start is not None and tensors is None:
                load_vectors(trainer.model, start)
            if isinstance(trainer.model, ITransF) and tensors is None:
                self._choose_supports(trainer.model)
            if self.start is not None and tensors is None:
                load_weights(trainer.model, self.start)
            self._run_phase(trainer, "training", tensors, meta)
        trainer.restore_best()
        return trainer.model

    def _choose_supports(self, model: ITransF) -> None:
        """Replace the supports that were drawn at random, where the settings say so."""
        if self.config.assignment.init == "mirrored":
            mirror_supports(model, mine_structure(self.graph, SHARE), self.config.seed)

    def _make_trainer(self, config: Config, validate: Callable[[Model], float] | None) -> Trainer:
        model = build_model(self.graph, config, self.device)
        return Trainer(model, self.graph, config, validate, lower_is_better=config.validation.metric == "mr")

    def _run_phase(self, trainer: Trainer, phase: str, tensors: dict[str, Tensor] | None, meta: dict[str, Any]) -> None:
        if tensors is not None:
            self._take_up(trainer, tensors, meta)
        title = trainer.config.name if phase == "training" else f"{trainer.config.name} ({phase})"
        epochs, done = trainer.config.training.epochs, trainer.progress.epoch
        with track(title, epochs, "epochs", self.progress, done) as tracker, noticing_interrupts() as interrupt:
            for report in trainer.epochs(after_batch=lambda: self._pause(trainer, phase, interrupt)):
                self.history.append(describe_epoch(report, phase))
                tracker.advance(1, self._note(trainer, report))
                self._save_if_due(trainer, phase, report.epoch)
        self._save(trainer, phase)
        if interrupt.is_set() and phase == "warm start":  # after its last batch; a training that is over stays so
            raise KeyboardInterrupt

    def _take_up(self, trainer: Trainer, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Go on from a checkpoint; only once it is known to fit does the folder learn of settings that changed."""
        assert self.folder is not None, "a checkpoint has a folder"
        try:
            trainer.load_state(tensors, meta["progress"])
            # A run that ended goes on only if it is now given another limit.
            trainer.progress.finished &= meta["limits"] == limits_of(trainer.config)
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{self.folder.path}: its checkpoint cannot be taken up here ({error}); go on with the settings and "
                "the kind of device it was trained with, or train anew"
            ) from None
        self.folder.write_config(self.config)

    def _pause(self, trainer: Trainer, phase: str, interrupt: Event) -> None:
        """Between two batches: save if it is time, or if the user wants to stop."""
        if interrupt.is_set():
            self._save(trainer, phase)
            raise KeyboardInterrupt
        self._save_if_due(trainer, phase, 0)

    def _note(self, trainer: Trainer, report: EpochReport) -> str:
        best = trainer.progress.best_metric
        seen = f"  valid {self.config.validation.metric} {best:.4g} (best)" if best is not None else ""
        return f"loss {report.loss:.4g}{seen}"

    def _save_if_due(self, trainer: Trainer, phase: str, epoch: int) -> None:
        """Save when the minutes are up, or after an epoch whose number is due."""
        settings = self.config.checkpoint
        by_time = bool(settings.minutes) and time.monotonic() - self._last_saved >= 60 * settings.minutes
        by_epoch = bool(settings.epochs and epoch) and epoch % settings.epochs == 0
        if by_time or by_epoch:
            self._save(trainer, phase)

    def _save(self, trainer: Trainer, phase: str) -> None:
        self._last_saved = time.monotonic()
        if self.folder is None:
            return
        tensors, progress = trainer.state()
        limits = limits_of(trainer.config)
        meta = {"phase": phase, "progress": progress, "limits": limits, "history": self.history}
        self.folder.write_tensors(CHECKPOINT, tensors, meta)
        self.folder.remove(WEIGHTS)  # of a training that ended before: the checkpoint knows better now
        self.folder.write_history(self.history)

    def _read_checkpoint(self) -> tuple[dict[str, Tensor] | None, dict[str, Any]]:
        if self.folder is None or not self.folder.has_checkpoint:
            return None, {}
        return self.folder.read_tensors(CHECKPOINT)

    def _make_validate(self) -> Callable[[Model], float] | None:
        """Return what looks at the validation triples (always the same sample of them)."""
        triples, limit = self.graph.valid, self.config.validation.triples
        if len(triples) == 0:
            return None
        if limit and limit < len(triples):
            triples = triples[np.sort(np.random.default_rng(0).permutation(len(triples))[:limit])]

        def validate(model: Model) -> float:
            ranks = rank_triples(model, triples, self.graph.known)
            found = np.concatenate([ranks.ranks(side) for side in SIDES])
            return summarise(found, ranks.rivals[0].reshape(-1))[self.config.validation.metric]

        return validate

    def _read_vectors(self) -> dict[str, Tensor]:
        """Take the vectors of another run on the same graph."""
        other = RunFolder(Path(self.config.warm_start.run))
        other.read_record()  # says so where there is no run
        graph = other.read_graph()
        if graph.entities.names != self.graph.entities.names or graph.relations.names != self.graph.relations.names:
            raise ConfigError(f"warm_start.run: {other.path} was trained on another graph; choose a run on this one")
        tensors, _ = other.read_tensors(WEIGHTS)
        wanted = (len(self.graph.entities), self.config.model.dim)
        if tuple(tensors["entities"].shape) != wanted:
            raise ConfigError(
                f"warm_start.run: {other.path} has vectors of length {tensors['entities'].shape[1]}, "
                f"but model.dim is {self.config.model.dim}"
            )
        return {name: tensors[name] for name in ("entities", "relations")}


def warm_config(config: Config) -> Config:
    """Return the settings of the epochs of a simpler model that come first."""
    shared = {key: getattr(config.model, key) for key in TranslationConfig.__dataclass_fields__}
    negatives = config.negatives
    if config.warm_start.sampler != "same":
        negatives = replace(negatives, sampler=config.warm_start.sampler, domain=0.0)
    return replace(
        config,
        name="transe",
        model=TranslationConfig(**shared),
        negatives=negatives,
        training=replace(
            config.training,
            epochs=config.warm_start.epochs,
            learning_rate=config.warm_start.learning_rate or config.training.learning_rate,
            weight_averaging=0.0,
        ),
    )


def limits_of(config: Config) -> list[float]:
    """Return what may end a training: epochs, minutes, patience."""
    return [config.training.epochs, config.training.max_minutes, config.validation.patience]


def vectors_of(model: Model) -> dict[str, Tensor]:
    """Return copies of a model's entity and relation vectors."""
    return {name: model.get_parameter(name).detach().clone() for name in ("entities", "relations")}


@torch.no_grad()
def load_vectors(model: Model, vectors: dict[str, Tensor]) -> None:
    """Start a model from these entity and relation vectors."""
    for name, tensor in vectors.items():
        model.get_parameter(name).copy_(tensor)


def describe_epoch(report: EpochReport, phase: str) -> dict[str, Any]:
    """Return an epoch as a line of the history."""
    line: dict[str, Any] = {
        "phase": phase,
        "epoch": report.epoch,
        "loss": report.loss,
        "seconds": report.seconds,
    }
    if report.metric is not None:
        line |= {"metric": report.metric, "best": report.is_best}
    if report.assignment is not None:
        line |= {"changed": report.assignment.changed, "rejected": report.assignment.rejected}
    return line


_turning = threading.Lock()
_before: list[bool] = []  # what each of those that ask for the same bits now found, the first one first


@contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """Ask the GPU for the same bits every time while the block runs, in any thread: the last to leave lets go."""
    if not wanted:
        yield
        return
    with _turning:
        _before.append(torch.are_deterministic_algorithms_enabled())
        torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        with _turning:  # whoever came first found what has to be there in the end
            last = _before.pop()
            torch.use_deterministic_algorithms(last)
