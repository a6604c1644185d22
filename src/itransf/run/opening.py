"""Training a run, from the beginning or from a checkpoint, and opening a saved one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from itransf.config import Config
from itransf.data.datasets import load
from itransf.data.graph import Graph, NamedTriples
from itransf.errors import CheckpointError, ConfigError, RunError
from itransf.fitting import Fit, build_model
from itransf.models.base import SIDES, Model
from itransf.models.concepts import ConceptModel
from itransf.records import hash_graph
from itransf.run.run import Run
from itransf.run.settings import CHANGEABLE, Device, Given, check_settings, choose_device, flatten, resolve_config
from itransf.storage import CHECKPOINT, WEIGHTS, RunFolder
from itransf.training.trainer import load_weights, weights


def train(
    graph: Graph | str | Path | NamedTriples,
    preset: str | None = None,
    config: Given = None,
    settings: Sequence[str] = (),
    *,
    seed: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    device: Device = "auto",
    progress: bool = True,
) -> Run:
    """Train a model.

    Args:
        graph: Graph, or anything that `itransf.load` accepts.
        preset: Name of a preset, such as "wn18/itransf"; by default settings are chosen by the size of the graph.
        config: Settings that override those: a TOML file, a nested mapping, or the config of another run.
        settings: Strings such as "training.epochs=50" that override all others.
        seed: Random seed; overrides the one in the settings.
        out: Run folder for checkpoints and the result; by default nothing is written.
        resume: Whether to resume from the checkpoint in `out`, or start if there is none yet.
        overwrite: Whether to replace the run in `out`.
        device: "auto", "cpu", "cuda" or "cuda:1", or a torch device.
        progress: Whether to show progress.

    Raises:
        ConfigError: A setting is wrong, or `resume` is given without `out`.
        CheckpointError: `out` holds a run already, or one that cannot be resumed with these settings.
    """
    if resume and out is None:
        raise ConfigError("there is no run to resume; give its folder as out")
    chosen = [*check_settings(settings), *([f"seed={seed}"] if seed is not None else [])]
    triples = graph if isinstance(graph, Graph) else load(graph, progress=progress)
    place = choose_device(device)
    folder = None if out is None else RunFolder(Path(out))
    stored = None
    if resume and folder is not None and folder.has_checkpoint:
        stored = folder.read_config()
    resolved = resolve_config(triples, preset, config, chosen, place, stored)
    fit = Fit(triples, resolved, place, folder, progress)
    if folder is None:
        return Run(triples, resolved, fit.run(), fit.history)
    with folder.locked():
        if stored is not None:
            check_same(folder, triples, resolved, stored)
            return finish(fit, folder, resume=True)
        if resume and not folder.is_barely_begun:
            raise folder.refuse()
        with folder.replaced(overwrite or resume):
            folder.create(triples, resolved)
            return finish(fit, folder, resume=False)


def finish(fit: Fit, folder: RunFolder, resume: bool) -> Run:
    """Train to the end and write the result."""
    names, record = folder.read_concept_names(), replace(folder.read_record(), metrics={})
    run = Run(fit.graph, fit.config, fit.run(resume), fit.history, names, record=record)
    run.write_result(folder)
    return run


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
    record = folder.read_record()
    config, graph = folder.read_config(), folder.read_graph()
    model = build_model(graph, config, choose_device(device))
    stored, epoch, is_mean = find_weights(folder)
    try:
        load_weights(model, stored)
    except (KeyError, RuntimeError) as error:
        raise CheckpointError(f"{folder.path}: its weights do not fit its config: {error}") from None
    check_weights(model, folder.path)
    if is_mean:
        model.constrain(None, None)
    run = Run(graph, config, model, folder.read_history(), folder.read_concept_names(), epoch, record)
    run.is_stored = True
    return run


def check_weights(model: Model, path: Path) -> None:
    """Refuse weights that cannot be the result of training."""
    for name, tensor in weights(model).items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise CheckpointError(f"{path}: its weights {name!r} are not all numbers; restore them or train again")
    if not isinstance(model, ConceptModel):
        return
    for side in SIDES:
        supports, rules = model.supports(side), model.rules(side)  # (r, k) and (r, m)
        wrong = supports[(supports < 0) | (supports >= rules.shape[1])]
        if len(wrong):
            raise CheckpointError(
                f"{path}: a relation uses concept {int(wrong[0])} on its {side} side, but there are {rules.shape[1]}; "
                "restore its weights or train again"
            )


def find_weights(folder: RunFolder) -> tuple[dict[str, Tensor], int | None, bool]:
    """Return the weights of a run, their epoch if they come from a checkpoint, and whether they are an average.

    A checkpoint gives its best weights or, if nothing was validated yet, their average so far, or its last ones. An
    average does not satisfy the constraints of the model.
    """
    if (folder.path / WEIGHTS).is_file() or not folder.has_checkpoint:
        return folder.read_tensors(WEIGHTS)[0], None, False
    tensors, meta = folder.read_tensors(CHECKPOINT)
    if "phase" not in meta or "progress" not in meta:
        raise CheckpointError(f"{folder.path}: its checkpoint lacks the state of training; train again")
    if meta["phase"] != "training":
        raise RunError(f"{folder.path}: is still in its warm start; continue with 'itransf train ... --resume'")
    for prefix, key in (("best.", "best_epoch"), ("average.", "epoch"), ("model.", "epoch")):
        found = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
        if found:
            return found, int(meta["progress"][key]), prefix == "average."
    raise CheckpointError(f"{folder.path}: its checkpoint has no weights; train again")
