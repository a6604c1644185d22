"""`itransf predict`, `score` and `classify`: plausible new triples, and how plausible or true given ones are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import itransf
from itransf.cli import output
from itransf.cli.options import AsJson, Device, Explain, Out, RunFolder, open_run, takes_plain_form
from itransf.errors import ConfigError, name_count

if TYPE_CHECKING:
    from itransf.prediction.inputs import LabelledTriple

RANKS = "Ranks are among entities that fit and whose triple is unknown; the percentile is the share ranked below."
MEAN = " Prob. is the geometric mean over two queries, for the tail and for the head."
ANY = "Search all entities or relations, not only those that fit."
KNOWN: output.Columns = {"Known": lambda row: "held out" if row["known"] in ("valid", "test") else row["known"] or ""}
AGREEMENT: output.Columns = {  # of an ensemble
    "Agree": lambda row: f"{row['agree']} of {row['seeds']}",
    "Ranks": lambda row: f"{row['best_rank']:,g} to {row['worst_rank']:,g}",
}
ONLY_WITH_MORE = " Others are ranked only with --more."
NO_CHANCE = " Others have no probability."
NO_ANSWER = (
    "There is no answer: every candidate is a training triple (--known includes them), or excluded by --candidates, or "
    "does not fit (--any searches all entities and relations), or has its only answer in the training set (--more)."
)


def predict_triples(
    run: RunFolder,
    *,
    head: Annotated[str | None, Option(metavar="H", help="Head: name or label.")] = None,
    relation: Annotated[str | None, Option(metavar="R", help="Relation: name or label.")] = None,
    tail: Annotated[str | None, Option(metavar="T", help="Tail: name or label.")] = None,
    top: Annotated[int, Option(metavar="N", help="Number of answers.")] = 10,
    candidates: Annotated[Path | None, Option(metavar="FILE", help="Allowed answers, one per line.")] = None,
    search_any: Annotated[bool, Option("--any", help=ANY)] = False,
    known: Annotated[bool, Option("--known", help="Include training triples.")] = False,
    more: Annotated[bool, Option("--more", help="Rank other answers where the training set has the only one.")] = False,
    explain: Explain = False,
    queries: Annotated[
        Path | None, Option(metavar="FILE", help="File of queries: head, relation, tail, one is ?.")
    ] = None,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Predict missing triples (link prediction).

    Give a head and a relation, a relation and a tail, a head and a tail, or a relation alone. Answers fit the relation:
    they or entities like them occur on that side of it in the training set (--any searches all). Training triples are
    left out, unless --known is given; validation and test triples are marked "held out". If a relation allows one
    answer, such as a capital, and the training set has it, others are ranked only with --more, without a probability.
    A probability supposes that an answer is missing: it is too high for relations whose triples are complete. In an
    ensemble, a seed agrees with an answer if it ranks it among its ten best, as 'itransf score' ranks it.
    """
    asked = {"head": head, "relation": relation, "tail": tail}
    if queries is not None and any(asked.values()):
        raise ConfigError("--queries names the queries: leave out --head, --relation and --tail")
    opened = open_run(run, device)
    pool = opened.graph.relations if relation is None and queries is None else opened.graph.entities
    choices: dict[str, Any] = {
        "top": top,
        "candidates": itransf.prediction.read_candidates(candidates, pool) if candidates else None,
        "typed": not search_any,
        "include_known": known,
        "more": more or known or candidates is not None,
        "progress": True,
    }
    if queries is not None:
        answer_file(opened, queries, out, choices, explain, as_json)
        return
    only = itransf.prediction.find_only_answers(opened.graph, head, relation, tail)
    found = opened.predict(head, relation, tail, **choices)
    answered = next(part for part in ("tail", "head", "relation") if asked[part] is None)
    sharing = None
    if relation is not None and opened.has_concepts:
        sharing = itransf.interpret.concepts_behind(opened.concepts(), relation, opened.concept_names)
    predictions = [each.to_dict() for each in found]
    output.add_reasons(opened, predictions, explain)
    concepts = None if sharing is None else {side: [each.to_dict() for each in sharing[side]] for side in sharing}
    answered_by = [triple.to_dict() for triple in only]
    content = {"query": asked, "answered_by": answered_by, "predictions": predictions, "concepts": concepts}
    told = describe_only(only, answered) + note_others(opened, bool(found)) if only else ""
    if told and out is not None:
        output.warn([told])

    def show(screen: output.Screen) -> None:
        if told:
            screen.say(told, wrap=True)
        if found or not only:
            show_answers(opened, predictions, screen)
        if found and sharing:
            screen.say(f"\nConcepts of {relation}, and the relations that share them", "bold")
            output.show_shared(sharing, screen, output.MOST_SHARED)

    output.tell_rows(content, predictions, out, as_json, show, itransf.prediction.Prediction)


