"""Getting the bytes of a file, plain or compressed, within bounds."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from pathlib import Path
from typing import IO, cast

from itransf.errors import DataError

MAX_EXPANDED = 4 * 2**30
"""Bytes that a compressed file or an archive may expand to."""

COMPRESSIONS = (".gz", ".xz", ".bz2")

DAMAGED = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)
"""What the standard library raises for a damaged compressed file, beside OSError."""


def read_content(path: Path) -> bytes:
    """Return the bytes of a file, expanded where its name ends in .gz, .xz or .bz2.

    Raises:
        DataError: The file is not there, cannot be read, is damaged or expands beyond reason.
    """
    try:
        with path.open("rb") as raw:
            return expand(raw, path.name, str(path))
    except FileNotFoundError:
        raise DataError(f"there is no file {path}; check the path") from None
    except (IsADirectoryError, PermissionError) as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None


def expand(raw: IO[bytes], name: str, where: str) -> bytes:
    """Return all bytes of an open file, expanded where `name` ends in .gz, .xz or .bz2.

    Args:
        raw: The open file.
        name: Its name, whose ending tells the compression.
        where: What to call it in messages.
    """
    limit = MAX_EXPANDED
    stream = _open_expanding(raw, name)
    try:
        content = stream.read(limit + 1)
    except (*DAMAGED, OSError) as error:
        if stream is raw:
            raise
        raise DataError(f"{where} is damaged or not what its name says ({error}); get it again") from None
    if len(content) > limit and stream is not raw:
        raise DataError(
            f"{where} expands to more than {limit / 2**30:,.1f} GiB; unpack it yourself and give the result"
        )
    return content if len(content) <= limit else content + raw.read()


def strip_compression(name: str) -> str:
    """Return a file name without the ending of its compression."""
    stem, dot, ending = name.rpartition(".")
    return stem if dot and f".{ending.lower()}" in COMPRESSIONS else name


def decode_text(content: bytes, where: str) -> str:
    """Return UTF-8 bytes as text, without a byte order mark; name the line of the first fault."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(tell_bad_encoding(content, error, where)) from None


def tell_bad_encoding(content: bytes, error: UnicodeDecodeError, where: str) -> str:
    """Return what to say about bytes that are not UTF-8."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"{where}, line 1: the file is UTF-16, not UTF-8; convert it: iconv -f utf-16 -t utf-8"
    line = len(content[: error.start + 1].splitlines())
    return (
        f"{where}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8; "
        "save the file as UTF-8, for instance: iconv -f latin1 -t utf-8"
    )


def _open_expanding(raw: IO[bytes], name: str) -> IO[bytes]:
    """Return a stream of the expanded bytes, `raw` itself where there is nothing to expand."""
    ending = name.lower().rpartition(".")[2]
    if ending == "gz":
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    if ending == "xz":
        return lzma.LZMAFile(raw)
    if ending == "bz2":
        return bz2.BZ2File(raw)
    return raw
