"""Truth of the new triples that the demo prints, checked by hand.

The demo's model is trained with several seeds. Its new triples are looked up in `new_triples.toml`, which holds the
verdict on each and its source.

    python -m benchmarks.new_triples --seeds 0 1 2
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import itransf
from benchmarks.markdown import make_table
from benchmarks.records import RESULTS, Record, start_record, write_record
from itransf.demo import find_discoveries
from itransf.prediction import MissingTriple

VERDICTS = Path(__file__).with_name("new_triples.toml")
WORDS = {True: "true", False: "false", None: "not checked"}


def read_verdicts() -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return what is known about each triple, by its names."""
    listed = tomllib.loads(VERDICTS.read_text(encoding="utf-8"))["triples"]
    return {(entry["head"], entry["relation"], entry["tail"]): entry for entry in listed}


def check(triple: MissingTriple, seed: int) -> dict[str, Any]:
    """Return a triple with its verdict; None where nobody has checked it."""
    entry = read_verdicts().get((triple.head, triple.relation, triple.tail), {"is_true": None, "source": ""})
    return {
        **{part: getattr(triple, part) for part in ("head", "relation", "tail", "probability", "reason")},
        **{key: entry[key] for key in ("is_true", "source")},
        "seed": seed,
    }


def render(record: Record) -> str:
    """Return the section of docs/explaining.md."""
    rows = [
        [
            str(each["seed"]),
            " – ".join(each[part] for part in ("head", "relation", "tail")),
            WORDS[each["is_true"]],
            each["source"],
        ]
        for each in record["triples"]
    ]
    verdicts = {(each["head"], each["relation"], each["tail"]): each["is_true"] is True for each in record["triples"]}
    summary = (
        f"{sum(verdicts.values())} of {len(verdicts)} different triples are true "
        f"(`{record['command']}`, {record['date'][:10]})."
    )
    titles = ["seed", "triple", "verdict", "populations (GeoNames)"]
    return f"## New triples of the demo\n\n{summary}\n\n{make_table(titles, rows)}"


def main(words: Sequence[str] | None = None) -> None:
    """Train, look the new triples up and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(words)
    record = start_record("new_triples", options.seeds[0], {"seeds": options.seeds}, ["torch", "numpy"])
    graph, found = itransf.load("world"), []
    for seed in options.seeds:
        run = itransf.train(graph, seed=seed, progress=False)
        found += [check(triple, seed) for triple in find_discoveries(run)]
    record["triples"] = found
    write_record(record, options.results / "benchmark-new-triples.json")
    print(render(record))


if __name__ == "__main__":
    main()
