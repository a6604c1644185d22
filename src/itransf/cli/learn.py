"""`itransf learn`: a new relation or entity from a handful of triples."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

import itransf
from itransf.cli.concepts import format_uses
from itransf.cli.new_run import NewRun, Overwrite, refuse_taken
from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run
from itransf.cli.output import count, make_console, print_json, warn
from itransf.errors import ConfigError


def learn_triples(
    run: RunFolder,
    triples: Annotated[
        Path,
        typer.Argument(metavar="TRIPLES", help="For a relation: head, tail on each line; else head, relation, tail."),
    ],
    out: NewRun,
    relation: Annotated[str | None, typer.Option("--relation", metavar="NAME", help="The relation to learn.")] = None,
    entity: Annotated[str | None, typer.Option("--entity", metavar="NAME", help="The entity to learn.")] = None,
    overwrite: Overwrite = False,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Learn a new relation or entity in seconds; all else stays as it is, to the bit.

    A relation gets its attention over the concepts there are and a translation, an entity gets a vector. The triples
    become training triples of the new run; the old one is left alone.
    """
    wanted = {"relation": relation, "entity": entity}
    given = [(kind, name) for kind, name in wanted.items() if name is not None]
    if len(given) != 1:
        raise ConfigError("give one of --relation NAME and --entity NAME: what the triples are about")
    refuse_taken(out, overwrite)
    opened = open_run(run, device)
    (kind, name), started = given[0], time.perf_counter()
    learned = (learn_relation if kind == "relation" else learn_entity)(opened, name, triples)
    seconds = time.perf_counter() - started
    learned.save(out, overwrite=overwrite)
    count = len(learned.graph.train) - len(opened.graph.train)
    told = (describe_relation if kind == "relation" else describe_entity)(learned, name)
    found = {"run": str(out), "kind": kind, "name": name, "triples": count, "seconds": seconds, **told}
    if as_json:
        print_json(found)
    else:
        show_learned(found, make_console())


def learn_relation(run: itransf.Run, name: str, path: Path) -> itransf.Run:
    """Return a run that learned a relation from a file of pairs."""
    pairs = itransf.prediction.read_triples(path, pairs=True)
    warn(pairs.notes)
    return run.learn_relation(name, pairs.names, locate=pairs.locate)


def learn_entity(run: itransf.Run, name: str, path: Path) -> itransf.Run:
    """Return a run that learned an entity from a file of triples."""
    triples = itransf.prediction.read_triples(path)
    warn(triples.notes)
    return run.learn_entity(name, triples.names, locate=triples.locate)


def describe_relation(run: itransf.Run, name: str) -> dict[str, Any]:
    """Return what a learned relation is made of, and a question about it."""
    attention: dict[str, Any] = {"head": [], "tail": []}
    if run.config.name == "itransf":
        row = run.concepts().to_dict([name])["relations"][0]
        attention = {side: row[side] for side in attention}
    head = run.graph.entities.name(int(run.graph.train[-1, 0]))
    return {**attention, "ask": ["--head", head, "--relation", name]}


def describe_entity(run: itransf.Run, name: str) -> dict[str, Any]:
    """Return what a learned entity is close to, and a question about it."""
    number = len(run.graph.entities) - 1
    closest = itransf.teaching.find_closest(run.model, run.graph, number)
    head, relation, _ = run.graph.train[-1].tolist()
    side = "--head" if head == number else "--tail"
    near = [{"label": label, "cosine": cosine} for label, cosine in closest]
    return {"closest": near, "ask": [side, name, "--relation", run.graph.relations.name(relation)]}


def show_learned(found: Mapping[str, Any], console: Console) -> None:
    """Print what was learned and what to do next."""
    triples = count(found["triples"], "triple")
    what = f"Learned the {found['kind']} {found['name']} from {triples} in {found['seconds']:.1f} s"
    console.print(Text(f"{what}; all else is as it was."), soft_wrap=True)
    for side in ("head", "tail"):
        if found.get(side):
            console.print(Text(f"  {side} concepts  {format_uses(found[side])}"), soft_wrap=True)
    if found.get("closest"):
        near = ", ".join(f"{entity['label']} ({entity['cosine']:.2f})" for entity in found["closest"])
        console.print(Text(f"  close to  {near}"), soft_wrap=True)
    place = shlex.quote(found["run"])
    console.print(Text(f"\nWhat next:\n  itransf predict {place} {shlex.join(found['ask'])}"), soft_wrap=True)
    if found["kind"] == "relation":
        name = shlex.quote(found["name"])
        console.print(Text(f"  itransf relation {place} {name}"), soft_wrap=True)
