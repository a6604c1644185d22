"""Opening a run's folder, whether its training ended or not."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from itransf.errors import CheckpointError, RunError
from itransf.fitting import build_model
from itransf.models.base import SIDES, Model
from itransf.run.run import Run
from itransf.run.settings import MODEL_CONFIGS, Device, choose_device
from itransf.storage import CHECKPOINT, WEIGHTS, RunFolder
from itransf.training.trainer import load_weights, weights


def open_run(path: str | Path, device: Device = "auto") -> Run:
    """Open a saved run; one whose training was cut short has its best weights so far, and `unfinished` says so."""
    folder = RunFolder(Path(path))
    folder.read_summary()
    config, graph = folder.read_config(MODEL_CONFIGS), folder.read_graph()
    model = build_model(graph, config, choose_device(device))
    stored, epoch, is_mean = find_weights(folder)
    try:
        load_weights(model, stored)
    except (KeyError, RuntimeError) as error:
        raise CheckpointError(f"{folder.path}: its weights do not fit its config: {error}") from None
    check_weights(model, folder.path)
    if is_mean:
        model.constrain(None)
    return Run(graph, config, model, folder.read_history(), folder.read_concept_names(), epoch)


def check_weights(model: Model, path: Path) -> None:
    """Refuse weights that cannot have come from a training."""
    for name, tensor in weights(model).items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise CheckpointError(f"{path}: its weights {name!r} are not all numbers; restore them or train again")
    for side in SIDES:
        supports, rules = model.supports(side), model.rules(side)  # (r, k) and (r, m)
        if supports is None or rules is None:
            continue
        wrong = supports[(supports < 0) | (supports >= rules.shape[1])]
        if len(wrong):
            raise CheckpointError(
                f"{path}: a relation uses concept {int(wrong[0])} on its {side} side, but there are {rules.shape[1]}; "
                "restore its weights or train again"
            )


def find_weights(folder: RunFolder) -> tuple[dict[str, Tensor], int | None, bool]:
    """Return a run's weights; those of a checkpoint, where training has not ended, with their epoch.

    A checkpoint gives its best weights or, where nothing was validated yet, their mean so far, or its last ones.
    Whether they are a mean, which has to be brought to length, is said, too.
    """
    if (folder.path / WEIGHTS).is_file() or not folder.has_checkpoint:
        return folder.read_tensors(WEIGHTS)[0], None, False
    tensors, meta = folder.read_tensors(CHECKPOINT)
    if "phase" not in meta or "progress" not in meta:
        raise CheckpointError(f"{folder.path}: its checkpoint does not say where training stands; train again")
    if meta["phase"] != "training":
        raise RunError(f"{folder.path}: is still in its warm start; go on with 'itransf train ... --resume'")
    for prefix, key in (("best.", "best_epoch"), ("average.", "epoch"), ("model.", "epoch")):
        found = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
        if found:
            return found, int(meta["progress"][key]), prefix == "average."
    raise CheckpointError(f"{folder.path}: its checkpoint holds no weights; train again")
