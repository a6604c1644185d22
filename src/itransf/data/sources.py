"""Loading a graph from wherever it is: a name, a folder, a file, an archive."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path

from itransf.data.archives import is_archive, strip_archive
from itransf.data.catalog import DATASETS, find_dataset
from itransf.data.contents import read_content, strip_compression
from itransf.data.folders import Entry, find_in_archive, find_in_folder
from itransf.data.frames import NamedTriples, holds_triples
from itransf.data.graph import SPLITS, Graph, build_graph, build_split_graph
from itransf.data.obtaining import obtain
from itransf.data.planted import plant
from itransf.data.readers import read_table
from itransf.data.splitting import TEST_SHARE, VALID_SHARE
from itransf.data.tables import TripleTable, make_absent_table
from itransf.errors import DataError, did_you_mean


def load(
    source: str | Path | NamedTriples,
    *,
    separator: str | None = None,
    header: bool | None = None,
    labels: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
    seed: int = 0,
    valid_share: float = VALID_SHARE,
    test_share: float = TEST_SHARE,
    progress: bool = True,
) -> Graph:
    """Load a graph.

    Args:
        source: The name of a dataset ("wn18", in any case; write "./wn18" for a folder called so); a folder
            with train, valid and test; an archive of one; or one file of triples, which is split, as are triples in
            memory (rows of three names, a data frame; see `Graph.from_triples`).
        separator: The character between columns, or its name; detected if not given.
        header: Whether the first line names the columns; detected if not given.
        labels: A two-column file (name, label) or a mapping, for people to read.
        strict: Refuse entities and relations of valid and test that train does not hold.
        seed: Which split of a single file, and which planted graph.
        valid_share: The share of a single file's triples held out for valid.
        test_share: The share of a single file's triples held out for test.
        progress: Show the progress of a download.

    Raises:
        DataError: The source cannot be found, read or used; the message says where and what to do.
        FetchError: A named dataset is not on this machine and could not be fetched.
    """
    dataset = find_dataset(source) if isinstance(source, str) else None
    options = _Options(separator, header, strict)
    if not isinstance(source, str | os.PathLike):
        graph = _load_triples(source, valid_share, test_share, seed)
    elif dataset is None:
        graph = _load_path(_find_path(source), options, valid_share, test_share, seed)
    elif dataset.name == "planted":
        graph = plant(seed=seed).graph
    elif dataset.name == "world":
        entries = find_in_folder(resources.files("itransf.data").joinpath("world"))
        graph = _load_splits(entries, dataset.name, dataset.name, options)
    else:
        found = obtain(dataset, progress)
        graph = replace(_load_path(found, options, valid_share, test_share, seed), name=dataset.name)
    return graph if labels is None else graph.labelled(labels)


class _Options:
    """How files are to be read."""

    def __init__(self, separator: str | None, header: bool | None, strict: bool) -> None:
        self.separator, self.header, self.strict = separator, header, strict

    def read(self, entry: Entry) -> TripleTable:
        """Read one file of triples."""
        return read_table(entry.read(), entry.name, entry.where, self.separator, self.header)


def _load_triples(triples: NamedTriples, valid_share: float, test_share: float, seed: int) -> Graph:
    """Load triples in memory."""
    if not holds_triples(triples):
        raise DataError(
            f"{reprlib.repr(triples)} is nothing to load; give the name of a dataset, a folder, a file, or triples as "
            "Graph.from_triples takes them"
        )
    return Graph.from_triples(triples, valid_share=valid_share, test_share=test_share, seed=seed)


def _find_path(source: str | os.PathLike[str]) -> Path:
    """Return the path of a folder or file, refusing one that is not there."""
    if not str(source):
        raise DataError(f"no source given; give a folder, a file or one of: {', '.join(DATASETS)}")
    path = Path(source).expanduser()
    if path.exists():
        return path
    hint = did_you_mean(str(source).lower(), DATASETS)
    if find_dataset(str(source)) is not None:
        hint = f" Give a dataset's name as text: load({str(source)!r})."
    raise DataError(
        f"there is no dataset and no file or folder {str(source)!r}; datasets: {', '.join(DATASETS)}.{hint}"
    )


def _load_path(path: Path, options: _Options, valid_share: float, test_share: float, seed: int) -> Graph:
    """Load a folder, an archive or one file."""
    if path.is_dir():
        return _load_splits(find_in_folder(path), path.resolve().name, str(path), options)
    if is_archive(path.name):
        return _load_splits(find_in_archive(path), strip_archive(path.name), str(path), options)
    table = options.read(Entry(path.name, str(path), lambda: read_content(path)))
    name = Path(strip_compression(path.name)).stem
    return build_split_graph(name, table, valid_share, test_share, seed)


def _load_splits(entries: Mapping[str, Entry], name: str, where: str, options: _Options) -> Graph:
    """Build a graph from the files of its splits."""
    tables = [options.read(entries[split]) if split in entries else make_absent_table(where) for split in SPLITS]
    return build_graph(name, tables, options.strict)
