"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from itransf.errors import WriteError

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

_UMASK_LOCK = threading.Lock()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place, durably, when the block ends well.

    If the block fails or the process dies, `path` keeps what it had and only the temporary file is lost.

    Raises:
        WriteError: The disk is full, or the folder may not be written.
    """
    try:
        with _replacing(path) as temporary:
            yield temporary
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {error.strerror or error}; choose another place") from None


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _sync(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync(path.parent)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_place(path: Path) -> None:
    """Refuse a place where no file could be written, before the work that is to be written there; makes nothing.

    Raises:
        WriteError: A folder has that path, or its parent is not writable.
    """
    if path.is_dir():
        raise WriteError(f"{path} is a folder; name a file in it")
    try:
        with tempfile.TemporaryFile(dir=next(folder for folder in path.absolute().parents if folder.exists())):
            pass
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {error.strerror or error}; choose another place") from None


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there, and make sure that files can be written into it.

    Raises:
        WriteError: They cannot.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise WriteError(
            f"the folder {path} cannot be written: {reason}; choose another, or change who may write there"
        ) from None


def _sync(path: Path) -> None:
    """Wait until what `path` holds is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    """Return the process's file mode mask (which can only be read by setting it)."""
    with _UMASK_LOCK:
        mask = os.umask(0)
        os.umask(mask)
    return mask


@contextmanager
def lock(path: Path) -> Iterator[bool]:
    """Hold a file for as long as the block runs, and yield whether it could be had; it is gone afterwards.

    A process that dies lets go of it. Where files cannot be locked, everybody has it.
    """
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            if not _take(descriptor):
                yield False
                return
            if not _is_same(descriptor, path):  # somebody let go of it, and took it away, just before
                continue
            try:
                yield True
            finally:
                with suppress(OSError):
                    path.unlink()
            return
        finally:
            os.close(descriptor)


def _take(descriptor: int) -> bool:
    """Lock a file unless somebody else has."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks on this kind of disk
        return True
    return True


def _is_same(descriptor: int, path: Path) -> bool:
    """Return whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
