"""Reading members of an archive into memory, trusting nothing in it."""

from __future__ import annotations

import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from itransf.data import contents
from itransf.errors import DataError

ARCHIVES = (".tar.xz", ".tar.gz", ".tgz", ".tar.bz2", ".tar", ".zip", ".whl")

Wanted = Callable[[str], bool]


def is_archive(name: str) -> bool:
    """Return whether a file name ends like an archive's."""
    return name.lower().endswith(ARCHIVES)


def strip_archive(name: str) -> str:
    """Return a file name without an archive's ending."""
    ending = next((ending for ending in ARCHIVES if name.lower().endswith(ending)), "")
    return name[: len(name) - len(ending)]


def read_members(path: Path, is_wanted: Wanted) -> dict[str, bytes]:
    """Return the contents of the wanted members, by name.

    Nothing is written to disk. Only regular files are read; an archive with a member that points outside
    of it, or that expands beyond reason, is refused.

    Args:
        path: The archive.
        is_wanted: Tells by a member's name whether it is wanted.
    """
    read = _read_zip if path.name.lower().endswith((".zip", ".whl")) else _read_tar
    try:
        return read(path, is_wanted)
    except FileNotFoundError:
        raise DataError(f"there is no file {path}; check the path") from None
    except (tarfile.TarError, zipfile.BadZipFile, *contents.DAMAGED) as error:
        raise DataError(f"{path} is damaged or not what its name says ({_shorten(error)}); get it again") from None
    except (NotImplementedError, RuntimeError) as error:  # an unknown compression, a password
        raise DataError(f"{path} cannot be unpacked ({error}); unpack it yourself and give the folder") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def _shorten(error: BaseException) -> str:
    """Return the first line of a message (tarfile lists all it tried)."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(":")


def _read_tar(path: Path, is_wanted: Wanted) -> dict[str, bytes]:
    """Read the wanted members of a tar archive."""
    found: dict[str, bytes] = {}
    budget = _Budget(path)
    with tarfile.open(path, "r:*") as archive:
        for member in archive:
            _refuse_escape(path, member.name)
            budget.spend(member.size)  # also what is skipped must be expanded to get past it
            if not is_wanted(member.name):
                continue
            stream = archive.extractfile(member) if member.isreg() else None
            if stream is None:
                raise DataError(f"{path}: the member {member.name!r} is not a regular file; pack the file itself")
            found[member.name] = stream.read()
    return found


def _read_zip(path: Path, is_wanted: Wanted) -> dict[str, bytes]:
    """Read the wanted members of a zip archive."""
    found: dict[str, bytes] = {}
    budget = _Budget(path)
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            _refuse_escape(path, member.filename)
            if member.is_dir() or not is_wanted(member.filename):
                continue
            mode = member.external_attr >> 16
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise DataError(f"{path}: the member {member.filename!r} is not a regular file; pack the file itself")
            budget.spend(member.file_size)
            found[member.filename] = archive.read(member)  # reads no more than the size it declares
    return found


def _refuse_escape(path: Path, name: str) -> None:
    """Refuse an archive with a member whose name leads out of it."""
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or (len(name) > 1 and name[1] == ":"):
        raise DataError(f"{path}: the member {name!r} points outside the archive; do not trust this file")


class _Budget:
    """The bytes an archive may still expand to."""

    def __init__(self, path: Path) -> None:
        self._path, self._left = path, contents.MAX_EXPANDED

    def spend(self, amount: int) -> None:
        """Count `amount` bytes, refusing the archive when it expands beyond reason."""
        self._left -= amount
        if self._left < 0:
            raise DataError(
                f"{self._path} expands to more than {contents.MAX_EXPANDED / 2**30:,.1f} GiB; "
                "unpack it yourself and give the folder"
            )
