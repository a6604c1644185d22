"""The pages in `docs/`, written from the templates in `pages/` and stored results.

A template holds the prose. `{{name | argument | ...}}` is replaced by what a function of this module returns, so that
no value is typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from itransf.errors import DataError
from itransf.files import write_text
from itransf.run.settings import flatten
from reproduction.claims import tabulate_claims
from reproduction.experiments import HERE, Row, read_experiments, read_toml
from reproduction.figures import write_pictures
from reproduction.results import Results
from reproduction.rows import Found, fill
from reproduction.statistics import format_metric
from reproduction.tables import tabulate, tabulate_grid, write_cell

PLACEHOLDER = re.compile(r"\{\{(.+?)\}\}", re.DOTALL)


def write_pages(folder: Path, results: Path) -> list[Path]:
    """Write all pages and, in a folder named after the first, the figures.

    Raises:
        DataError: There are no results.
        MissingExtraError: matplotlib is not installed.
    """
    stored = Results(results)
    if not stored.records:
        raise DataError(f"{results}: there are no results; train some with 'python -m reproduction main'")
    for experiment in read_experiments().values():
        write_pictures(experiment, stored, folder / "reproduction")
    paths = []
    for template in sorted((HERE / "pages").glob("*.md")):
        paths.append(folder / template.name)
        write_text(paths[-1], fill_template(template.read_text(encoding="utf-8"), stored))
    return paths


def fill_template(text: str, results: Results) -> str:
    """Return a template with all placeholders filled."""

    def replace(found: re.Match[str]) -> str:
        name, *arguments = (" ".join(word.split()) for word in found[1].split("|"))
        return FILLERS[name](results, *arguments)

    return PLACEHOLDER.sub(replace, text)


def write_tables(results: Results, name: str, *titles: str) -> str:
    """Return the tables of an experiment, or those with some titles."""
    tables = [table for table in read_experiments()[name].tables if not titles or table.title in titles]
    return "\n\n".join(tabulate(table, results).to_markdown() for table in tables)


def write_grid(results: Results, name: str, column: str) -> str:
    """Return one column of all tables of an experiment, side by side."""
    return tabulate_grid(read_experiments()[name], column, results).to_markdown()


def write_figures(results: Results, name: str) -> str:
    """Return the figures of an experiment with their captions."""
    pictures = read_experiments()[name].pictures
    return "\n\n".join(f"![{picture.caption}](reproduction/{picture.name}.png)" for picture in pictures)


def write_value(results: Results, name: str, title: str, label: str, column: str) -> str:
    """Return one cell of a table."""
    filled = fill(read_experiments()[name].find_table(title), results)
    found = filled.find(label)
    assert found is not None, label
    return write_cell(column, found, filled)


GIVEN = (("mr", "MR", 1, "paper"), ("hits@10", "Hits@10", 100, "paper"), ("mrr", "MRR", 1, "published"))
NEAR = 0.01  # MRR below a publication's that counts as reached


def list_short(results: Results, name: str) -> str:
    """List the rows whose median does not reach the figures of the paper, or of their own publication."""
    lines = []
    for table in read_experiments()[name].tables:
        rows = [found for found in fill(table, results).rows if found.row.paper and found.records]
        reached = [_name_goal(found) for found in rows if not _list_missed(found)]
        for found in rows:
            label, missed = found.row.label, _list_missed(found)
            place = "" if " on " in label else f" on {table.title}"
            other = " (another row of the model reaches all)" if _name_goal(found) in reached else ""
            lines += [f"- {label}{place}: {'; '.join(missed)}{other}"] if missed else []
    return "\n".join(lines) or "none"


def _name_goal(found: Found) -> tuple[str, object]:
    """Return the model, which the first words of a label name, and the figures that it should reach."""
    return found.row.label.partition(",")[0], found.row.paper


def _list_missed(found: Found) -> list[str]:
    """Return the figures of a row that are worse than those given for it, with the latter."""
    missed = []
    for metric, title, scale, source in GIVEN:
        printed = (found.row.paper or {}).get(metric)
        if printed is None:
            continue
        ours = found.sample(metric).median
        wanted = round(printed / scale, 6) - (NEAR if source == "published" else 0)
        if (ours > wanted) if metric == "mr" else (ours < wanted):
            missed.append(f"{title} {format_metric(ours, metric)}, {source} {printed:g}")
    return missed


def list_deviations(results: Results, preset: str) -> str:
    """Return the settings of a preset that differ from what the paper gives."""
    ours = flatten(Row("", preset).make_job().resolve().to_dict())
    given = {**read_toml("paper.toml")["all"], **read_toml("paper.toml")[preset.partition("/")[0]]}
    return ", ".join(f"`{key}` {ours[key]} ({value})" for key, value in given.items() if ours[key] != value)


def count_results(results: Results) -> str:
    """Return the number of stored results."""
    return f"{len(results.records):,}"


def list_outdated(results: Results) -> str:
    """Return a sentence about the results made with other settings than now, which no table shows, if there are any."""
    names = ", ".join(f"`{key}`" for key, _ in results.list_outdated())
    return f"\n\nNot shown, as their settings differ from those of their preset: {names}." if names else ""


FILLERS: dict[str, Callable[..., str]] = {
    "tables": write_tables,
    "grid": write_grid,
    "figures": write_figures,
    "value": write_value,
    "claims": lambda results: tabulate_claims(results).to_markdown(),
    "short": list_short,
    "deviations": list_deviations,
    "count": count_results,
    "outdated": list_outdated,
}
