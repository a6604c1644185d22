"""Write docs/performance.md from the stored results: no figure in it is typed."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.records import RESULTS, ROOT, read_records
from itransf.files import write_text

Record = Mapping[str, Any]
TITLES = {"itransf": "ITransF", "stranse": "STransE", "transe": "TransE", "transr": "TransR"}
LIBRARIES = {"ours": "itransf", "pykeen": "PyKEEN", "torchkge": "TorchKGE"}
STARTS = {
    "python": "`python -c pass`, for comparison",
    "import": "`python -c 'import itransf'`",
    "help": "`itransf --help`",
    "demo": "`itransf demo`",
}
OPENING = """# Performance

Written by `python -m benchmarks.render` from the records in `results/`; change
those by measuring, not this page.
"""
RERUN = """## Measuring again

The peers live in an environment of their own; without them the benchmark leaves them out and says so.
Named graphs are found in `$ITRANSF_DATA` or fetched. Run it on a quiet machine.

```
python3 -m venv build/peers
build/peers/bin/python -m pip install -c constraints.txt -e '.[plots]' pykeen torchkge
build/peers/bin/python -m benchmarks.peers --demo
build/peers/bin/python -m benchmarks.render
```
"""


def render(records: Mapping[str, Record]) -> str:
    """Return the page for these records."""
    peers = records.get("peers")
    body = render_peers(peers) if peers else "There is no record `results/benchmark-peers.json` yet.\n"
    others = [
        f"- `results/benchmark-{name}.json`: `{record['command']}`, {record['date']}"
        for name, record in records.items()
        if name != "peers"
    ]
    rest = ["## Other records\n\n" + "\n".join(others) + "\n"] if others else []
    return "\n".join([OPENING, body, *rest, RERUN])


def render_peers(record: Record) -> str:
    """Return the sections on the comparison with other libraries."""
    sections = [
        render_setting(record),
        render_training(record),
        render_ranking(record),
        render_starts(record),
    ]
    return "\n".join(sections)


def render_setting(record: Record) -> str:
    """Say what ran, where and when."""
    hardware, git, versions, config = (record[key] for key in ("hardware", "git", "versions", "config"))
    changed = {True: ", with uncommitted changes", False: "", None: ""}[git["dirty"]]
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    missing = [LIBRARIES[name] for name in record["missing"]]
    failed = [f"{describe_row(row)} failed: {row['error']}" for row in record["rows"] if "error" in row]
    lines = [
        "## What was measured",
        "",
        f"- Command: `{record['command']}`, {record['date']}, seed {record['seed']}",
        f"- Commit: {git['commit'] or 'unknown'}{changed}",
        f"- Machine: {hardware['cpu']}, {hardware['cores']} cores, {format_bytes(hardware['memory_bytes'])}, "
        f"{hardware['platform']}; load {hardware['load_before']} before the start",
        f"- Versions: {named}",
        f"- Rounds: {config['repetitions']}, threads: {config['threads']}; every measurement in a process of "
        "its own, the contenders in turn; medians, with the lowest and highest in brackets",
        *([f"- Not installed and so left out: {', '.join(missing)}"] if missing else []),
        *[f"- {line}" for line in failed],
    ]
    return "\n".join(lines) + "\n"


def render_training(record: Record) -> str:
    """Return the section on training."""
    rows = choose(record, "training")
    if not rows:
        return "## Training\n\nNothing was measured.\n"
    row, config = rows[0], record["config"]
    text = (
        "Positive facts per second: hinge loss, SGD, one Bernoulli negative, batches of "
        f"{row['batch_size']:,}; ITransF with {row['concepts']} concepts, at most {row['support_size']} per "
        f"relation side, l1, projected vectors of unit length. {config['seconds']:g} s of updates count, "
        f"after {config['warmup']:g} s that do not. Updates alone are timed: validation and the choice of "
        "concepts, which run between epochs, are not. Peers train TransR with their own loops, their own "
        "distance (PyKEEN l1, TorchKGE squared l2) and the same dimension for entities and relations."
    )
    return f"## Training\n\n{text}\n\n{make_rate_table(record, rows, 'facts/s')}\n"


def render_ranking(record: Record) -> str:
    """Return the section on filtered ranking."""
    rows = choose(record, "ranking")
    if not rows:
        return "## Ranking\n\nNothing was measured.\n"
    text = (
        "Filtered queries per second, one head or tail ranked among all entities each. The facts are a fixed "
        "sample of the test facts (smaller for slow contenders) or all of them, each ranked on both sides. "
        "Preparation is not timed: indexes of known facts, and TorchKGE's table of every entity projected by "
        "every relation. Our own projecting is timed. Memory is the peak of the whole process."
    )
    return f"## Ranking\n\n{text}\n\n{make_rate_table(record, rows, 'queries/s', with_memory=True)}\n"


def render_starts(record: Record) -> str:
    """Return the section on how soon the program answers."""
    rows = [
        [STARTS.get(name, name), f"{found['median']:.2f} s", format_target(found, "under {:g} s")]
        for name, found in record["starts"].items()
    ]
    text = "Wall time of whole processes, the interpreter's own start included, files warm."
    return f"## Starting\n\n{text}\n\n{make_table(['process', 'time', 'target'], rows)}\n"


def make_rate_table(record: Record, rows: Sequence[Record], unit: str, with_memory: bool = False) -> str:
    """Return rates, ratios to the faster peer, and targets."""
    titles = ["graph", "d", "contender", unit, "to the faster peer", "target"]
    titles += ["facts ranked", "peak memory", "target"] if with_memory else []
    cells = []
    for row in rows:
        ratio, memory = find_match(record["comparisons"], row), find_match(record["memory"], row)
        line = [
            row["dataset"],
            str(row["dim"]),
            describe_row(row),
            format_rate(row["rate"]),
            f"{ratio['ratio']:.1f}x" if ratio else "",
            format_target(ratio, "at least {:g}x"),
        ]
        if with_memory:
            line += [
                f"{row['repetitions'][0]['units'] // 2:,}" if row["repetitions"] else "",
                format_bytes(row["peak_bytes"]) if row["peak_bytes"] else "",
                format_target(memory, "under {:g} GB", 1e9),
            ]
        cells.append(line)
    return make_table(titles, cells)


def choose(record: Record, activity: str) -> list[Record]:
    """Return the rows of one activity, graph by graph."""
    rows = [row for row in record["rows"] if row["activity"] == activity]
    order = list(dict.fromkeys(row["dataset"] for row in rows))
    return sorted(rows, key=lambda row: order.index(row["dataset"]))


def find_match(lines: Iterable[Record], row: Record) -> Record | None:
    """Return the line that speaks of this row, if there is one."""
    if row["contender"] == "ours":
        keys = ("activity", "dataset", "model", "norm", "block_size")
        for line in lines:
            if line.get("contender", "ours") == "ours" and all(line.get(key, row[key]) == row[key] for key in keys):
                return line
    return None


def describe_row(row: Record) -> str:
    """Return the contender's name for people."""
    title = f"{LIBRARIES[row['contender']]} {TITLES[row['model']]}"
    if row["block_size"] > 1:
        return f"{title}, shuffled in blocks of {row['block_size']}"
    return f"{title}, l{row['norm']}" if row["contender"] == "ours" and row["activity"] == "ranking" else title


def format_rate(rate: Mapping[str, float] | None) -> str:
    """Return median and extremes."""
    return f"{rate['median']:,.0f} ({rate['low']:,.0f} to {rate['high']:,.0f})" if rate else "failed"


def format_target(found: Record | None, pattern: str, unit: float = 1.0) -> str:
    """Return the target and whether it was met, nothing where there is none."""
    if found is None or found["target"] is None:
        return ""
    return f"{pattern.format(found['target'] / unit)}: {'met' if found['met'] else '**missed**'}"


def format_bytes(count: float) -> str:
    """Return so many bytes in gigabytes."""
    return f"{count / 1e9:.2f} GB"


def make_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.render", description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "performance.md")
    options = parser.parse_args(arguments)
    write_text(options.out, render(read_records(options.results)))
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
