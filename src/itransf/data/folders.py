"""Finding the files of the three splits in a folder or an archive."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from itransf.data.archives import read_members
from itransf.data.contents import expand
from itransf.errors import DataError

_SPLIT_NAMES = {"train": "train", "valid": "valid", "validation": "valid", "dev": "valid", "test": "test"}
_PATTERN = re.compile(r"(train|valid|validation|dev|test)\.(txt|tsv|csv|parquet)(\.(gz|xz|bz2))?", re.IGNORECASE)
_LOOKED_FOR = "train, valid and test, each .txt, .tsv, .csv or .parquet, plain or .gz, .xz, .bz2"


@dataclass(frozen=True)
class Entry:
    """A file of triples in a folder or an archive.

    Attributes:
        name: The file's own name.
        where: What to call it in messages.
        read: Returns its bytes, expanded.
    """

    name: str
    where: str
    read: Callable[[], bytes]


def find_in_folder(folder: Path | Traversable) -> dict[str, Entry]:
    """Return the files of the splits in a folder, or in its sub-folder where that is all it holds."""
    entries = _match_splits(_list_files(folder), str(folder))
    if "train" in entries:
        return entries
    children = [child for child in folder.iterdir() if not child.name.startswith(".")]
    if len(children) == 1 and children[0].is_dir():
        return find_in_folder(children[0])
    raise _refuse_without_train(str(folder), [child.name for child in children])


def find_in_archive(path: Path) -> dict[str, Entry]:
    """Return the files of the splits in an archive, at its top or in the only folder that holds train."""
    seen: list[str] = []

    def is_wanted(name: str) -> bool:
        seen.append(name)
        return split_of(PurePosixPath(name).name) is not None

    folders: dict[PurePosixPath, list[Entry]] = {}
    for member, content in read_members(path, is_wanted).items():
        inside = PurePosixPath(member)
        where = f"{path}:{member}"
        folders.setdefault(inside.parent, []).append(
            Entry(inside.name, where, _make_reader(content, inside.name, where))
        )
    with_train = [
        found for folder, files in folders.items() if "train" in (found := _match_splits(files, f"{path}:{folder}"))
    ]
    if len(with_train) > 1:
        raise DataError(
            f"{path} holds {len(with_train)} folders with a train file; unpack it and give one of the folders"
        )
    if not with_train:
        raise _refuse_without_train(str(path), seen)
    return with_train[0]


def split_of(name: str) -> str | None:
    """Return which split a file name stands for, None for any other file."""
    match = _PATTERN.fullmatch(name)
    return _SPLIT_NAMES[match.group(1).lower()] if match else None


def _list_files(folder: Path | Traversable) -> list[Entry]:
    """Return the files of a folder, by name."""
    files = sorted((child for child in folder.iterdir() if child.is_file()), key=lambda child: child.name)
    return [Entry(child.name, str(child), _make_file_reader(child)) for child in files]


def _match_splits(entries: Iterable[Entry], where: str) -> dict[str, Entry]:
    """Return the entry of each split, refusing two for one."""
    found: dict[str, Entry] = {}
    for entry in entries:
        split = split_of(entry.name)
        if split is None:
            continue
        if split in found:
            raise DataError(
                f"{where} holds two files for {split}: {found[split].name} and {entry.name}; keep one of them"
            )
        found[split] = entry
    return found


def _refuse_without_train(where: str, seen: Iterable[str]) -> DataError:
    """Return an error that says what was looked for and what is there instead."""
    names = sorted(PurePosixPath(name).name for name in seen)
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "") if names else "nothing"
    return DataError(
        f"{where} holds no train file; looked for {_LOOKED_FOR}; found {shown}. "
        "Rename the files, or give one file of triples, which is then split."
    )


def _make_file_reader(file: Path | Traversable) -> Callable[[], bytes]:
    """Return a function that reads a file."""

    def read() -> bytes:
        try:
            with file.open("rb") as raw:
                return expand(raw, file.name, str(file))
        except PermissionError:
            raise DataError(f"{file} cannot be read: permission denied; change its mode") from None

    return read


def _make_reader(content: bytes, name: str, where: str) -> Callable[[], bytes]:
    """Return a function that gives the content of an archive's member."""
    return lambda: expand(io.BytesIO(content), name, where)
