from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from itransf.errors import WriteError
from itransf.files import check_place, make_folder, replacing, write_text


def test_a_file_is_written_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    write_text(path, "größer\n")
    assert path.read_bytes() == "größer\n".encode()
    assert os.listdir(path.parent) == ["b.txt"]


def test_a_file_is_replaced_only_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    write_text(path, "old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == path.parent  # else the last step could not be one rename
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["x.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "x.txt"
    write_text(path, "old")

    def fail() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_a_block_that_fails_at_the_first_writing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no"), replacing(tmp_path / "x.txt"):
        raise ValueError("no")
    assert os.listdir(tmp_path) == []


def test_a_failed_write_is_reported_without_the_temporary_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match=r"file/x\.txt cannot .*; choose another"):
        write_text(tmp_path / "file" / "x.txt", "text")
    with (
        pytest.raises(WriteError, match=r"/x\.txt cannot .*: No space left"),
        replacing(tmp_path / "x.txt") as temporary,
    ):
        raise OSError(errno.ENOSPC, "No space left on device", str(temporary))
    assert os.listdir(tmp_path) == ["file"]


def test_a_path_is_checked_and_nothing_is_made(tmp_path: Path) -> None:
    check_place(tmp_path / "new" / "folder" / "x.txt")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(WriteError, match="is a folder"):
        check_place(tmp_path)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match=r"file/x\.txt cannot .*: Not a directory; choose"):
        check_place(tmp_path / "file" / "x.txt")


def test_a_folder_is_made_and_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path / "a" / "b")
    assert os.listdir(tmp_path / "a" / "b") == []

    def fail(dir: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", f"{dir}/tmp123")

    monkeypatch.setattr("tempfile.TemporaryFile", fail)
    with pytest.raises(WriteError, match=r"folder .*/a/b cannot .*: Read-only file system; choose"):
        make_folder(tmp_path / "a" / "b")


def test_others_may_read_the_file_as_the_mask_allows(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_text(tmp_path / "x.txt", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x.txt").stat().st_mode) == 0o644


def test_a_block_may_put_another_file_in_the_temporarys_place(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    with replacing(path) as temporary:
        temporary.unlink()
        temporary.write_text("written anew")
    assert path.read_text() == "written anew"
