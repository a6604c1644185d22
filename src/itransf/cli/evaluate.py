"""`itransf evaluate`: rank a split's triples."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Annotated

import typer

from itransf.cli.evaluation import show_evaluation
from itransf.cli.options import AsJson, Device, DeviceName, Memory, RunFolder, open_run, parse_memory
from itransf.cli.output import make_console, print_json
from itransf.errors import DataError


class Ties(StrEnum):
    """What a rival with the same score counts."""

    realistic = "realistic"
    optimistic = "optimistic"
    pessimistic = "pessimistic"


class Edges(Enum):
    """How frequency buckets are cut."""

    count = "count"
    log = "log"


class Weighting(StrEnum):
    """What counts the same within a bucket."""

    relation = "relation"
    query = "query"


class Split(StrEnum):
    """Which triples are ranked."""

    train = "train"
    valid = "valid"
    test = "test"


SplitName = Annotated[Split, typer.Option("--split", help="Which triples to rank.")]
TiePolicy = Annotated[Ties, typer.Option("--ties", help="What a rival with the same score counts.")]
Buckets = Annotated[int, typer.Option("--buckets", metavar="N", min=1, max=1000, help="How many frequency buckets.")]
BucketEdges = Annotated[
    Edges, typer.Option("--bucket-edges", help="Of equal count, or of equal width in log frequency.")
]
BucketWeighting = Annotated[Weighting, typer.Option("--bucket-weighting", help="What counts the same within a bucket.")]
Relations = Annotated[bool, typer.Option("--relations", help="Add a table of every relation.")]


def evaluate_run(
    run: RunFolder,
    *,
    split: SplitName = Split.test,
    ties: TiePolicy = Ties.realistic,
    memory: Memory = "512MB",
    buckets: Buckets = 3,
    bucket_edges: BucketEdges = Edges.count,
    bucket_weighting: BucketWeighting = Weighting.relation,
    relations: Relations = False,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Rank a split's triples among all entities: MR, MRR, Hits."""
    size = parse_memory(memory)
    opened = open_run(run, device)
    if len(opened.graph.split(split.value)) == 0:
        others = " or ".join(other.value for other in Split if len(opened.graph.split(other.value)))
        raise DataError(f"{run}: its graph has no {split.value} triples to rank; choose another --split ({others})")
    evaluation = opened.evaluate(
        split.value,
        ties=ties.value,
        memory=size,
        buckets=buckets,
        bucket_edges=bucket_edges.value,
        bucket_weighting=bucket_weighting.value,
        progress=True,
    )
    if as_json:
        print_json(evaluation.to_dict())
    else:
        show_evaluation(evaluation.to_dict(), make_console(), relations)
