"""Bytes of files: plain, compressed, or packed in an archive that is not trusted."""

import bz2
import gzip
import lzma
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from itransf.data.memory import bounded
from itransf.errors import DataError

MOST_PASSED = 16 * 2**30
"""Bytes of other members that are expanded to find the wanted ones in a tar."""

INPUT = "standard input"
"""Name of what is piped into the program, in messages; its path is "-"."""

_BLOCK = 2**20
_ARCHIVES = (".tar.xz", ".tar.gz", ".tgz", ".tar.bz2", ".tar", ".zip", ".whl")
_ZIPS = (".zip", ".whl")
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_DAMAGED = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile)


def is_archive(name: str) -> bool:
    """Return whether a file name ends as an archive's does."""
    return name.lower().endswith(_ARCHIVES)


def strip_archive(name: str) -> str:
    """Return a file name without the ending of an archive."""
    ending = next((ending for ending in _ARCHIVES if name.lower().endswith(ending)), "")
    return name[: len(name) - len(ending)]


def strip_compression(name: str) -> str:
    """Return a file name without the ending of its compression."""
    return name[: name.rindex(".")] if name.lower().endswith(tuple(_OPENERS)) else name


def read_content(path: Path) -> bytes:
    """Return the bytes of a file, expanded if its name ends in .gz, .xz or .bz2; "-" is standard input."""
    try:
        if str(path) == "-":
            return expand(sys.stdin.buffer, INPUT)
        with path.open("rb") as raw:
            return expand(raw, str(path))
    except FileNotFoundError:
        raise DataError(f"there is no file {path}; check the path") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder; give one file") from None
    except PermissionError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None


def expand(raw: IO[bytes], where: str) -> bytes:
    """Return the bytes of an open file, expanded if the name `where` ends in .gz, .xz or .bz2."""
    opener = next((_OPENERS[ending] for ending in _OPENERS if where.lower().endswith(ending)), None)
    content = bytearray()
    with bounded() as budget:
        try:
            stream = raw if opener is None else opener(raw)
            while block := stream.read(_BLOCK):
                budget.take_text(len(block), where)
                content += block
        except (*_DAMAGED, OSError) as error:
            raise DataError(f"{where} is damaged or not what its name says ({error}); get it again") from None
    return bytes(content)


def read_members(path: Path, is_wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Return the contents of the wanted members of an archive, by name.

    Nothing is written to disk. Only regular files are read. An archive with a member that points outside of it, or that
    takes more memory than reading may, is refused.

    Args:
        path: The archive.
        is_wanted: Function from the name of a member to whether it is read.
    """
    open_archive: Callable[..., Any] = zipfile.ZipFile if path.name.lower().endswith(_ZIPS) else tarfile.open
    try:
        with open_archive(path) as archive:
            return _read_wanted(archive, path, is_wanted)
    except FileNotFoundError:
        raise DataError(f"there is no file {path}; check the path") from None
    except _DAMAGED as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(":")  # tarfile lists all it tried
        raise DataError(f"{path} is damaged or not what its name says ({reason}); get it again") from None
    except (NotImplementedError, RuntimeError) as error:  # an unknown compression, a password
        raise DataError(f"{path} cannot be unpacked ({error}); unpack it and give the folder") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def _read_wanted(archive: Any, path: Path, is_wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Return the contents of the wanted members of an open archive."""
    found: dict[str, bytes] = {}
    is_tar, passed = isinstance(archive, tarfile.TarFile), 0
    for member, name, size, is_regular in _list_members(archive):
        parts = PurePosixPath(name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or name[1:2] == ":":
            raise DataError(f"{path}: the member {name!r} points outside the archive; do not trust this file")
        wanted = is_wanted(name)
        passed += size if is_tar and not wanted else 0  # a tar is expanded to get past a member
        if passed > MOST_PASSED:
            raise DataError(
                f"{path}: expands to more than {MOST_PASSED / 2**30:,.0f} GiB; unpack it and give the folder"
            )
        if wanted and not is_regular:
            raise DataError(f"{path}: the member {name!r} is not a regular file; pack the file itself")
        if wanted:
            with bounded() as budget:  # no more is read than the size it declares
                budget.take_text(size, f"{path}: {name}")
            found[name] = archive.extractfile(member).read() if is_tar else archive.read(member)
    return found


def _list_members(archive: tarfile.TarFile | zipfile.ZipFile) -> Iterator[tuple[Any, str, int, bool]]:
    """Yield each member, its name, its expanded size, and whether it is a regular file."""
    if isinstance(archive, tarfile.TarFile):
        for member in archive:
            yield member, member.name, member.size, member.isreg()
        return
    for entry in archive.infolist():
        is_regular = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG) and not entry.is_dir()
        yield entry, entry.filename, entry.file_size, is_regular
