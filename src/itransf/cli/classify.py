"""`itransf classify`: whether given triples are true."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

import itransf
from itransf.cli.options import AsJson, Device, Explain, Out, RunFolder, open_run, takes_form
from itransf.cli.output import (
    CHANCE,
    TRIPLE,
    Columns,
    Screen,
    add_reasons,
    format_number,
    show_reasons,
    tell_rows,
    warn,
)

SHOWN = "The model was shown the triples of train, so a verdict on them says little; see 'itransf doubt'."
WORDS = {True: "true", False: "false", None: "unknown"}


@takes_form
def classify_file(
    run: RunFolder,
    triples: Annotated[Path, Argument(metavar="TRIPLES", help="head, relation, tail and, if known, label (1 or 0).")],
    *,
    negatives: Annotated[Path | None, Option(metavar="FILE", help="False triples to set thresholds by.")] = None,
    explain: Explain = False,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
    form: Mapping[str, Any],
) -> None:
    """Tell whether triples are true or false.

    Thresholds of relations are set by validation triples and false ones: those of --negatives, otherwise validation
    triples with another head or tail that fits. Labels in the file are compared with the verdicts.
    """
    opened = open_run(run, device)
    given, labels = itransf.prediction.read_claims(triples, itransf.data.Form(**form))
    warn(given.notes)
    false = None if negatives is None else itransf.prediction.read_triples(negatives).names
    found = opened.classify(given.names, labels, false)
    rows = [each.to_dict() for each in found]
    is_judged = labels is not None and any(each.verdict is not None for each in found)
    judged = itransf.prediction.judge(found) if is_judged else None
    add_reasons(opened, rows, explain)

    def show(screen: Screen) -> None:
        known: Columns = {"Known": lambda row: row["known"] or ""}
        columns: Columns = {**TRIPLE, "Verdict": lambda row: WORDS[row["verdict"]], **known, **CHANCE}
        screen.tabulate_each(rows, columns, names=5)
        if any(row["known"] == "train" for row in rows):
            screen.say(SHOWN)
        for number, row in enumerate(rows):
            if row["problem"]:
                screen.say(f"{given.locate(number)}: {row['problem']}")
        show_reasons(rows, screen)
        if judged is not None:
            screen.say(f"Accuracy {100 * judged['accuracy']:.1f} %, F1 {100 * judged['f1']:.1f} %.")
            others = [format_number(judged[name], 4) for name in ("brier", "brier_uncalibrated", "brier_constant")]
            screen.say(f"Brier score {others[0]}; {others[1]} uncalibrated, {others[2]} for a constant.")

    tell_rows({"metrics": judged, "triples": rows}, rows, out, as_json, show)
