from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import typer

import itransf
from cli.conftest import call
from itransf.__main__ import main as start
from itransf.cli import EXAMPLES, app, move_options
from itransf.cli.output import Screen, print_json
from itransf.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    FetchError,
    ITransFError,
    MissingExtraError,
    RunError,
    WriteError,
)

COMMANDS = (*EXAMPLES, "data")
LIGHT = (["--help"], ["train", "--help"], ["presets"], ["runs", "."])  # these do not need torch


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make opening a run raise this, and call a command that opens one."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setitem(vars(itransf), "open", fail)
    return call("info", "some-run")


def test_help_names_every_command() -> None:
    done = call("--help")
    assert done.code == 0
    assert all(f"  {command} " in done.out for command in COMMANDS)


@pytest.mark.parametrize("command", [*COMMANDS, "data list", "data info", "data get"])
def test_every_command_has_help(command: str) -> None:
    done = call(*command.split(), "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: itransf {command}")


@pytest.mark.parametrize("command", [*EXAMPLES, "data list", "data info", "data get"])
def test_every_command_has_an_example_that_it_understands(command: str) -> None:
    _, example = " ".join(call(*command.split(), "--help").out.split()).split("Example: ")
    program, *words = shlex.split(example)
    assert program == "itransf"
    assert words[: len(command.split())] == command.split()
    parser = typer.main.get_command(app)
    while words:  # parse, without running it
        context = parser.make_context(None, list(words))
        if not isinstance(parser, typer.core.TyperGroup):
            break
        _, parser, words = parser.resolve_command(context, context._protected_args + context.args)


def test_the_shell_completes_commands() -> None:
    asked = {"_ITRANSF_COMPLETE": "complete_bash", "COMP_WORDS": "itransf ev", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "itransf"], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["evaluate"], done.stderr
    assert "--install-completion" in call("--help").out


def test_options_of_the_program_may_follow_the_command() -> None:
    assert move_options(["train", "x", "--threads", "2", "-q"]) == ["--threads", "2", "train", "x", "-q"]
    assert move_options(["info", "--plugin=a.b:C", "x"]) == ["--plugin=a.b:C", "info", "x"]
    assert move_options(["info", "--", "--threads"]) == ["info", "--", "--threads"]
    assert call("presets", "--threads", "0").code == 2
    assert "--threads" in call("presets", "--threads").err


def test_version() -> None:
    assert call("--version").out == f"itransf {itransf.__version__}\n"


def test_nothing_asked_shows_the_help_and_is_misuse() -> None:
    done = call()
    assert done.code == 2
    assert "Usage: itransf" in done.out + done.err
    assert (done.out + done.err).count("Usage: itransf") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("trian",), "No such command 'trian'"),
        (("train",), "Missing argument 'DATA'"),
        (("train", "world", "--epochs", "3"), "No such option: --epochs"),
        (("evaluate", "run", "--split", "tset"), "--split': 'tset'"),
        (("predict", "run", "--top", "many"), "--top"),
    ],
)
def test_misuse_is_told_in_one_line_with_a_hint(arguments: tuple[str, ...], message: str) -> None:
    done = call(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("Error: ")
    assert message in done.err
    assert "--help'" in done.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("no such thing"), 2),
        (DataError("no such thing"), 2),
        (RunError("no such thing"), 2),
        (CheckpointError("no such thing"), 1),
        (WriteError("no such thing"), 1),
        (FetchError("no such thing"), 1),
        (MissingExtraError("this", "plots"), 1),
        (ITransFError("no such thing"), 1),
        (PermissionError(13, "Permission denied", "/there"), 1),
    ],
)
def test_errors_become_a_line_and_a_code(error: Exception, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    done = fail_with(error, monkeypatch)
    assert done.code == code
    assert done.out == ""
    assert done.err.startswith("Error: ")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:113] DefaultCPUAllocator: not enough memory: you tried ..."),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("Triton Error [CUDA]: out of memory"),
    ],
)
def test_a_lack_of_memory_says_what_needs_less(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    done = fail_with(error, monkeypatch)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: out of memory.")
    assert "training.batch_size" in done.err
    assert done.err.count("\n") == 1


def test_brackets_in_a_message_are_not_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    done = fail_with(MissingExtraError("drawing", "plots"), monkeypatch)
    assert "pip install '.[plots]'" in done.err


def test_an_interrupt_is_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    done = fail_with(KeyboardInterrupt(), monkeypatch)
    assert (done.code, done.err) == (130, "Stopped.\n")


def test_an_interrupt_while_the_program_starts_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("itransf.__main__.import_module", interrupt)
    with pytest.raises(SystemExit) as ended:
        start()
    assert ended.value.code == 130


@pytest.mark.parametrize("mistake", [ZeroDivisionError(), RuntimeError("shapes do not fit")])
def test_an_internal_error_is_not_hidden(mistake: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise mistake

    monkeypatch.setitem(vars(itransf), "open", fail)
    with pytest.raises(type(mistake)):
        itransf.cli.main(["info", "some-run"])


@pytest.mark.parametrize(
    "code",
    [
        "import itransf",
        *(f"import itransf.cli\ntry: itransf.cli.main({words})\nexcept SystemExit: pass" for words in LIGHT),
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code: str) -> None:
    check = "\nimport sys\nprint(sorted({'torch', 'numpy', 'pyarrow', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code + check], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "itransf", "--version"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == f"itransf {itransf.__version__}\n"


def test_letters_a_terminal_lacks_do_not_crash() -> None:
    code = "import itransf.cli\nitransf.cli.main(['info', 'Łódź'])"
    command = [sys.executable, "-X", "utf8=0", "-c", code]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert "there is no such run" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("options", [("settings",), ("settings", "--json"), ("--version",), ("--help",)])
def test_a_closed_pipe_is_not_an_error(options: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "itransf", *options]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("is_terminal", "lines"), [(True, ["  a b: one two", "       three"]), (False, ["  a b: one two three"])]
)
def test_only_a_terminal_breaks_an_item_of_a_list(is_terminal: bool, lines: list[str]) -> None:
    paper = io.StringIO()
    Screen(file=paper, width=16, force_terminal=is_terminal, color_system=None).itemize("one two three", "a b: ")
    assert paper.getvalue().splitlines() == lines


def test_json_loses_no_letter_where_the_terminal_lacks_some(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    monkeypatch.setattr(sys, "stdout", stream)
    print_json({"tail": "Zürich"})
    assert json.loads(stream.buffer.getvalue()) == {"tail": "Zürich"}  # type: ignore[attr-defined]


def test_notes_of_reading_are_printed_once(tmp_path: Path) -> None:
    file = tmp_path / "triples.tsv"
    file.write_text("a\tr\tb\na\tr\tb\nb\tr\tc\n", encoding="utf-8")
    command = [sys.executable, "-m", "itransf", "data", "info", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert (done.stdout + done.stderr).count("duplicate row was dropped") == 1


@pytest.mark.parametrize("command", ["score", "classify", "learn"])
def test_commands_that_read_no_weights_do_not_offer_any(command: str) -> None:
    assert "--weight" not in call(command, "--help").out
    assert "--skip-bad" in call(command, "--help").out
    assert "--weight" in call("update", "--help").out
