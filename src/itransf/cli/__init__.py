"""The command line: one small file per command; errors and exit codes are settled here.

Nothing here may import torch, numpy or pyarrow, so that `itransf --help` answers at once: commands reach the
package through its lazy public names.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

import itransf
from itransf.cli.concepts import show_concepts
from itransf.cli.data import data_app
from itransf.cli.demo import show_demo
from itransf.cli.edit import edit_concepts
from itransf.cli.evaluate import evaluate_run
from itransf.cli.explain import explain_triple
from itransf.cli.export import export_run
from itransf.cli.info import show_info
from itransf.cli.interpret import interpret_run
from itransf.cli.learn import learn_triples
from itransf.cli.output import make_console, remark
from itransf.cli.predict import predict_triples
from itransf.cli.presets import show_presets
from itransf.cli.relation import show_relation
from itransf.cli.report import write_report
from itransf.cli.reproduce import reproduce_paper
from itransf.cli.score import score_file
from itransf.cli.settings import show_settings
from itransf.cli.train import Stopped, train_model
from itransf.errors import ITransFError, UsageError
from itransf.registry import TRUSTED

FAILURE, MISUSE, INTERRUPTED = 1, 2, 130
LACK_OF_MEMORY = (
    "there is not enough memory. Less is needed with smaller batches (training.batch_size), fewer negatives "
    "(negatives.per_triple), shorter vectors (model.dim), fewer concepts (model.concepts) or, on a GPU, "
    "with --device cpu"
)
_SILENCE = logging.NullHandler()

# Typer's own complaints about options and arguments: its only public one and what that derives from.
_USAGE_ERRORS = tuple(
    kind for kind in typer.BadParameter.__mro__ if issubclass(kind, Exception) and kind is not Exception
)

app = typer.Typer(
    name="itransf",
    help="Knowledge base completion you can read: learn from triples, predict the missing ones, see why.",
    epilog="Start with 'itransf demo', or 'itransf train FILE' with triples of your own.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes leave too little room for words at 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(show_demo)
app.add_typer(data_app, name="data")
app.command("train")(train_model)
app.command("evaluate")(evaluate_run)
app.command("predict")(predict_triples)
app.command("score")(score_file)
app.command("explain")(explain_triple)
app.command("relation")(show_relation)
app.command("concepts")(show_concepts)
app.command("interpret")(interpret_run)
app.command("report")(write_report)
app.command("learn")(learn_triples)
app.command("edit")(edit_concepts)
app.command("info")(show_info)
app.command("export")(export_run)
app.command("presets")(show_presets)
app.command("settings")(show_settings)
app.command("reproduce")(reproduce_paper)


def print_version(asked: bool) -> None:
    """Print the version and stop, if it is asked for."""
    if asked:
        print(f"itransf {itransf.__version__}")
        raise typer.Exit


@app.callback()
def take_common_options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option("--plugin", metavar="MODULE:NAME", help="Trust this code if a run uses it; may be repeated."),
    ] = None,
) -> None:
    """Knowledge base completion you can read: learn from triples, predict the missing ones, see why."""
    TRUSTED.update(plugin or ())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 failed, 2 asked for something that cannot be, 130 interrupted.

    Args:
        arguments: What follows `itransf`; the command line's own if not given.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    logging.getLogger("itransf.data").addHandler(_SILENCE)  # commands print what reading found themselves
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without some letter shows another, not a crash
    sys.exit(run_command(given))


def run_command(arguments: list[str]) -> int:
    """Run a command and return its exit code; what went wrong is said on stderr."""
    try:
        code = app(arguments, prog_name="itransf", standalone_mode=False, obj=arguments)
    except ITransFError as error:
        complain(str(error))
        return MISUSE if isinstance(error, UsageError) else FAILURE
    except OSError as error:  # a full disk, a folder that may not be written
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
        if not is_lack_of_memory(error):
            raise
        complain(LACK_OF_MEMORY)
        return FAILURE
    if code == INTERRUPTED:
        remark("Stopped.")
    return code if isinstance(code, int) else 0


def is_lack_of_memory(error: MemoryError | RuntimeError) -> bool:
    """Tell whether the machine or its GPU had no memory left: torch says so in words only."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(words in text for words in ("out of memory", "not enough memory"))


def complain(message: str) -> None:
    """Print an error to stderr, without a traceback."""
    make_console(stderr=True).print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)


def complain_of_usage(error: BaseException) -> int:
    """Print what is wrong with the options, and where help is; return the exit code."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    message = message.replace(": Value error, ", ": ")  # how Python calls it helps nobody here
    context = getattr(error, "ctx", None)
    if message.lstrip().startswith("Usage:"):  # nothing was asked for, so the message is the help
        print(message, file=sys.stderr)
        return MISUSE
    complain(message)
    if context is not None:
        remark(f"Try '{context.command_path} --help'.")
    return MISUSE
