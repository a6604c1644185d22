"""`itransf find`: entities and relations by name or label."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from itransf.cli.options import AsJson, Out, RunFolder, open_run
from itransf.cli.output import Screen, tell_rows


def find_names(
    run: RunFolder,
    text: Annotated[str, Argument(metavar="TEXT", help="Name or label, or a part of it; typos are allowed.")],
    top: Annotated[int, Option(metavar="N", help="Most results.")] = 10,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Find entities and relations by name or label.

    Exact matches come first, then names that begin with the text, names with a word that does, and similar names.
    """
    found = [each.to_dict() for each in open_run(run, "cpu").find(text, top)]

    def show(screen: Screen) -> None:
        if not found:
            screen.say(f"Nothing is similar to {text!r}.")
            return
        named = any(each["name"] != each["label"] for each in found)
        columns = ("Name", *(["Label"] if named else []), "Kind", "Match", "Triples")
        rows = [
            (each["name"], *([each["label"]] if named else []), each["kind"], each["match"], f"{each['triples']:,}")
            for each in found
        ]
        screen.tabulate(columns, rows, names=len(columns) - 1)

    tell_rows({"text": text}, "found", found, out, as_json, show)
