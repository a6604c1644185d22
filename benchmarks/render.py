"""Write the tables of the pages in `docs/` from the stored records.

    python -m benchmarks.render

The text of the pages is written by hand; tables are put between `<!-- begin: tables -->` and `<!-- end: tables -->`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import (
    calibration,
    ceilings,
    concepts,
    defaults,
    doubt,
    engine,
    ensembles,
    explanation_time,
    finding,
    interpretation_page,
    large,
    missing,
    new_triples,
    peers,
    removal,
    scaling,
    steps,
    teaching,
    typed,
    updates,
    weights,
    zoo_speed,
)
from benchmarks.markdown import put_tables
from benchmarks.records import DOCS, RESULTS, Record, read_records
from benchmarks.scaling_figure import write_figure
from benchmarks.trust import page as trust_page
from itransf.files import write_text

PAGES: Mapping[str, Mapping[str, Callable[[Record], str]]] = {
    "performance": {
        "engine": engine.render,
        "steps": steps.render,
        "scaling": scaling.render,
        "large": large.render,
        "ceilings": ceilings.render,
        "peers": peers.render,
        "zoo_speed": zoo_speed.render,
    },
    "answers": {
        "calibration": calibration.render,
        "doubt": doubt.render,
        "missing": missing.render,
        "finding": finding.render,
    },
    "teaching": {"teaching": teaching.render, "updates": updates.render},
    "defaults": {"defaults": defaults.render},
    "models": {"concepts": concepts.render},
    "reading": {"ensembles": ensembles.render},
    "data-splits": {"weights": weights.render, "typed": typed.render},
    "explaining": {
        "removal": removal.render,
        "explanation_time": explanation_time.render,
        "new_triples": new_triples.render,
    },
}
"""Pages, and the functions that render their records, by the name of the benchmark."""

NOTHING = "Nothing is measured yet.\n"


def render(records: Mapping[str, Record], sections: Mapping[str, Callable[[Record], str]]) -> str:
    """Return a section for each record of these benchmarks."""
    found = [
        render_section(record)
        for kind, render_section in sections.items()
        for record in records.values()
        if record["benchmark"] == kind
    ]
    return "\n".join(found) or NOTHING


def render_all(results: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the tables of each page."""
    records = read_records(results)
    for page, sections in PAGES.items():
        yield page, render(records, sections)
    yield "interpretation", interpretation_page.render(read_records(results, "interpretation"))
    trust = results / trust_page.FILE
    is_stored = trust.is_file()
    yield "reliability", trust_page.render(json.loads(trust.read_text(encoding="utf-8"))) if is_stored else NOTHING


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables of all pages, and the figures of scaling."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.render", description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--docs", type=Path, default=DOCS)
    options = parser.parse_args(arguments)
    for name, tables in render_all(options.results):
        page = options.docs / f"{name}.md"
        write_text(page, put_tables(page.read_text(encoding="utf-8"), tables))
        print(f"wrote {page}")
    for record in read_records(options.results).values():
        if record["benchmark"] == "scaling":
            write_figure(record, options.docs / scaling.FIGURES[record["config"]["device"]])


if __name__ == "__main__":
    main()
