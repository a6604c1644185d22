"""`itransf edit`: change which concepts relations use, by hand, and see what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.text import Text

from itransf.cli.evaluation import MAIN, format_metrics
from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run
from itransf.cli.output import fill, make_console, make_table, print_json, put_title
from itransf.errors import ConfigError

STEPS = {"before": "before", "edited": "edited", "refitted": "re-fitted"}
Places = list[str] | None


def edit_concepts(
    run: RunFolder,
    out: Annotated[Path, typer.Option("--out", metavar="NEWRUN", help="The folder of the new run.")],
    forbid: Annotated[
        Places, typer.Option("--forbid", metavar="REL.SIDE=C", help="A concept this side may not use; repeatable.")
    ] = None,
    pin: Annotated[
        Places, typer.Option("--pin", metavar="REL.SIDE=C", help="A concept this side always has; repeatable.")
    ] = None,
    merge: Annotated[
        Places, typer.Option("--merge", metavar="A,B", help="Two concepts to make one; repeatable.")
    ] = None,
    prune: Annotated[
        int, typer.Option("--prune", metavar="M", min=0, help="Keep the M concepts that matter most. [default: all]")
    ] = 0,
    epochs: Annotated[int, typer.Option("--epochs", metavar="N", min=0, help="Of the re-fit; 0 trains nothing.")] = 5,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run that lies there.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress: only the result.")] = False,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Forbid, pin, merge or prune concepts, train a little, and measure each step on validation.

    SIDE is head or tail, C a concept's number or name, as 'itransf concepts RUN' shows them. What is pinned and
    forbidden stays so in the new run, whenever it is trained further.
    """
    asked: dict[str, Any] = {
        "forbid": [parse_place(text, "--forbid") for text in forbid or ()],
        "pin": [parse_place(text, "--pin") for text in pin or ()],
        "merge": [parse_pair(text) for text in merge or ()],
        "prune": prune,
    }
    if not any(asked.values()):
        raise ConfigError("nothing is to be changed: give --forbid, --pin, --merge or --prune")
    before = open_run(run, device)
    edited = before.edit(**asked)
    refitted = edited.refit(epochs, progress=not quiet) if epochs else None
    result = refitted or edited
    result.save(out, overwrite=overwrite)
    measured = {"before": before, "edited": edited, **({"refitted": refitted} if refitted else {})}
    known = len(before.graph.notes)
    found = {
        "run": str(out),
        "changes": list(edited.graph.notes[known:]),
        "concepts": [before.config.model.concepts, result.config.model.concepts],
        "epochs": epochs,
        "valid": {step: figures_of(run) for step, run in measured.items()} if len(before.graph.valid) else None,
    }
    if as_json:
        print_json(found)
    else:
        show_edit(found, make_console())


def figures_of(run: Any) -> Mapping[str, float]:
    """Return the filtered figures on validation, both sides together."""
    figures: Mapping[str, float] = run.evaluate("valid").overall["filtered"]["both"]
    return figures


def parse_place(text: str, option: str) -> tuple[str, str, str]:
    """Turn RELATION.SIDE=CONCEPT into its parts; the relation's name may hold dots and equals signs."""
    place, equals, concept = text.rpartition("=")
    relation, dot, side = place.rpartition(".")
    if not (equals and dot and relation and concept.strip()):
        raise ConfigError(f"{option} {text!r}: write it as RELATION.SIDE=CONCEPT, for example borders.head=3")
    return relation, side, concept


def parse_pair(text: str) -> tuple[str, str]:
    """Turn A,B into two concepts."""
    first, comma, second = text.partition(",")
    if not (comma and first.strip() and second.strip()):
        raise ConfigError(f"--merge {text!r}: write it as A,B, two concepts with a comma between them")
    return first, second


def show_edit(found: Mapping[str, Any], console: Console) -> None:
    """Print what was changed and how validation took it."""
    for sentence in found["changes"]:
        console.print(Text(sentence), soft_wrap=True)
    then, now = found["concepts"]
    if then != now:
        console.print(Text(f"There are {now} concepts, numbered 0 to {now - 1}, where there were {then}."))
    console.print()
    if found["valid"] is None:
        console.print("There are no validation facts to measure it on.")
    else:
        console.print(tabulate_steps(found["valid"], found["epochs"]))
    console.print(Text(f"\nThe new run: {found['run']}"), soft_wrap=True)


def tabulate_steps(steps: Mapping[str, Mapping[str, float]], epochs: int) -> Group:
    """Return the table of validation figures, a row per step."""
    rows: Sequence[tuple[str, ...]] = [(STEPS[step], *format_metrics(figures, MAIN)) for step, figures in steps.items()]
    told = f"; re-fitted for {epochs:,} epoch{'s' * (epochs != 1)}" if epochs else ""
    return put_title(f"Ranks on valid, filtered (Hits in percent{told})", fill(make_table("", *MAIN, "Queries"), rows))
