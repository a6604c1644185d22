"""Markdown of the pages in `docs/`: tables, the description of a measurement, and the place where tables go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.records import Record

ABSENT = "-"
LARGEST = 1000  # value that is shown


def put_tables(page: str, tables: str, name: str = "tables") -> str:
    """Return a page with the text between its marks `<!-- begin: NAME -->` and `<!-- end: NAME -->` replaced."""
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    return marked.sub(lambda _: f"{begin}\n\n{tables.strip()}\n\n{end}", page)


def describe_setting(record: Record) -> list[str]:
    """Return the command, commit, machine and versions of a measurement as a list."""
    hardware, git, versions = (record[key] for key in ("hardware", "git", "versions"))
    changed = {True: ", with uncommitted changes", False: ""}.get(git["dirty"], ", unknown whether with changes")
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    gpu = f"{hardware['gpu']}; " if hardware.get("gpu") else ""
    memory = f"{format_bytes(hardware['memory_bytes'])}, " if hardware["memory_bytes"] else ""
    return [
        f"- Command: `{record['command']}`, {record['date']}, seed {record['seed']}",
        f"- Commit: {git['commit'] or 'unknown'}{changed}",
        f"- Machine: {gpu}{hardware['cpu']}, {hardware['cores']} cores, {memory}"
        f"{hardware['platform']}; load {hardware['load_before']} before the start",
        f"- Versions: {named}",
    ]


def make_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def format_rate(rate: Mapping[str, float] | None) -> str:
    """Return the median and the extremes."""
    return f"{rate['median']:,.0f} ({rate['low']:,.0f} to {rate['high']:,.0f})" if rate else "failed"


def format_target(found: Record | None, pattern: str, unit: float = 1.0) -> str:
    """Return the target and whether it was met, an empty string without a target."""
    if found is None or found["target"] is None:
        return ""
    return f"{pattern.format(found['target'] / unit)}: {format_verdict(found['met'])}"


def format_verdict(met: bool) -> str:
    """Return whether a target was met."""
    return "met" if met else "**missed**"


def format_bytes(count: float) -> str:
    """Return bytes in gigabytes."""
    return f"{count / 1e9:.2f} GB"


def format_value(value: float | None) -> str:
    """Return a value with three decimals; very large ratios have no exact meaning."""
    if value is None:
        return ABSENT
    return f"{value:.3f}" if value <= LARGEST else f"> {LARGEST:,}"
