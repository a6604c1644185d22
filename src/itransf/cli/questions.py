"""`itransf find`, `show`, `missing`, `doubt`, `diff`: names, an entity, new and doubtful triples, two runs."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument, Option

import itransf
from itransf.cli import output
from itransf.cli.options import AsJson, Device, Explain, Out, RunFolder, open_run
from itransf.cli.predict import note_probability

MOST_LISTED = 1000  # new triples of a list whose length is not given
MOST_SHOWN = 20  # rows on the screen of a list whose length is not given
DOUBT: output.Columns = {"Doubt": lambda each: output.format_number(each["doubt"], 1)}
MEANING = (
    "Doubt: how unusual the triple is among those of its relation (entity types, supporting paths, score). Typical "
    "triples are near 0; higher is more doubtful."
)
NONE = "There are none: no other entity fits, or train has the only answer."
Relation = Annotated[str | None, Option(metavar="R", help="Only triples of this relation.")]


def find_names(
    run: RunFolder,
    text: Annotated[str, Argument(metavar="TEXT", help="Name or label, or a part of it; typos are allowed.")],
    top: Annotated[int, Option(metavar="N", help="Maximum number of results.")] = 10,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Find entities and relations by name or label.

    Exact matches come first, then names that begin with the text, names with a word that does, and similar names.
    """
    found = [each.to_dict() for each in open_run(run, "cpu").find(text, top)]

    def show(screen: output.Screen) -> None:
        if found:
            has_labels = any(each["label"] != each["name"] for each in found)
            keys = ("name", "label", "kind", "match") if has_labels else ("name", "kind", "match")
            rows = ((*(each[key] for key in keys), f"{each['triples']:,}") for each in found)
            screen.tabulate((*map(str.title, keys), "Triples"), rows, names=len(keys))
        else:
            screen.say(f"Nothing is similar to {text!r}.")

    output.tell_rows({"text": text, "found": found}, found, out, as_json, show, itransf.data.search.FoundName)


