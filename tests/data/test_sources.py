from __future__ import annotations

import gzip
import lzma
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from itransf.data import DATASETS, load
from itransf.errors import DataError

SPLITS = {
    "train": "a\tlikes\tb\nb\tlikes\tc\nc\tknows\ta\n",
    "valid": "a\tlikes\tc\n",
    "test": "c\tlikes\ta\n",
}


def write_folder(folder: Path, ending: str = "txt", **changes: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for split, text in {**SPLITS, **changes}.items():
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
    with pytest.raises(DataError, match=r"holds 2 folders with a train file; unpack it and give one"):
        load(tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as archive:
        archive.writestr("a/triples.txt", "a\tb\tc\n")
    with pytest.raises(DataError, match=r"y\.zip holds no train file; looked for .* found triples\.txt\."):
        load(tmp_path / "y.zip")


def test_fault_in_an_archive_names_archive_member_and_line(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a/train.txt", "a\tb\tc\na\tb\n")
    with pytest.raises(DataError, match=r"x\.zip:a/train\.txt, line 2: 2 columns instead of 3"):
        load(tmp_path / "x.zip")


def test_one_file_is_split_reproducibly(tmp_path: Path) -> None:
    rows = [f"e{h}\tr{r}\te{t}" for h in range(20) for r in range(2) for t in range(20)]
    path = tmp_path / "triples.tsv"
    path.write_text("\n".join([*rows, rows[0]]), encoding="utf-8")
    graph, again, other = load(path), load(path), load(path, seed=1)
    assert graph.name == "triples"
    assert graph.notes == (
        f"1 duplicate row was dropped from {path} (first: {path}, line 801).",
        f"{path} was split with seed 0: 640 to train, 80 to valid, 80 to test.",
    )
    assert np.array_equal(graph.test, again.test)
    assert not np.array_equal(graph.test, other.test)
    assert len(load(path, valid_share=0, test_share=0.5).test) == 400


def test_one_small_file_says_why_little_is_held_out(tmp_path: Path) -> None:
    path = tmp_path / "triples.csv.gz"
    path.write_bytes(gzip.compress(b"a,r,b\nc,r,d\ne,r,f\ng,r,h\ni,s,j\nk,s,l\n"))
    graph = load(path)
    assert len(graph.train) == 6
    assert graph.notes[0].endswith("but every entity and relation stays in train.")


def test_labels_options_and_strictness_reach_the_reader(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "g", test="c\tlikes\tz\n")
    assert load(folder, labels={"a": "Anna"}).entities.label(0) == "Anna"
    with pytest.raises(DataError, match=r"1 entity .* the first 'z' in .*test\.txt, line 1"):
        load(folder, strict=True)
    with pytest.raises(DataError, match=r"train\.txt, line 1: 1 column instead of 3"):
        load(folder, separator=";")
    assert len(load(folder, header=True).train) == 2


def test_missing_and_empty_splits(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "g", valid="")
    (folder / "test.txt").unlink()
    graph = load(folder)
    assert (len(graph.valid), len(graph.test)) == (0, 0)
    assert graph.notes == (
        f"There are no valid triples: {folder / 'valid.txt'} is empty.",
        f"There are no test triples: there is no test file in {folder}.",
    )
    write_folder(folder, train="\n\n")
    with pytest.raises(DataError, match=r"train\.txt: there are no triples to train on"):
        load(folder)
    (tmp_path / "nothing.tsv").write_text("")
    with pytest.raises(DataError, match=r"nothing\.tsv holds no triples"):
        load(tmp_path / "nothing.tsv")


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no train file; .* found nothing\."):
        load(tmp_path)
    folder = write_folder(tmp_path / "g")
    (folder / "train.csv").write_text("a,b,c")
    with pytest.raises(DataError, match=r"holds two files for train: train\.csv and train\.txt; keep one"):
        load(folder)


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_folder(tmp_path / "g")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"train\.txt cannot be read"):
        load(folder)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("wn19", r"no dataset and no file or folder 'wn19'; datasets: wn18, .* Did you mean 'wn18'"),
        ("./no/such/folder", r"no file or folder '\./no/such/folder'"),
        ("", "no source given"),
    ],
)
def test_sources_that_are_not_there(source: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        load(source)


@pytest.mark.parametrize("source", [None, 5, b"wn18", {"a": "b"}])
def test_what_is_no_source(source: Any) -> None:
    with pytest.raises(DataError, match=r"is nothing to load; .* as Graph\.from_triples takes them"):
        load(source)


def test_a_dataset_is_named_by_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"datasets: .* Give a dataset's name as text: load\('World'\)\.$"):
        load(Path("World"))


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"seed": -1}, "the seed is -1; give a whole number from 0 on"),
        ({"seed": "x"}, "the seed is 'x'; give a whole number"),
        ({"valid_share": "x"}, "the valid share is 'x'; give a number from 0 to below 1"),
        ({"test_share": None}, "the test share is None; give a number"),
        ({"separator": 3}, "the separator 3 is not text; give a character such as ','"),
        ({"labels": ["a"]}, r"labels are a file or a mapping from names to labels, not list"),
    ],
)
def test_options_that_cannot_be_used(tmp_path: Path, option: dict[str, Any], told: str) -> None:
    (tmp_path / "triples.tsv").write_text(SPLITS["train"])
    with pytest.raises(DataError, match=told):
        load(tmp_path / "triples.tsv", **option)


def test_a_seed_that_plants_no_graph() -> None:
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