def describe_only(triples: Sequence[LabelledTriple], answered: str) -> str:
    """Return that train has the only answer to a query, the head or the tail, and which."""
    shown = "; ".join(itransf.interpret.sentences.write_triple(each) for each in triples)
    given = "tail" if answered == "head" else "head"
    return f"Already in train: {shown}. In train, each {given} of {triples[0].relation_label} has one {answered}."


def note_others(run: itransf.Run, are_ranked: bool) -> str:
    """Return what is said about further answers to a query whose only answer is in train."""
    return (NO_CHANCE if run.calibration else "") if are_ranked else ONLY_WITH_MORE


def answer_file(
    run: itransf.Run, queries: Path, out: Path | None, choices: Mapping[str, Any], explain: bool, as_json: bool
) -> None:
    """Answer a file of queries, into a file or onto the screen."""
    if out is not None and out.exists() and out.samefile(queries):
        raise ConfigError(f"--out {out} would replace the queries; choose another file")
    asked = itransf.prediction.read_queries(queries)
    table = itransf.prediction.answer_queries(run.model, run.graph, asked, **choices, calibration=run.calibration)
    if explain:
        table = table.append_column("reason", [run.give_reasons(table.select(output.PARTS).to_pylist())])
    parts = [(each.head, each.relation, each.tail) for each in asked]
    only = [found[0] for each in parts if (found := itransf.prediction.find_only_answers(run.graph, *each))]
    if only:
        first = itransf.interpret.sentences.write_triple(only[0])
        others = note_others(run, choices["more"])
        output.warn([f"Train has the only answer to {len(only):,} of {len(asked):,} queries, such as {first}.{others}"])
    if out is not None:
        itransf.prediction.write_table(table, out)
        output.remark(f"{name_count(table.num_rows, 'answer')} to {len(asked):,} queries in {out}")
        if as_json:
            output.print_json({"queries": len(asked), "answers": table.num_rows, "out": str(out)})
        return
    found = table.to_pylist()
    content = {"queries": len(asked), "predictions": found}
    output.tell(content, as_json, lambda screen: show_answers(run, found, screen))


def show_answers(run: itransf.Run, answers: Sequence[Mapping[str, Any]], screen: output.Screen) -> None:
    """Print predictions, or answers to queries, then what their probabilities mean, and their reasons."""
    show_predictions(answers, screen)
    note_probability(run, answers, screen)
    output.show_reasons(answers, screen)


def show_predictions(answers: Sequence[Mapping[str, Any]], screen: output.Screen) -> None:
    """Print the table of answers, with a column for known triples if there are any."""
    if not answers:
        screen.say(NO_ANSWER, wrap=True)
        return
    has_chance = any(row["probability"] is not None for row in answers)
    has_known = any(row["known"] for row in answers)
    columns: output.Columns = {
        "Query" if "query" in answers[0] else "": lambda row: str(row.get("query", row["rank"])),
        **output.TRIPLE,
        "Score": lambda row: output.format_number(row["score"], 3),
        **(output.CHANCE if has_chance else {}),
        **(KNOWN if has_known else {}),
        **(AGREEMENT if "agree" in answers[0] else {}),
    }
    screen.tabulate_each(answers, columns, names=4)


def note_probability(run: itransf.Run, rows: Sequence[Mapping[str, Any]], screen: output.Screen) -> None:
    """Print what the probabilities of triples mean, and of which of their relations they are less reliable."""
    if not rows:
        return
    if run.calibration is None:
        screen.say(itransf.interpret.sentences.NO_PROBABILITY, wrap=screen.is_terminal)
        return
    names = run.graph.relations
    rated = {names.index(row["relation"]) for row in rows if row["probability"] is not None}
    if rated:
        screen.say(f"Prob.: {itransf.interpret.sentences.PROBABILITY}.", wrap=screen.is_terminal)
    for number in sorted({names.index(row["relation"]) for row in rows}):
        if not run.calibration.covers(number):
            screen.say(f"{names.label(number)}: no probability, as the relation was learned later.")
        if run.calibration.lacks_skill(number):
            told = "on the validation set, the model ranks answers no better than popularity"
            screen.say(f"{names.label(number)}: {told}.")
        if number in rated and (share := run.graph.share_answered(number)) < itransf.data.RARELY_ANSWERED:
            told = f"only {share:.0%} of the entities that fit have this relation in the data"
            text = f"{names.label(number)}: {told}; the probabilities of new triples are too high."
            screen.say(text, wrap=screen.is_terminal)


