"""Gold labels that the measures are judged by, from train alone; no training ever reads them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from itransf.data.graph import Graph
from itransf.data.leakage import THRESHOLD, mine_structure
from itransf.data.sorting import Integers


@dataclass(frozen=True, eq=False)
class Gold:
    """What train says about relations.

    Attributes:
        inverse: (p, 2) pairs of relations of which either holds at least THRESHOLD of the other's triples, reversed.
        symmetric: (r,) whether at least THRESHOLD of a relation's triples stand reversed too.
        domains: (r,) the number of the relation's domain, the first part of a name such as /film/film/genre; None
            where names have no such parts.
    """

    inverse: Integers
    symmetric: npt.NDArray[np.bool_]
    domains: Integers | None


def mine_gold(graph: Graph, threshold: float = THRESHOLD) -> Gold:
    """Return the gold labels of a graph, mined from its training triples and the names of its relations."""
    structure = mine_structure(graph, threshold)
    pairs = np.array([pair[:2] for pair in structure.inverse], dtype=np.int64).reshape(-1, 2)
    symmetric = np.zeros(len(graph.relations), dtype=np.bool_)
    symmetric[[relation for relation, _ in structure.symmetric]] = True
    return Gold(pairs, symmetric, read_domains(graph))


def read_domains(graph: Graph) -> Integers | None:
    """Return the domain of each relation, numbered, (r,); None unless every name begins with a slash."""
    names = graph.relations.names
    if not all(name.startswith("/") and name.count("/") > 1 for name in names):
        return None
    return np.asarray(np.unique([name.split("/")[1] for name in names], return_inverse=True)[1], dtype=np.int64)
