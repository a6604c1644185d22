"""`itransf train`: from triples to a trained model in a run folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

import itransf
from itransf.cli.evaluation import show_evaluation
from itransf.cli.options import AsJson, DataSource, Device, DeviceName, Header, Labels, Separator, Strict
from itransf.cli.output import count, make_console, print_json, remark, warn
from itransf.errors import ConfigError

Preset = Annotated[str | None, typer.Option(metavar="P", help="Settings of the paper; see 'itransf presets'.")]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="A TOML file of settings that override those.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting, such as training.epochs=50; repeatable."),
]
OutFolder = Annotated[
    Path | None, typer.Option("--out", metavar="RUN", help="The run folder. [default: runs/DATA-MODEL]")
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Of the training, not of a file's split.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from what lies in the run folder.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the run that lies there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress: only the result.")]


class Stopped(Exception):  # noqa: N818 (nothing went wrong)
    """The user stopped the work; the message says how to go on."""


def train_model(
    context: typer.Context,
    data: DataSource,
    *,
    preset: Preset = None,
    config: ConfigFile = None,
    settings: Settings = None,
    out: OutFolder = None,
    seed: Seed = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    labels: Labels = None,
    separator: Separator = None,
    header: Header = None,
    strict: Strict = False,
    device: Device = DeviceName.auto,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train a model on triples, measure it and keep it in a run folder.

    Without a preset the settings fit the size of the graph. Test triples, if any, are ranked at the end.
    """
    if resume and overwrite:
        raise ConfigError("--resume goes on with a run and --overwrite replaces it: give one of the two")
    train = itransf.train  # loads itransf.run too
    reading: dict[str, Any] = {"labels": labels, "separator": separator, "header": header, "strict": strict}
    graph = itransf.load(data, **reading, progress=not quiet)
    warn(graph.notes)
    choices: dict[str, Any] = {"preset": preset, "config": config, "settings": settings or []}
    folder = out or choose_folder(graph, **choices)
    warn(find_moved(graph, folder, **choices) if resume else find_idle(graph, **choices))
    if not quiet:
        remark(f"{'Going on with' if resume else 'Training on'} {graph.name}: {count_graph(graph)}")
        remark(f"Run folder: {folder}")
    choices |= {"seed": seed, "out": folder, "resume": resume, "overwrite": overwrite, "device": device.value}
    try:
        run = train(graph, **choices, progress=not quiet)
    except KeyboardInterrupt:
        raise Stopped(f"Stopped. Go on with: {write_resuming(context.obj or ())}") from None
    show_result(run, folder, quiet, as_json)


def show_result(run: itransf.Run, folder: Path, quiet: bool, as_json: bool) -> None:
    """Measure the model on test, if there is one, and print what came out and what to do next."""
    evaluation = run.evaluate(progress=not quiet).to_dict() if len(run.graph.test) else None
    if as_json:
        print_json({"run": str(folder), **run.info(), "evaluation": evaluation})
        return
    console = make_console()
    info = run.info()
    console.print(
        f"Trained {info['model']} on {info['graph']}: {count(info['epochs'], 'epoch')} in {info['seconds']:,.0f} s.",
        markup=False,
    )
    if evaluation is not None:
        console.print()
        show_evaluation(evaluation, console)
    else:
        console.print("There are no test triples to measure it on.")
    if not quiet:
        console.print()
        console.print(write_next_steps(run, folder), markup=False, soft_wrap=True)


def choose_folder(graph: itransf.Graph, **choices: Any) -> Path:
    """Return runs/DATA-MODEL."""
    model = itransf.run.resolve_config(graph, **choices).name
    name = re.sub(r"[^\w.-]+", "-", graph.name)
    return Path("runs") / f"{name}-{model}"


def find_idle(graph: itransf.Graph, config: Path | None, settings: list[str], **choices: Any) -> list[str]:
    """Say which of the settings that were given have no effect."""
    resolved = itransf.run.resolve_config(graph, config=config, settings=settings, **choices)
    return itransf.run.list_idle(resolved, itransf.run.read_given(config, settings))


def find_moved(graph: itransf.Graph, folder: Path, **choices: Any) -> list[str]:
    """Say what a run that goes on does at another time than it was begun with."""
    begun = itransf.storage.RunFolder(folder)
    if not begun.has_checkpoint:
        return []
    stored = begun.read_config()
    return itransf.run.list_rescheduled(stored, itransf.run.resolve_config(graph, **choices, stored=stored))


def count_graph(graph: itransf.Graph) -> str:
    """Say how large a graph is."""
    names = f"{len(graph.entities):,} entities, {len(graph.relations):,} relations"
    return f"{names}, {len(graph.train):,} train triples"


def write_next_steps(run: itransf.Run, folder: Path) -> str:
    """Say what can be done with the run, with a question about it that has an answer."""
    place = shlex.quote(str(folder))
    head, relation, _ = run.graph.train[0].tolist()
    asked = shlex.quote(run.graph.entities.name(head)), shlex.quote(run.graph.relations.name(relation))
    lines = [
        "What next:",
        f"  itransf predict {place} --head {asked[0]} --relation {asked[1]}",
    ]
    if len(run.graph.test):
        lines.append(f"  itransf evaluate {place} --relations")
    if run.config.name == "itransf":
        lines.append(f"  itransf concepts {place} --plot concepts.png")
    return "\n".join(lines)


def write_resuming(arguments: Iterable[str]) -> str:
    """Return the command that goes on with a training that was stopped."""
    kept = [argument for argument in arguments if argument not in ("--resume", "--overwrite")]
    return shlex.join(["itransf", *kept, "--resume"])
