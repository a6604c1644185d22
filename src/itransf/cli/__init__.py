"""The command line: commands, errors and exit codes.

Nothing here imports torch, numpy or pyarrow before a command needs it, so that `itransf --help` is fast: commands reach
the package through its lazily imported public names.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich.text import Text
from typer import Option

import itransf
from itransf.cli.compare import compare_models
from itransf.cli.concepts import explain_triple, show_concepts, show_relation
from itransf.cli.data import data_app
from itransf.cli.demo import show_demo
from itransf.cli.evaluate import evaluate_run
from itransf.cli.interpret import interpret_run, write_report
from itransf.cli.models import list_models, show_presets, show_settings
from itransf.cli.output import make_screen, remark
from itransf.cli.predict import classify_file, predict_triples, score_file
from itransf.cli.questions import doubt_triples, find_names, list_missing, show_difference, show_entity
from itransf.cli.runs import export_run, list_runs, seal_run, show_info
from itransf.cli.teach import edit_concepts, learn_triples, update_run
from itransf.cli.train import Stopped, train_model
from itransf.errors import ITransFError, UsageError, is_out_of_memory
from itransf.registry import TRUSTED
from itransf.threads import set_threads

FAILURE, MISUSE, INTERRUPTED = 1, 2, 130
OUT_OF_MEMORY = (
    "out of memory. Use a smaller training.batch_size, negatives.per_triple, model.dim or model.concepts or, on a GPU, "
    "--device cpu"
)
ANYWHERE = ("--threads", "--plugin")  # options of the program that may also follow the command
EXAMPLES: dict[str, tuple[Callable[..., Any], str]] = {
    "demo": (show_demo, ""),
    "train": (train_model, "triples.tsv --out runs/mine --set training.epochs=50"),
    "compare": (compare_models, "world --models transe,complex,icomplex --seeds 3"),
    "evaluate": (evaluate_run, "runs/world --split valid --relations"),
    "predict": (predict_triples, "runs/world --head France --relation borders --explain"),
    "score": (score_file, "runs/world triples.tsv --json"),
    "doubt": (doubt_triples, "runs/world --top 50 --out doubtful.csv"),
    "show": (show_entity, "runs/world Portugal"),
    "diff": (show_difference, "runs/first runs/second"),
    "missing": (list_missing, "runs/world --relation borders --top 100 --explain --out new.csv"),
    "classify": (classify_file, "runs/world claims.csv --out verdicts.csv"),
    "explain": (explain_triple, "runs/world France borders Spain"),
    "find": (find_names, "runs/world Portugl"),
    "relation": (show_relation, "runs/world capital_of"),
    "concepts": (show_concepts, "runs/world --relation capital_of --plot concepts.png"),
    "interpret": (interpret_run, "runs/seed0 runs/seed1 --baseline runs/stranse"),
    "report": (write_report, "runs/world --out report.html"),
    "learn": (learn_triples, "runs/world pairs.tsv --relation twin_of --out runs/taught"),
    "update": (update_run, "runs/monday tuesday.csv --remove wrong.csv --out runs/tuesday"),
    "edit": (edit_concepts, "runs/world --forbid borders=3 --out runs/edited"),
    "info": (show_info, "runs/world"),
    "runs": (list_runs, "runs"),
    "seal": (seal_run, "runs/world"),
    "export": (export_run, "runs/world --out tables --format csv"),
    "models": (list_models, "world"),
    "presets": (show_presets, "wn18/itransf"),
    "settings": (show_settings, "training"),
}
_SILENCE = logging.NullHandler()

# The exceptions of typer for wrong options and arguments: its only public one, and its base classes.
_USAGE_ERRORS = tuple(
    kind for kind in typer.BadParameter.__mro__ if issubclass(kind, Exception) and kind is not Exception
)

app = typer.Typer(
    name="itransf",
    epilog="Start with 'itransf demo', or 'itransf train FILE' for your own triples. "
    "'itransf --install-completion' adds completion to your shell.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes leave too little room at 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, (_command, _arguments) in EXAMPLES.items():
    app.command(_name, epilog=f"Example: itransf {_name} {_arguments}")(_command)
app.add_typer(data_app, name="data")


def print_version(asked: bool) -> None:
    """Print the version and exit, if it is asked for."""
    if asked:
        print(f"itransf {itransf.__version__}")
        raise typer.Exit


@app.callback()
def take_common_options(
    version: Annotated[
        bool, Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
    threads: Annotated[int | None, Option(metavar="N", help="Number of CPU threads. [default: all CPUs]")] = None,
    plugin: Annotated[
        list[str] | None, Option(metavar="NAME", help="Code that a run may use: package.module:Name.")
    ] = None,
) -> None:
    """Interpretable knowledge graph completion: train embedding models, predict missing triples, see why."""
    set_threads(threads)
    TRUSTED.update(plugin or ())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 failed, 2 wrong usage, 130 interrupted.

    Args:
        arguments: Arguments after `itransf`; by default those of the process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    logging.getLogger("itransf.data").addHandler(_SILENCE)  # commands print the notes of reading themselves
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # for terminals that lack some letters
    try:
        code = run_command(given)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def run_command(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors are printed to stderr."""
    try:
        code = app(move_options(arguments), prog_name="itransf", standalone_mode=False, obj=arguments)
    except SystemExit as stop:  # how typer and rich end when the reader of a pipe has gone
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        raise
    except ITransFError as error:
        complain(str(error))
        return MISUSE if isinstance(error, UsageError) else FAILURE
    except OSError as error:  # such as a full disk
        complain(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
        return FAILURE
    except Stopped as stop:
        remark(str(stop))
        return INTERRUPTED
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except _USAGE_ERRORS as error:
        return complain_of_usage(error)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        complain(OUT_OF_MEMORY)
        return FAILURE
    if code == INTERRUPTED:
        remark("Stopped.")
    return code if isinstance(code, int) else 0


def move_options(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with options of the program before the command."""
    first, rest, given = [], [], iter(arguments)
    for argument in given:
        if argument == "--":
            rest += [argument, *given]
        elif argument.partition("=")[0] in ANYWHERE:
            first += [argument] if "=" in argument else [argument, *[next(given, "")]]
        else:
            rest.append(argument)
    return [*first, *rest]


def complain(message: str) -> None:
    """Print an error to stderr."""
    make_screen(stderr=True).print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)


def complain_of_usage(error: BaseException) -> int:
    """Print what is wrong with the arguments and how to get help; return the exit code."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    message = message.replace(": Value error, ", ": ")
    context = getattr(error, "ctx", None)
    if message.lstrip().startswith("Usage:"):  # the help, because there were no arguments
        print(message, file=sys.stderr)
        return MISUSE
    complain(message)
    if context is not None:
        remark(f"Try '{context.command_path} --help'.")
    return MISUSE
