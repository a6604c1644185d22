"""Pieces of Markdown that several sections need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]


def describe_setting(record: Record) -> list[str]:
    """Say what ran, where and when, as a list."""
    hardware, git, versions = (record[key] for key in ("hardware", "git", "versions"))
    changed = {True: ", with uncommitted changes", False: "", "unknown": ", changes unknown"}[git["dirty"]]
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


def format_rate(rate: Mapping[str, float] | None) -> str:
    """Return median and extremes."""
    return f"{rate['median']:,.0f} ({rate['low']:,.0f} to {rate['high']:,.0f})" if rate else "failed"


def format_target(found: Record | None, pattern: str, unit: float = 1.0) -> str:
    """Return the target and whether it was met, nothing where there is none."""
    if found is None or found["target"] is None:
        return ""
    return f"{pattern.format(found['target'] / unit)}: {format_verdict(found['met'])}"


def format_verdict(met: bool) -> str:
    """Say whether a target was met."""
    return "met" if met else "**missed**"


def format_bytes(count: float) -> str:
    """Return so many bytes in gigabytes."""
    return f"{count / 1e9:.2f} GB"


def make_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
