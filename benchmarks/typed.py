"""What given types are worth: MRR among candidates that fit by given or learned types, and with typed negatives.

python -m benchmarks.typed --seeds 0 1 2 3 4

The graph is planted: every entity has one type and a position, every relation links entities of one type to near ones
of another (after a rotation of its own). Few triples per entity leave much for types to say.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import itransf
from benchmarks.markdown import describe_setting, make_table
from benchmarks.records import RESULTS, Record, start_record, write_record
from benchmarks.weights import SIDES, Floats, compare
from itransf.data.typing import Typing
from itransf.evaluation.ranking import Ranks, rank_triples

ENTITIES, TYPES, RELATIONS, DIM, TAILS = 1000, 8, 24, 6, 3
NEGATIVES = {
    "all entities": ("negatives.domain=0",),
    "entities seen in train": ("negatives.domain=1",),
    "given types": ("negatives.domain=1",),
}


def plant(folder: Path, heads: float, seed: int) -> tuple[itransf.Graph, itransf.Graph]:
    """Return a graph without and with given types; a share `heads` of the entities of a type are heads."""
    rng = np.random.default_rng(seed)
    kinds, vectors, triples = rng.integers(TYPES, size=ENTITIES), rng.normal(size=(ENTITIES, DIM)), []
    for relation in range(RELATIONS):
        kind, other = rng.choice(TYPES, 2, replace=False)
        rotation, _ = np.linalg.qr(rng.normal(size=(DIM, DIM)))
        tails = np.flatnonzero(kinds == other)
        for head in rng.permutation(np.flatnonzero(kinds == kind))[: max(5, round(heads * (kinds == kind).sum()))]:
            near = np.linalg.norm(vectors[tails] - vectors[head] @ rotation, axis=1).argsort()[:TAILS]
            triples += [(f"e{head}", f"r{relation}", f"e{tail}") for tail in tails[near]]
    graph = itransf.Graph.from_triples([triples[row] for row in rng.permutation(len(triples))], "planted types")
    table = folder / "types.tsv"
    table.write_text("".join(f"e{entity}\tt{kind}\n" for entity, kind in enumerate(kinds)), encoding="utf-8")
    return graph, graph.typed(table)


def measure(graph: itransf.Graph, typed: itransf.Graph, seed: int, options: Mapping[str, Any]) -> dict[str, Floats]:
    """Return the reciprocal rank of each test triple by candidates, and by negatives, (n,) each."""
    training: dict[str, Any] = {"seed": seed, "device": options["device"], "progress": False}
    run = itransf.train(graph, settings=options["settings"], **training)
    rules: dict[str, Typing | None] = {"all entities": None, "learned types": graph.typing, "given types": typed.typing}
    found = {
        f"candidates: {name}": average(rank_triples(run.model, graph.test, graph.known, typing=rule))
        for name, rule in rules.items()
    }
    for name, settings in NEGATIVES.items():
        given = typed if name == "given types" else graph
        chosen = ["model.name=transe", "loss.name=hinge", "negatives.per_triple=16", *settings, *options["settings"]]
        run = itransf.train(given, settings=chosen, **training)
        found[f"negatives: {name}"] = average(rank_triples(run.model, graph.test, graph.known))
    return found


def average(ranks: Ranks) -> Floats:
    """Return the reciprocal rank of each triple, the mean of both sides, (n,)."""
    return np.asarray(np.mean([1 / ranks.ranks(side) for side in SIDES], axis=0))


def render(record: Record) -> str:
    """Return the section."""
    rows = []
    for name, values in record["mrr"].items():
        gain = record["gain"].get(name)
        text = f"{gain['difference']:+.3f} ({gain['low']:+.3f} to {gain['high']:+.3f})" if gain else ""
        rows.append([name, f"{np.mean(values):.3f}", text])
    table = make_table(["", "MRR", "given types against it (95 % interval)"], rows)
    return "\n".join(["### Given types\n", *describe_setting(record), "", table])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--heads", type=float, default=0.2, help="share of the entities of a type that are heads")
    parser.add_argument("--settings", nargs="*", default=[], help="such as training.epochs=5")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args(arguments)
    record: dict[str, Any] = start_record("typed", options.seeds[0], vars(options), ["torch", "numpy"])
    found: dict[str, list[Floats]] = {}
    for seed in options.seeds:
        with tempfile.TemporaryDirectory() as folder:
            graph, typed = plant(Path(folder), options.heads, 0)
        for name, values in measure(graph, typed, seed, vars(options)).items():
            found.setdefault(name, []).append(values)
            print(f"seed {seed}, {name}: MRR {values.mean():.4f}", flush=True)
    record["mrr"] = {name: [float(part.mean()) for part in parts] for name, parts in found.items()}
    record["gain"] = {
        name: compare(np.stack(parts), np.stack(found[f"{name.partition(':')[0]}: given types"]), options.seeds[0])
        for name, parts in found.items()
        if not name.endswith("given types")
    }
    write_record(record, RESULTS / "benchmark-typed.json")


if __name__ == "__main__":
    main()
