"""Training a run, from the beginning or from a checkpoint, and opening a saved one."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from itransf.config import CHOOSE, Config
from itransf.data.datasets import load
from itransf.data.graph import Graph, NamedTriples
from itransf.data.layout import Remark
from itransf.errors import CheckpointError, ConfigError, RunError, check_count
from itransf.fitting import Fit, build_model, choose_weight, describe_plan, set_weight
from itransf.memory import check_memory, sketch_weights
from itransf.models.base import Model
from itransf.records import WEIGHTS, Manifest, RunRecord, hash_graph, name_member, read_manifest, write_manifest
from itransf.run.ensemble import EnsembleRun, begin_members
from itransf.run.run import Run
from itransf.run.settings import (
    CHANGEABLE,
    Device,
    Given,
    check_settings,
    choose_device,
    flatten,
    read_layers,
    resolve_config,
)
from itransf.storage import RunFolder
from itransf.training.trainer import Progress, check_values, load_weights

_ATTEMPTS = 100  # to open a run that another process replaces meanwhile
_FEW_ELEMENTS = 1_000_000  # of a tensor, which may be created in any case


def train(
    graph: Graph | str | Path | NamedTriples,
    preset: str | None = None,
    config: Given = None,
    settings: Sequence[str] = (),
    *,
    seed: int | None = None,
    seeds: int = 1,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    device: Device = "auto",
    progress: bool = True,
    calibrate: bool = True,
) -> Run:
    """Train a model.

    Args:
        graph: Graph, or anything that `itransf.load` accepts.
        preset: Name of a preset, such as "wn18/itransf"; by default settings are chosen by the size of the graph.
        config: Settings that override those: a TOML file, a nested mapping, or the config of another run.
        settings: Strings such as "training.epochs=50" that override all others.
        seed: Random seed; overrides the one in the settings.
        seeds: Number of models to train, with the seeds `seed`, `seed` + 1 and so on. More than one make an ensemble,
            which is a run that ranks by the mean of their normalized scores; its `members` are runs.
        out: Run folder for checkpoints and the result; by default nothing is written.
        resume: Whether to resume from the checkpoint in `out`, or start if there is none yet.
        overwrite: Whether to replace the run in `out`.
        device: "auto", "cpu", "cuda" or "cuda:1", or a torch device.
        progress: Whether to say what is trained, and to show progress.
        calibrate: Whether to fit probabilities on validation triples at the end, which ranks many of them.

    Raises:
        ConfigError: A setting is wrong, or `resume` is given without `out`.
        CheckpointError: `out` holds a run already, or one that cannot be resumed with these settings.
    """
    if resume and out is None:
        raise ConfigError("there is no run to resume; give its folder as out")
    seeds = check_count("seeds", seeds, least=1)
    chosen = [*check_settings(settings), *([f"seed={seed}"] if seed is not None else [])]
    place = choose_device(device)
    given, options = (preset, config, chosen), {"resume": resume, "overwrite": overwrite, "calibrate": calibrate}
    check_beginning(given, out, resume=resume, overwrite=overwrite)
    folder = None if out is None else RunFolder(Path(out))
    triples = graph if isinstance(graph, Graph) else load(graph, progress=progress)
    if seeds > 1:
        return train_ensemble(triples, seeds, folder, given, device=place, progress=progress, **options)
    return train_one(triples, folder, given, device=place, progress=progress, **options)


def check_beginning(
    given: tuple[str | None, Given, Sequence[str]], out: str | Path | None, *, resume: bool, overwrite: bool
) -> None:
    """Refuse a misspelt preset or model, and a folder that is in use, before the data are read."""
    read_layers(*given)
    if out is not None and not resume:
        RunFolder(Path(out)).check_free(overwrite)


def train_one(
    graph: Graph,
    folder: RunFolder | None,
    given: tuple[str | None, Given, Sequence[str]],
    *,
    resume: bool,
    overwrite: bool,
    device: torch.device,
    progress: bool,
    calibrate: bool,
    is_member: bool = False,
) -> Run:
    """Train one model.

    Args:
        graph: Graph to train on.
        folder: Folder of the run, if any.
        given: Preset, config and settings.
        resume: Whether to resume from the checkpoint in the folder, or start if there is none yet.
        overwrite: Whether to replace the run in the folder.
        device: Device to train on.
        progress: Whether to say what is trained, and to show progress.
        calibrate: Whether to fit probabilities at the end.
        is_member: Whether it belongs to an ensemble, which has said what is trained.
    """
    stored = folder.read_config() if resume and folder is not None and folder.checkpoints else None
    config = keep_weight(resolve_config(graph, *given, device, stored), stored)
    check_memory(graph, config, device)
    if progress and not is_member:
        say_plan(graph, config, device)
    with ExitStack() as held:
        if folder is not None:
            held.enter_context(folder.locked())
            if stored is None:
                held.enter_context(folder.replaced(overwrite))
            else:
                folder.verify([name for name in folder.files if name not in folder.checkpoints])
                check_same(folder, graph, config, stored)
        fit = Fit(graph, choose_weight(graph, config, device, progress), device, folder, progress)
        if folder is not None and stored is None:
            folder.create(graph, fit.config)
        names = folder.read_concept_names() if folder is not None else {}
        before = len(folder.read_history()) if folder is not None and stored is not None else 0
        model = fit.run(resume=stored is not None)
        record = None if folder is None else folder.read_record()
        if record is not None and len(fit.history) > before:
            record = replace(record, metrics={})
        run = Run(graph, fit.config, model, fit.history, names, record=record)
        run.is_interrupted = fit.is_interrupted
        if calibrate:
            run.calibrate()
        if folder is not None:
            run.write_result(folder)
        return run


def say_plan(graph: Graph, config: Config, device: torch.device, seeds: int = 1) -> None:
    """Print to stderr what is trained."""
    print(f"Plan: {describe_plan(graph, config, device, seeds)}", file=sys.stderr, flush=True)


def train_final(run: Run, out: str | Path | None = None, **options: Any) -> Run:
    """Train on all triples of a run, those of valid and test too, with its settings and the epochs that were best.

    Nothing is left to judge the new run by: its metrics and its calibration are those of the given run, and
    `evaluate` refuses valid and test. Concepts are trained again, so their names are not taken over.

    Args:
        run: Run whose settings and number of epochs were chosen on validation.
        out: Run folder of the new run; by default nothing is written.
        **options: Arguments of `train`: `resume`, `overwrite`, `device` and `progress`.

    Raises:
        ConfigError: The run is an ensemble, unfinished, or trained on all triples already.
    """
    if run.members or run.record.final or run.unfinished is not None:
        state = "an ensemble" if run.members else "final already" if run.record.final else "unfinished"
        raise ConfigError(f"this run is {state}; a final training starts from one finished run with validation")
    if len(run.graph.test) and "test" not in run.record.metrics:
        run.record_metrics(run.evaluate(progress=options.get("progress", True)))
    best = run.record.metrics.get("valid", {})
    epochs = best["epoch"] if best.get("phase") == "training" else run.config.training.epochs
    config = replace(run.config, training=replace(run.config.training, epochs=epochs))
    note = (
        f"Trained on the triples of all splits with the settings and {epochs:,} epochs of run {run.record.id}, from "
        "which metrics and calibration come."
    )
    graph = replace(run.graph.merged(), notes=(*run.graph.notes, Remark(note)))
    final = train(graph, config=config, out=out, calibrate=False, **options)
    final.record = replace(final.record, parent=run.record.id, final=True, metrics=run.record.metrics)
    final.calibration = run.calibration
    if out is not None:
        folder = RunFolder(Path(out))
        with folder.locked():
            final.write_result(folder)
    return final


def train_ensemble(
    graph: Graph, seeds: int, folder: RunFolder | None, given: tuple[str | None, Given, Sequence[str]], **options: Any
) -> Run:
    """Train the members of an ensemble, each in a folder of its own.

    Args:
        graph: Graph to train on.
        seeds: Number of members.
        folder: Folder of the ensemble, if any.
        given: Preset, config and settings.
        **options: Arguments of `train`: resume, overwrite, device, progress and calibrate.
    """
    device, progress = options["device"], options["progress"]
    begun = folder.members if options["resume"] and folder is not None else []
    stored = folder.read_begun() if begun and folder is not None else None
    if folder is not None and stored is not None:
        stored = replace(stored, seed=folder.read_record().seed)
    config = keep_weight(resolve_config(graph, *given, device, stored), stored)
    with ExitStack() as held:
        if folder is not None:
            held.enter_context(folder.locked())
            held.enter_context(folder.replaced(options["overwrite"] or bool(begun)))
            if stored is not None:
                check_same(folder, graph, config, stored)
        if progress:
            say_plan(graph, config, device, seeds)
        config = choose_weight(graph, config, device, progress)
        if folder is not None and not begun:
            begin_members(folder, RunRecord.new(graph, config), seeds)
            held.callback(clear_empty, folder)
        members = []
        for number, seed in enumerate(range(config.seed, config.seed + seeds), start=1):
            if progress:
                print(f"Seed {number} of {seeds}", file=sys.stderr, flush=True)
            out = None if folder is None else RunFolder(folder.path / name_member(seed))
            members.append(train_one(graph, out, (None, config, [f"seed={seed}"]), **options, is_member=True))
            if members[-1].is_interrupted and number < seeds:
                raise KeyboardInterrupt
        run = EnsembleRun(members)
        if options["calibrate"]:
            run.calibrate()
        if folder is not None:
            run.write_result(folder)
        return run


def clear_empty(folder: RunFolder) -> None:
    """Remove an ensemble without members, whose training failed at once."""
    if not any(RunFolder(path).files for path in folder.members):
        folder.clear()


def keep_weight(config: Config, stored: Config | None) -> Config:
    """Return the settings with the regularizer's weight of the stored run, if any, where they ask to choose one."""
    if stored is None or config.regularizer.weight != CHOOSE:
        return config
    return set_weight(config, stored.regularizer.weight)


