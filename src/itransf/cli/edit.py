"""`itransf edit`: change which concepts relations use, by hand, and see what it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.text import Text

import itransf
from itransf.cli.evaluation import MAIN, format_metrics, name_metrics
from itransf.cli.new_run import NewRun, Overwrite, refuse_taken
from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run
from itransf.cli.output import count, fill, make_console, make_table, print_json, put_title
from itransf.errors import ConfigError

STEPS = {"before": "before", "edited": "edited", "refitted": "re-fitted"}

Forbid = Annotated[
    list[str] | None,
    typer.Option("--forbid", metavar="REL.SIDE=C", help="A concept this side may not use; repeatable."),
]
Pin = Annotated[
    list[str] | None, typer.Option("--pin", metavar="REL.SIDE=C", help="A concept this side always has; repeatable.")
]
Merge = Annotated[
    list[str] | None, typer.Option("--merge", metavar="A,B", help="Two concepts to make one; repeatable.")
]
Prune = Annotated[int | None, typer.Option("--prune", metavar="M", min=1, help="Keep the M concepts that matter most.")]
Epochs = Annotated[int, typer.Option("--epochs", metavar="N", min=0, help="Of the re-fit; 0 trains nothing.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress: only the result.")]


def edit_concepts(
    run: RunFolder,
    out: NewRun,
    forbid: Forbid = None,
    pin: Pin = None,
    merge: Merge = None,
    prune: Prune = None,
    epochs: Epochs = 5,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Forbid, pin, merge or prune concepts, train a little, and measure each step on validation.

    SIDE is head or tail, C a concept's number or name, as 'itransf concepts RUN' shows them. What is pinned and
    forbidden stays so in the new run, whenever it is trained further.
    """
    asked = parse_changes(forbid or (), pin or (), merge or (), prune)
    refuse_taken(out, overwrite)
    before = open_run(run, device)
    edited = before.edit(**asked)
    refitted = edited.refit(epochs, progress=not quiet) if epochs else None
    (refitted or edited).save(out, overwrite=overwrite)
    steps = {"before": before, "edited": edited} | ({"refitted": refitted} if refitted else {})
    found = {"run": str(out), "epochs": epochs, **describe_steps(steps)}
    if as_json:
        print_json(found)
    else:
        show_edit(found, make_console())


def parse_changes(forbid: Iterable[str], pin: Iterable[str], merge: Iterable[str], prune: int | None) -> dict[str, Any]:
    """Turn what was written into what `Run.edit` takes."""
    asked: dict[str, Any] = {
        "forbid": [parse_place(text, "--forbid") for text in forbid],
        "pin": [parse_place(text, "--pin") for text in pin],
        "merge": [parse_pair(text) for text in merge],
        "prune": prune or 0,
    }
    if not any(asked.values()):
        raise ConfigError("nothing is to be changed: give --forbid, --pin, --merge or --prune")
    return asked


def describe_steps(steps: Mapping[str, itransf.Run]) -> dict[str, Any]:
    """Return what was changed, and the filtered figures on validation at each step."""
    before, edited = steps["before"], steps["edited"]
    measured = steps if len(before.graph.valid) else {}
    valid = {step: run.evaluate("valid").overall["filtered"]["both"] for step, run in measured.items()}
    return {
        "changes": list(edited.graph.notes[len(before.graph.notes) :]),
        "concepts": [before.config.model.concepts, edited.config.model.concepts],
        "valid": valid or None,
    }


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
        console.print("There are no validation triples to measure it on.")
    else:
        console.print(tabulate_steps(found["valid"], found["epochs"]))
    console.print(Text(f"\nThe new run: {found['run']}"), soft_wrap=True)


def tabulate_steps(steps: Mapping[str, Mapping[str, float]], epochs: int) -> Group:
    """Return the table of validation figures, a row per step."""
    rows: Sequence[tuple[str, ...]] = [(STEPS[step], *format_metrics(figures, MAIN)) for step, figures in steps.items()]
    told = f"; re-fitted for {count(epochs, 'epoch')}" if epochs else ""
    return put_title(
        f"Ranks on valid, filtered (Hits in percent{told})", fill(make_table("", *name_metrics(MAIN), "Queries"), rows)
    )
