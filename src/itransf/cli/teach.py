"""`itransf learn`, `update` and `edit`: new relations, entities and triples, and concepts changed by hand."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

import itransf
from itransf.cli.concepts import TITLES
from itransf.cli.evaluate import MAIN, format_metrics, name_metrics
from itransf.cli.options import (
    AsJson,
    Device,
    NewRun,
    Overwrite,
    Quiet,
    RunFolder,
    open_run,
    refuse_taken,
    takes_form,
    takes_plain_form,
)
from itransf.cli.output import Screen, format_uses, tell, warn
from itransf.errors import ConfigError, ITransFError, check_count, name_count

STEPS = {"before": "before", "edited": "edited", "refitted": "re-fitted", "after": "after"}
COUNTED = ("added", "known", "removed", "absent", "entities", "relations")  # what an update changed
CHANGES = {"absent": "not there to remove", "entities": "new entities", "relations": "new relations"}


@takes_plain_form
def learn_triples(
    run: RunFolder,
    triples: Annotated[Path, Argument(metavar="TRIPLES", help="Triples; for a relation, pairs (head, tail).")],
    *,
    out: NewRun,
    relation: Annotated[str | None, Option(metavar="NAME", help="Name of the relation to learn.")] = None,
    entity: Annotated[str | None, Option(metavar="NAME", help="Name of the entity to learn.")] = None,
    overwrite: Overwrite = False,
    device: Device = "auto",
    as_json: AsJson = False,
    form: Mapping[str, Any],
) -> None:
    """Learn a new relation or entity in seconds.

    All other parameters stay as they are. A relation gets attention over the existing concepts, a vector, or both; an
    entity gets an embedding. The triples become training triples of the new run; the old run is not changed.
    """
    if (relation is None) == (entity is None):
        raise ConfigError("give either --relation NAME or --entity NAME")
    refuse_taken(out, overwrite)
    opened = open_run(run, device)
    given = itransf.prediction.read_triples(triples, relation is not None, itransf.data.Form(**form))
    warn(given.notes)
    started = time.perf_counter()
    if relation is not None:
        learned = opened.learn_relation(relation, given.names, locate=given.locate)
        found = {"kind": "relation", "name": relation, **describe_relation(learned, relation)}
    else:
        assert entity is not None, "one of the two is given"
        learned = opened.learn_entity(entity, given.names, locate=given.locate)
        found = {"kind": "entity", "name": entity, **describe_entity(learned, entity)}
    seconds, number = time.perf_counter() - started, len(learned.graph.train) - len(opened.graph.train)
    learned.save(out, overwrite=overwrite)
    found = {"run": str(out), "triples": number, "seconds": seconds, **found}
    tell(found, as_json, lambda screen: show_learned(found, screen))


def describe_relation(run: itransf.Run, name: str) -> dict[str, Any]:
    """Return the concepts of a learned relation, and a query about it."""
    concepts: dict[str, Any] = {"head": [], "tail": []}
    if run.has_concepts:
        attention = run.concepts()
        row = attention.to_dict([name])["relations"][0]
        concepts = {part: row[part] for part in TITLES if part in row}
        concepts["concept_names"] = itransf.interpret.name_concepts(attention, run.concept_names)
    head = run.graph.entities.name(int(run.graph.train[-1, 0]))
    return {**concepts, "ask": ["--head", head, "--relation", name]}


def describe_entity(run: itransf.Run, name: str) -> dict[str, Any]:
    """Return the nearest neighbours of a learned entity, and a query about it."""
    number = len(run.graph.entities) - 1
    near = itransf.teaching.find_closest(run.model, run.graph, number)
    head, relation, _ = run.graph.train[-1].tolist()
    ask = ["--head" if head == number else "--tail", name, "--relation", run.graph.relations.name(relation)]
    return {"closest": [{"label": label, "cosine": cosine} for label, cosine in near], "ask": ask}


def show_learned(found: Mapping[str, Any], screen: Screen) -> None:
    """Print what was learned and what to do next."""
    triples, seconds = name_count(found["triples"], "triple"), f"{found['seconds']:.1f} s"
    screen.say(f"Learned the {found['kind']} {found['name']} from {triples} in {seconds}; nothing else has changed.")
    for key, heading in TITLES.items():
        if found.get(key):
            screen.say(f"  {heading.lower()}  {format_uses(found[key], found['concept_names'])}")
    if found.get("closest"):
        near = ", ".join(f"{entity['label']} ({entity['cosine']:.2f})" for entity in found["closest"])
        screen.say(f"  close to  {near}")
    place = shlex.quote(found["run"])
    screen.say(f"\nWhat next:\n  itransf predict {place} {shlex.join(found['ask'])}")
    if found["kind"] == "relation":
        screen.say(f"  itransf relation {place} {shlex.quote(found['name'])}")


@takes_form
def update_run(
    run: RunFolder,
    new: Annotated[Path, Argument(metavar="NEW", help="New triples; unknown names become entities and relations.")],
    *,
    out: NewRun,
    remove: Annotated[Path | None, Option(metavar="FILE", help="Triples to remove.")] = None,
    epochs: Annotated[int | None, Option(metavar="N", help="Epochs of training. [default: by size]")] = None,
    literals: Annotated[str, Option(metavar="MODE", help="Numbers, dates, long texts: drop or keep.")] = "drop",
    alert: Annotated[float | None, Option(metavar="X", help="Exit with 1 if the validation MRR falls by more.")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    device: Device = "auto",
    as_json: AsJson = False,
    form: Mapping[str, Any],
) -> None:
    """Add and remove triples, and train briefly.

    New names become entities and relations. They are fitted to their triples first; then everything is trained for a
    few epochs. RUN is not changed, and the new run appears when it is complete. Known triples are skipped.
    """
    if out.resolve() == run.resolve():
        raise ConfigError(f"--out {out} is the run itself, which is not changed; choose another folder")
    if alert is not None and not alert >= 0:
        raise ConfigError(f"--alert {alert:g}: give the fall of the MRR that is too much, a number from 0 on")
    refuse_taken(out, overwrite)
    before, started = open_run(run, device), time.perf_counter()
    growth = itransf.teaching.grow_graph(before.graph, new, remove or (), itransf.data.Form(**form), literals)
    warn(growth.notes)
    after = before.update(growth, out=out, overwrite=overwrite, epochs=epochs, progress=not quiet)
    seconds = time.perf_counter() - started
    valid = itransf.run.compare_valid(before, after)
    found = {"run": str(out), "before": str(run), **growth.counts, "seconds": seconds, "valid": valid}
    for kind, old in (("entities", before.graph.entities), ("relations", before.graph.relations)):
        found[f"new_{kind}"] = getattr(growth.graph, kind).names[len(old) :]
    tell(found, as_json, lambda screen: show_update(found, screen))
    if alert is not None and valid and valid["before"]["mrr"] - valid["after"]["mrr"] > alert:
        fall = " to ".join(f"{valid[step]['mrr']:.3f}" for step in ("before", "after"))
        told = f"the validation MRR fell from {fall}, by more than {alert:g}"
        raise ITransFError(f"{told}; see 'itransf diff {run} {out}'")


def show_update(found: Mapping[str, Any], screen: Screen) -> None:
    """Print what changed, and the metrics before and after."""
    counts = "; ".join(f"{CHANGES.get(key, key)}: {found[key]:,}" for key in COUNTED if found[key])
    screen.say(f"Triples {counts or 'added: 0'}; time: {found['seconds']:.1f} s\n")
    show_steps(found["valid"], "Ranks on the same triples of valid, filtered (Hits in percent)", screen)
    places = shlex.quote(found["before"]), shlex.quote(found["run"])
    screen.say(f"\nWhat next:\n  itransf diff {places[0]} {places[1]}\n  itransf evaluate {places[1]}")


def show_steps(valid: Mapping[str, Mapping[str, float]] | None, title: str, screen: Screen) -> None:
    """Print the metrics of each step."""
    if not valid:
        screen.say("There are no validation triples to evaluate.")
        return
    rows = ((STEPS[step], *format_metrics(metrics, MAIN)) for step, metrics in valid.items())
    screen.tabulate(("", *name_metrics(MAIN)), rows, title=title)


def edit_concepts(
    run: RunFolder,
    out: NewRun,
    forbid: Annotated[list[str] | None, Option(metavar="REL.SIDE=C", help="Concept that a side may not use.")] = None,
    pin: Annotated[list[str] | None, Option(metavar="REL.SIDE=C", help="Concept that a side always uses.")] = None,
    merge: Annotated[list[str] | None, Option(metavar="A,B", help="Two concepts to merge.")] = None,
    prune: Annotated[int | None, Option(metavar="M", help="Keep the M most important concepts.")] = None,
    epochs: Annotated[int, Option(metavar="N", help="Epochs of training afterwards; 0: none.")] = 5,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Forbid, pin, merge or prune concepts.

    The edited model is trained briefly, and each step is evaluated on validation. SIDE is head or tail, C the number or
    name of a concept, as 'itransf concepts RUN' shows them; where relations have no sides (icomplex), write REL=C.
    Pinned and forbidden concepts stay so when the new run is trained further.
    """
    kept = 0 if prune is None else check_count("--prune", prune, 1)
    if not (forbid or pin or merge or kept):
        raise ConfigError("there is nothing to change: give --forbid, --pin, --merge or --prune")
    pairs = [parse_pair(text) for text in merge or ()]
    refuse_taken(out, overwrite)
    before = open_run(run, device)
    parts = before.concepts().parts
    asked: dict[str, Any] = {
        "forbid": [parse_place(text, "--forbid", parts) for text in forbid or ()],
        "pin": [parse_place(text, "--pin", parts) for text in pin or ()],
        "merge": pairs,
        "prune": kept,
    }
    steps = {"before": before, "edited": before.edit(**asked)}
    if epochs:
        steps["refitted"] = steps["edited"].refit(epochs, progress=not quiet)
    list(steps.values())[-1].save(out, overwrite=overwrite)
    found = {"run": str(out), "epochs": epochs, **describe_steps(steps)}
    tell(found, as_json, lambda screen: show_edit(found, screen))


