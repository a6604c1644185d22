"""Small files that expand to large ones, and files that ask for too much: each is refused within a memory limit."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import itransf
from benchmarks.trust.trials import Count, in_process

LIMIT = 256 * 2**20  # bytes that reading may take
SLACK = 200 * 2**20  # bytes by which a process may exceed the limit
SECONDS = 60.0
_SIZE = 2**29  # bytes that a compressed bomb expands to
_LINE = b"head\trelation\ttail\n"
_LONG = "x" * 2**20


def write_compressed(path: Path, compress: Callable[[bytes], bytes]) -> None:
    """Write a compressed file that expands to many lines: the same stream again and again."""
    block = _LINE * (2**20 // len(_LINE))
    path.write_bytes(compress(block) * (_SIZE // len(block)))


class _Lines(io.RawIOBase):
    """A file of so many bytes that is not held in memory."""

    def __init__(self, size: int) -> None:
        self.left = size

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        size = min(self.left, size if size >= 0 else self.left)
        self.left -= size
        return (_LINE * (size // len(_LINE) + 1))[:size]


def write_tar(path: Path, mode: str, name: str = "train.tsv") -> None:
    """Write a tar with one member that expands to many lines."""
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        member = tarfile.TarInfo(name)
        member.size = _SIZE
        archive.addfile(member, _Lines(_SIZE))


def write_zip(path: Path, name: str = "train.tsv", compression: int = zipfile.ZIP_DEFLATED) -> None:
    """Write a zip with one member that expands to many lines."""
    with zipfile.ZipFile(path, "w", compression) as archive, archive.open(name, "w") as file:
        for _ in range(_SIZE // 2**20):
            file.write((_LINE * (2**20 // len(_LINE) + 1))[: 2**20])


def write_nested_zip(path: Path) -> None:
    """Write a zip whose member is itself compressed."""
    inner = io.BytesIO()
    with gzip.open(inner, "wb") as file:
        for _ in range(_SIZE // 2**20):
            file.write(b"\0" * 2**20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("train.tsv.gz", inner.getvalue())


def write_parquet(path: Path, columns: Mapping[str, pa.Array], times: int, **options: Any) -> None:
    """Write a Parquet file that repeats the same rows in many row groups."""
    table = pa.table(dict(columns))
    with pq.ParquetWriter(path, table.schema, compression="zstd", **options) as writer:
        for _ in range(times):
            writer.write_table(table)


def _texts(values: list[str], rows: int) -> pa.Array:
    return pa.array(values).take(pa.array([0] * rows)) if len(values) == 1 else pa.array(values * (rows // len(values)))


def _three(column: pa.Array) -> dict[str, pa.Array]:
    return dict.fromkeys(("head", "relation", "tail"), column)


BOMBS: Mapping[str, tuple[str, Callable[[Path], None]]] = {
    "Parquet, one long name in a dictionary": (
        "x.parquet",
        lambda path: write_parquet(path, _three(_texts([_LONG], 100)), 10),
    ),
    "Parquet, few names, many rows": (
        "x.parquet",
        lambda path: write_parquet(path, _three(_texts(["a", "b"], 2**22)), 16),
    ),
    "Parquet, repeated numbers": (
        "x.parquet",
        lambda path: write_parquet(path, _three(pa.array([7] * 2**22, pa.int64())), 32),
    ),
    "Parquet, plain strings that compress": (
        "x.parquet",
        lambda path: write_parquet(path, _three(_texts([_LONG], 300)), 4, use_dictionary=False),
    ),
    "Parquet, nested lists": (
        "x.parquet",
        lambda path: write_parquet(path, _three(pa.array([[1] * 1000] * 10_000)), 20),
    ),
    "Parquet, 100,001 columns": (
        "x.parquet",
        lambda path: write_parquet(path, {f"c{number}": pa.array([1]) for number in range(100_001)}, 1),
    ),
    "Parquet, not UTF-8": (
        "x.parquet",
        lambda path: write_parquet(path, _three(pa.array([b"a", b"\xff"]).view(pa.string())), 1),
    ),
    "gz": ("x.tsv.gz", lambda path: write_compressed(path, gzip.compress)),
    "xz": ("x.tsv.xz", lambda path: write_compressed(path, lzma.compress)),
    "bz2": ("x.tsv.bz2", lambda path: write_compressed(path, bz2.compress)),
    "gz of zeros": ("x.csv.gz", lambda path: path.write_bytes(gzip.compress(b"\0" * _SIZE)) and None),
    "tar": ("x.tar", lambda path: write_tar(path, "w")),
    "tar.gz": ("x.tar.gz", lambda path: write_tar(path, "w:gz")),
    "tar.xz": ("x.tar.xz", lambda path: write_tar(path, "w:xz")),
    "tar.gz with a large other member": ("x.tar.gz", lambda path: write_tar(path, "w:gz", "README")),
    "zip": ("x.zip", write_zip),
    "zip with lzma": ("x.zip", lambda path: write_zip(path, compression=zipfile.ZIP_LZMA)),
    "zip of a gz": ("x.zip", write_nested_zip),
    "CSV, one line of 1 GB": ("x.csv", lambda path: path.write_bytes(b"x" * 10**9) and None),
    "CSV, one line of 60 MB": ("x.csv", lambda path: path.write_bytes(b"a,b,c\n" * 9 + b"x" * 60_000_000) and None),
    "CSV, a million columns": ("x.csv", lambda path: path.write_bytes((b"a," * 10**6 + b"a\n") * 3) and None),
    "CSV, a quote that never closes": (
        "x.csv",
        lambda path: path.write_bytes(b'a,b,"c\n' + b"a,b,c\n" * 8_000_000) and None,
    ),
}


def explode(root: Path, names: tuple[str, ...] = tuple(BOMBS)) -> tuple[Count, list[dict[str, Any]]]:
    """Load each bomb in a process of its own.

    Args:
        root: Folder for the files.
        names: Bombs to try.

    Returns:
        The outcomes, and the size, the memory and the time of each.
    """
    count, rows = Count(), []
    for name in names:
        file, write = BOMBS[name]
        path = root / file
        written = in_process(lambda write=write, path=path: write(path), limit=600.0)
        assert not written.error, f"{name}: {written.error}"
        size = path.stat().st_size
        found = in_process(lambda path=path: itransf.load(path, memory=LIMIT) and None, limit=SECONDS)
        path.unlink()
        outcome = found.text
        if outcome == "worked":
            outcome = "was read"
        elif found.added > LIMIT + SLACK:
            outcome = f"took {found.added / 2**20:,.0f} MiB"
        elif "\n" in found.error or len(found.error) > 600:
            outcome = "refused in many words"
        count.add(outcome, outcome != "refused", f"{name} ({found.error[:100]})")
        rows.append({"name": name, "bytes": size, "added": found.added, "seconds": found.seconds, "told": found.error})
    return count, rows