def check_same(folder: RunFolder, graph: Graph, config: Config, stored: Config) -> None:
    """Refuse to resume a run with another graph or with settings that change what is trained."""
    old, new = flatten(stored.to_dict()), flatten(config.to_dict())
    differing = sorted(key for key in {*old, *new} - CHANGEABLE if old.get(key) != new.get(key))
    if differing:
        listed = "; ".join(f"{key}: {old.get(key)!r} then, {new.get(key)!r} now" for key in differing)
        raise RunError(f"{folder.path}: was trained with other settings ({listed}). Use those, or another folder")
    if folder.read_record().data_hash != hash_graph(graph):
        raise RunError(f"{folder.path}: was trained on other triples. Use those, or another folder")


def open_run(path: str | Path, device: Device = "auto") -> Run:
    """Open a saved run. If its training has not ended, the best weights so far are used, and `unfinished` is set.

    Args:
        path: Run folder.
        device: "auto", "cpu", "cuda" or "cuda:1", or a torch device.

    Raises:
        RunError: There is no run.
        CheckpointError: Files of the run are damaged, or of another format.
    """
    folder = RunFolder(Path(path))
    for _ in range(_ATTEMPTS):
        present = folder.read_manifest()
        try:
            return open_folder(RunFolder(folder.path, present), device)
        except CheckpointError:
            if folder.read_manifest().commit == present.commit:
                raise
    raise RunError(f"{folder.path}: another process keeps writing to it; try again when it has ended")


