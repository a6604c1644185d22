"""Training a run, from nothing or from where it was left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from itransf import __version__
from itransf.config import Config
from itransf.data.datasets import load
from itransf.data.graph import Graph, NamedTriples
from itransf.errors import ConfigError
from itransf.fitting import Fit
from itransf.run.resuming import check_same
from itransf.run.run import Run, write_result
from itransf.run.settings import MODEL_CONFIGS, Device, Given, choose_device, list_settings, resolve_config
from itransf.storage import RunFolder


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
        graph: A graph, or what `itransf.load` takes.
        preset: A named row of the paper, such as "wn18/itransf"; without it settings fit the graph's size.
        config: Settings that override those: a TOML file, a nested mapping, or another run's config.
        settings: Strings such as "training.epochs=50" that override all.
        seed: Overrides the settings' seed.
        out: A folder for checkpoints and the result; without it nothing is written.
        resume: Go on from what lies in `out`, or start if nothing was saved yet.
        overwrite: Replace the run that lies in `out`.
        device: "auto", "cpu", "cuda" or "cuda:1", or a device of torch's.
        progress: Whether to show it.

    Raises:
        ConfigError: Settings are wrong, or `resume` has no folder to go on from.
        CheckpointError: `out` holds a run already, or one that cannot go on like this.
    """
    if resume and out is None:
        raise ConfigError("there is nothing to go on from; give the run's folder as out")
    triples = graph if isinstance(graph, Graph) else load(graph, progress=progress)
    chosen = [*list_settings(settings), *([f"seed={seed}"] if seed is not None else [])]
    place = choose_device(device)
    folder = None if out is None else RunFolder(Path(out))
    goes_on = resume and folder is not None and folder.has_checkpoint
    stored = folder.read_config(MODEL_CONFIGS) if folder is not None and goes_on else None
    resolved = resolve_config(triples, preset, config, chosen, device, stored)
    fit = Fit(triples, resolved, place, folder, progress)
    if folder is None:
        return Run(triples, resolved, fit.run(), fit.history)
    with folder.held():
        if stored is not None:
            check_same(folder, triples, resolved, stored)
            return finish(fit, folder, resume=True)
        with beginning(folder, triples, resolved, resume, overwrite):
            return finish(fit, folder, resume=False)


def finish(fit: Fit, folder: RunFolder, resume: bool) -> Run:
    """Train to the end and write what it brought."""
    names = folder.read_concept_names()
    run = Run(fit.graph, fit.config, fit.run(resume), fit.history, names)
    write_result(run, folder)
    return run


@contextmanager
def beginning(folder: RunFolder, graph: Graph, config: Config, resume: bool, overwrite: bool) -> Iterator[None]:
    """Write the beginning of a run, in place of a run only if that may be overwritten or has barely begun."""
    if resume and not folder.is_barely_begun:
        raise folder.refuse()
    with folder.making_way(overwrite or resume):
        folder.create(graph, config, __version__)
        yield
