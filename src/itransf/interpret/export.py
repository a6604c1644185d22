"""Export of what a model has learned, as tables for other programs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from itransf.data import Graph, Vocabulary
from itransf.errors import ConfigError, did_you_mean
from itransf.files import make_folder
from itransf.interpret.attention import Attention, read_attention
from itransf.models import SIDES, CodedConcepts, ConceptModel, Model, Translation
from itransf.models.projection import MatrixProjection
from itransf.prediction import write_table

Format = Literal["parquet", "csv"]
FORMATS: tuple[Format, Format] = ("parquet", "csv")
TABLES = ("entities", "relations", "concepts", "attention", "matrices")
Floats = npt.NDArray[np.floating]


@torch.no_grad()
def export_tables(model: Model, graph: Graph) -> dict[str, pa.Table]:
    """Return what a model has learned, as tables by name.

    entities: name, label, vector; where the model has entity embeddings.
    relations: name, label, vector; where the model has relation embeddings.
    concepts: concept, rows, columns, matrix (flattened row by row); where concepts are matrices.
    concepts: concept, symmetry, vector (imaginary where it is antisymmetric); where they are vectors.
    attention: relation, label, side, concept, weight (non-zero weights only); where the model has concepts. Where these
        are vectors, `symmetry` tells their kind, if they have one, `weight` is a share, and the sum of `score` times
        the vector is the vector of the relation, or the diagonal of its side.
    matrices: relation, label, side, rows, columns, matrix; where each relation has matrices of its own. A diagonal
        matrix is written as one row.

    Args:
        model: Trained model.
        graph: Names.

    Raises:
        ConfigError: The model has nothing of these.
    """
    vocabularies = {"entities": graph.entities, "relations": graph.relations}
    tables = {
        name: pa.table({**list_names(vocabularies[name], "name"), "vector": list_rows(vectors)})
        for name, vectors in model.embeddings().items()
    }
    if isinstance(model, ConceptModel):
        tables["concepts"] = tabulate_concepts(model)
        attention = read_attention(model, graph)
        tables["attention"] = tabulate_attention(attention)
        if isinstance(model, CodedConcepts):
            scores = torch.stack([model.concept_attention(part).attention() for part in model.parts]).cpu().numpy()
            column = pa.array(scores[attention.weights != 0])
            tables["attention"] = tables["attention"].append_column("score", column)
    elif isinstance(model, Translation) and model.has_matrices:
        matrices = tabulate_relation_matrices(model, graph)
        tables |= {"matrices": pa.concat_tables(matrices)} if matrices else {}
    if not tables:
        raise ConfigError(f"the model {type(model).__name__} has no embeddings, concepts or matrices to export")
    return tables


def export(
    model: Model, graph: Graph, folder: str | Path, format: Format = "parquet", *, overwrite: bool = False
) -> list[Path]:
    """Write the tables of `export_tables` into a folder, a file each, and return the files.

    Args:
        model: Trained model.
        graph: Names.
        folder: Folder of the files; created if it does not exist.
        format: "parquet", or "csv" with a column d0, d1, ... for each number of a vector, and a line for each
            row of a matrix.
        overwrite: Whether to replace tables of these names in the folder.

    Raises:
        ConfigError: The format is not known, the model has nothing to export, or the folder has such tables already.
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
            f"{before[0]} exists already; overwrite it (--overwrite, overwrite=True) or choose another folder"
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


def tabulate_matrices(keys: dict[str, pa.Array], matrices: Tensor) -> pa.Table:
    """Return a table of keys, shape and matrix, flattened row by row; matrices are (n, rows, columns), or diagonals."""
    count, rows, columns = (matrices[:, None] if matrices.dim() == 2 else matrices).shape
    shape = {"rows": np.full(count, rows), "columns": np.full(count, columns)}
    return pa.table({**keys, **shape, "matrix": list_rows(matrices)})


