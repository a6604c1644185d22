"""`itransf bench`: how fast this machine trains and ranks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.text import Text

import itransf
from itransf.cli.options import AsJson, Device, DeviceName
from itransf.cli.output import fill, format_number, format_share, make_console, make_table, print_json, put_title
from itransf.files import check_place


def show_bench(
    data: Annotated[
        str, typer.Option("--data", metavar="DATA", help="A dataset's name, a folder, a file or an archive.")
    ] = "world",
    seconds: Annotated[float, typer.Option(metavar="S", help="For each of the measurements.")] = 3.0,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of everything random.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the record there, as JSON.")] = None,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Measure training and ranking beside the machine's ceilings.

    The ceilings are a float32 matrix product and a copy; ITransF has the paper's sizes.
    """
    if out is not None:
        check_place(out)
    record = itransf.experiments.run_bench(data, device.value, seconds, seed)
    if out is not None:
        itransf.experiments.write_record(record, out)
    if as_json:
        print_json(record)
    else:
        show_record(record, make_console())


def show_record(record: Mapping[str, Any], console: Console) -> None:
    """Print the ceilings, the rates beside them, and what was counted."""
    console.print(Text(describe_machine(record)), soft_wrap=True)
    console.print()
    console.print(tabulate_ceilings(record))
    console.print()
    console.print(tabulate_measures(record))
    console.print()
    for line in record["counted"].values():
        console.print(Text(line, "dim"))


def describe_machine(record: Mapping[str, Any]) -> str:
    """Say on what it was measured."""
    hardware, versions = record["hardware"], record["versions"]
    on_gpu = record["config"]["device"] == "cuda"
    where = hardware["gpu"] if on_gpu else f"{hardware['cpu']}, threads: {record['threads']}"
    named = ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())
    return f"{where}; {named}"


def tabulate_ceilings(record: Mapping[str, Any]) -> Group:
    """Return what the machine does at best."""
    product, copy = record["ceilings"]["product"], record["ceilings"]["copy"]
    rows = [
        (f"float32 matrix product, {product['side']:,} squared", f"{format_number(product['flops'] / 1e9, 1)} GFLOP/s"),
        (f"copy of {copy['numbers'] * 4 / 1e6:,.0f} MB", f"{format_number(copy['bytes'] / 1e9, 1)} GB/s"),
    ]
    return put_title("What the machine does at best", fill(make_table("Ceiling", "Rate"), rows))


def tabulate_measures(record: Mapping[str, Any]) -> Group:
    """Return what we do, as rates and as shares of the ceilings."""
    columns = ("", "n", "m", "Measured on", "Rate", "kFLOP each", "GFLOP/s", "% product", "GB/s", "% copy")
    rows = (
        (
            found["activity"],
            f"{found['dim']}",
            f"{found['concepts']}",
            f"{found['counted']:,}",
            f"{format_number(found['rate'], 0)} {found['unit']}/s",
            format_number(found["cost"]["flops"] / 1e3, 1),
            format_number(found["flops"] / 1e9, 2),
            format_share(found["of_product"]),
            format_number(found["bytes"] / 1e9, 2),
            format_share(found["of_copy"]),
        )
        for found in record["measures"]
    )
    first = record["measures"][0]
    sizes = f"k {first['support_size']}, batches of {first['batch_size']:,}, one negative, l1"
    return put_title(f"ITransF on {record['config']['data']} ({sizes})", fill(make_table(*columns), rows))
