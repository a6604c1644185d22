"""`itransf find`, `show`, `missing`, `doubt`, `diff`: names, an entity, new and doubtful triples, two runs."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument, Option

from itransf.cli import output
from itransf.cli.options import AsJson, Device, Explain, Out, RunFolder, open_run

MOST_SHOWN = 20  # rows of a long list on the screen
DOUBT: output.Columns = {"Doubt": lambda each: output.format_number(each["doubt"], 1)}
MEANING = "Doubt: how far type, connections and score are below those of other triples of the relation; mostly about 0."
Relation = Annotated[str | None, Option(metavar="R", help="Only triples of this relation.")]


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

    def show(screen: output.Screen) -> None:
        rows = [(each["name"], each["label"], each["kind"], each["match"], f"{each['triples']:,}") for each in found]
        if rows:
            screen.tabulate(("Name", "Label", "Kind", "Match", "Triples"), rows, names=4)
        else:
            screen.say(f"Nothing is similar to {text!r}.")

    output.tell_rows({"text": text, "found": found}, found, out, as_json, show)


def doubt_triples(
    run: RunFolder,
    *,
    relation: Relation = None,
    top: Annotated[int, Option(metavar="N", help="Most triples.")] = 20,
    explain: Annotated[bool, Option("--explain", help="Tell also what supports each triple.")] = False,
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
        output.show_reasons(found[:MOST_SHOWN], screen, "support")

    output.tell_rows(content, found, out, as_json, show)


def list_missing(
    run: RunFolder,
    *,
    entity: Annotated[str | None, Option(metavar="X", help="Only triples of this entity.")] = None,
    relation: Relation = None,
    top: Annotated[int, Option(metavar="N", help="Most triples.")] = 1000,
    explain: Explain = False,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """List the most probable new triples of the graph, of an entity or of a relation.

    Interrupted with --out, the same command continues after the last relation that was finished.
    """
    state = None if out is None else out.with_name(f".{out.name}.part")
    options: dict[str, Any] = {"top": top, "explain": explain, "progress": True, "state": state}
    found = [each.to_dict() for each in open_run(run, device).missing(entity, relation, **options)]
    content = {"entity": entity, "relation": relation, "triples": found}
    output.tell_rows(content, found, out, as_json, lambda screen: show_triples(found, output.CHANCE, screen))


def show_entity(
    run: RunFolder,
    entity: Annotated[str, Argument(metavar="ENTITY", help="Name or label.")],
    top: Annotated[int, Option(metavar="N", help="Number of predictions and of near entities.")] = 5,
    explain: Explain = False,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Show what is known about an entity, what is predicted, and which entities are near.

    A file has all three, told apart by the column "part".
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
    """Show which metrics, answers and concepts changed from a run to another on the same or a grown graph.

    Held-out triples of both graphs are ranked as by 'itransf score'. Concepts are compared by the relations that use
    them.
    """
    found = open_run(before, device).diff(open_run(after, device), top)

    def show(screen: output.Screen) -> None:
        values = [(name, *(output.format_number(each, 3) for each in pair)) for name, pair in found["metrics"].items()]
        screen.tabulate(("", "Before", "After"), values, title=f"{found['questions']:,} held-out questions")
        rows = [
            (
                *("?" if part == each["asked"] else each[part] for part in output.PARTS),
                *(each[each["asked"]], *(", ".join(best) or "–" for best in each["best"])),
                *(f"{rank:,g}" for rank in each["ranks"]),
            )
            for each in found["answers"]
        ]
        columns = (*output.TRIPLE, "Answer", "Best before", "Best after", "Rank before", "After")
        screen.tabulate(columns, rows, names=6, title=f"\n{found['changed']:,} ranks changed")
        lost = [each["concept"] for each in found["concepts"] or [] if not each["found"]]
        if found["concepts"]:
            kept, changed = len(found["concepts"]) - len(lost), f" Changed: {', '.join(lost)}." if lost else ""
            screen.say(f"\n{kept} of {len(found['concepts'])} concepts are found again.{changed}", wrap=True)

    output.tell_rows(found, found["answers"], out, as_json, show)


def show_triples(found: list[dict[str, Any]], value: output.Columns, screen: output.Screen) -> None:
    """Print triples with a value, and a reason where they have one."""
    has_reasons = any(each["reason"] for each in found)
    reasons: output.Columns = {"Reason": lambda each: each["reason"]} if has_reasons else {}
    screen.tabulate_each(found[:MOST_SHOWN], {**output.TRIPLE, **reasons, **value}, names=3 + has_reasons)
    if len(found) > MOST_SHOWN:
        output.remark(f"{len(found) - MOST_SHOWN:,} more: --out FILE writes all.")
