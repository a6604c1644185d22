from __future__ import annotations

import base64
import hashlib
import sys
from pathlib import Path

import pytest
from index_server import IndexServer

from itransf.data import download
from itransf.data.download import PackagedFiles, fetch, find_indexes, make_index
from itransf.errors import FetchError, WriteError

CONTENT = bytes(range(256)) * 4000
NAME = "some_project-1.0.tar.gz"
WANTED = PackagedFiles("some-project", NAME, hashlib.sha256(CONTENT).hexdigest(), "inside")


@pytest.fixture
def server(index_server: IndexServer, monkeypatch: pytest.MonkeyPatch) -> IndexServer:
    """The only index that is configured; it has the wanted archive."""
    index_server.files = {NAME: CONTENT}
    monkeypatch.setattr(download, "find_indexes", lambda: [make_index(index_server.url)])
    return index_server


def test_fetch_and_keep(tmp_path: Path, server: IndexServer, capsys: pytest.CaptureFixture[str]) -> None:
    path = fetch(WANTED, tmp_path)
    assert path.read_bytes() == CONTENT
    assert f"downloading {NAME}: 1,024/1,024 kB" in capsys.readouterr().err
    assert fetch(WANTED, tmp_path, progress=False) == path
    assert len(server.asked_for_files) == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [CONTENT[:300_000], b"something else"])
