"""What a model has learned, as tables for other programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from itransf.data.graph import Graph
from itransf.data.vocabulary import Vocabulary
from itransf.errors import ConfigError, did_you_mean
from itransf.files import make_folder, write_text
from itransf.interpret.arranging import arrange
from itransf.interpret.attention import Attention
from itransf.models import SIDES, ITransF, Model, Side
from itransf.models.projection import FullProjection
from itransf.models.translation import Translation
from itransf.prediction import write_table

Format = Literal["parquet", "csv"]
FORMATS: tuple[Format, Format] = ("parquet", "csv")
TABLES = ("entities", "relations", "concepts", "attention", "matrices")
Floats = npt.NDArray[np.floating]


@torch.no_grad()
def export_tables(model: Model, graph: Graph) -> dict[str, pa.Table]:
    """Return what a model has learned, as tables by name.

    entities: name, label, vector.
    relations: name, label, vector.
    concepts: concept, rows, columns, matrix (flattened row by row); where the model has concepts.
    attention: relation, label, side, concept, weight (only what is not zero); where the model has concepts.
    matrices: relation, label, side, rows, columns, matrix; where each relation has matrices of its own.

    Args:
        model: What has learned.
        graph: The names.
    """
    if not isinstance(model, Translation):
        raise ConfigError(f"a {type(model).__name__} model has no entity and relation vectors to export")
    tables = {
        "entities": tabulate_vectors(graph.entities, model.entities),
        "relations": tabulate_vectors(graph.relations, model.relations),
    }
    if isinstance(model, ITransF):
        numbers = {"concept": pa.array(np.arange(len(model.concepts)))}
        tables["concepts"] = tabulate_matrices(numbers, model.concepts)
        tables["attention"] = pa.concat_tables(
            tabulate_attention(graph.relations, side, model.concept_projection(side).attention()) for side in SIDES
        )
    sides = [tabulate_side(graph.relations, model, side) for side in SIDES]
    matrices = [table for table in sides if table is not None]
    if matrices:
        tables["matrices"] = pa.concat_tables(matrices)
    return tables


def export(
    model: Model, graph: Graph, folder: str | Path, format: Format = "parquet", *, overwrite: bool = False
) -> list[Path]:
    """Write the tables of `export_tables` into a folder, a file each, and return the files.

    Args:
        model: What has learned.
        graph: The names.
        folder: Where to write; made if it is not there.
        format: "parquet", or "csv" with a column d0, d1, ... for each number of a vector, and a line for each
            row of a matrix.
        overwrite: Whether tables that lie there, of any of these names, make way.

    Raises:
        ConfigError: There is no such format, the model has no vectors, or tables lie there already.
        WriteError: The folder cannot be written.
    """
    if format not in FORMATS:
        raise ConfigError(
            f"tables cannot be exported as {format!r}; use 'parquet' or 'csv'.{did_you_mean(format, FORMATS)}"
        )
    place = Path(folder)
    before = [path for name in TABLES if (path := place / f"{name}.{format}").exists()]
    if before and not overwrite:
        raise ConfigError(
            f"{before[0]}: there is such a table already; overwrite it (--overwrite, overwrite=True) or choose another "
            "folder"
        )
    tables = export_tables(model, graph)
    make_folder(place)
    written = [
        write_table(spread(table) if format == "csv" else table, place / f"{name}.{format}")
        for name, table in tables.items()
    ]
    for path in set(before) - set(written):  # of a model of another kind
        path.unlink()
    return written


def tabulate_vectors(vocabulary: Vocabulary, vectors: Tensor) -> pa.Table:
    """Return a table of name, label and vector."""
    return pa.table({**list_names(vocabulary, "name"), "vector": list_rows(vectors)})


def tabulate_matrices(keys: dict[str, pa.Array], matrices: Tensor) -> pa.Table:
    """Return a table of keys, shape and matrix, flattened row by row; matrices are (n, rows, columns)."""
    count, rows, columns = matrices.shape
    return pa.table(
        {
            **keys,
            "rows": np.full(count, rows),
            "columns": np.full(count, columns),
            "matrix": list_rows(matrices.reshape(count, rows * columns)),
        }
    )


def tabulate_side(relations: Vocabulary, model: Translation, side: Side) -> pa.Table | None:
    """Return the relations' own matrices on one side, None where they have none."""
    projection = model.project_head if side == "head" else model.project_tail
    if not isinstance(projection, FullProjection):
        return None
    matrices = projection.weight.view(-1, projection.dim, projection.dim)  # (r, d * d) -> (r, d, d)
    keys = {**list_names(relations, "relation"), "side": pa.array([side] * len(relations))}
    return tabulate_matrices(keys, matrices)


