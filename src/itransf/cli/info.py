"""`itransf info`: what a run is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run, tell_checkpoint
from itransf.cli.output import count, make_console, print_json, warn
from itransf.config import format_toml

NewLabels = Annotated[
    Path | None,
    typer.Option("--labels", metavar="FILE", help="Give names readable labels, kept with the run: name, label."),
]


def show_info(
    run: RunFolder, labels: NewLabels = None, device: Device = DeviceName.auto, as_json: AsJson = False
) -> None:
    """Show what a run was trained on, and its settings."""
    opened = open_run(run, device)
    if labels is not None:
        opened.label(labels, run)
    info = opened.info()
    if as_json:
        print_json(info)
        return
    warn(info["notes"])
    make_console().print(describe_run(info), markup=False, soft_wrap=True)


def describe_run(info: Mapping[str, Any]) -> str:
    """Return a run's triples as lines, then its settings as TOML."""
    triples = ", ".join(f"{count:,} {split}" for split, count in info["triples"].items())
    refitted = f" and {info['refit_epochs']:,} of a re-fit" if info["refit_epochs"] else ""
    lines = {
        "Model": f"{info['model']}, {info['parameters']:,} parameters",
        "Graph": f"{info['graph']}: {info['entities']:,} entities, {info['relations']:,} relations",
        "Triples": triples,
        "Trained": f"{count(info['epochs'], 'epoch')}{refitted} in {info['seconds']:,.0f} s",
        "Best": describe_best(info["best"]),
    }
    if info["unfinished"] is not None:
        lines["State"] = f"unfinished: {tell_checkpoint(info)}"
    told = "\n".join(f"{name:8} {value}" for name, value in lines.items())
    return f"{told}\n\n{format_toml(info['config'])}"


def describe_best(best: Mapping[str, Any] | None) -> str:
    """Say which epoch's weights are kept."""
    if best is None:
        return "the last weights (these were not validated)"
    (metric, value), *_ = ((key, value) for key, value in best.items() if key not in ("phase", "epoch"))
    refit = "re-fit, " if best["phase"] != "training" else ""
    return f"{refit}epoch {best['epoch']:,}, validation {metric} {value:.4g}"
