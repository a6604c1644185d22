"""Atomic writing of files, what JSON can hold, checksums, and locks."""

from __future__ import annotations

import math
import os
import secrets
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from itransf.errors import WriteError

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

_BLOCK = 1 << 22  # bytes read at a time for a checksum


class Checksum(NamedTuple):
    """The size of a file in bytes, and the CRC-32 of its content as eight hexadecimal digits."""

    size: int
    crc32: str

    @classmethod
    def of(cls, content: bytes) -> Checksum:
        """Return the checksum of some bytes."""
        return cls(len(content), f"{zlib.crc32(content):08x}")

    @classmethod
    def of_file(cls, path: Path) -> Checksum:
        """Return the checksum of a file."""
        size = crc = 0
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                size, crc = size + len(block), zlib.crc32(block, crc)
        return cls(size, f"{crc:08x}")


@contextmanager
def reporting(fault: str, advice: str = "choose another place") -> Iterator[None]:
    """Turn errors of the operating system into errors of writing.

    Raises:
        WriteError: The block could not do what it should, in words such as "x.txt cannot be written".
    """
    try:
        yield
    except OSError as error:
        raise WriteError(f"{fault}: {error.strerror or error}; {advice}") from None


@contextmanager
def replacing(path: Path, rename: Callable[[Path], Path] | None = None) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` atomically and durably when the block ends without an error.

    If the block fails or the process dies, `path` keeps its content.

    Args:
        path: File to write.
        rename: Function from the written file to its path, if that is not `path` but depends on the content.

    Raises:
        WriteError: The disk is full, or the folder may not be written.
    """
    with reporting(f"{path} cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}.tmp"
        temporary.touch(exist_ok=False)
        mode = temporary.stat().st_mode  # as the mask of the process allows
        try:
            yield temporary
            _sync(temporary)
            temporary.chmod(mode)
            temporary.replace(path if rename is None else rename(temporary))
            _sync(path.parent)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def replace_nan(content: Any) -> Any:
    """Return nested content with None for every number that JSON cannot hold."""
    if isinstance(content, Mapping):
        return {key: replace_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [replace_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def check_place(path: Path) -> None:
    """Check that a file could be written, before the work whose result it holds; nothing is created.

    Raises:
        WriteError: The path is a folder, or its folder cannot be written.
    """
    if path.is_dir():
        raise WriteError(f"{path} is a folder; name a file")
    with reporting(f"{path} cannot be written"):
        folder = next(folder for folder in path.absolute().parents if folder.exists())
        with tempfile.TemporaryFile(dir=folder):
            pass


def make_folder(path: Path) -> None:
    """Create a folder, unless it exists, and check that files can be written into it.

    Raises:
        WriteError: Files cannot be written into it.
    """
    with reporting(f"the folder {path} cannot be written", "choose another or change permissions"):
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass


def _sync(path: Path) -> None:
    """Wait until the content of a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def lock(path: Path) -> Iterator[bool]:
    """Lock a file while the block runs, and yield whether that succeeded; the file is removed afterwards.

    The lock of a process that dies is released. Where files cannot be locked, it always succeeds.
    """
    while True:
        with reporting(f"{path} cannot be written"):
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            if not _take(descriptor):
                yield False
                return
            if not _is_same(descriptor, path):  # another process released and removed it just before
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
    """Lock a file unless another process has."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return not isinstance(error, BlockingIOError)  # any other error: the file system has no locks
    return True


def _is_same(descriptor: int, path: Path) -> bool:
    """Return whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
