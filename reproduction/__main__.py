"""`python -m reproduction`: run an experiment of the paper and show its tables, or write the pages.

python -m reproduction main                  train what has no result yet, then show Table 2
python -m reproduction main --quick          the same in minutes, on small bundled graphs
python -m reproduction main --render-only    show Table 2 from stored results
python -m reproduction render                write docs/reproduction.md and docs/protocol.md from stored results
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from itransf.errors import ConfigError, ITransFError, MissingExtraError
from reproduction.experiments import Experiment, Scope, find_experiments, read_experiments
from reproduction.figures import write_pictures
from reproduction.methods import Workshop
from reproduction.page import write_pages
from reproduction.results import Results
from reproduction.runner import run_jobs
from reproduction.tables import tabulate

RESULTS, RUNS, DOCS = Path("results/reproduction"), Path("runs/reproduction"), Path("docs")
QUICK_RESULTS, QUICK_RUNS = Path("runs/quick/results"), Path("runs/quick")


def parse_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", help=f"{', '.join(read_experiments())}; all; or render")
    parser.add_argument("--quick", action="store_true", help="minutes on a CPU: small bundled graphs, few epochs")
    parser.add_argument("--seeds", metavar="N,N,...", help="seeds of each training")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="override in every training")
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="trainings at once on one GPU")
    parser.add_argument("--only", metavar="TEXT", default="", help="only jobs whose key contains this")
    parser.add_argument("--again", action="store_true", help="train what has a result too, from the start")
    parser.add_argument("--render-only", action="store_true", help="train nothing")
    parser.add_argument("--results", metavar="DIR", type=Path, help=f"stored results (default: {RESULTS})")
    parser.add_argument("--runs", metavar="DIR", type=Path, help=f"run folders and figures (default: {RUNS})")
    parser.add_argument("--out", metavar="DIR", type=Path, default=DOCS, help="folder of the pages, for render")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--json", action="store_true", help="print tables as JSON")
    return parser.parse_args(words)


def parse_seeds(text: str | None) -> tuple[int, ...]:
    """Return the numbers in "0,1,2".

    Raises:
        ConfigError: Something else is in it.
    """
    words = (text or "").replace(",", " ").split()
    if not all(word.isdecimal() for word in words) or (text is not None and not words):
        raise ConfigError(f"--seeds {text!r}: not a list of whole numbers such as 0,1,2")
    return tuple(map(int, words))


def run_experiments(options: argparse.Namespace) -> None:
    """Train what each experiment needs and show it before the next one begins."""
    scope = Scope(options.quick, parse_seeds(options.seeds), tuple(options.set))
    results = Results(options.results or (QUICK_RESULTS if options.quick else RESULTS))
    runs = options.runs or (QUICK_RUNS if options.quick else RUNS)
    shop = Workshop(runs, options.device, progress=options.jobs == 1)
    experiments = find_experiments(options.what)
    jobs = [[job for job in each.list_jobs(scope) if options.only in job.key] for each in experiments]
    if not any(jobs):
        keys = sorted({job.key for each in experiments for job in each.list_jobs(scope)})
        raise ConfigError(f"--only {options.only!r}: no job has this in its key. There are: {', '.join(keys)}")
    found = []
    for experiment, own in zip(experiments, jobs, strict=True):
        if not options.render_only:
            run_jobs(own, results, shop, options.jobs, options.again, partial(print, file=sys.stderr))
        tables = [tabulate(table, results, scope) for table in experiment.tables]
        found.append({"title": experiment.title, "tables": [table.to_dict() for table in tables]})
        if not options.json:
            print("\n\n".join([f"## {experiment.title}", *(table.to_markdown() for table in tables)]) + "\n")
            draw_if_possible(experiment, results, runs / "figures", scope)
    if options.json:
        print(json.dumps(found, indent=2))


def draw_if_possible(experiment: Experiment, results: Results, folder: Path, scope: Scope) -> None:
    """Write the figures of an experiment and print where they are."""
    try:
        for path in write_pictures(experiment, results, folder, scope):
            print(f"Figure: {path}")
    except MissingExtraError as error:
        print(f"No figure: {error}")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options = parse_arguments(words)
    try:
        if options.what == "render":
            for path in write_pages(options.out, options.results or RESULTS):
                print(f"wrote {path}")
        else:
            run_experiments(options)
    except ITransFError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. Finished jobs are stored; the same command continues.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
