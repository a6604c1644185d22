"""The examples of the README and of the page on Python, run as they are written (but with short trainings)."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from reproduction.experiments import Row
from reproduction.results import Results
from reproduction.statistics import format_metric, read_sample

import itransf
from cli.conftest import call
from itransf.cli import EXAMPLES
from itransf.interpret.paths import find_paths
from itransf.prediction.inputs import resolve_triples
from itransf.run import resolve_config

README = Path(__file__).parents[1] / "README.md"
PYTHON = README.parent / "docs" / "python.md"
QUICKSTART = README.parent / "docs" / "quickstart.md"
PYKEEN = README.parent / "docs" / "pykeen.md"
COMMANDS = README.parent / "docs" / "commands.md"
DATA = README.parent / "docs" / "data.md"
QUICK = ("training.epochs=1", "warm_start.epochs=5", "model.dim=8", "validation.every=0", "assignment.every=0")


def find_blocks(language: str, page: Path = README) -> list[str]:
    """Return the fenced blocks of a language; those without one are commands."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [block for spoken, block in found if spoken == language]


@pytest.fixture
def _in_a_hurry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, and train for one epoch whatever is asked."""

    def resolve(graph: Any, preset: Any, config: Any, settings: Any, *rest: Any) -> Any:
        return resolve_config(graph, preset, config, [*settings, *QUICK], *rest)

    monkeypatch.setattr("itransf.run.opening.resolve_config", resolve)
    monkeypatch.chdir(tmp_path)


def run_line(line: str) -> str:
    """Run one line of a shell, the program itself in this process; return what that prints."""
    words = shlex.split(line, comments=True)
    if words[:1] != ["itransf"]:
        subprocess.run(["sh", "-c", line], check=True)
        return ""
    done = call(*words[1:])
    assert done.code == 0, f"{line}\n{done.err}"
    assert done.out or done.err  # answers written to a file are announced on stderr
    return done.out + done.err


@pytest.mark.usefixtures("_in_a_hurry")
def test_every_step_of_the_quickstart_uses_what_exists() -> None:
    lines = [line for block in find_blocks("", QUICKSTART) for line in block.splitlines()]
    assert len(lines) > 20
    for line in lines:
        run_line(line)
    assert Path("answers.parquet").is_file()


@pytest.mark.usefixtures("_in_a_hurry")
def test_the_page_on_data_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for block in find_blocks("", DATA) for line in block.splitlines()]
    printed = "".join(run_line(line) for line in lines if not line.startswith("cat "))
    assert all(shown.strip() in printed for shown in find_blocks("text", DATA))
    (python,) = find_blocks("python", DATA)
    exec(compile(python, str(DATA), "exec"), {})
    assert capsys.readouterr().out.startswith("3 of 5 tails are literals and were put into bins")


@pytest.mark.usefixtures("_in_a_hurry")
def test_every_example_runs_in_its_turn(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    (python,) = find_blocks("python")
    exec(compile(python, str(README), "exec"), {})
    assert "Portugal – member_of – " in capsys.readouterr().out
    (block,) = (block for block in find_blocks("") if "itransf train" in block)
    for line in block.splitlines():
        run_line(line)
    assert Path("concepts.png").is_file()
    assert sorted(path.name for path in Path("runs").iterdir()) == ["first", "tomorrow", "world"]


@pytest.mark.usefixtures("_in_a_hurry")
def test_every_command_of_the_page_runs_in_its_turn() -> None:
    pytest.importorskip("matplotlib")
    (block,) = find_blocks("", COMMANDS)
    for line in block.splitlines():
        run_line(line)
    assert sorted(path.name for path in Path("runs").iterdir()) == ["smaller", "tomorrow", "twins", "world"]
    shown = {line.split()[1] for line in block.splitlines() if line.startswith("itransf ")}
    assert shown == {*EXAMPLES, "data"} - {"compare", "demo"}


@pytest.mark.usefixtures("_in_a_hurry")
def test_the_page_for_users_of_pykeen_runs(capsys: pytest.CaptureFixture[str]) -> None:
    known: dict[str, Any] = {}
    for block in find_blocks("python", PYKEEN):
        exec(compile(block, str(PYKEEN), "exec"), known)
    assert Path("runs/world").is_dir()
    assert "regularizer.weight=" in capsys.readouterr().out


@pytest.mark.usefixtures("_in_a_hurry")
def test_everything_from_python(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = find_blocks("python", PYTHON)
    assert len(blocks) == 7
    known: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PYTHON), "exec"), known)
    told = capsys.readouterr().out
    assert "Graph('world': 1,542 entities, 33 relations, 8,290 train, 1,037 valid, 1,037 test)" in told
    assert "'Portugl'. Did you mean 'Portugal'" in told
    assert Path("report.html").is_file()
    assert Path("runs/taught").is_dir()


def test_reasons_on_the_pages_are_those_of_train() -> None:
    graph, found = itransf.load("world"), 0
    for page in (README.parent / "docs" / name for name in ("answers.md", "explaining.md")):
        text = page.read_text(encoding="utf-8")
        for triple in (
            ("Falkland Islands", "drives_on", "left side of the road"),
            ("Vietnam", "has_currency", "Vietnamese dong"),
            ("Portugal", "has_coast_on", "North Sea"),
        ):
            head, relation, tail = resolve_triples(graph, [triple])[0].tolist()
            reason = find_paths(graph, (head, relation, tail), count=1)[0].describe(triple[1])
            found += reason in " ".join(text.split())
    assert found == 3


STORED = Results(README.parent / "results" / "reproduction")


def read_rules(dataset: str) -> str:
    """Return the MRR of the one-hop rules."""
    (record,) = STORED.find_seeds(Row("", dataset=dataset, method="rules").make_job())
    return format_metric(read_sample([record], "mrr").median, "mrr")


def read_readings(graph: str, model: str, metrics: Iterable[str]) -> str:
    """Return the end of a row: number of concepts, and medians of the seeds."""
    path = README.parent / "results" / f"interpretation-{graph}-icomplex.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    runs = [run["test"] for run in record["runs"] if run["model"] == model and "test" in run]
    assert len(runs) == (1 if model == "complex" else 5)
    figures = (format_metric(median(run[metric] for run in runs), metric) for metric in metrics)
    concepts = record["settings"][model]["model"].get("concepts")
    return " | ".join((f"{concepts:,}" if concepts else "–", *figures))


def read_defaults(name: str, metrics: Iterable[str]) -> str:
    """Return the end of a row: number of concepts, and medians of the seeds with default settings."""
    path = README.parent / "results" / f"benchmark-defaults-{name}.json"
    runs = [run for run in json.loads(path.read_text(encoding="utf-8"))["runs"] if run["model"] == "icomplex"]
    assert len(runs) == 3
    figures = (format_metric(median(run[metric] for run in runs), metric) for metric in metrics)
    return " | ".join((str(runs[0]["config"]["model"]["concepts"]), *figures))


def test_figures_are_those_of_the_stored_results() -> None:
    page, metrics = README.read_text(encoding="utf-8"), ("mr", "mrr", "hits@1", "hits@10")
    for title in ("WN18", "FB15k", "FB15k-237", "CoDEx-S", "WN18RR"):
        for model, addition in (("icomplex", ""), ("complex", ", ComplEx")):
            assert f"| {title}{addition} | preset | {read_readings(title.lower(), model, metrics)} |" in page
    for title, name in (
        ("FB15k-237", "fb15k-237-cuda"),
        ("CoDEx-S", "codex-s"),
        ("WN18RR", "wn18rr-cuda"),
        ("world", "world"),
    ):
        assert f"| {title} | defaults | {read_defaults(name, metrics)} |" in page
    rules = [read_rules(name) for name in ("fb15k", "wn18", "wn18rr", "fb15k-237")]
    easy = f"an MRR of {rules[0]} and {rules[1]}."
    hard = f"an MRR of only {rules[2]} and {rules[3]}, so compare models there."
    assert f"{easy} On WN18RR and FB15k-237 the rules have {hard}" in " ".join(page.split())