def tabulate_concepts(model: ConceptModel) -> pa.Table:
    """Return the concepts, as matrices or as vectors."""
    numbers = {"concept": pa.array(np.arange(len(model.concepts)))}
    if model.concepts.dim() == 3:
        return tabulate_matrices(numbers, model.concepts)
    kinds = {"symmetry": pa.array(model.symmetries, pa.string())} if model.symmetries else {}
    return pa.table({**numbers, **kinds, "vector": list_rows(model.concepts)})


def tabulate_relation_matrices(model: Translation, graph: Graph) -> list[pa.Table]:
    """Return the relations' matrices on each side that has some, a table each."""
    everyone = torch.arange(len(graph.relations), device=model.relations.device)
    names = list_names(graph.relations, "relation")
    return [
        tabulate_matrices({**names, "side": pa.array([side] * len(everyone))}, projection.matrices(everyone))
        for side in SIDES
        if isinstance(projection := model.projection(side), MatrixProjection)
    ]


def tabulate_attention(attention: Attention, called: Mapping[int, str] | None = None) -> pa.Table:
    """Return a line for each weight that is not zero, part by part, with the names of concepts if they are given."""
    sides, numbers, concepts = np.nonzero(attention.weights)
    kinds = [attention.symmetries[concept] for concept in concepts.tolist()] if attention.symmetries else []
    names = {key: column.take(pa.array(numbers)) for key, column in list_names(attention.relations, "relation").items()}
    return pa.table(
        {
            **names,
            "side": pa.array([attention.parts[side] for side in sides.tolist()], pa.string()),
            "concept": concepts,
            **({} if called is None else {"name": [called.get(concept, "") for concept in concepts.tolist()]}),
            "weight": attention.weights[sides, numbers, concepts],
            **({"symmetry": pa.array(kinds, pa.string())} if kinds else {}),
        }
    )


def spread(table: pa.Table) -> pa.Table:
    """Return a table with its vectors in columns d0, d1, ..., or with its matrices so, a line per row of a matrix."""
    if "vector" in table.column_names:
        return append_columns(table.drop_columns(["vector"]), unlist_rows(table.column("vector")))
    if "matrix" not in table.column_names:
        return table
    matrices = unlist_rows(table.column("matrix"))  # (n, rows * columns)
    count, rows = len(table), int(table.column("rows")[0].as_py()) if len(table) else 1
    keys = table.drop_columns(["rows", "columns", "matrix"]).take(pa.array(np.repeat(np.arange(count), rows)))
    keys = keys.append_column("row", pa.array(np.tile(np.arange(rows), count)))
    return append_columns(keys, matrices.reshape(count * rows, -1))


def append_columns(table: pa.Table, values: Floats) -> pa.Table:
    """Return the table with the columns of an array (n, d) added as d0, d1, ..."""
    for place, column in enumerate(np.ascontiguousarray(values.T)):
        table = table.append_column(f"d{place}", pa.array(column))
    return table


def list_names(vocabulary: Vocabulary, key: str) -> dict[str, pa.Array]:
    """Return columns of all names, under `key`, and of their labels."""
    labels = [vocabulary.label(number) for number in range(len(vocabulary))]
    return {key: pa.array(vocabulary.names, pa.string()), "label": pa.array(labels, pa.string())}


def list_rows(rows: Tensor) -> pa.Array:
    """Return each row of a tensor (n, ...) as a flat list; complex numbers as real and imaginary parts.

    The values are copied, so that a table does not change when training continues.
    """
    real = torch.view_as_real(rows.detach()) if rows.is_complex() else rows.detach()
    values = real.flatten(1).cpu().numpy().copy()
    offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    return pa.ListArray.from_arrays(offsets, values.reshape(-1))


def unlist_rows(column: pa.ChunkedArray) -> Floats:
    """Return a column of lists of one length as a matrix (n, d)."""
    values = column.combine_chunks()
    flat = values.flatten().to_numpy(zero_copy_only=False)
    return cast(Floats, flat.reshape(len(values), -1 if len(values) else 0))
