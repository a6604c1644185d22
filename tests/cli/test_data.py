from __future__ import annotations

import json
from pathlib import Path

import pytest

import itransf
from cli.conftest import TEST, TRAIN, VALID, call
from golden.comparing import check_golden, make_paper
from itransf.cli.data import show_description
from itransf.data.download import make_index


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ITRANSF_OFFLINE", "1")
    monkeypatch.setenv("ITRANSF_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ITRANSF_DATA", raising=False)


def test_a_graph_described() -> None:
    console, paper = make_paper()
    graph = itransf.Graph.from_names("places", TRAIN, VALID, TEST).labelled({"P36": "has capital"})
    show_description(itransf.data.describe(graph), console)
    check_golden("description.txt", paper.getvalue())


def test_world_fits_eighty_columns() -> None:
    console, paper = make_paper()
    show_description(itransf.data.describe(itransf.load("world")), console)
    tables = [line for line in paper.getvalue().splitlines() if not line.startswith(("Inverse:", "  one way:"))]
    assert max(len(line.rstrip()) for line in tables) <= 80


def test_many_relations_are_cut_unless_all_are_asked_for() -> None:
    triples = [(f"h{place}", f"r{place}", "t") for place in range(50)]
    description = itransf.data.describe(itransf.Graph.from_names("many", triples))
    console, paper = make_paper()
    show_description(description, console)
    assert "10 rarer relations" in paper.getvalue()
    console, paper = make_paper()
    show_description(description, console, everything=True)
    assert "r49" in paper.getvalue()


def test_list_names_every_dataset() -> None:
    done = call("data", "list")
    assert done.code == 0
    for name in ("wn18", "fb15k", "wn18rr", "fb15k-237", "nations", "codex-s", "world", "planted"):
        assert name in done.out
    found = {entry["name"]: entry for entry in json.loads(call("data", "list", "--json").out)}
    assert found["world"]["where"] == "bundled"
    assert found["wn18"]["where"] == "index"
    assert found["codex-s"]["where"] == "by hand"
    assert found["wn18"]["triples"] == 151442
    assert found["world"]["triples"] == 10364


def test_list_sees_what_is_on_this_machine(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    shutil.copytree(data, tmp_path / "here" / "Nations")
    monkeypatch.setenv("ITRANSF_DATA", str(tmp_path / "here"))
    found = {entry["name"]: entry for entry in json.loads(call("data", "list", "--json").out)}
    assert found["nations"]["where"] == "here"
    done = call("data", "get", "nations")
    assert str(tmp_path / "here" / "Nations") in done.out


def test_info_of_a_folder(data: Path) -> None:
    done = call("data", "info", data, "--labels", data.parent / "labels.tsv")
    assert done.code == 0
    assert "16 entities, 4 relations" in done.out
    assert "has capital" in done.out
    content = json.loads(call("data", "info", data, "--json").out)
    assert content["triples"] == {"train": len(TRAIN), "valid": 1, "test": 2}


def test_get_of_what_is_bundled() -> None:
    assert "comes with this package" in call("data", "get", "world").out
    assert json.loads(call("data", "get", "world", "--json").out) == {"name": "world", "path": None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("info", "wn81"), "Did you mean 'wn18'"),
        (("get", "wn81"), "Did you mean 'wn18'"),
        (("get", "xyz"), "There are: wn18"),
    ],
)
def test_mistakes_are_misuse(arguments: tuple[str, ...], message: str) -> None:
    done = call("data", *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""


@pytest.mark.parametrize(("name", "message"), [("wn18", "ITRANSF_OFFLINE"), ("codex-s", "put train.txt")])
def test_what_cannot_be_fetched_is_a_failure(name: str, message: str) -> None:
    done = call("data", "get", name)
    assert done.code == 1
    assert message in done.err


def test_a_missing_connection_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ITRANSF_OFFLINE", "0")
    monkeypatch.setattr("itransf.data.download.find_indexes", lambda: [make_index("http://127.0.0.1:9/simple")])
    done = call("data", "get", "wn18")
    assert done.code == 1
    assert "WN18 could not" in done.err
    assert "127.0.0.1:9" in done.err
    assert "not found" not in done.err


def test_tables_of_other_forms(tmp_path: Path) -> None:
    path = tmp_path / "products.csv"
    path.write_text("sku,brand,tags\n1,X,new;small\n2,Y,\n3\n", encoding="utf-8")
    done = call("data", "info", path, "--wide", "--key", "sku", "--split", ";", "--skip-bad", "--json")
    assert done.code == 0
    assert json.loads(done.out)["relations"] == 2
    assert "line 4: 1 column" in call("data", "info", path, "--wide").err
    assert "1 bad line of" in call("data", "info", path, "--columns", "sku,brand,1", "--skip-bad").err
    done = call("data", "info", path, "--key", "sku")
    assert done.code == 2
    assert "--wide" in done.err
