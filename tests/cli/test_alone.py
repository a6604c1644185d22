"""Each command in a process of its own, where nothing has been loaded by another one before."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import itransf
from cli.conftest import CONCEPTS, QUICK, write_triples
from cli.test_main import COMMANDS
from fresh import Interpreters

SOURCE = Path(itransf.__file__).parent
LONG = {"demo", "classify"}  # too long, or too many triples needed; what they load is checked by name below
TOLD = {
    "data": ("info", "world"),
    "train": ("DATA", "--out", "new", *QUICK, *CONCEPTS, "--quiet"),
    "compare": ("DATA", "--models", "transe", *QUICK[2:], "--out", "new", "--quiet"),
    "evaluate": ("RUN",),
    "predict": ("RUN", "--head", "Lyon", "--relation", "city_in"),
    "score": ("RUN", "triples.tsv"),
    "missing": ("RUN", "--top", "3"),
    "doubt": ("RUN", "--top", "3"),
    "show": ("RUN", "Lyon"),
    "find": ("RUN", "Lyn"),
    "diff": ("RUN", "RUN"),
    "explain": ("RUN", "Lyon", "city_in", "France"),
    "relation": ("RUN", "near"),
    "concepts": ("RUN",),
    "info": ("RUN",),
    "runs": (".",),
    "seal": ("RUN", "--check"),
    "export": ("RUN", "--out", "vectors"),
    "presets": ("wn18/itransf",),
    "settings": ("averaging",),
    "models": (),
    "report": ("RUN", "--out", "report.html"),
    "learn": ("RUN", "pairs.tsv", "--relation", "twin", "--out", "new"),
    "update": ("RUN", "triples.tsv", "--out", "new", "--quiet"),
    "edit": ("RUN", "--prune", "3", "--epochs", "0", "--out", "new"),
    "interpret": ("RUN", "--no-ranking"),
}


def test_all_commands_are_here() -> None:
    assert set(TOLD) | LONG == set(COMMANDS)


@pytest.mark.parametrize("command", TOLD)
def test_a_command_works_alone(command: str, run: Path, data: Path, tmp_path: Path, interpreters: Interpreters) -> None:
    write_triples(tmp_path / "triples.tsv", [("Lyon", "near", "Paris")])
    (tmp_path / "pairs.tsv").write_text("Lyon\tMilano\nParis\tMadrid\n", encoding="utf-8")
    words = [str({"RUN": run, "DATA": data}.get(word, word)) for word in TOLD[command]]
    done = interpreters.call("-m", "itransf", command, *words, folder=tmp_path)
    assert done.code == 0, done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("file", sorted((SOURCE / "cli").glob("*.py")), ids=lambda path: path.stem)
def test_commands_take_from_the_package_what_it_loads_by_itself(file: Path) -> None:
    used = {
        node.attr
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "itransf"
    }
    assert used <= {*itransf._HOMES, *itransf._PARTS, *itransf.__all__}
