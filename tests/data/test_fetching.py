from __future__ import annotations

import errno
import hashlib
from pathlib import Path

import pytest
from index_server import IndexServer

from itransf.data import fetching
from itransf.data.catalog import PackagedFiles
from itransf.data.fetching import fetch
from itransf.data.indexes import make_index
from itransf.errors import FetchError, WriteError

CONTENT = bytes(range(256)) * 4000
NAME = "some_project-1.0.tar.gz"
WANTED = PackagedFiles("some-project", NAME, hashlib.sha256(CONTENT).hexdigest(), "inside")


@pytest.fixture(autouse=True)
def _use_server(index_server: IndexServer, monkeypatch: pytest.MonkeyPatch) -> None:
    index_server.files = {NAME: CONTENT}
    monkeypatch.setattr(fetching, "find_indexes", lambda: [make_index(index_server.url)])


def test_fetch_and_keep(tmp_path: Path, index_server: IndexServer, capsys: pytest.CaptureFixture[str]) -> None:
    path = fetch(WANTED, tmp_path)
    assert path.read_bytes() == CONTENT
    assert f"fetching {NAME}: 1,024/1,024 kB" in capsys.readouterr().err
    assert fetch(WANTED, tmp_path, progress=False) == path
    assert len(index_server.asked_for_files) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_broken_connection_goes_on_where_it_stopped(tmp_path: Path, index_server: IndexServer) -> None:
    index_server.cut_after = 300_000
    assert fetch(WANTED, tmp_path, progress=False).read_bytes() == CONTENT
    first, second = index_server.asked_for_files
    assert "Range" not in first
    assert second["Range"] == "bytes=300000-"


def test_an_earlier_part_is_continued(tmp_path: Path, index_server: IndexServer) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(CONTENT[:1000])
    assert fetch(WANTED, tmp_path, progress=False).read_bytes() == CONTENT
    assert index_server.asked_for_files[0]["Range"] == "bytes=1000-"


def test_a_whole_part_needs_no_more(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(CONTENT)
    assert fetch(WANTED, tmp_path, progress=False).read_bytes() == CONTENT


def test_a_server_without_ranges_starts_anew(tmp_path: Path, index_server: IndexServer) -> None:
    index_server.ranges = False
    (tmp_path / f"{NAME}.part").write_bytes(b"x" * 1000)
    assert fetch(WANTED, tmp_path, progress=False).read_bytes() == CONTENT


def test_a_wrong_part_is_thrown_away(tmp_path: Path, index_server: IndexServer) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(b"x" * 1000)
    assert fetch(WANTED, tmp_path, progress=False).read_bytes() == CONTENT
    assert len(index_server.asked_for_files) == 2


def test_a_damaged_copy_is_fetched_again(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"x")
    assert fetch(WANTED, tmp_path, progress=False).read_bytes() == CONTENT


def test_a_wrong_file_never_gets_its_name(tmp_path: Path, index_server: IndexServer) -> None:
    index_server.files = {NAME: b"something else"}
    with pytest.raises(FetchError, match="has another sha256 than expected"):
        fetch(WANTED, tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []
    assert len(index_server.asked_for_files) == 1


def test_a_later_index_may_have_it(tmp_path: Path, index_server: IndexServer, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = make_index(f"http://127.0.0.1:{index_server.port}/empty")
    monkeypatch.setattr(fetching, "find_indexes", lambda: [nowhere, make_index(index_server.url)])
    assert fetch(WANTED, tmp_path, progress=False).read_bytes() == CONTENT


def test_what_was_tried_is_said(tmp_path: Path, index_server: IndexServer, monkeypatch: pytest.MonkeyPatch) -> None:
    base = f"http://127.0.0.1:{index_server.port}"
    indexes = [make_index(url) for url in (f"{base}/empty", "http://127.0.0.1:9/simple", f"{base}/simple")]
    monkeypatch.setattr(fetching, "find_indexes", lambda: indexes)
    index_server.password = "none is right"
    with pytest.raises(FetchError) as caught:
        fetch(WANTED, tmp_path, progress=False)
    told = str(caught.value)
    assert f"{base}/empty: the server says 401" in told
    assert "http://127.0.0.1:9/simple: [Errno" in told
    index_server.password, index_server.files = None, {}
    with pytest.raises(FetchError, match=f"simple does not list {NAME}"):
        fetch(WANTED, tmp_path, progress=False)


def test_a_connection_that_fails_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "find_indexes", lambda: [make_index("http://127.0.0.1:9/simple")])
    with pytest.raises(FetchError, match=r"^the connection to the package index failed\. Tried: http") as caught:
        fetch(WANTED, tmp_path, progress=False)
    assert "not found" not in str(caught.value)


def test_a_full_disk_is_no_failed_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fetching, "_continue_download", fail)
    with pytest.raises(WriteError, match="cannot be written: No space left on device; set ITRANSF_CACHE"):
        fetch(WANTED, tmp_path, progress=False)
