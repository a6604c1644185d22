"""docs/reproduction.md, written from stored results: no figure in it is typed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from itransf.errors import DataError
from itransf.experiments.reproduction.claims import judge_claims
from itransf.experiments.reproduction.drawing import write_picture
from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.results import Record, Results
from itransf.experiments.reproduction.sections import Section, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.stages import STAGES
from itransf.experiments.reproduction.stages.main import make_row
from itransf.files import write_text

OPENING = """# Reproduction

Written by `itransf reproduce render` from the results in `results/reproduction/`; change those by training, not this
page. Each table and figure of the paper (Xie, Ma, Dai, Hovy: *An Interpretable Knowledge Transfer Model for Knowledge
Base Completion*, ACL 2017) stands beside what the presets of this package give; what the paper leaves open, and what
was chosen, is in [models.md](models.md). The command under a heading trains what is missing and shows the same;
`--quick` makes it a matter of minutes on small bundled graphs, `--jobs 4` trains four at once on a GPU. Where a row has
more seeds than its command trains, `--seeds 0,1,2` trains three, and so on. The verdicts on the paper's claims are at
the end.
"""


def write_page(path: Path, results: Path) -> Path:
    """Write the page and, in a folder beside it that has its name, the figures; return where it lies.

    Raises:
        DataError: There are no results.
        MissingExtraError: matplotlib is not installed.
    """
    stored = Results(results)
    if not stored.records:
        raise DataError(
            f"{results}: there is no result in it; name a folder that has some, or train: itransf reproduce main"
        )
    sections = [introduce(stage, stage.render(stored, Scope())) for stage in STAGES.values()]
    figures = path.with_suffix("")
    for section in sections:
        for picture in section.pictures:
            write_picture(picture, figures)
    parts = [*sections, list_records(stored), judge_claims(stored)]
    write_text(path, "\n".join([OPENING, *(part.to_markdown(figures.name) for part in parts)]))
    return path


def introduce(stage: Stage, section: Section) -> Section:
    """Return a stage's section with the command that gives it above."""
    return replace(section, parts=(f"`itransf reproduce {stage.name}`", *section.parts))


def list_records(results: Results) -> Section:
    """Return every result with the command that gave it, and what was made with settings that no longer hold."""
    rows = [
        (f"`{key}`", f"`{record['command']}`", write_commit(record), write_machine(record), record["date"][:10])
        for key, record in results.records.items()
    ]
    table = make_table(("Result", "Command", "Commit", "Machine", "Date"), rows, names=5)
    outdated = [f"- `{key}`: {'; '.join(found)}" for key, found in results.list_outdated()]
    told = "Made with other settings than now, and so shown nowhere else:\n\n" + "\n".join(outdated)
    opening = (
        "Every result is a file in `results/reproduction/` that holds all settings, versions and replicates; a star "
        "marks a commit with changes on top. " + describe_rebuilding(results)
    )
    notes = [*([told] if outdated else []), *list_notes(results)]
    return Section("Results and the commands that gave them", (opening, table, *notes))


def list_notes(results: Results) -> list[str]:
    """Return what is noted of results, each note with all rows it is about."""
    rows: dict[str, list[str]] = {}
    for record in results.records.values():
        if "note" in record:
            rows.setdefault(record["note"], []).append(f"`{record['row_key']}`")
    lines = [f"- {note}: {', '.join(dict.fromkeys(keys))}" for note, keys in rows.items()]
    return ["What is noted of some of them (all seeds of a row):\n\n" + "\n".join(lines)] if lines else []


def describe_rebuilding(results: Results) -> str:
    """Say how large the trained runs of ITransF are and how to have them again: they are not kept."""
    told = ["Trained runs are not kept beside them: a command rebuilds each, `--out RUN` says where"]
    for dataset in ("wn18", "fb15k"):
        record = results.find(make_row(Scope(), dataset, "itransf"))
        if record is not None:
            size = 4 * record["parameters"] / 1e6
            told.append(f"ITransF on {Scope().title(dataset)} has {size:,.1f} MB of weights")
    return "; ".join(told) + "."


def write_commit(record: Record) -> str:
    """Return the commit a result was made at."""
    git = record["git"]
    return (git["commit"] or "unknown")[:10] + ("*" if git["dirty"] is True else "")


def write_machine(record: Record) -> str:
    """Return what a result was made on."""
    hardware = record["hardware"]
    return str(hardware["gpu"] if record["device"] == "cuda" else hardware["cpu"])