def tabulate_attention(relations: Vocabulary, side: Side, attention: Tensor) -> pa.Table:
    """Return a line for each weight (r, m) of one side that is not zero."""
    weights = to_numpy(attention)
    numbers, concepts = np.nonzero(weights)
    names = {key: column.take(pa.array(numbers)) for key, column in list_names(relations, "relation").items()}
    return pa.table(
        {
            **names,
            "side": pa.array([side] * len(numbers), pa.string()),
            "concept": concepts,
            "weight": weights[numbers, concepts],
        }
    )


def tabulate_uses(attention: Attention, names: Mapping[int, str] | None = None) -> pa.Table:
    """Return the table behind a heat map: relation, label, side, concept, name, weight, in the order of its rows."""
    everything = (len(attention.relations), attention.weights.shape[2])
    sides = arrange(attention, *everything).sides
    rows = [attention.row(relation, side) for relation, side in sides]
    uses = [(row, use) for row in rows for use in row.concepts]
    called = names or {}
    return pa.table(
        {
            "relation": pa.array([row.relation for row, _ in uses], pa.string()),
            "label": pa.array([row.label for row, _ in uses], pa.string()),
            "side": pa.array([row.side for row, _ in uses], pa.string()),
            "concept": pa.array([use.concept for _, use in uses], pa.int64()),
            "name": pa.array([called.get(use.concept, "") for _, use in uses], pa.string()),
            "weight": pa.array([use.weight for _, use in uses], pa.float32()),
        }
    )


def write_attention(attention: Attention, path: str | Path, names: Mapping[int, str] | None = None) -> Path:
    """Write the table behind a heat map as .csv, .tsv, .parquet or .json, and return where it lies.

    Raises:
        ConfigError: The path has another ending.
        WriteError: The path cannot be written.
    """
    target = Path(path)
    table = tabulate_uses(attention, names)
    if target.suffix.lower() != ".json":
        return write_table(table, target)
    write_text(target, json.dumps(table.to_pylist(), ensure_ascii=False, indent=1) + "\n")
    return target


def spread(table: pa.Table) -> pa.Table:
    """Return a table whose vector stands in columns d0, d1, ..., or whose matrix does so line by line."""
    if "vector" in table.column_names:
        vectors = unlist_rows(table.column("vector"))
        return append_columns(table.drop_columns(["vector"]), vectors)
    if "matrix" not in table.column_names:
        return table
    matrices = unlist_rows(table.column("matrix"))  # (n, rows * columns)
    count, rows = len(table), int(table.column("rows")[0].as_py()) if len(table) else 1
    keys = table.drop_columns(["rows", "columns", "matrix"]).take(pa.array(np.repeat(np.arange(count), rows)))
    keys = keys.append_column("row", pa.array(np.tile(np.arange(rows), count)))
    return append_columns(keys, matrices.reshape(count * rows, -1))


def append_columns(table: pa.Table, values: Floats) -> pa.Table:
    """Return the table with the columns of an array (n, d) added as d0, d1, ..."""
    columns = np.ascontiguousarray(values.T)  # (d, n)
    for place, column in enumerate(columns):
        table = table.append_column(f"d{place}", pa.array(column))
    return table


def list_names(vocabulary: Vocabulary, key: str) -> dict[str, pa.Array]:
    """Return columns of all names, under `key`, and of their labels."""
    labels = [vocabulary.label(number) for number in range(len(vocabulary))]
    return {key: pa.array(vocabulary.names, pa.string()), "label": pa.array(labels, pa.string())}


def list_rows(rows: Tensor) -> pa.Array:
    """Return each row of a matrix (n, d) as a list."""
    count, width = rows.shape
    return pa.ListArray.from_arrays(np.arange(count + 1, dtype=np.int32) * width, to_numpy(rows).reshape(-1))


def unlist_rows(column: pa.ChunkedArray) -> Floats:
    """Return a column of lists of one length as a matrix (n, d)."""
    values = column.combine_chunks()
    flat = values.flatten().to_numpy(zero_copy_only=False)
    return cast(Floats, flat.reshape(len(values), -1 if len(values) else 0))


def to_numpy(tensor: Tensor) -> Floats:
    """Return a copy of a tensor's values, wherever it lies: a table must not change when training goes on."""
    return cast(Floats, tensor.detach().cpu().numpy().copy())
