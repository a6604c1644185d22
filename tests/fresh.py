"""Fresh interpreters: each call is a process in which nothing of the package has been loaded yet.

A server imports the large libraries once and is forked for each call, which takes a tenth of the time.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

LIBRARIES = ("torch", "numba", "pyarrow", "jinja2", "rich", "typer")


class Done(NamedTuple):
    """The exit status of a process and what it printed."""

    code: int
    out: str
    err: str


class Interpreters:
    """Runs `python ARGUMENTS`, each in a process of its own."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            env={**os.environ, "OMP_NUM_THREADS": "1"},  # a process with threads cannot be forked
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def call(self, *arguments: str, folder: Path, paths: Sequence[Path] = ()) -> Done:
        """Run `-c CODE` or `-m MODULE WORD ...` in a folder, with more places to import from."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with tempfile.TemporaryDirectory() as printed:
            order = {"arguments": arguments, "folder": str(folder), "paths": [str(path) for path in paths]}
            self._server.stdin.write(json.dumps(order | {"printed": printed}) + "\n")
            self._server.stdin.flush()
            code = int(self._server.stdout.readline())
            out, err = (Path(printed, name).read_text(encoding="utf-8") for name in ("out", "err"))
        return Done(code, out, err)

    def close(self) -> None:
        """End the server."""
        self._server.communicate()


def serve() -> None:
    """Fork for each line of standard input, and print the exit status."""
    for name in LIBRARIES:
        if find_spec(name):
            __import__(name)
    while line := sys.stdin.readline():
        order = json.loads(line)
        child = os.fork()
        if not child:
            run(order["arguments"], order["folder"], order["paths"], order["printed"])
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def run(arguments: list[str], folder: str, paths: list[str], printed: str) -> None:
    """Become the process that was asked for."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for place, name in enumerate(("out", "err"), start=1):
        os.dup2(os.open(os.path.join(printed, name), os.O_WRONLY | os.O_CREAT), place)
    os.chdir(folder)
    sys.path[0] = folder
    sys.path[1:1] = paths
    kind, what, *words = arguments
    if kind == "-c":
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
        return
    sys.argv = [what, *words]
    runpy.run_module(what, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve()
