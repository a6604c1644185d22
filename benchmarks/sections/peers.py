"""Training, ranking and starting beside other libraries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.sections.markdown import (
    Record,
    describe_setting,
    format_bytes,
    format_rate,
    format_target,
    make_table,
)

TITLES = {"itransf": "ITransF", "stranse": "STransE", "transe": "TransE", "transr": "TransR"}
LIBRARIES = {"ours": "itransf", "pykeen": "PyKEEN", "torchkge": "TorchKGE"}
FAST = "- Our rows are with the extra `fast` (numba) unless they say otherwise; the targets are for those"
STARTS = {
    "python": "`python -c pass`, for comparison",
    "import": "`python -c 'import itransf'`",
    "help": "`itransf --help`",
    "demo": "`itransf demo`",
}


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
    config = record["config"]
    missing = [LIBRARIES[name] for name in record["missing"]]
    failed = [f"{describe_row(row)} failed: {row['error']}" for row in record["rows"] if "error" in row]
    lines = [
        "## Beside other libraries",
        "",
        *describe_setting(record),
        f"- Rounds: {config['repetitions']}, threads: {config['threads']}; every measurement in a process of "
        "its own, the contenders in turn; medians, with the lowest and highest in brackets",
        *([FAST] if any(not row.get("fast", True) for row in record["rows"]) else []),
        *([f"- Not installed and so left out: {', '.join(missing)}"] if missing else []),
        *[f"- {line}" for line in failed],
    ]
    return "\n".join(lines) + "\n"


def render_training(record: Record) -> str:
    """Return the section on training."""
    rows = choose(record, "training")
    if not rows:
        return "### Training\n\nNothing was measured.\n"
    row, config = rows[0], record["config"]
    text = (
        "Positive triples per second: hinge loss, SGD, one Bernoulli negative, batches of "
        f"{row['batch_size']:,}; ITransF with {row['concepts']} concepts, at most {row['support_size']} per "
        f"relation side, l1, projected vectors of unit length. {config['seconds']:g} s of updates count, "
        f"after {config['warmup']:g} s that do not. Updates alone are timed: validation and the choice of "
        "concepts, which run between epochs, are not. Peers train TransR with their own loops, their own "
        "distance (PyKEEN l1, TorchKGE squared l2) and the same dimension for entities and relations."
    )
    return f"### Training\n\n{text}\n\n{make_rate_table(record, rows, 'triples/s')}"


def render_ranking(record: Record) -> str:
    """Return the section on filtered ranking."""
    rows = choose(record, "ranking")
    if not rows:
        return "### Ranking\n\nNothing was measured.\n"
    text = (
        "Filtered queries per second, one head or tail ranked among all entities each. The triples are a fixed "
        "sample of the test triples (smaller for slow contenders) or all of them, each ranked on both sides. "
        "Preparation is not timed: indexes of known triples, and TorchKGE's table of every entity projected by "
        "every relation. Our own projecting is timed. Memory is the peak of the whole process."
    )
    return f"### Ranking\n\n{text}\n\n{make_rate_table(record, rows, 'queries/s', with_memory=True)}"


def render_starts(record: Record) -> str:
    """Return the section on how soon the program answers."""
    rows = [
        [STARTS.get(name, name), f"{found['median']:.2f} s", format_target(found, "under {:g} s")]
        for name, found in record["starts"].items()
    ]
    text = "Wall time of whole processes, the interpreter's own start included, files warm."
    return f"### Starting\n\n{text}\n\n{make_table(['process', 'time', 'target'], rows)}"


def make_rate_table(record: Record, rows: Sequence[Record], unit: str, with_memory: bool = False) -> str:
    """Return rates, ratios to the faster peer, and targets."""
    titles = ["graph", "d", "contender", unit, "to the faster peer", "target"]
    titles += ["triples ranked", "peak memory", "target"] if with_memory else []
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
        keys = [key for key in ("activity", "dataset", "model", "norm", "block_size", "fast") if key in row]
        for line in lines:
            if line.get("contender", "ours") == "ours" and all(line.get(key, row[key]) == row[key] for key in keys):
                return line
    return None


def describe_row(row: Record) -> str:
    """Return the contender's name for people."""
    title = f"{LIBRARIES[row['contender']]} {TITLES[row['model']]}"
    if row["contender"] != "ours":
        return title
    if row["block_size"] > 1:
        title += f", shuffled in blocks of {row['block_size']}"
    if row["activity"] == "ranking":
        title += f", l{row['norm']}"
    return title if row.get("fast", True) else f"{title}, without `fast`"
