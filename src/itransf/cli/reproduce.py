"""`itransf reproduce`: the paper's tables and figures, from training to the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

import itransf
from itransf.cli.options import AsJson, Device, DeviceName
from itransf.cli.output import fill, make_console, make_table, print_json, put_title, remark
from itransf.cli.train import Settings, Stopped
from itransf.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from itransf.experiments.reproduction.sections import Picture, Section, Table

RESULTS, RUNS, PAGE = Path("results/reproduction"), Path("runs/reproduction"), Path("docs/reproduction.md")
QUICK_RESULTS, QUICK_RUNS = Path("runs/quick/results"), Path("runs/quick")

What = Annotated[
    str,
    typer.Argument(
        metavar="WHAT",
        help="datasets, frequencies, selection, main, rare, attention, sparseness, compression, domain-sampling, "
        "sparse-encoding, choices, rules, best, ablation, all; or render, to write the page from what is stored.",
    ),
]
Seeds = Annotated[
    str | None, typer.Option(metavar="N,N,...", help="Seeds of each training. [default: 0,1,2 or 0, as WHAT needs]")
]
Quick = Annotated[bool, typer.Option("--quick", help="Minutes on a CPU: small bundled graphs, few epochs.")]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Trainings at once on one GPU.")]
ResultsFolder = Annotated[
    Path | None, typer.Option("--results", metavar="DIR", help=f"For the results. [default: {RESULTS}]")
]
RunsFolder = Annotated[
    Path | None, typer.Option("--runs", metavar="DIR", help=f"For the run folders and figures. [default: {RUNS}]")
]
Only = Annotated[str, typer.Option(metavar="TEXT", help="Do only what has this in its name, such as wn18-itransf.")]
Again = Annotated[bool, typer.Option("--again", help="Train even what has a result, from the start.")]
RenderOnly = Annotated[bool, typer.Option("--render-only", help="Train nothing: show what is stored.")]
PageFile = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where 'render' writes the page.")]


def reproduce_paper(
    what: What,
    seeds: Seeds = None,
    quick: Quick = False,
    settings: Settings = None,
    jobs: Jobs = 1,
    only: Only = "",
    again: Again = False,
    render_only: RenderOnly = False,
    results: ResultsFolder = None,
    runs: RunsFolder = None,
    out: PageFile = PAGE,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Train and show a table or figure of the paper, its numbers beside ours.

    What is stored already is not trained again; what was stopped goes on.
    """
    reproduction = itransf.experiments.reproduction
    scope = reproduction.Scope(quick, parse_seeds(seeds), tuple(settings or ()))
    stored = results or (QUICK_RESULTS if quick else RESULTS)
    place = runs or (QUICK_RUNS if quick else RUNS)
    if what == "render":
        remark(f"wrote {reproduction.write_page(out, stored)}")
        return
    shop = reproduction.Workshop(place, device.value, progress=jobs == 1)
    options: dict[str, Any] = {"side_by_side": jobs, "only": only, "again": again, "render_only": render_only}
    console, shown = make_console(), []
    try:
        for section in reproduction.reproduce(what, scope, stored, shop, tell=remark, **options):
            shown.append(section)
            if not as_json:
                show_section(section, place / "figures", console)
    except KeyboardInterrupt:
        raise Stopped("Stopped. What was finished is stored; the same command goes on.") from None
    if as_json:
        print_json([section.to_dict() for section in shown])


def parse_seeds(text: str | None) -> tuple[int, ...]:
    """Turn "0,1,2" into numbers."""
    words = [word for word in (text or "").replace(",", " ").split() if word]
    if not all(word.isdecimal() for word in words) or (text is not None and not words):
        raise ConfigError(f"--seeds {text!r} are not whole numbers; write them as 0,1,2")
    return tuple(map(int, words))


def show_section(section: Section, figures: Path, console: Console) -> None:
    """Print a section, and write its pictures."""
    console.print(Text(section.title, "bold"))
    for part in section.parts:
        console.print()
        if isinstance(part, str):
            console.print(Text(part.replace("*", "").replace("`", "")))  # marks of the page, not of a terminal
        elif part.kind == "picture":
            console.print(Text(part.caption))
            console.print(Text(draw_if_possible(part, figures), "dim"), soft_wrap=True)
        else:
            print_whole(part, console)
    console.print()


def print_whole(part: Table, console: Console) -> None:
    """Print a table; what does not fit is broken by the terminal, not cut."""
    table = fill(make_table(*part.columns, names=part.names), part.rows)
    usual = console.width
    console.width = max(usual, console.measure(table, options=console.options.update(max_width=1000)).maximum)
    console.print(put_title(part.title, table) if part.title else table)
    console.width = usual


def draw_if_possible(picture: Picture, folder: Path) -> str:
    """Draw a picture and say where it lies, or what is missing for it."""
    try:
        return f"Figure: {itransf.experiments.reproduction.write_picture(picture, folder)}"
    except MissingExtraError as error:
        return f"No figure: {error}"
