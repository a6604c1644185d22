"""`itransf interpret`: how far a model can be read, in figures, with baselines beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import itransf
from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run
from itransf.cli.output import fill, format_number, make_console, make_table, print_json, warn
from itransf.errors import ConfigError

Found = Mapping[str, Any]


def interpret_run(
    run: RunFolder,
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="MORE", help="Runs of the same model with other seeds.")
    ] = None,
    baseline: Annotated[
        list[Path] | None, typer.Option("--baseline", metavar="RUN", help="Another model beside it; repeatable.")
    ] = None,
    coded: Annotated[
        bool, typer.Option("--sparse-coding", help="Also code the matrices of a STransE baseline sparsely.")
    ] = False,
    ranking: Annotated[
        bool, typer.Option("--ranking/--no-ranking", help="Also measure what needs ranking: it takes longest.")
    ] = True,
    triples: Annotated[
        int, typer.Option(metavar="N", min=0, help="The most triples of a relation to rank again; 0: all.")
    ] = 100,
    draws: Annotated[
        int, typer.Option(metavar="N", min=20, help="Resamplings and permutations behind intervals and nulls.")
    ] = 2000,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Measure how far a model can be read: sparsity, structure, faithfulness, sharing.

    Gold labels (inverse pairs, symmetric relations) are mined from train; no training but a mirrored start reads them.
    """
    folders = [run, *(more or ())]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ConfigError("a run is given twice; give runs of other seeds, each once")
    opened = [open_run(folder, device) for folder in folders]
    others = [open_run(folder, device) for folder in baseline or ()]
    warn([*find_differences(folders, opened), *find_mirrored(folders, opened)])
    found = itransf.interpret.interpret_runs(
        [read_run(each) for each in opened],
        [read_run(each) for each in others],
        coded=coded,
        ranked=ranking,
        most_triples=triples,
        draws=draws,
        progress=not as_json,
    )
    content = [each.to_dict() for each in found]
    if as_json:
        print_json({"graph": opened[0].graph.name, "models": content})
    else:
        show_interpretations(opened[0].graph.name, content, make_console())


def read_run(run: itransf.Run) -> Any:
    """Return what the measures read of a run, named after its model and its kind of attention."""
    kind = getattr(run.config.model, "attention", "sparse")
    name = run.config.name if kind == "sparse" else f"{run.config.name} ({kind})"
    return itransf.interpret.read_model(run.model, run.graph, name)


def find_differences(folders: Sequence[Path], runs: Sequence[itransf.Run]) -> list[str]:
    """Return a note for each run that differs from the first in more than the seed, or repeats an earlier one."""
    configs = [run.config.to_dict() for run in runs]
    notes = [
        f"{folder} has other settings than {folders[0]}, not just another seed; their mean says little"
        for folder, config in zip(folders, configs, strict=True)
        if {**config, "seed": 0} != {**configs[0], "seed": 0}
    ]
    return notes + [
        f"{folder} has the settings and the seed of {folders[configs.index(config)]}: that they agree says nothing"
        for place, (folder, config) in enumerate(zip(folders, configs, strict=True))
        if configs.index(config) < place
    ]


def find_mirrored(folders: Sequence[Path], runs: Sequence[itransf.Run]) -> list[str]:
    """Return a note for each run whose first supports were made from what the measures look for."""
    return [
        f"{folder} started with supports that mirror inverse and symmetric relations (assignment.init): that it shows "
        "them is no discovery"
        for folder, run in zip(folders, runs, strict=True)
        if run.config.assignment.init == "mirrored"
    ]


def show_interpretations(graph: str, models: Sequence[Found], console: Console) -> None:
    """Print what was found about a model, and the same figures of the others beside it."""
    main, *others = models
    runs = f"{main['runs']} runs" if main["runs"] > 1 else "one run"
    console.print(Text(f"{main['name']} on {graph}, {runs}", "bold"))
    console.print(tabulate_findings(main["findings"]))
    for finding in main["findings"]:
        if finding["remark"] and finding["value"] is not None:
            console.print(Text(f"{call_finding(finding)}: {finding['remark']}.", "dim"))
        elif finding["value"] is None:
            console.print(Text(f"Not measured: {call_finding(finding)} ({finding['remark']})", "dim"))
    console.print()
    console.print(Text("Beside it", "bold"))
    console.print(tabulate_beside(main, others))


def call_finding(finding: Found) -> str:
    """Return what a finding is about, in words."""
    return f"{finding['measure']}, {finding['statistic']}"


def tabulate_findings(findings: Sequence[Found]) -> Table:
    """Return a table of the figures with their intervals and nulls."""
    table = make_table("Measure", "Value", "95 %", "By chance", "p", "Of", names=1)
    return fill(
        table,
        (
            (
                call_finding(finding),
                format_number(finding["value"], 3),
                f"{format_number(finding['low'], 3)} to {format_number(finding['high'], 3)}",
                format_number(finding["null"], 3),
                "" if finding["p"] is None else f"{finding['p']:.4f}",
                f"{finding['n']:,}",
            )
            for finding in findings
            if finding["value"] is not None
        ),
    )


def tabulate_beside(main: Found, others: Sequence[Found]) -> Table:
    """Return a table of the same figures of all models."""
    table = make_table("Measure", main["name"], *(other["name"] for other in others), names=1)
    columns = [{call_finding(finding): finding["value"] for finding in other["findings"]} for other in (main, *others)]
    return fill(
        table,
        (
            (name, *(format_number(column.get(name), 3) for column in columns))
            for name in dict.fromkeys(name for column in columns for name in column)
            if any(column.get(name) is not None for column in columns)
        ),
    )
