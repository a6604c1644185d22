"""`itransf doubt`: training triples that are most likely false."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from itransf.cli.options import AsJson, Device, Out, RunFolder, open_run
from itransf.cli.output import Screen, format_number, tell_rows


def doubt_triples(
    run: RunFolder,
    *,
    relation: Annotated[str | None, Option(metavar="R", help="Only triples of this relation.")] = None,
    top: Annotated[int, Option(metavar="N", help="Most triples.")] = 20,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """List training triples that are most likely false, with reasons.

    A triple is doubtful if its entities are unlike others of the relation, if no paths of other triples support it, and
    if the model gives it a low score for its relation.
    """
    found = open_run(run, device).doubt(relation, top=top, progress=True)

    def show(screen: Screen) -> None:
        rows = [
            (each.head_label, each.relation_label, each.tail_label, each.reason, format_number(each.doubt, 1))
            for each in found
        ]
        screen.tabulate(("Head", "Relation", "Tail", "Reason", "Doubt"), rows, names=4)

    tell_rows({"relation": relation}, "triples", [each.to_dict() for each in found], out, as_json, show)
