from __future__ import annotations

import json
import re
import subprocess
from argparse import Namespace
from pathlib import Path

import pytest
from benchmarks.markdown import describe_setting, put_tables
from benchmarks.peers import read_options
from benchmarks.records import (
    RESULTS,
    ROOT,
    describe_commit,
    describe_versions,
    format_command,
    read_cpu_model,
    read_records,
    resume_record,
    start_record,
    summarise,
    write_record,
)

STORED = sorted(RESULTS.glob("benchmark-*.json"))


def test_the_stored_command_measures_the_same_again() -> None:
    options = read_options(["--datasets", "wn18", "--seconds", "0.5", "--demo"])
    config = {key: value for key, value in vars(options).items() if key != "out"}
    words = format_command(("python", "-m", "benchmarks.peers"), config).split()
    assert words[:3] == ["python", "-m", "benchmarks.peers"]
    assert read_options(words[3:]) == options


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    record = start_record("peers", 3, {"seconds": 1.0}, ("no-such-package",))
    write_record(record, tmp_path / "benchmark-peers.json")
    assert read_records(tmp_path) == {"peers": record}
    assert record["versions"]["no-such-package"] is None
    assert record["hardware"]["cores"] >= 1


def test_a_record_refuses_what_json_cannot_say(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_record({"rate": float("nan")}, tmp_path / "benchmark-peers.json")
    assert not list(tmp_path.iterdir())


def test_versions_name_this_package_and_python() -> None:
    assert set(describe_versions(())) == {"python", "itransf"}


def test_the_median_stands_between_the_extremes() -> None:
    assert summarise([3.0, 1.0, 2.0]) == {"median": 2.0, "low": 1.0, "high": 3.0}


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_records_are_whole(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    record = json.loads(text)
    for key in ("benchmark", "command", "date", "seed", "config", "git", "hardware", "versions"):
        assert key in record
    roots = "|".join({ROOT.parts[1], "home", "mnt", "opt", "root", "tmp", "usr", "var", "Users"})
    assert not re.search(rf'["\s=]/({roots})/', text), "a path of the machine that measured"


def test_a_record_continues_only_with_the_same_options_and_recipe(tmp_path: Path) -> None:
    path, options = tmp_path / "benchmark-any.json", Namespace(fresh=False)
    first = resume_record(path, "any", options, {"seed": 1}, recipe="a", figures=[])
    assert (first["figures"], first["seed"], first["recipe"]) == ([], 1, "a")
    write_record({**first, "figures": [1]}, path)
    assert resume_record(path, "any", options, {"seed": 1}, recipe="a", figures=[])["figures"] == [1]
    assert resume_record(path, "any", options, {"seed": 2}, recipe="a", figures=[])["figures"] == []
    assert resume_record(path, "any", options, {"seed": 1}, recipe="b", figures=[])["figures"] == []
    assert resume_record(path, "any", Namespace(fresh=True), {"seed": 1}, recipe="a", figures=[])["figures"] == []


def test_the_commit_comes_from_the_environment_or_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ITRANSF_COMMIT", raising=False)
    assert describe_commit(tmp_path) == {"commit": None, "dirty": "unknown"}
    monkeypatch.setenv("ITRANSF_COMMIT", "abc")
    assert describe_commit(tmp_path) == {"commit": "abc", "dirty": "unknown"}


def test_a_repository_around_an_installed_copy_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ITRANSF_COMMIT", raising=False)
    package = tmp_path / "site-packages" / "itransf"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.invalid", "-C", str(tmp_path)]
    try:
        subprocess.run([*git, "init", "--quiet"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("git is not here")
    subprocess.run([*git, "commit", "--allow-empty", "-q", "-m", "other"], check=True, capture_output=True)
    assert describe_commit(package)["commit"] is None
    subprocess.run([*git, "add", str(package)], check=True, capture_output=True)
    subprocess.run([*git, "commit", "-q", "-m", "ours"], check=True, capture_output=True)
    found = describe_commit(package)
    assert len(found["commit"]) == 40
    assert found["dirty"] is False
    monkeypatch.setenv("ITRANSF_COMMIT", "abc")
    assert describe_commit(package)["commit"] == "abc"


def test_hardware_without_lscpu_still_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert read_cpu_model()


def test_uncommitted_changes_and_a_gpu_are_shown() -> None:
    record = start_record("any", 0, {}, ())
    for dirty, words in ((True, "uncommitted"), (False, ""), ("unknown", "unknown")):
        line = describe_setting(record | {"git": {"commit": "abc", "dirty": dirty}})[1]
        assert line.startswith("- Commit: abc")
        assert words in line
    assert describe_setting(record | {"git": {"commit": "abc", "dirty": False}})[1] == "- Commit: abc"
    hardware = record["hardware"] | {"gpu": "Some GPU", "cpu": "Some CPU", "memory_bytes": None}
    assert "Some GPU; Some CPU, " in describe_setting(record | {"hardware": hardware})[2]


def test_tables_replace_what_is_between_the_marks() -> None:
    page = "# Page\n\n<!-- begin: tables -->\nold\n<!-- end: tables -->\nrest\n"
    new = put_tables(page, "| \\1 |\n")
    assert "old" not in new
    assert "| \\1 |" in new
    assert new.startswith("# Page\n")
    assert new.endswith("<!-- end: tables -->\nrest\n")
    assert put_tables(new, "| \\1 |\n") == new
