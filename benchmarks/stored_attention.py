"""Attention in the records of `benchmarks.interpretation`: written, read without training, and drawn as a heat map.

python -m benchmarks.stored_attention --dataset wn18-icomplex --out docs/icomplex-wn18.png
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import itransf
from benchmarks.recipes import TITLES, Case, find_model, load_graph
from benchmarks.records import RESULTS
from itransf.data.graph import Graph
from itransf.fitting import build_model
from itransf.interpret import read_attention, write_heatmap
from itransf.interpret.measures.reading import Reading, make_sides, read_model
from itransf.run import resolve_config

Stored = Mapping[str, Mapping[str, str]]


def write_attention(run: itransf.Run) -> Stored:
    """Return the weights of each part by relation, as text."""
    attention = run.concepts()
    return {
        part: {name: write_weights(row) for name, row in zip(attention.relations.names, rows, strict=True)}
        for part, rows in zip(attention.parts, attention.weights, strict=True)
    }


def write_weights(row: npt.NDArray[np.float32]) -> str:
    """Return the weights of one relation side as text such as "3:0.731 8:0.269", largest first."""
    order = np.argsort(-np.abs(row), kind="stable")[: np.count_nonzero(row)]
    return " ".join(f"{concept}:{row[concept]:.3f}" for concept in order)


def read_stored(record: Mapping[str, Any], case: Case, graph: Graph) -> Reading | None:
    """Return an untrained model with the attention that is stored of a training; None if none is.

    Stored weights are rounded; they are made to sum to one again.
    """
    runs = [run for run in record["runs"] if case.to_dict().items() <= run.items()]
    if not runs or "attention" not in runs[0]:
        return None
    config = resolve_config(graph, config={**record["settings"][case.model], "seed": case.seed})
    reading = read_model(build_model(graph, config, torch.device("cpu")), graph, TITLES[case.model])
    assert reading.weights is not None, "only concepts have attention"
    weights = np.zeros_like(reading.weights)
    for place, rows in enumerate(runs[0]["attention"].values()):
        for relation, text in rows.items():
            entries = [entry.split(":") for entry in text.split()]
            values = np.array([float(weight) for _, weight in entries])
            columns = [int(concept) for concept, _ in entries]
            weights[place, graph.relations.index(relation), columns] = values / max(np.abs(values).sum(), 1e-9)
    return replace(reading, weights=weights, sides=make_sides(weights, reading.signs))


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the attention of one seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", required=True, help="a recipe of benchmarks.interpretation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="a picture or an .html page")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the record")
    options = parser.parse_args(arguments)
    path = options.results / f"interpretation-{options.dataset}.json"
    case = Case(find_model(options.dataset), options.seed)
    reading = read_stored(json.loads(path.read_text(encoding="utf-8")), case, load_graph(options.dataset, case)[0])
    if reading is None or reading.weights is None:
        parser.error(f"{path} has no attention of {case.model} with seed {case.seed}")
    attention = read_attention(reading.model, reading.graph)
    print(f"wrote {write_heatmap(replace(attention, weights=reading.weights), options.out)}")


if __name__ == "__main__":
    main()