def open_folder(folder: RunFolder, device: Device) -> Run:
    """Open a run; files that do not match the checksums of the folder are refused."""
    record = folder.read_record()
    if record.members:
        opened = EnsembleRun([open_run(member.path, device) for member in folder.open_members()], folder.path, record)
        opened.calibration = folder.read_calibration(len(opened.graph.relations))
        return opened
    config, graph = folder.read_config(), folder.read_graph()
    stored, epoch, is_mean = find_weights(folder)
    model = build_like(graph, config, stored, choose_device(device), folder.path)
    if is_mean:
        model.constrain(None, None)
    calibration = folder.read_calibration(len(graph.relations))
    run = Run(graph, config, model, folder.read_history(), folder.read_concept_names(), epoch, record, calibration)
    run.is_stored = True
    return run


def seal(path: str | Path) -> list[str]:
    """Accept the files of a run as they are, after somebody edited them, and return the names of those that changed.

    The run must open with them. Files are compared with their checksums whenever a run is opened.

    Args:
        path: Run folder.

    Raises:
        RunError: There is no run.
        CheckpointError: The run does not open with its present files.
    """
    folder = RunFolder(Path(path))
    read_manifest(folder.path, sealed=False)
    with folder.locked():
        old = read_manifest(folder.path, sealed=False)
        present = folder.measure()
        changed = sorted(name for name in {*old.files, *present} if old.files.get(name) != present.get(name))
        run = open_folder(RunFolder(folder.path, Manifest(old.record, present)), "cpu")
        record = replace(run.record, model=run.config.name, seed=run.config.seed, data_hash=hash_graph(run.graph))
        write_manifest(folder.path, Manifest(record, present))
    return changed


def build_like(graph: Graph, config: Config, stored: Mapping[str, Tensor], device: torch.device, path: Path) -> Model:
    """Return a model with stored weights; settings of a larger model are refused before its memory is used."""
    most = max([_FEW_ELEMENTS, *(tensor.numel() for tensor in stored.values())])
    if any(tensor.numel() > most for tensor in sketch_weights(graph, config).values()):
        fault = "they have fewer numbers than model.dim and the other settings of the model ask for"
    else:
        try:
            model = build_model(graph, config, device)
            check_values(stored)
            load_weights(model, stored)
        except (KeyError, ValueError) as error:
            fault = str(error)
        else:
            return model
    raise CheckpointError(f"{path}: its weights do not fit: {fault}; restore the files or train again")


def find_weights(folder: RunFolder) -> tuple[dict[str, Tensor], int | None, bool]:
    """Return the weights of a run, their epoch if they come from a checkpoint, and whether they are an average.

    A checkpoint gives its best weights or, if nothing was validated yet, their average so far, or its last ones. An
    average does not satisfy the constraints of the model.
    """
    if WEIGHTS in folder.files or not folder.checkpoints:
        return folder.read_tensors(WEIGHTS)[0], None, False
    tensors, meta = folder.read_checkpoint()
    if meta["phase"] != "training":
        raise RunError(f"{folder.path}: is still in its warm start; continue with 'itransf train ... --resume'")
    try:
        progress = Progress.read(meta["progress"])
    except (KeyError, ValueError) as error:
        raise CheckpointError(f"{folder.path}: its checkpoint has no progress ({error}); train again") from None
    for prefix, epoch in (("best.", progress.best_epoch), ("average.", progress.epoch), ("model.", progress.epoch)):
        found = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
        if found:
            return found, epoch, prefix == "average."
    raise CheckpointError(f"{folder.path}: its checkpoint has no weights; train again")