def test_an_incomplete_or_wrong_file_is_not_kept(tmp_path: Path, server: IndexServer, content: bytes) -> None:
    server.files = {NAME: content}
    with pytest.raises(FetchError, match="not the expected file"):
        fetch(WANTED, tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []
    assert len(server.asked_for_files) == 1


def test_a_broken_connection_is_reported(tmp_path: Path, server: IndexServer) -> None:
    server.cut_after = 300_000
    with pytest.raises(FetchError, match=f"{NAME}"):
        fetch(WANTED, tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []
    assert fetch(WANTED, tmp_path, progress=False).read_bytes() == CONTENT


def test_the_size_of_a_download_is_bounded(
    tmp_path: Path, server: IndexServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "MAX_DOWNLOAD", 1000)
    with pytest.raises(FetchError, match="incomplete"):
        fetch(WANTED, tmp_path, progress=False)


def test_a_damaged_copy_is_fetched_again(tmp_path: Path, server: IndexServer) -> None:
    (tmp_path / NAME).write_bytes(b"x")
    assert fetch(WANTED, tmp_path, progress=False).read_bytes() == CONTENT


def test_a_later_index_may_have_it(tmp_path: Path, server: IndexServer, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = make_index(f"http://127.0.0.1:{server.port}/empty")
    monkeypatch.setattr(download, "find_indexes", lambda: [nowhere, make_index(server.url)])
    assert fetch(WANTED, tmp_path, progress=False).read_bytes() == CONTENT


def test_what_was_tried_is_reported(tmp_path: Path, server: IndexServer, monkeypatch: pytest.MonkeyPatch) -> None:
    base = f"http://127.0.0.1:{server.port}"
    indexes = [make_index(url) for url in (f"{base}/empty", "http://127.0.0.1:9/simple", f"{base}/simple")]
    monkeypatch.setattr(download, "find_indexes", lambda: indexes)
    server.password = "none is right"
    with pytest.raises(FetchError) as caught:
        fetch(WANTED, tmp_path, progress=False)
    told = str(caught.value)
    assert f"{base}/empty: HTTP Error 401" in told
    assert "http://127.0.0.1:9/simple: <urlopen error" in told
    server.password, server.files = None, {}
    with pytest.raises(FetchError, match=f"simple does not list {NAME}"):
        fetch(WANTED, tmp_path, progress=False)


def test_a_connection_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "find_indexes", lambda: [make_index("http://127.0.0.1:9/simple")])
    with pytest.raises(FetchError, match=r"; http://127\.0\.0\.1:9/simple: .*urlopen") as caught:
        fetch(WANTED, tmp_path, progress=False)
    assert "not found" not in str(caught.value)


def test_a_folder_that_cannot_be_written(tmp_path: Path, server: IndexServer) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="cannot be written"):
        fetch(WANTED, tmp_path / "file", progress=False)
    assert server.requests


SETTINGS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_CERT", "PIP_CONFIG_FILE")


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make pip read only the returned file."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, str(tmp_path))
    file = tmp_path / "pip.conf"
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    file.write_text("")
    return file


def test_indexes_are_read_from_pip(configure: Path) -> None:
    configure.write_text(
        "[global]\nindex-url = https://me:s%40crt@one.example/simple/\ncert = /certs.pem\n"
        "extra-index-url = https://two.example/simple\n    https://three.example/simple\n"
    )
    found = find_indexes()
    assert [index.url for index in found] == [
        "https://one.example/simple",
        "https://two.example/simple",
        "https://three.example/simple",
    ]
    assert found[0].authorization == "Basic " + base64.b64encode(b"me:s@crt").decode()
    assert found[1].authorization is None
    assert found[0].certificates == "/certs.pem"
    assert "s@crt" not in repr(found)


def test_environment_wins_over_files(configure: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure.write_text("[global]\nindex-url = https://one.example/simple\n")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mine.example/simple")
    assert find_indexes()[0].url == "https://mine.example/simple"


def test_there_is_a_default(configure: Path) -> None:
    assert configure.exists()
    assert find_indexes()[0].url.startswith("https://")


def test_without_pip_its_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert [index.url for index in find_indexes()] == ["https://pypi.org/simple"]
    monkeypatch.setenv("PIP_INDEX_URL", "https://mine.example/simple")
    assert [index.url for index in find_indexes()] == ["https://mine.example/simple"]
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(FetchError, match=r"pip .*no-index"):
        find_indexes()


@pytest.mark.parametrize("as_json", [False, True])
def test_files_are_found_on_both_kinds_of_page(index_server: IndexServer, as_json: bool) -> None:
    index_server.files, index_server.as_json = {"some_project-1.0.tar.gz": b""}, as_json
    index = make_index(index_server.url + "/")
    base = index_server.url.removesuffix("/simple")
    assert index.find_file("Some._Project", "some_project-1.0.tar.gz") == f"{base}/files/some_project-1.0.tar.gz"
    assert index.find_file("some-project", "some_project-2.0.tar.gz") is None
    assert index.find_file("other", "other-1.0.tar.gz") is None


def test_index_in_a_folder(tmp_path: Path) -> None:
    page = tmp_path / "simple" / "some-project"
    page.mkdir(parents=True)
    (page / "index.html").write_text('<a href="x-1.whl">x</a> <a name="nothing">y</a>')
    index = make_index((tmp_path / "simple").as_uri())
    assert index.find_file("some_project", "x-1.whl") == (page / "x-1.whl").as_uri()


def test_the_web_may_not_link_to_local_files(monkeypatch: pytest.MonkeyPatch, index_server: IndexServer) -> None:
    index_server.files = {"x.whl": b""}
    monkeypatch.setattr(download, "urljoin", lambda *_: "file:///etc/x.whl")
    with pytest.raises(FetchError, match="not a web address"):
        make_index(index_server.url).find_file("some-project", "x.whl")


def test_credentials_go_to_the_index_and_nowhere_else(index_server: IndexServer) -> None:
    index_server.files = {"x.whl": b"content"}
    index_server.password = "Basic " + base64.b64encode(b"me:secret").decode()
    index = make_index(index_server.url.replace("http://", "http://me:secret@"))
    url = index.find_file("some-project", "x.whl")
    assert url is not None
    with index.open(url) as answer:
        assert answer.read() == b"content"
    index_server.password = None
    elsewhere = make_index("http://me:secret@other.example/simple")
    elsewhere.open(url).close()
    assert "Authorization" not in index_server.requests[-1][1]
