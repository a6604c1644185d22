from __future__ import annotations

from contracts.references import GEOMETRIES
from contracts.references.transe import score

__all__ = ["CASES", "score"]

CASES = [{**geometry, "paths": 5} for geometry in GEOMETRIES[::2]]
