"""Write docs/performance.md from the stored results: no figure in it is typed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.plotting import write_picture
from benchmarks.records import RESULTS, ROOT, read_records
from benchmarks.sections.bench import render_bench
from benchmarks.sections.engine import render_engine
from benchmarks.sections.markdown import Record
from benchmarks.sections.peers import render_peers
from benchmarks.sections.scaling import PICTURES, render_scaling
from itransf.files import write_text

OPENING = """# Performance

Written by `python -m benchmarks.render` from the records in `results/`; change
those by measuring, not this page.
"""
RERUN = """## Measuring again

The peers live in an environment of their own; without them the benchmark leaves them out and says so.
Named graphs are found in `$ITRANSF_DATA` or fetched. Run it on a quiet machine.

```
itransf bench                                 # training and ranking beside the machine's ceilings
python -m benchmarks.engine                   # on a GPU, beside the bars
python -m benchmarks.scaling                  # on a GPU; --device cpu for less
python3 -m venv build/peers
build/peers/bin/python -m pip install -c constraints.txt -e '.[fast,plots]' pykeen torchkge
build/peers/bin/python -m benchmarks.peers --demo
python -m benchmarks.render                   # this page
```
"""
SECTIONS: Mapping[str, Callable[[Record], str]] = {
    "engine": render_engine,
    "scaling": render_scaling,
    "bench": render_bench,
    "peers": render_peers,
}


def render(records: Mapping[str, Record]) -> str:
    """Return the page for these records: a section for each kind there is, then a list of the others."""
    found = [
        render_section(record)
        for kind, render_section in SECTIONS.items()
        for record in records.values()
        if record["benchmark"] == kind
    ]
    others = [
        f"- `results/benchmark-{name}.json`: `{record['command']}`, {record['date']}"
        for name, record in records.items()
        if record["benchmark"] not in SECTIONS
    ]
    rest = ["## Other records\n\n" + "\n".join(others) + "\n"] if others else []
    body = found or ["There is no record in `results/` yet.\n"]
    return "\n".join([OPENING, *body, *rest, RERUN])


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page, and the pictures of scaling beside it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.render", description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "performance.md")
    options = parser.parse_args(arguments)
    records = read_records(options.results)
    write_text(options.out, render(records))
    for record in records.values():
        if record["benchmark"] == "scaling":
            write_picture(record, options.out.parent / PICTURES[record["config"]["device"]])
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
