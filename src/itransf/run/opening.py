"""Opening a run's folder, whether its training ended or not."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from itransf.errors import CheckpointError, RunError
from itransf.fitting import CHECKPOINT, build_model
from itransf.run.run import Run
from itransf.run.settings import MODEL_CONFIGS, choose_device
from itransf.storage import WEIGHTS, RunFolder
from itransf.training.trainer import load_weights


def open_run(path: str | Path, device: str = "auto") -> Run:
    """Open a saved run; one whose training was cut short has its best weights so far, and `unfinished` says so."""
    folder = RunFolder(Path(path))
    folder.read_summary()
    config, graph = folder.read_config(MODEL_CONFIGS), folder.read_graph()
    model = build_model(graph, config, choose_device(device))
    stored, epoch = find_weights(folder)
    try:
        load_weights(model, stored)
    except (KeyError, RuntimeError) as error:
        raise CheckpointError(f"{folder.path}: its weights do not fit its config: {error}") from None
    return Run(graph, config, model, folder.read_history(), folder.read_concept_names(), epoch)


def find_weights(folder: RunFolder) -> tuple[dict[str, Tensor], int | None]:
    """Return a run's weights; those of a checkpoint, where training has not ended, with their epoch.

    A checkpoint gives its best weights, or its last ones where nothing was validated yet.
    """
    if (folder.path / WEIGHTS).is_file() or not folder.has_checkpoint:
        return folder.read_tensors(WEIGHTS)[0], None
    tensors, facts = folder.read_tensors(CHECKPOINT)
    if facts["phase"] != "training":
        raise RunError(f"{folder.path}: is still in its warm start; go on with 'itransf train ... --resume'")
    for prefix, key in (("best.", "best_epoch"), ("model.", "epoch")):
        found = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
        if found:
            return found, int(facts["progress"][key])
    raise CheckpointError(f"{folder.path}: its checkpoint holds no weights; train again")