def parse_place(text: str, option: str, parts: Sequence[str]) -> tuple[str, str, str]:
    """Split RELATION.SIDE=CONCEPT, or RELATION=CONCEPT where there are no sides; names may hold dots, equals signs."""
    place, equals, concept = text.rpartition("=")
    relation, dot, side = place.rpartition(".")
    if len(parts) == 1 and side not in parts:
        relation, dot, side = place, ".", parts[0]
    if not (equals and dot and relation and concept.strip()):
        form, example = ("RELATION.SIDE", "borders.head") if len(parts) > 1 else ("RELATION", "borders")
        raise ConfigError(f"{option} {text!r}: write it as {form}=CONCEPT, for example {example}=3")
    return relation, side, concept


def parse_pair(text: str) -> tuple[str, str]:
    """Split A,B into two concepts."""
    first, comma, second = text.partition(",")
    if not (comma and first.strip() and second.strip()):
        raise ConfigError(f"--merge {text!r}: write it as A,B, two concepts separated by a comma")
    return first, second


def describe_steps(steps: Mapping[str, itransf.Run]) -> dict[str, Any]:
    """Return what was changed, and the filtered validation metrics of each step."""
    before, edited = steps["before"], steps["edited"]
    return {
        "changes": list(edited.graph.notes[len(before.graph.notes) :]),
        "concepts": [before.config.model.concepts, edited.config.model.concepts],
        "valid": itransf.run.measure_valid(steps, before.graph.valid),
    }


def show_edit(found: Mapping[str, Any], screen: Screen) -> None:
    """Print the changes and the metrics of each step."""
    for sentence in found["changes"]:
        screen.say(sentence)
    then, now = found["concepts"]
    if then != now:
        screen.say(f"There are {now} concepts, numbered 0 to {now - 1}, instead of {then}.")
    screen.say()
    refit = f"; re-fitted for {name_count(found['epochs'], 'epoch')}" if found["epochs"] else ""
    show_steps(found["valid"], f"Ranks on valid, filtered (Hits in percent{refit})", screen)
    screen.say(f"\nThe new run: {found['run']}")
