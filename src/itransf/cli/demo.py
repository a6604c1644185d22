"""`itransf demo`: train three models on the bundled graph and read the best."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.text import Text

import itransf
from itransf.cli.options import AsJson, Device, DeviceName
from itransf.cli.output import (
    fill,
    format_number,
    format_share,
    make_console,
    make_table,
    print_json,
    put_title,
    remark,
)
from itransf.cli.reasons import describe_concept, describe_users

_TITLES = {"transe": "TransE", "stranse": "STransE", "itransf": "ITransF"}


def show_demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="For the heat map and the trained model.")
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the training.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="One setting for all three models; repeatable."),
    ] = None,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Train three models on a bundled graph, then predict and explain.

    TransE, STransE and ITransF learn triples about the world; it takes about two minutes.
    """
    if not as_json:
        remark("Training three models on 'world', a bundled graph of triples about countries, cities,")
        remark("languages, currencies and organisations. This takes about two minutes.\n")
    result = itransf.demo.run_demo(out, seed, settings=settings or (), device=device.value)
    if as_json:
        print_json(result.to_dict())
        return
    text = "" if result.heatmap else itransf.interpret.format_heatmap(result.attention)
    show_result(result.to_dict(), text, result.missing, make_console())


def show_result(found: Mapping[str, Any], text: str, missing: str, console: Console) -> None:
    """Print everything the demo found.

    Args:
        found: What `DemoResult.to_dict` returns.
        text: The heat map as text, where there is no picture.
        missing: What to install for a picture.
        console: Where to.
    """
    show_figures(found["models"], found["rare_relations"], console)
    show_discoveries(found["discoveries"], console)
    console.print(Text("Which relations share which concepts", "bold"))
    if found["heatmap"] is None:
        console.print(text, markup=False, soft_wrap=True)
        console.print(f"For a picture instead: {missing}\n", markup=False, soft_wrap=True)
    else:
        console.print(f"The heat map is in {found['heatmap']}", markup=False, soft_wrap=True)
        console.print("Rows that are dark in the same column share what was learned there.\n")
    console.print(write_next_steps(found["run"]), markup=False, soft_wrap=True)


def show_figures(models: Sequence[Mapping[str, Any]], rare: int, console: Console) -> None:
    """Print the table of all models."""
    console.print()
    console.print(tabulate_figures(models))
    console.print()
    console.print(
        "Each model ranks the right answer among all entities. MR is its mean rank (low is better), MRR the "
        "mean of 1 / rank, Hits@k how often it is among the first k (in percent), Rare the Hits@10 on the "
        f"rarest third of the relations ({rare} of them, each counting the same)."
    )
    console.print()


def tabulate_figures(models: Sequence[Mapping[str, Any]]) -> Group:
    """Return one row per model."""
    columns = ("Model", "MR", "MRR", "Hits@1", "Hits@3", "Hits@10", "Rare", "Seconds")
    rows = (
        (
            _TITLES[model["model"]],
            format_number(model["mr"], 1),
            format_number(model["mrr"], 3),
            *(format_share(model[key]) for key in ("hits@1", "hits@3", "hits@10", "hits@10_rare")),
            format_number(model["seconds"], 0),
        )
        for model in models
    )
    return put_title("How well each model finds triples it has not seen", fill(make_table(*columns), rows))


def show_discoveries(discoveries: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print new triples and the concepts behind them."""
    title = f"{len(discoveries)} triples that are not in the graph, but that ITransF believes"
    console.print(Text(title, "bold"))
    console.print(
        "Below each triple: the concept (and its weight) through which the relation sees its head and tail, "
        "and the other relations that see their heads (H) or tails (T) through the same concept."
    )
    console.print()
    for number, found in enumerate(discoveries, start=1):
        triple = (found["head_label"], found["relation_label"], found["tail_label"])
        console.print(
            Text.assemble(f"{number:2}. ", triple[0], "  ", (triple[1], "italic"), "  ", triple[2]), soft_wrap=True
        )
        for side, concepts in found["concepts"].items():
            if concepts:
                strongest = concepts[0]
                line = f"    {side}: {describe_concept(strongest)}, {describe_users(strongest['others'], 3)}"
                console.print(Text(line, "dim"), soft_wrap=True)
    console.print()


def write_next_steps(run: str) -> str:
    """Say what to try after the demo."""
    place = shlex.quote(run)
    return "\n".join(
        [
            "What next:",
            f"  itransf predict {place} --head France --relation borders --known",
            f"  itransf concepts {place} --relation capital_of",
            f"  itransf evaluate {place} --relations",
            "  itransf train FILE.tsv        your own triples: head, relation, tail",
        ]
    )