def doubt_triples(
    run: RunFolder,
    *,
    relation: Relation = None,
    top: Annotated[int, Option(metavar="N", help="Maximum number of triples.")] = 20,
    explain: Annotated[bool, Option("--explain", help="Also show what supports each triple.")] = False,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """List training triples that are most likely false, with reasons.

    A triple is doubtful if its entities are unlike others of the relation, if no paths of other triples support it, and
    if the model gives it a low score for its relation.
    """
    opened = open_run(run, device)
    found = [each.to_dict() for each in opened.doubt(relation, top=top, progress=True)]
    output.add_reasons(opened, found, explain, "support")
    content = {"relation": relation, "triples": found}

    def show(screen: output.Screen) -> None:
        show_triples(found, DOUBT, screen)
        screen.say(MEANING, wrap=True)
        output.show_reasons(found, screen, "support")

    output.tell_rows(content, found, out, as_json, show, itransf.prediction.DoubtfulTriple)


def list_missing(
    run: RunFolder,
    *,
    entity: Annotated[str | None, Option(metavar="X", help="Only triples of this entity.")] = None,
    relation: Relation = None,
    top: Annotated[int | None, Option(metavar="N", help=f"Maximum number; {MOST_LISTED} without it.")] = None,
    explain: Explain = False,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """List the most probable new triples.

    --entity and --relation limit the search. A probability supposes that an answer is missing: it is too high for
    relations whose triples are complete. Interrupted with --out, the same command continues after the last relation
    that was finished.
    """
    state = None if out is None else out.with_name(f".{out.name}.part")
    opened, most = open_run(run, device), MOST_LISTED if top is None else top
    listed = opened.missing(entity, relation, top=most, explain=explain, progress=True, state=state)
    found = [each.to_dict() for each in listed]
    content = {"entity": entity, "relation": relation, "triples": found}

    def show(screen: output.Screen) -> None:
        shown = found[:MOST_SHOWN] if top is None else found
        show_triples(shown, output.CHANCE, screen)
        if len(shown) < len(found):
            output.remark(f"{len(found) - len(shown):,} more: --out FILE writes all, --top N shows N.")
        note_probability(opened, shown, screen)

    output.tell_rows(content, found, out, as_json, show, itransf.prediction.MissingTriple)


def show_entity(
    run: RunFolder,
    entity: Annotated[str, Argument(metavar="ENTITY", help="Name or label.")],
    top: Annotated[int, Option(metavar="N", help="Number of predictions and of near entities.")] = 5,
    explain: Explain = False,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Show what is known and predicted about an entity.

    The entities with the most similar embeddings follow. A file has all three parts, told apart by the column "part".
    """
    opened = open_run(run, device)
    found = opened.show(entity, top)
    output.add_reasons(opened, found["predicted"], explain)
    rows = [{"part": part, **each} for part in ("known", "predicted", "near") for each in found[part]]

    def show(screen: output.Screen) -> None:
        rows = []
        for each in found["known"]:
            more = each["count"] - len(each["examples"])
            named = ", ".join(each["examples"]) + (f" and {more:,} more" if more else "")
            ends = (found["label"], named) if each["side"] == "head" else (named, found["label"])
            rows.append((ends[0], each["relation"], ends[1], f"{each['count']:,}"))
        screen.tabulate((*output.TRIPLE, "Triples"), rows, names=3, title="Known")
        screen.say("\nPredicted", "bold")
        show_triples(found["predicted"], output.CHANCE, screen)
        note_probability(opened, found["predicted"], screen)
        near = [(each["label"], output.format_number(each["likeness"], 3)) for each in found["near"]]
        screen.say()
        screen.tabulate(("Entity", "Cosine"), near, title="Near, by embedding")

    output.tell_rows(found, rows, out, as_json, show)


def show_difference(
    before: RunFolder,
    after: RunFolder,
    top: Annotated[int, Option(metavar="N", help="Number of answers, those that changed most.")] = 10,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Compare two runs: graph, metrics, answers and concepts.

    The second run is on the same graph or on a larger one. Held-out triples of both graphs are ranked as by 'itransf
    score', by both runs with the triples of the second graph as known. Concepts are compared by the relations that use
    them.
    """
    found = open_run(before, device).diff(open_run(after, device), top)

    def show(screen: output.Screen) -> None:
        names, show_metric = itransf.evaluation.METRICS, itransf.evaluation.format_metric
        values = [(names[key], *(show_metric(key, each) for each in pair)) for key, pair in found["metrics"].items()]
        mrr = " to ".join(show_metric("mrr", each) for each in found["metrics"]["mrr"])
        asked = f"{found['queries']:,} held-out queries"
        changes = [f"{kind} {way} {n:,}" for kind, ways in found["graph"].items() for way, n in ways.items() if n]
        if changes:
            screen.say(f"The graph changed: {', '.join(changes)}.")
        screen.say(f"MRR from {mrr} on {asked}; {found['changed']:,} ranks changed.\n")
        screen.tabulate(("", "Before", "After"), values, title="Ranks as predict gives them (Hits in percent)")
        rows = [
            (
                " – ".join("?" if part == each["asked"] else each[part] for part in output.PARTS),
                *(each[each["asked"]], *(", ".join(best) or "–" for best in each["best"])),
                *(f"{rank:,g}" for rank in each["ranks"]),
            )
            for each in found["answers"]
        ]
        columns = ("Query", "Answer", "Best before", "Best after", "Rank before", "After")
        if rows:
            screen.tabulate(columns, rows, names=4, title="\nAnswers that changed most")
        lost = [each["concept"] for each in found["concepts"] or [] if not each["found"]]
        if found["concepts"]:
            kept, changed = len(found["concepts"]) - len(lost), f" Changed: {', '.join(lost)}." if lost else ""
            screen.say(f"\n{kept} of {len(found['concepts'])} concepts are found again.{changed}", wrap=True)

    output.tell_rows(found, found["answers"], out, as_json, show, (*output.PARTS, "asked", "ranks", "best"))


def show_triples(found: list[dict[str, Any]], value: output.Columns, screen: output.Screen) -> None:
    """Print triples with a value, and a reason where they have one."""
    if not found:
        screen.say(NONE)
        return
    has_reasons = any(each["reason"] for each in found)
    reasons: output.Columns = {"Reason": lambda each: each["reason"]} if has_reasons else {}
    screen.tabulate_each(found, {**output.TRIPLE, **reasons, **value}, names=3 + has_reasons)
