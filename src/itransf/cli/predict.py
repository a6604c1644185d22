"""`itransf predict`: the most plausible triples nobody has stated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import itransf
from itransf.cli.explain import show_short_forms
from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run
from itransf.cli.output import count, fill, format_number, make_console, make_table, print_json, remark
from itransf.cli.reasons import describe_reasons
from itransf.errors import ConfigError

Head = Annotated[str | None, typer.Option("--head", metavar="H", help="The head: name or label.")]
Relation = Annotated[str | None, typer.Option("--relation", metavar="R", help="The relation: name or label.")]
Tail = Annotated[str | None, typer.Option("--tail", metavar="T", help="The tail: name or label.")]
Top = Annotated[int, typer.Option("--top", metavar="N", min=1, help="How many answers.")]
Candidates = Annotated[
    Path | None,
    typer.Option(
        "--candidates", metavar="FILE", help="The only answers that count, one name per line; with --queries, entities."
    ),
]
InDomain = Annotated[
    bool | None,
    typer.Option(
        "--in-domain/--anywhere",
        help="Only answers the relation has on that side in train, or all. [default: in-domain for a relation alone]",
        show_default=False,
    ),
]
Known = Annotated[bool, typer.Option("--known", help="Also show triples that are in the graph.")]
Explain = Annotated[bool, typer.Option("--explain", help="Say in a line what speaks for each answer.")]
Queries = Annotated[
    Path | None,
    typer.Option("--queries", metavar="FILE", help="Many questions: columns head, relation, tail; one is ?."),
]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="For the answers to --queries: .csv, .tsv, .parquet."),
]

NO_ANSWER = (
    "There is no answer: every candidate is a known triple (--known shows them) or left out, by --candidates or as "
    "outside the domain (--anywhere looks further)."
)


def predict_triples(
    run: RunFolder,
    *,
    head: Head = None,
    relation: Relation = None,
    tail: Tail = None,
    top: Top = 10,
    candidates: Candidates = None,
    in_domain: InDomain = None,
    known: Known = False,
    explain: Explain = False,
    queries: Queries = None,
    out: OutFile = None,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Predict missing triples, with the concepts behind them.

    Give a head and a relation, a relation and a tail, a head and a tail, or a relation alone, which is searched
    among the entities it has in train; --anywhere searches all. Triples that are in the graph already are left
    out, unless --known asks for them.
    """
    asked = {"head": head, "relation": relation, "tail": tail}
    check_options(asked, queries, out, explain)
    opened = open_run(run, device)
    pool = opened.graph.relations if relation is None and queries is None else opened.graph.entities
    choices: dict[str, Any] = {
        "top": top,
        "candidates": itransf.prediction.read_candidates(candidates, pool) if candidates else None,
        "in_domain": in_domain,
        "include_known": known,
        "progress": True,
    }
    if queries is not None:
        answer_file(opened, queries, out, {**choices, "in_domain": bool(in_domain)}, as_json)
        return
    found = [prediction.to_dict() for prediction in opened.predict(head, relation, tail, **choices)]
    reasons = find_reasons(opened, relation)
    asked_part = next(part for part in ("tail", "head", "relation") if asked[part] is None)
    if explain:
        add_explanations(opened, found, "head" if asked_part == "head" else "tail")
    if as_json:
        print_json({"query": asked, "predictions": found, "concepts": reasons})
    else:
        show_predictions(found, reasons, known, make_console(), asked_part)


def check_options(asked: Mapping[str, str | None], queries: Path | None, out: Path | None, explain: bool) -> None:
    """Refuse options that do not go together."""
    if queries is not None and any(asked.values()):
        raise ConfigError("--queries brings its own questions: leave out --head, --relation and --tail")
    if queries is not None and explain:
        raise ConfigError(
            "--explain is for a single question, not for --queries; explain triples with 'itransf explain'"
        )
    if out is not None and queries is None:
        raise ConfigError("--out is for the answers to --queries; for a single question use --json > FILE")


def answer_file(run: itransf.Run, queries: Path, out: Path | None, choices: Mapping[str, Any], as_json: bool) -> None:
    """Answer a file of questions, into a file or onto the screen."""
    if out is not None:
        itransf.prediction.check_suffix(out)
        if out.exists() and out.samefile(queries):
            raise ConfigError(f"--out {out} would replace the questions; choose another file")
    asked = itransf.prediction.read_queries(queries)
    table = itransf.prediction.answer_queries(run.model, run.graph, asked, **choices)
    if out is not None:
        itransf.prediction.write_table(table, out)
        remark(f"{count(table.num_rows, 'answer')} to {count(len(asked), 'question')} in {out}")
        if as_json:
            print_json({"queries": len(asked), "answers": table.num_rows, "out": str(out)})
    elif as_json:
        print_json({"queries": len(asked), "predictions": table.to_pylist()})
    elif not table.num_rows:
        make_console().print(NO_ANSWER)
    else:
        columns = ("Query", "Head", "Relation", "Tail", "Score")
        rows = (
            (str(row["query"]), row["head"], row["relation"], row["tail"], format_number(row["score"], 3))
            for row in table.to_pylist()
        )
        make_console().print(fill(make_table(*columns, names=4), rows))


def add_explanations(run: itransf.Run, predictions: Iterable[dict[str, Any]], side: str) -> None:
    """Put beside each prediction why it is one; `side` is where the answers stand."""
    for found in predictions:
        names = (found[part] for part in ("head", "relation", "tail"))
        found["explanation"] = run.explain(*names, side=side, removals=False).to_dict()


def find_reasons(run: itransf.Run, relation: str | None) -> dict[str, list[dict[str, Any]]] | None:
    """Return the concepts behind a relation, where the model has concepts and the relation is given."""
    if relation is None or run.config.name != "itransf":
        return None
    behind = itransf.interpret.concepts_behind(run.concepts(), relation, names=run.concept_names)
    return {side: [shared.to_dict() for shared in found] for side, found in behind.items()}


def show_predictions(
    predictions: Sequence[Mapping[str, Any]],
    reasons: Mapping[str, Any] | None,
    known: bool,
    console: Console,
    asked: str,
) -> None:
    """Print predictions as a table, and what they rest on; `asked` is the part of a triple that they answer."""
    rows = [
        (
            str(found["rank"]),
            *(found[f"{part}_label"] for part in ("head", "relation", "tail")),
            format_number(found["score"], 3),
            *(["yes" if found["known"] else ""] if known else []),
        )
        for found in predictions
    ]
    if not rows:
        console.print(NO_ANSWER)
        return
    columns = ("", "Head", "Relation", "Tail", "Score", *(["Known"] if known else []))
    console.print(fill(make_table(*columns, names=4), rows))
    if "explanation" in predictions[0]:
        show_short_forms(predictions, console, asked)
    if reasons is not None:
        console.print(describe_reasons(reasons), soft_wrap=True)
