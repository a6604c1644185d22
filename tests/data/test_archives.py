from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from itransf.data import archives
from itransf.data.archives import is_archive, read_content, read_members, strip_archive, strip_compression
from itransf.data.memory import bounded
from itransf.errors import DataError

TAR_ENDINGS = {".tar": "w", ".tar.gz": "w:gz", ".tgz": "w:gz", ".tar.xz": "w:xz", ".tar.bz2": "w:bz2"}


def write_tar(path: Path, members: dict[str, bytes], edit: Callable[[tarfile.TarInfo], None] | None = None) -> Path:
    mode = next(mode for ending, mode in TAR_ENDINGS.items() if path.name.endswith(ending))
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            if edit is not None:
                edit(member)
            archive.addfile(member, io.BytesIO(content))
    return path


def write_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def wants_train(name: str) -> bool:
    return name.endswith("train.txt")


@pytest.mark.parametrize("ending", [*TAR_ENDINGS, ".zip"])
def test_wanted_members_are_read_and_nothing_is_left_behind(tmp_path: Path, ending: str) -> None:
    write = write_zip if ending == ".zip" else write_tar
    path = write(tmp_path / f"x{ending}", {"x/train.txt": b"a\tb\tc\n", "x/other.txt": b"?"})
    assert is_archive(path.name)
    assert strip_archive(path.name) == "x"
    assert read_members(path, wants_train) == {"x/train.txt": b"a\tb\tc\n"}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["../train.txt", "x/../../y", "/etc/passwd", "..\\train.txt", "C:train.txt"])
@pytest.mark.parametrize("ending", [".tar.gz", ".zip"])
def test_members_that_point_outside_are_refused(tmp_path: Path, name: str, ending: str) -> None:
    write = write_zip if ending == ".zip" else write_tar
    path = write(tmp_path / f"x{ending}", {name: b"", "train.txt": b""})
    with pytest.raises(DataError, match="outside the archive"):
        read_members(path, wants_train)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_only_regular_members_of_a_tar(tmp_path: Path, kind: bytes) -> None:
    def edit(member: tarfile.TarInfo) -> None:
        member.type, member.linkname = kind, "other.txt"

    path = write_tar(tmp_path / "x.tar.gz", {"train.txt": b""}, edit)
    with pytest.raises(DataError, match=r"'train\.txt' is not a regular file"):
        read_members(path, wants_train)


def test_only_regular_members_of_a_zip(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("train.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match="not a regular file"):
        read_members(tmp_path / "x.zip", wants_train)


@pytest.mark.parametrize("ending", [".tar.xz", ".zip"])
def test_expanded_size_is_bounded(tmp_path: Path, ending: str) -> None:
    write = write_zip if ending == ".zip" else write_tar
    path = write(tmp_path / f"x{ending}", {"train.txt": b"0" * 6000, "x/train.txt": b"0" * 6000})
    with bounded(4 * 12_000):
        assert len(read_members(path, wants_train)) == 2
    with bounded(4 * 12_000 - 1), pytest.raises(DataError, match=r"x.*train\.txt: .*memory"):
        read_members(path, wants_train)


def test_members_that_are_passed_in_a_tar_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_tar(tmp_path / "x.tar.xz", {"other.txt": b"0" * 6000, "train.txt": b"0"})
    monkeypatch.setattr(archives, "MOST_PASSED", 5999)
    with pytest.raises(DataError, match="unpack it"):
        read_members(path, wants_train)


@pytest.mark.parametrize("ending", [".tar.xz", ".tar.gz", ".tar.bz2", ".zip"])
def test_damaged_archives(tmp_path: Path, ending: str) -> None:
    write = write_zip if ending == ".zip" else write_tar
    path = write(tmp_path / f"x{ending}", {"train.txt": bytes(range(256)) * 64})
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], b"no archive at all", b""):
        path.write_bytes(broken)
        with pytest.raises(DataError, match=r"damaged|cannot be read"):
            read_members(path, wants_train)


def test_missing_archive(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        read_members(tmp_path / "x.zip", wants_train)


def test_zip_with_a_password(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "x.zip", {"train.txt": b"a"})
    raw = bytearray(path.read_bytes())
    raw[6] |= 1  # the flag in the member's own header
    raw[raw.index(b"PK\x01\x02") + 8] |= 1  # and in the directory
    path.write_bytes(raw)
    with pytest.raises(DataError, match="cannot be unpacked"):
        read_members(path, wants_train)


@pytest.mark.parametrize(
    ("ending", "compress"),
    [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)],
)
def test_compressed_files(tmp_path: Path, ending: str, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"triples.tsv{ending}"
    path.write_bytes(compress(b"a\tb\tc\n"))
    assert read_content(path) == b"a\tb\tc\n"
    assert strip_compression(path.name) == "triples.tsv"


@pytest.mark.parametrize(
    ("ending", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)]
)
def test_damaged_and_oversized_files(tmp_path: Path, ending: str, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"triples.tsv{ending}"
    path.write_bytes(compress(bytes(range(256)) * 64)[:-20])
    with pytest.raises(DataError, match="is damaged"):
        read_content(path)
    path.write_bytes(b"plain text")
    with pytest.raises(DataError, match="is damaged"):
        read_content(path)
    path.write_bytes(compress(b"0" * 1000))
    with bounded(3999), pytest.raises(DataError, match=r"triples\.tsv.*--memory"):
        read_content(path)
    with bounded(4000):
        assert len(read_content(path)) == 1000


def test_plain_files_are_bounded_as_well(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"0" * 1000)
    with bounded(3999), pytest.raises(DataError, match=r"a\.txt: .*more than 3,999 bytes of memory.*--memory"):
        read_content(tmp_path / "a.txt")


def test_a_folder_cannot_be_read_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder; give one file"):
        read_content(tmp_path)
