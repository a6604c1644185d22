"""Time of `itransf find` among many names, once names are indexed, and how often it finds a name with a typo.

    python -m benchmarks.finding

Names are made up: two or three words of two to four syllables. A question is a name, the beginning of one, or a name in
which a letter is changed, left out, doubled or exchanged with the next.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from itertools import pairwise

from benchmarks.markdown import describe_setting, format_verdict, make_table
from benchmarks.records import RESULTS, Record, start_record, write_record
from itransf.data import Graph

BAR = 0.05  # seconds
SYLLABLES = [first + second for first in "bcdfghklmnprstvz" for second in ("a", "e", "i", "o", "u", "an", "er", "is")]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def make_names(count: int, rng: random.Random) -> list[str]:
    """Return distinct names."""
    names: dict[str, None] = {}
    while len(names) < count:
        words = ("".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))) for _ in range(rng.randint(2, 3)))
        names[" ".join(words).title()] = None
    return list(names)


def misspell(name: str, rng: random.Random) -> str:
    """Return the name with one typo."""
    place = rng.randrange(1, len(name) - 1)
    before, letter, after = name[:place], name[place], name[place + 1 :]
    changed = rng.choice([rng.choice(LETTERS), "", 2 * letter, after[0] + letter])
    return before + changed + (after[1:] if changed == after[0] + letter else after)


def measure(count: int, questions: int, seed: int) -> dict[str, dict[str, float]]:
    """Return times, in seconds, and the share of questions whose name is among ten answers, by kind of question."""
    rng = random.Random(seed)
    names = make_names(count, rng)
    graph = Graph.from_names("names", [(head, "follows", tail) for head, tail in pairwise(names)])
    started = time.perf_counter()
    graph.find(names[0])  # indexes the names
    found = {"first question": {"longest": time.perf_counter() - started}}
    kinds = {
        "name": lambda name: name,
        "beginning": lambda name: name[: len(name) // 2],
        "typo": lambda name: misspell(name, rng),
    }
    for kind, ask in kinds.items():
        seconds, hits = [], 0
        for name in rng.sample(names, questions):
            text = ask(name)
            started = time.perf_counter()
            answers = graph.find(text)
            seconds.append(time.perf_counter() - started)
            hits += name in (answer.name for answer in answers)
        found[kind] = {"median": statistics.median(seconds), "longest": max(seconds), "found": hits / questions}
    return found


def render(record: Record) -> str:
    """Return the section of docs/answers.md."""
    config, figures = record["config"], record["figures"]
    kinds = ("name", "beginning", "typo")
    rows = []
    for kind in kinds:
        own = figures[kind]
        rows.append([kind, f"{1000 * own['median']:.0f}", f"{1000 * own['longest']:.0f}", f"{own['found']:.0%}"])
    longest = max(figures[kind]["longest"] for kind in kinds)
    lines = [
        f"### `find` among {config['names']:,} names\n",
        *describe_setting(record),
        "",
        f"{config['questions']} questions of each kind. The first question of a process indexes the names "
        f"({figures['first question']['longest']:.1f} s).\n",
        make_table(["question", "median, ms", "longest, ms", "among ten answers"], rows),
        f"Every answer within {1000 * BAR:.0f} ms: {format_verdict(longest <= BAR)}.\n",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=200, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    record = start_record("finding", options.seed, vars(options), ["numpy"])
    record["figures"] = measure(options.names, options.questions, options.seed)
    write_record(record, RESULTS / "benchmark-finding.json")
    print(render(record))


if __name__ == "__main__":
    main()
