"""Several processes or threads at once: one wins, or all agree."""

from __future__ import annotations

import hashlib
import os
import tarfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import itransf
from benchmarks.trust.trials import CONCEPTS, QUICK, Count, Outcome, in_process, make_graph
from itransf.data.download import PackagedFiles, fetch

_OPTIONS: dict[str, Any] = {"device": "cpu", "progress": False}


def at_once(works: list[Callable[[], Any]]) -> list[Outcome]:
    """Call functions in processes of their own at the same time."""
    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(in_process, works))


def train_twice(root: Path, trials: int) -> Count:
    """Train twice into one folder: one training wins, and the other is refused or comes later."""
    count, graph = Count(), make_graph()

    def train(out: Path) -> None:
        itransf.train(graph, settings=[*CONCEPTS, *QUICK], out=out, **_OPTIONS)

    for trial in range(trials):
        out = root / f"trained-{trial}"
        found = at_once([partial(train, out)] * 2)
        itransf.open(out, device="cpu")
        outcome = " and ".join(sorted(each.text for each in found))
        is_right = any(not each.error for each in found) and all(each.is_ours for each in found if each.error)
        count.add(outcome, not is_right, str(trial))
    return count


def read_while_overwritten(root: Path, trials: int) -> Count:
    """Open a run again and again while another process replaces it: every opening gives one of the two runs."""
    graph, out, count = make_graph(), root / "replaced", Count()
    runs = [itransf.train(graph, settings=[*CONCEPTS, *QUICK], seed=seed, **_OPTIONS) for seed in (0, 1)]
    runs[0].save(out)

    def write() -> None:
        for turn in range(trials):
            runs[turn % 2].save(out, overwrite=True)

    def read() -> list[str]:
        ids, last = [], time.monotonic() + 0.01 * trials
        while time.monotonic() < last or len(ids) < trials:
            opened = itransf.open(out, device="cpu")
            ids.append(f"{opened.record.id} {opened.config.seed}")
        return ids

    written, *readers = at_once([write, read, read])
    expected = {f"{run.record.id} {run.config.seed}" for run in runs}
    count.add(written.text, bool(written.error), "writer")
    for reader in readers:
        if reader.error:
            count.add(reader.text, True, f"reader: {reader.error}")
        for found in reader.value or ():
            count.add("one of the two runs", found not in expected, str(found))
    return count


def make_index(root: Path) -> PackagedFiles:
    """Write a package index with one archive into a folder, and use it."""
    page = root / "index" / "dataset"
    page.mkdir(parents=True)
    (root / "train.txt").write_bytes(b"a\tr\tb\n" * 100_000)
    with tarfile.open(page / "dataset.tar.gz", "w:gz") as archive:
        archive.add(root / "train.txt", "dataset/train.txt")
    (page / "index.html").write_text('<a href="dataset.tar.gz">dataset.tar.gz</a>', encoding="utf-8")
    os.environ["PIP_INDEX_URL"] = f"file://{root / 'index'}"
    digest = hashlib.sha256((page / "dataset.tar.gz").read_bytes()).hexdigest()
    return PackagedFiles("dataset", "dataset.tar.gz", digest, "dataset")


def fill_cache_twice(root: Path, trials: int) -> Count:
    """Download one archive into one folder in two processes."""
    count, packaged = Count(), make_index(root)
    for trial in range(trials):
        cache = root / f"cache-{trial}"
        found = at_once([partial(fetch, packaged, cache, progress=False)] * 2)
        files = sorted(path.name for path in cache.iterdir())
        is_right = not any(each.error for each in found) and files == [packaged.filename]
        count.add(" and ".join(sorted(each.text for each in found)), not is_right, f"{trial}: {files}")
    return count


def ask_in_threads(trials: int) -> Count:
    """Ask one run in eight threads at once: all answers are those of one thread."""
    graph, count = make_graph(), Count()
    run = itransf.train(graph, settings=[*CONCEPTS, *QUICK], **_OPTIONS)
    queries = [(name, relation) for name in graph.entities.names for relation in graph.relations.names]

    def ask(query: tuple[str, str]) -> str:
        answers = run.predict(*query, top=3)
        return f"{answers} {run.explain(*query, answers[0].tail).to_dict()}" if answers else "none"

    expected = [ask(query) for query in queries]
    for trial in range(trials):
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ask, queries))
        for query, answer, right in zip(queries, found, expected, strict=True):
            count.add("the same answer", answer != right, f"{trial}: {query}")
    return count
