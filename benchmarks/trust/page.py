"""The tables of docs/reliability.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.markdown import make_table
from benchmarks.records import Record
from benchmarks.trust import bombs

FILE = "trust.json"
GUARANTEES = {
    "flipped bits": "one flipped bit in any file of a run is noticed",
    "truncations": "a truncated file is noticed",
    "resumed from a damaged checkpoint": "the checkpoint before it gives the same weights in the end",
    "hostile folders": "wrong content with right checksums is refused in a sentence, or the run works",
    "bombs": f"reading exceeds its limit of {bombs.LIMIT >> 20} MiB by at most {bombs.SLACK >> 20} MiB",
    "two trainings in one folder": "two trainings in one folder: the second is refused",
    "readers while a run is replaced": "a run is opened while it is replaced: it is the old or the new one",
    "two processes fill the cache": "two processes download a dataset at once: both get it",
    "eight threads ask one run": "eight threads query one run: the answers are those of one thread",
}


def render(record: Record) -> str:
    """Return the tables of docs/reliability.md."""
    counts: Mapping[str, Mapping[str, Any]] = record["counts"]
    rows = []
    for name, count in counts.items():
        way, _, command = name.partition(": ")
        guarantee = GUARANTEES.get(name) or (
            f"killed at any file operation of `{command}`: the old or the new run opens, the next command works"
            if way == "kill"
            else f"disk full at any file operation of `{command}`: the run before is intact, a clean message"
        )
        rows.append([guarantee, f"{count['trials']:,}", f"{count['failures']:,}"])
    total = [sum(count[key] for count in counts.values()) for key in ("trials", "failures")]
    rows.append(["**all**", f"**{total[0]:,}**", f"**{total[1]:,}**"])
    hardware, opening = record["hardware"], record["details"]["opening"]
    hostile = record["details"]["hostile folders"]
    where = (
        f"{record['date'][:10]}, commit {str(record['git']['commit'])[:9]}, {hardware['cores']} cores {hardware['cpu']}"
    )
    bomb_rows = [
        [row["name"], f"{row['bytes'] / 1e6:,.1f} MB", f"{row['added'] / 2**20:,.0f} MiB", f"{row['seconds']:.1f} s"]
        for row in record["details"]["bombs"]
    ]
    lines = [
        f"`{record['command']}`, {where}, {record['minutes']:.0f} minutes.\n",
        make_table(["guarantee", "trials", "failures"], rows),
        f"The slowest manipulated run folder took {hostile['slowest_seconds']:.1f} s; the most memory that one took "
        f"was {hostile['memory_ratio']:.1f} times that of a good run.\n",
        f"Checksums take {opening['checksum_seconds']:.2f} s of the {opening['open_seconds']:.1f} s in which a run of "
        f"{opening['bytes'] / 1e9:.2f} GB is opened: {100 * opening['share']:.0f} %.\n",
        "### Decompression bombs\n",
        make_table(["file", "size", "memory while it is refused", "time"], bomb_rows),
    ]
    return "\n".join(lines)
