"""Weights of triples: how much each counts in the loss and, if wanted, in evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from itransf.data.known import Triples, key_triples
from itransf.data.layout import Remark, Table
from itransf.errors import DataError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of triples, whatever split they are in.

    Attributes:
        triples: (n, 3) distinct triples.
        values: Their weights, (n,), from 0 on.
    """

    triples: Triples
    values: Floats

    def of(self, triples: Triples) -> Floats:
        """Return the weight of each triple, (m,); one that has none counts as much as others do on average."""
        most = 1 + max(int(part.max(initial=0)) for part in (self.triples, triples))
        own, asked = key_triples([self.triples, triples], most, most)
        order = np.argsort(own)
        places = order[np.searchsorted(own, asked, sorter=order).clip(max=len(own) - 1)]
        return np.asarray(np.where(own[places] == asked, self.values[places], self.values.mean()))

    @property
    def note(self) -> Remark:
        """How the weights were read."""
        least, most = self.values.min(), self.values.max()
        return Remark(f"Each triple counts in the loss by its weight, from {least:g} to {most:g}.")


def gather_weights(tables: Sequence[Table], splits: Sequence[Triples]) -> Weights | None:
    """Return the weights in the column "weight" of tables, whose triples are given as numbers; None without one.

    The weights of equal triples are added if all weights are whole numbers, which count something; otherwise the
    largest one is taken.

    Raises:
        DataError: A weight is not a number from 0 on, or all are 0; the message names the line.
    """
    weighted = [place for place, table in enumerate(tables) if "weight" in table.data.column_names]
    if not weighted:
        return None
    triples = np.concatenate([splits[place] for place in weighted])
    values = np.concatenate([_parse(tables[place]) for place in weighted])
    if not values.any():
        raise DataError(f"{tables[weighted[0]].source}: no weight is greater than 0; correct the column of weights")
    most = 1 + int(triples.max())
    (keys,) = key_triples([triples], most, most)
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    together = np.zeros(len(first))
    combine = np.add if (values == np.floor(values)).all() else np.maximum
    combine.at(together, places.reshape(-1), values)
    return Weights(triples[first], together)


def _parse(table: Table) -> Floats:
    """Return the weights of a table as numbers."""
    column = table.data.column("weight")
    plain = pc.match_substring_regex(column, r"^(\d{1,15}\.?\d*|\.\d+)([eE][+-]?\d{1,2})?$")
    bad = np.flatnonzero(~plain.to_numpy())
    if len(bad):
        row = int(bad[0])
        raise DataError(
            f"{table.locate(row)}: the weight {column[row].as_py()!r} is not a number from 0 on; correct it, or choose "
            "another column with --weight (weight=...)"
        )
    return np.asarray(column.cast(pa.float64()).to_numpy())
