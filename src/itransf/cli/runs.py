"""`itransf info`, `runs`, `seal` and `export`: a description of a run, a list of runs, checksums, tables of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

import itransf
from itransf.cli import output
from itransf.cli.options import AsJson, Device, Out, RunFolder, describe_checkpoint, open_run
from itransf.config import format_toml
from itransf.errors import name_count
from itransf.records import RunRecord, find_runs, judge_state


def show_info(
    run: RunFolder,
    labels: Annotated[Path | None, Option(metavar="FILE", help="Add labels to the run: name, label.")] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Show what a run is: identity, data, results and settings."""
    opened = open_run(run, device)
    if labels is not None:
        opened.label(labels, run)
    info = opened.info()
    if not as_json:
        output.warn(info["notes"])
    output.tell(info, as_json, lambda screen: screen.say(describe_run(info)))


def describe_run(info: Mapping[str, Any]) -> str:
    """Return a run as lines, then its settings as TOML."""
    test, steps = info["metrics"].get("test"), info["lineage"]
    lines = {
        "Run": info["id"],
        "Created": f"{info['created']} by itransf {info['version']}",
        "Parent": info["parent"],
        "Updated": steps and f"{name_count(len(steps), 'time')}, last on {steps[-1]['date'][:10]}",
        "Model": f"{info['model']}, {info['parameters']:,} parameters",
        "Graph": f"{info['graph']}: {info['entities']:,} entities, {info['relations']:,} relations",
        "Triples": ", ".join(f"{number:,} {split}" for split, number in info["triples"].items()),
        "Data": f"sha256 {info['data_hash'][:16]}",
        "Seed": list_seeds(info),
        "Members": ", ".join(info.get("members", ())),
        "Shown": info.get("shown") and f"concepts and explanations of {info['shown']}",
        "Trained": output.describe_training(info),
        "Best": describe_best(info["best"]),
        "Test": test
        and f"MRR {output.format_number(test['mrr'], 3)}, Hits@10 {output.format_share(test['hits@10'])} %",
        "Final": info.get("final") and "trained on all triples; Best and Test are of the run it was chosen by (Parent)",
        "State": f"unfinished: {describe_checkpoint(info)}" if info["unfinished"] is not None else None,
    }
    shown = "\n".join(f"{name:8} {value}" for name, value in lines.items() if value)
    return f"{shown}\n\n{format_toml(info['config'])}"


def list_seeds(info: Mapping[str, Any]) -> str:
    """Return the seed of a run, or those of an ensemble."""
    others = len(info.get("members", ())) - 1
    return f"{info['seed']} to {info['seed'] + others}" if others > 0 else str(info["seed"])


def describe_best(best: Mapping[str, Any] | None) -> str:
    """Return the epoch whose weights were kept."""
    if best is None:
        return "the last weights (not validated)"
    (metric, value), *_ = ((key, value) for key, value in best.items() if key not in ("phase", "epoch"))
    if "epoch" not in best:
        return f"validation {metric} {value:.4g}"
    refit = f"{best['phase']}, " if best["phase"] != "training" else ""
    return f"{refit}epoch {best['epoch']:,}, validation {metric} {value:.4g}"


def list_runs(
    folder: Annotated[Path, Argument(metavar="[FOLDER]", help="Folder that contains run folders.")] = Path("runs"),
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """List all runs below a folder, best first.

    Runs on the same graph are ordered by their validation metric. A run is damaged if a file is missing or has another
    size; 'itransf seal RUN --check' also finds changed content.
    """
    listed, faults = find_runs(folder)
    output.warn(faults)
    found = [(path, record, judge_state(path)) for path, record in listed]
    content = [{"run": str(path), "state": state, **record.to_dict()} for path, record, state in found]
    columns = ["run", "state", *RunRecord.__annotations__]
    output.tell_rows(content, content, out, as_json, lambda screen: show_runs(found, screen), columns)


def show_runs(runs: Sequence[tuple[Path, RunRecord, str]], screen: output.Screen) -> None:
    """Print a table of runs."""
    if not runs:
        screen.say("There are no runs.")
        return
    columns: output.Columns = {
        "Run": lambda run: str(run[0]),
        "Graph": lambda run: run[1].graph,
        "Model": lambda run: run[1].model + " (final)" * run[1].final,
        "State": lambda run: run[2],
        "Validation": lambda run: "{} {:.4g}".format(*run[1].validation) if run[1].validation else "–",
        "Test MRR": lambda run: output.format_number(run[1].metrics.get("test", {}).get("mrr"), 3),
        "Seed": lambda run: list_seeds(run[1].to_dict()),
        "Created": lambda run: run[1].created[:10],
    }
    screen.tabulate_each(runs, columns, names=4)


def seal_run(
    run: RunFolder,
    check: Annotated[bool, Option("--check", help="Only compare the files with their checksums.")] = False,
    as_json: AsJson = False,
) -> None:
    """Accept files of a run that were edited by hand.

    A run is refused if a file does not match its checksum. This command computes new checksums, if the run opens.
    """
    if check:
        itransf.storage.RunFolder(run).verify()
        folders = [itransf.storage.RunFolder(path) for path in (run, *itransf.storage.RunFolder(run).members)]
        files = [str((each.path / name).relative_to(run)) for each in folders for name in sorted(each.files)]
        output.tell(
            {"files": files}, as_json, lambda screen: screen.say(f"All {name_count(len(files), 'file')} match.")
        )
        return
    changed = itransf.seal(run)
    text = f"Accepted: {', '.join(changed)}." if changed else "No file has changed."
    output.tell({"changed": changed}, as_json, lambda screen: screen.say(text))


def export_run(
    run: RunFolder,
    out: Annotated[Path, Option(metavar="FOLDER", help="Folder for the tables.")],
    table_format: Annotated[Literal["parquet", "csv"], Option("--format", help="File format.")] = "parquet",
    overwrite: Annotated[bool, Option("--overwrite", help="Replace existing tables.")] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Export embeddings, concepts and attention as tables."""
    files = open_run(run, device).export(out, table_format, overwrite=overwrite)
    sizes = "\n".join(f"{file}  ({file.stat().st_size:,} bytes)" for file in files)
    output.tell({"files": [str(file) for file in files]}, as_json, lambda screen: screen.say(sizes))
