from __future__ import annotations

import base64
import sys
from pathlib import Path

import pytest
from index_server import IndexServer

from itransf.data import indexes
from itransf.data.indexes import find_indexes, make_index
from itransf.errors import FetchError

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


def test_pip_knows_a_default(configure: Path) -> None:
    assert configure.exists()
    assert find_indexes()[0].url.startswith("https://")


def test_no_index_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(FetchError, match="no package index is configured: set PIP_INDEX_URL"):
        find_indexes()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(FetchError, match=r"pip is configured to use no package index \(no-index\)"):
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
    monkeypatch.setattr(indexes, "_read_html_links", lambda _: {"x.whl": "file:///etc/passwd"})
    with pytest.raises(FetchError, match="which is no web address"):
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
