"""`itransf train`: from triples to a trained model in a run folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Context, Option

import itransf
from itransf.cli import options
from itransf.cli.evaluate import show_evaluation
from itransf.cli.output import Screen, describe_training, remark, tell, warn
from itransf.errors import ConfigError, check_count


class Stopped(Exception):  # noqa: N818 (nothing went wrong)
    """The user interrupted training; the message says how to resume."""


@options.takes_form
def train_model(
    context: Context,
    data: options.DataSource,
    *,
    model: Annotated[str | None, Option(metavar="NAME", help="Model (itransf models). [default: icomplex]")] = None,
    preset: Annotated[str | None, Option(metavar="P", help="Preset; see 'itransf presets'.")] = None,
    config: Annotated[Path | None, Option(metavar="FILE", help="TOML file of settings; overrides the preset.")] = None,
    settings: options.Settings = None,
    out: Annotated[Path | None, Option(metavar="RUN", help="Run folder. [default: runs/DATA-MODEL]")] = None,
    seed: Annotated[
        int | None, Option(metavar="N", help="Random seed of the training; single files are always split with seed 0.")
    ] = None,
    seeds: Annotated[int, Option(metavar="N", help="Number of seeds; more than 1 make an ensemble.")] = 1,
    resume: Annotated[bool, Option("--resume", help="Resume the run in the folder, if any.")] = False,
    overwrite: options.Overwrite = False,
    final: Annotated[bool, Option("--final", help="Then train on all triples as well, in RUN-final.")] = False,
    report: Annotated[Path | None, Option(metavar="FILE", help="Then write a report (.html) about the run.")] = None,
    literals: options.Literals = "drop",
    labels: options.Labels = None,
    types: options.Types = None,
    domains: options.Domains = None,
    strict: options.Strict = False,
    memory: options.Memory = None,
    device: options.Device = "auto",
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
    form: Mapping[str, Any],
) -> None:
    """Train a model, evaluate it and save it in a run folder.

    Without a preset, settings are chosen by the size of the graph. Test triples, if there are any, are ranked at the
    end. --seeds 5 trains five models, in the folders seed-0 to seed-4 of the run folder: an ensemble, which is a run.
    --final then trains on the triples of all splits, for as many epochs as were best on the validation set, in the
    folder RUN-final; with --resume, a finished run is not trained again. --report FILE writes a page with its results,
    the most probable new triples with explanations, and its concepts.
    """
    check_count("--seeds", seeds, least=1)
    if resume and overwrite:
        raise ConfigError("--resume and --overwrite exclude each other")
    if final and seeds > 1:
        raise ConfigError("--final trains one model; leave out --seeds")
    if report is not None:
        itransf.run.check_page(report)
    given = [*([f"model.name={model}"] if model else []), *(settings or ())]
    itransf.run.check_beginning((preset, config, given), out, resume=resume, overwrite=overwrite)
    reading: dict[str, Any] = {"literals": literals, "labels": labels, "types": types, "domains": domains}
    limit = options.parse_memory(memory) if memory else None
    graph = itransf.load(data, **form, **reading, strict=strict, memory=limit, progress=not quiet)
    warn(graph.notes)
    choices: dict[str, Any] = {"preset": preset, "config": config, "settings": given}
    resolved = itransf.run.resolve_config(graph, **choices, device=device)
    folder = out or options.name_folder(f"{graph.name}-{resolved.name}")
    whole = folder.with_name(f"{folder.name}-final")
    if final:
        options.refuse_taken(whole, overwrite or resume)
    layers = itransf.run.read_given(config, given)
    stored = itransf.storage.RunFolder(folder).read_begun() if resume else None
    if stored is None:
        warn(itransf.run.list_idle(resolved, layers))
    else:
        warn(itransf.run.list_rescheduled(stored, itransf.run.resolve_config(graph, **choices, stored=stored)))
    if not quiet:
        announce(graph, folder, resume, stored is not None)
    running: dict[str, Any] = {"resume": resume, "overwrite": overwrite, "device": device, "progress": not quiet}
    try:
        run = itransf.train(graph, **choices, seed=seed, seeds=seeds, out=folder, **running)
        evaluation = run.evaluate(progress=not quiet) if len(graph.test) else None
        if evaluation is not None:
            run.record_metrics(evaluation, folder)
        content = {"run": str(folder), **run.info(), "evaluation": evaluation and evaluation.to_dict()}
        if final:
            if run.is_interrupted:
                raise KeyboardInterrupt
            content["final"] = {"run": str(whole), **itransf.train_final(run, out=whole, **running).info()}
        if report is not None:
            content["report"] = str(run.report(report, progress=not quiet))
    except KeyboardInterrupt:
        raise Stopped(f"Stopped. Resume with: {write_resuming(context.obj or ())}") from None
    tell(content, as_json, lambda screen: show_result(run, content, quiet, screen))


def announce(graph: itransf.Graph, folder: Path, resume: bool, is_begun: bool) -> None:
    """Print what is trained, and where."""
    if resume and not itransf.storage.RunFolder(folder).is_occupied:
        remark(f"There is nothing to resume in {folder}: a new run begins")
    names = f"{len(graph.entities):,} entities, {len(graph.relations):,} relations"
    begun = f"{'Resuming' if is_begun else 'Training'} on {graph.name}: {names}, {len(graph.train):,} triples"
    remark(f"{begun}\nRun folder: {folder}")


def show_result(run: itransf.Run, content: dict[str, Any], quiet: bool, screen: Screen) -> None:
    """Print the test ranks, and what to do next."""
    seeds = f"{len(run.members)} seeds of " if run.members else ""
    screen.say(f"Trained {seeds}{content['model']} on {content['graph']}: {describe_training(content)}.")
    if content["evaluation"] is None:
        screen.say("There are no test triples to evaluate.")
    else:
        screen.say()
        show_evaluation(content["evaluation"], screen)
    if "final" in content:
        whole = content["final"]
        amount = f"{whole['triples']['train']:,} triples for {whole['epochs']:,} epochs"
        screen.say(f"\nTrained on all {amount}: {whole['run']}. Its metrics are those of {content['run']}, above.")
    if "report" in content:
        screen.say(f"\nReport: {content['report']}")
    if not quiet:
        screen.say()
        screen.say(write_next_steps(run, content["run"]))


def write_next_steps(run: itransf.Run, folder: str) -> str:
    """Return commands to try on the run, with a query that a held-out triple answers, if there is one."""
    place = shlex.quote(folder)
    splits = (run.graph.split(name) for name in ("test", "valid", "train"))
    head, relation, _ = next(split for split in splits if len(split))[0].tolist()
    names = shlex.quote(run.graph.entities.name(head)), shlex.quote(run.graph.relations.name(relation))
    lines = ["What next:", f"  itransf predict {place} --head {names[0]} --relation {names[1]}"]
    if len(run.graph.test):
        lines.append(f"  itransf evaluate {place} --relations")
    if run.has_concepts:
        lines.append(f"  itransf concepts {place} --plot concepts.png")
    return "\n".join(lines)


def write_resuming(arguments: Iterable[str]) -> str:
    """Return the command that resumes an interrupted training."""
    kept = [argument for argument in arguments if argument not in ("--resume", "--overwrite")]
    return shlex.join(["itransf", *kept, "--resume"])
