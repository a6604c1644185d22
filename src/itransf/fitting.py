"""Training from settings to a fitted model: phases, checkpoints, progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import torch
from torch import Tensor

from itransf.config import CHOOSE, Config, WarmStartConfig
from itransf.data import Graph, Integers, Vocabulary, mine_structure
from itransf.errors import CheckpointError, ConfigError, DivergenceError, name_count
from itransf.evaluation import rank_both, sample_triples
from itransf.memory import estimate_memory, find_peak_memory, sketch_model
from itransf.models import MODELS, Model, ProjectingConcepts
from itransf.progress import current_tracker, noticing_interrupts, track, write_duration
from itransf.records import WEIGHTS
from itransf.registry import TRACKERS
from itransf.storage import RunFolder
from itransf.training import EpochReport, Trainer
from itransf.training.assignment import SHARE, mirror_supports
from itransf.training.fused.choice import COMPILERS, lacks_compiler
from itransf.training.switches import Switch
from itransf.training.trainer import check_values, load_weights, weights

FORECAST_AFTER = 2.0  # seconds of training on which the time that is left is estimated
WEIGHTS_TRIED = (0.004, 0.015, 0.05, 0.1)
TRIED_DIM, TRIED_VISITS = 40, 2_000_000  # dimension, and triples seen in all epochs of a trial, at most
FEWEST_TRIED = 2  # epochs of a trial
_drawing = threading.Lock()  # initial weights are drawn from the random state of the process


def build_model(graph: Graph, config: Config, device: torch.device) -> Model:
    """Return a new model, the same for the same seed on any device."""
    with drawing(config.seed):
        model: Model = MODELS[config.name].build(graph, config.model)
    return model.to(device)


@contextmanager
def drawing(seed: int) -> Iterator[None]:
    """Let initial weights be drawn by a seed while the block runs, which waits for those of other threads."""
    with _drawing, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


@dataclass
class Fit:
    """One training, from the first phase to the best weights.

    Args:
        graph: Graph to train on.
        config: All settings.
        device: Device to train on.
        folder: Folder for checkpoints, if any.
        progress: Whether to show progress.
        start: Initial weights instead of random ones.
        trained_rows: If the initial weights were trained before: the number of rows of each parameter, the first ones,
            that were.

    Attributes:
        is_interrupted: Whether the user interrupted it after the last batch: it is complete, but no other may follow.
    """

    graph: Graph
    config: Config
    device: torch.device
    folder: RunFolder | None = None
    progress: bool = True
    start: dict[str, Tensor] | None = None
    trained_rows: Mapping[str, int] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    is_interrupted: bool = field(default=False, init=False)
    _last_saved: float = field(default_factory=time.monotonic)
    _first_batches: tuple[str, float, int] | None = None  # phase, when its first batches were done, and how many
    _forecast_said: bool = False

    def run(self, resume: bool = False) -> Model:
        """Train, or resume from the folder's checkpoint, and return the model with its best weights.

        Raises:
            ConfigError: The model cannot use the warm start.
            CheckpointError: The checkpoint cannot be restored.
        """
        warm_start, tensors, meta = self.config.warm_start, None, dict[str, Any]()
        if resume and self.folder is not None and self.folder.checkpoints:
            tensors, meta = self.folder.read_checkpoint()
        self.history = meta.get("history", [])
        is_warm = bool(warm_start.epochs) and not warm_start.run
        if (is_warm or warm_start.run) and not MODELS[self.config.name].starts_from:
            key = "run" if warm_start.run else "epochs"
            raise ConfigError(
                f"warm_start.{key} = {getattr(warm_start, key)!r}: the model {self.config.name} cannot start from "
                "another model; leave it out"
            )
        tracker = TRACKERS[self.config.training.tracker]()
        tracker.start(self.config.to_dict(), self.graph.name)
        phase = meta.get("phase", "warm start" if is_warm else "training")
        start = self._read_start() if warm_start.run and tensors is None else None
        with learning(self.config, self.device):
            if phase == "warm start":
                warm = self._make_trainer(warm_config(self.config), None)
                self._run_phase(warm, phase, tensors, meta, tracker.epoch)
                start, tensors = warm.model, None
                del warm  # with the state of its optimizer
            trainer = self._make_trainer(self.config, self.make_validate())
            if tensors is None:
                if start is not None:
                    counts = torch.bincount(trainer.train[:, 1], minlength=start.sizes.relations)
                    trainer.model.start_from(start, counts)
                    start = None  # its memory is free
                if isinstance(trainer.model, ProjectingConcepts) and self.config.assignment.init == "mirrored":
                    mirror_supports(trainer.model, mine_structure(self.graph, SHARE), self.config.seed)
                if self.start is not None:
                    load_weights(trainer.model, self.start)
                if self.trained_rows is not None:
                    trainer.estimate_state(self.trained_rows)
            self._run_phase(trainer, "training", tensors, meta, tracker.epoch)
        trainer.restore_best()
        tracker.finish(trainer.progress.best_metric)
        return trainer.model

    def _make_trainer(self, config: Config, validate: Callable[[Model], float] | None) -> Trainer:
        model = build_model(self.graph, config, self.device)
        return Trainer(model, self.graph, config, validate)

    def _run_phase(
        self,
        trainer: Trainer,
        phase: str,
        tensors: dict[str, Tensor] | None,
        meta: dict[str, Any],
        report_epoch: Callable[[dict[str, Any]], None],
    ) -> None:
        if tensors is not None:
            self._restore(trainer, tensors, meta)
        title = trainer.config.name if phase == "training" else f"{trainer.config.name} ({phase})"
        epochs, done = trainer.config.training.epochs, trainer.progress.epoch
        with track(title, epochs, "epochs", self.progress, done) as tracker, noticing_interrupts() as interrupt:
            for report in trainer.epochs(after_batch=lambda: self._pause(trainer, phase, interrupt)):
                self.history.append(describe_epoch(report, phase))
                report_epoch(self.history[-1])
                best = trainer.progress.best_metric
                seen = f"  valid {self.config.validation.metric} {best:.4g} (best)" if best is not None else ""
                tracker.advance(1, f"loss {report.loss:.4g}{seen}")
                self._save_if_due(trainer, phase, report.epoch)
        self._save(trainer, phase)
        self.is_interrupted = interrupt.is_set()
        if self.is_interrupted and phase == "warm start":  # after its last batch; a training that is over stays so
            raise KeyboardInterrupt

    def _restore(self, trainer: Trainer, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore from a checkpoint; write the new settings to the run folder only after it loaded."""
        assert self.folder is not None, "a checkpoint has a folder"
        try:
            trainer.load_state(tensors, meta["progress"])
            # A finished run continues only if it is given another limit.
            trainer.progress.finished &= meta["limits"] == limits_of(trainer.config)
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{self.folder.path}: its checkpoint cannot be restored ({error}); resume with the settings and the "
                "kind of device it was trained with, or train again"
            ) from None
        self.folder.stage_config(self.config)  # committed with the next checkpoint

    def _pause(self, trainer: Trainer, phase: str, interrupt: Event) -> None:
        """Between two batches: save if a checkpoint is due, or if the user interrupts."""
        self._say_forecast(trainer, phase)
        if interrupt.is_set():
            self._save(trainer, phase)
            raise KeyboardInterrupt
        self._save_if_due(trainer, phase, 0)

    def _say_forecast(self, trainer: Trainer, phase: str) -> None:
        """Say once how long the training will take, measured on its first batches without the very first ones."""
        if self._forecast_said:
            return
        per_epoch = -(-len(trainer.train) // trainer.config.training.batch_size)
        done = trainer.progress.epoch * per_epoch + trainer.progress.batches
        if self._first_batches is None or self._first_batches[0] != phase:
            self._first_batches = phase, time.monotonic(), done
            return
        seconds, measured = time.monotonic() - self._first_batches[1], done - self._first_batches[2]
        if seconds < FORECAST_AFTER or not measured:
            return
        self._forecast_said = True
        epochs = trainer.config.training.epochs + (self.config.training.epochs if phase == "warm start" else 0)
        left = (epochs * per_epoch - done) * seconds / measured
        memory = find_peak_memory(self.device)
        used = f"; {memory / 1e9:,.1f} GB of memory in use" if memory else ""
        current_tracker().say(f"About {write_duration(left)} left, validation not counted{used}")

    def _save_if_due(self, trainer: Trainer, phase: str, epoch: int) -> None:
        """Save if a checkpoint is due by time or by epochs."""
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
        self.folder.write_checkpoint(tensors, meta)

    def make_validate(self) -> Callable[[Model], float] | None:
        """Return a function that computes the validation metric, on a fixed sample.

        Known answers of train and valid are filtered; test triples are never used to select a model.
        """
        if len(self.graph.valid) == 0:
            return None
        triples = sample_triples(self.graph.valid, len(self.graph.entities), self.config.validation.triples)
        known = self.graph.known_in("train", "valid")

        return lambda model: rank_both(model, triples, known)[self.config.validation.metric]

    def _read_start(self) -> Model:
        """Read the parameters of another run into a model of the kind that this one starts from.

        Rows are found by name; those of other names have their usual start.
        """
        other = RunFolder(Path(self.config.warm_start.run))
        other.read_record()  # raises if there is no run
        graph = other.read_graph()
        rows = {
            "entities": match_names(graph.entities, self.graph.entities),
            "relations": match_names(graph.relations, self.graph.relations),
        }
        if 2 * len(rows["entities"]) < len(graph.entities):
            raise ConfigError(
                f"warm_start.run: {other.path} was trained on another graph: of its {len(graph.entities):,} entities, "
                f"{len(rows['entities']):,} are in this one; choose a run on this graph or an earlier state of it"
            )
        tensors, _ = other.read_tensors(WEIGHTS)
        start = build_model(self.graph, warm_config(self.config), self.device)
        for name, table in start.named_parameters():
            places = rows["entities" if table is start.embeddings().get("entities") else "relations"]
            if name not in tensors or tensors[name].shape[1:] != table.shape[1:]:
                found = tuple(tensors[name].shape) if name in tensors else "none"
                raise ConfigError(
                    f"warm_start.run: {other.path} has {name} embeddings of shape {found}, this model needs "
                    f"{tuple(table.shape)} (model.dim = {self.config.model.dim})"
                )
            with torch.no_grad():
                table[places[:, 1]] = tensors[name][places[:, 0]].to(table.device)
        try:
            check_values(weights(start))
        except ValueError as error:
            raise CheckpointError(f"warm_start.run: {other.path}: {error}; choose another run") from None
        return start


def match_names(old: Vocabulary, new: Vocabulary) -> Integers:
    """Return the numbers that each common name has in two vocabularies, (n, 2)."""
    pairs = [(number, new.index(name)) for number, name in enumerate(old) if new.has_name(name)]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def warm_config(config: Config) -> Config:
    """Return the settings of the simpler model that is trained first; what this one lacks has its default."""
    name = MODELS[config.name].starts_from
    kind = MODELS[name].Config
    names = [entry.name for entry in fields(kind) if hasattr(config.model, entry.name)]
    shared = {key: getattr(config.model, key) for key in names}
    negatives = config.negatives
    if config.warm_start.sampler != "same":
        negatives = replace(negatives, sampler=config.warm_start.sampler, domain=0.0)
    return replace(
        config,
        name=name,
        model=kind(**shared),
        negatives=negatives,
        training=replace(
            config.training,
            epochs=config.warm_start.epochs,
            learning_rate=config.warm_start.learning_rate or config.training.learning_rate,
            weight_averaging=0.0,
        ),
    )


def choose_weight(graph: Graph, config: Config, device: torch.device, progress: bool = False) -> Config:
    """Return the settings with a weight of the regularizer, chosen on validation where they ask for it.

    Without validation triples, and on a graph too large for trials of two epochs, a fixed weight is taken.
    """
    if config.regularizer.weight != CHOOSE:
        return config
    visits = TRIED_VISITS // max(len(graph.train), 1)  # epochs
    if len(graph.valid) == 0 or visits < FEWEST_TRIED:
        return set_weight(config, WEIGHTS_TRIED[1])
    first = warm_config(config) if config.warm_start.epochs and MODELS[config.name].starts_from else config
    training = replace(first.training, epochs=min(max(first.training.epochs // 3, FEWEST_TRIED), visits))
    model = replace(first.model, dim=min(first.model.dim, TRIED_DIM)) if hasattr(first.model, "dim") else first.model
    small = replace(first, model=model, training=training, warm_start=WarmStartConfig())
    is_lower_better = config.validation.metric == "mr"
    metrics = list[float]()
    title, trials = "choosing regularizer.weight", len(WEIGHTS_TRIED)
    with learning(config, device), track(title, trials, "trials", progress) as tracker:
        for weight in WEIGHTS_TRIED:
            trial = Fit(graph, set_weight(small, weight), device, progress=False)
            trainer, validate = trial._make_trainer(trial.config, None), trial.make_validate()
            assert validate is not None, "there are validation triples"
            try:
                for _ in trainer.epochs():
                    pass
                metrics.append(validate(trainer.model))
            except DivergenceError:
                metrics.append(float("inf") if is_lower_better else float("-inf"))
            tracker.advance(1, f"{config.validation.metric} {metrics[-1]:.4g} with {weight:g}")
    best = min(metrics) if is_lower_better else max(metrics)
    return set_weight(config, WEIGHTS_TRIED[metrics.index(best)])


def set_weight(config: Config, weight: float) -> Config:
    """Return the settings with this weight of the regularizer."""
    return replace(config, regularizer=replace(config.regularizer, weight=weight))


def describe_plan(graph: Graph, config: Config, device: torch.device, seeds: int = 1) -> str:
    """Return what a training will do, in one line; of an ensemble, what it does for each seed."""
    own = {key: getattr(config.model, key, 0) for key in ("dim", "concepts", "support_size")}
    name = f"{seeds} seeds of {config.name}" if seeds > 1 else config.name
    model = f"{name}, dimension {own['dim']}" if own["dim"] else name
    if own["concepts"] and own["support_size"]:
        model += f", {own['concepts']} concepts, at most {own['support_size']} for a relation"
    epochs, first = name_count(config.training.epochs, "epoch"), config.warm_start.epochs
    if first and not config.warm_start.run:
        epochs = (
            f"{name_count(first, 'epoch')} of {MODELS[config.name].starts_from or 'a simpler model'}, then {epochs}"
        )
    memory = f"about {estimate_memory(graph, config, device) / 1e9:,.1f} GB of memory"
    plan = f"{model}; {epochs} in batches of {config.training.batch_size:,} on {device.type}; {memory}"
    sketch = sketch_model(graph, config)
    if sketch is not None and lacks_compiler(sketch, config, device.type):
        plan += f"; compiled steps need an optional dependency: pip install {COMPILERS[device.type]}"
    return plan


def limits_of(config: Config) -> list[float]:
    """Return the limits that may end a training: epochs, minutes, patience."""
    return [config.training.epochs, config.training.max_minutes, config.validation.patience]


def describe_epoch(report: EpochReport, phase: str) -> dict[str, Any]:
    """Return an epoch as a line of the history."""
    line: dict[str, Any] = {"phase": phase, "epoch": report.epoch, "loss": report.loss, "seconds": report.seconds}
    if report.metric is not None:
        line |= {"metric": report.metric, "best": report.is_best}
    if report.assignment is not None:
        line |= {"changed": report.assignment.changed, "rejected": report.assignment.rejected}
    return line


deterministic = Switch(torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, True)
"""Uses deterministic algorithms on a GPU."""


@contextmanager
def learning(config: Config, device: torch.device) -> Iterator[None]:
    """Let gradients be computed while the block runs, on a GPU by deterministic algorithms if the settings ask so."""
    repeats = config.training.deterministic and device.type == "cuda"
    with torch.inference_mode(False), torch.enable_grad(), deterministic(repeats):
        yield