@takes_plain_form
def score_file(
    run: RunFolder,
    triples: Annotated[Path, Argument(metavar="TRIPLES", help="File of triples: head, relation, tail; also Parquet.")],
    *,
    explain: Explain = False,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
    form: Mapping[str, Any],
) -> None:
    """Score given triples: score, filtered ranks and percentile.

    A triple with an unknown name is not scored; its row has the unknown name.
    """
    opened = open_run(run, device)
    given = itransf.prediction.read_triples(triples, form=itransf.data.Form(**form))
    output.warn(given.notes)
    problems = itransf.prediction.find_problems(opened.graph, given.names)
    known = [row for row in range(len(given.names)) if row not in problems]
    scored = opened.score([given.names[row] for row in known], progress=True)
    unscored = dict.fromkeys(field.name for field in fields(itransf.prediction.ScoredTriple))
    rows: list[dict[str, Any]] = [
        {**unscored, **dict(zip(output.PARTS, names, strict=True)), "problem": problems.get(row)}
        for row, names in enumerate(given.names)
    ]
    for row, triple in zip(known, scored, strict=True):
        rows[row] |= triple.to_dict()
    output.add_reasons(opened, rows, explain)

    def show(screen: output.Screen) -> None:
        if scored:
            show_scores([rows[row] for row in known], screen)
            note_probability(opened, [rows[row] for row in known], screen)
        for row, problem in problems.items():
            screen.say(f"{given.locate(row)}: {problem}", wrap=True)
        output.show_reasons(rows, screen)

    output.tell_rows({"triples": rows}, rows, out, as_json, show)


def show_scores(rows: Sequence[Mapping[str, Any]], screen: output.Screen) -> None:
    """Print scored triples as a table."""
    has_chance = any(row["probability"] is not None for row in rows)
    columns: output.Columns = {
        **output.TRIPLE,
        "Score": lambda row: output.format_number(row["score"], 3),
        **(output.CHANCE if has_chance else {}),
        "Tail rank": lambda row: f"{row['tail_rank']:,g}",
        "Head rank": lambda row: f"{row['head_rank']:,g}",
        "Percentile": lambda row: output.format_number(row["percentile"], 1),
        "Known": lambda row: row["known"] or "",
    }
    screen.tabulate_each(rows, columns, names=3)
    screen.say(RANKS + (MEAN if has_chance else ""), wrap=True)


SHOWN = "The model was shown the triples of train, so a verdict on them says little; see 'itransf doubt'."
WORDS = {True: "true", False: "false", None: "unknown"}


@takes_plain_form
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
    output.warn(given.notes)
    false = None if negatives is None else itransf.prediction.read_triples(negatives).names
    found = opened.classify(given.names, labels, false)
    rows = [each.to_dict() for each in found]
    is_judged = labels is not None and any(each.verdict is not None for each in found)
    judged = itransf.prediction.judge(found) if is_judged else None
    output.add_reasons(opened, rows, explain)

    def show(screen: output.Screen) -> None:
        columns: output.Columns = {
            **output.TRIPLE,
            "Verdict": lambda row: WORDS[row["verdict"]],
            "Known": lambda row: row["known"] or "",
            **output.CHANCE,
        }
        screen.tabulate_each(rows, columns, names=5)
        if any(row["known"] == "train" for row in rows):
            screen.say(SHOWN)
        for number, row in enumerate(rows):
            if row["problem"]:
                screen.say(f"{given.locate(number)}: {row['problem']}")
        output.show_reasons(rows, screen)
        if judged is not None:
            screen.say(f"Accuracy {100 * judged['accuracy']:.1f} %, F1 {100 * judged['f1']:.1f} %.")
            others = [
                output.format_number(judged[name], 4) for name in ("brier", "brier_uncalibrated", "brier_constant")
            ]
            screen.say(f"Brier score {others[0]}; {others[1]} uncalibrated, {others[2]} for a constant.")

    output.tell_rows({"metrics": judged, "triples": rows}, rows, out, as_json, show)
