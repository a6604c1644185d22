"""`itransf interpret` and `itransf report`: measures of interpretability, and one page about a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

import itransf
from itransf.cli.options import AsJson, Device, RunFolder, Triples, open_run
from itransf.cli.output import Columns, Screen, format_number, tell, warn
from itransf.errors import ConfigError, name_count

if TYPE_CHECKING:
    from itransf.interpret import Interpretation


def interpret_run(
    run: RunFolder,
    more: Annotated[list[Path] | None, Argument(metavar="[RUN]...", help="Runs of the model with other seeds.")] = None,
    baseline: Annotated[list[Path] | None, Option(metavar="RUN", help="Run of another model to compare.")] = None,
    ranking: Annotated[bool, Option("--ranking/--no-ranking", help="Include the slow measures.")] = True,
    triples: Annotated[int, Option(metavar="N", help="Maximum number of triples of a relation to rank; 0: all.")] = 100,
    draws: Annotated[int, Option(metavar="N", help="Number of bootstrap samples and permutations.")] = 2000,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Measure how interpretable a model is.

    Measured are sparsity, structure, faithfulness and sharing. Inverse pairs and symmetric relations of the training
    triples are the gold standard; training does not use them, unless assignment.init is "mirrored".
    """
    folders = [run, *(more or ())]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ConfigError("a run is given twice; give runs with other seeds, each once")
    members, others = open_members(folders, device), open_members(baseline or (), device)
    warn(dict.fromkeys(list_doubts([folder for folder, _ in members], [run for _, run in members])))
    found = itransf.interpret.interpret_runs(
        [read_run(each) for _, each in members],
        [read_run(each) for _, each in others],
        ranked=ranking,
        most_triples=triples,
        draws=draws,
        progress=not as_json,
    )
    graph = members[0][1].graph.name
    content = {"graph": graph, "models": [each.to_dict() for each in found]}
    tell(content, as_json, lambda screen: show_interpretations(graph, found, screen))


def open_members(folders: Iterable[Path], device: str) -> list[tuple[Path, itransf.Run]]:
    """Open run folders and return their runs, of an ensemble its members, each with the folder."""
    given = [(folder, open_run(folder, device)) for folder in folders]
    return [(folder, member) for folder, run in given for member in run.members or (run,)]


def read_run(run: itransf.Run) -> Any:
    """Return the input of the measures, named after the model and its kind of attention."""
    kind = getattr(run.config.model, "attention", "sparse")
    name = run.config.name if kind == "sparse" else f"{run.config.name} ({kind})"
    return itransf.interpret.read_model(run.model, run.graph, name)


def list_doubts(folders: Sequence[Path], runs: Sequence[itransf.Run]) -> list[str]:
    """Return notes about runs that differ in more than the seed, repeat another, or started from what is measured."""
    configs = [run.config.to_dict() for run in runs]
    notes = []
    for place, (folder, config) in enumerate(zip(folders, configs, strict=True)):
        if {**config, "seed": 0} != {**configs[0], "seed": 0}:
            notes.append(f"{folder} differs from {folders[0]} in more than the seed; their mean is not meaningful")
        if configs.index(config) < place:
            same = folders[configs.index(config)]
            notes.append(f"{folder} has the settings and the seed of {same}: their agreement is not evidence")
        if config["assignment"]["init"] == "mirrored":
            notes.append(
                f"{folder} was initialized from inverse and symmetric relations (assignment.init = mirrored): finding "
                "them is no evidence"
            )
    return notes


def show_interpretations(graph: str, models: Sequence[Interpretation], screen: Screen) -> None:
    """Print the findings about a model, and a comparison with the others."""
    main, *_ = models
    screen.say(f"{main.name} on {graph}, {name_count(main.runs, 'run')}", "bold")
    columns: Columns = {
        "Measure": lambda finding: finding.name,
        "Value": lambda finding: format_number(finding.value, 3),
        "95 %": lambda finding: f"{format_number(finding.low, 3)} to {format_number(finding.high, 3)}",
        "By chance": lambda finding: format_number(finding.null, 3),
        "p": lambda finding: "" if finding.p is None else f"{finding.p:.4f}",
        "Of": lambda finding: f"{finding.n:,}",
    }
    screen.tabulate_each((finding for finding in main.findings if finding.value is not None), columns)
    screen.say("\nWhat this means", "bold")
    for finding in main.findings:
        if finding.value is None:
            screen.say(f"Not measured: {finding.name} ({finding.remark}).", "dim", wrap=True)
        else:
            remark = f" {finding.remark[:1].upper()}{finding.remark[1:]}." * bool(finding.remark)
            verdict = itransf.interpret.write_verdict(finding)
            screen.say(f"{finding.name}: {verdict}{remark}", wrap=True)
    values = [{finding.name: finding.value for finding in model.findings} for model in models]
    compared = (
        (name, *(format_number(each.get(name), 3) for each in values))
        for name in dict.fromkeys(name for each in values for name in each)
        if any(each.get(name) is not None for each in values)
    )
    screen.say()
    screen.tabulate(("Measure", *(model.name for model in models)), compared, title="Comparison")


def write_report(
    run: RunFolder,
    *,
    out: Annotated[Path, Option(metavar="FILE", help="File to write, ends in .html.")] = Path("report.html"),
    split: Annotated[Literal["test", "valid"] | None, Option(help="Triples to rank. [default: test]")] = None,
    triples: Triples = 1000,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Write an HTML page about a run."""
    path = open_run(run, device).report(out, split, most_triples=triples, progress=not as_json)
    size = path.stat().st_size
    done = f"The report is in {path} ({size / 1000:,.0f} kB); open it in a browser"
    tell({"report": str(path), "bytes": size}, as_json, lambda screen: screen.say(done))
