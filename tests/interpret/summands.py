"""What each concept of an IComplEx adds to scores, computed slowly."""

from __future__ import annotations

import torch

from itransf.data.graph import Triples
from itransf.models.icomplex import IComplEx


def list_summands(model: IComplEx, triples: Triples) -> torch.Tensor:
    """Return a[r, i] Re <h, c[i], conj(t)> for each triple (n, 3) and concept, (n, m)."""
    heads, relations, tails = torch.as_tensor(triples).unbind(1)
    alone = model.compose(torch.eye(len(model.concepts)))
    pairs = model.pair(model.entities[heads], model.entities[tails])
    return (model.attention.attention()[relations] * (pairs @ alone.T)).detach()
