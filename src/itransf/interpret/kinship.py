"""How alike relations are, read from a model's matrices, translations and attention; no triple is counted."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from itransf.models import SIDES, Side
from itransf.models.projection import ConceptProjection, MatrixProjection
from itransf.models.translation import Translation

_MATRIX_BYTES = 64 * 2**20  # what matrices of other relations may take at a time
_RIDGE = 1e-9  # of the mean square; keeps the fit of a relation whose matrices lack rank solvable


def score_symmetry(model: Translation, relation: int) -> float:
    """Return how much a relation looks like its own inverse; `itransf.interpret.RelationProfile` tells the formula."""
    wanted = torch.tensor([relation], device=model.entities.device)
    head, tail = (read_matrices(model, wanted, side).flatten(1) for side in SIDES)
    squares = model.relations.detach().square().sum(1).double()  # (r,)
    middle, own = float(squares.median()), float(squares[relation])
    smallness = (middle - own) / (middle + own) if middle + own > 0 else 1.0
    return float(cosine_similarity(head, tail)[0]) / 2 + smallness / 2


def score_roles(model: Translation, relation: int) -> dict[str, Tensor]:
    """Return the similarities of one relation with all, each (r,), on the CPU: of matrices, translations, attention."""
    found: dict[str, list[Tensor]] = {"swapped": [], "same": []}
    everyone = torch.arange(model.sizes.relations, device=model.entities.device)
    own = {side: read_matrices(model, everyone[[relation]], side).flatten(1) for side in SIDES}
    for numbers in torch.split(everyone, max(1, _MATRIX_BYTES // (32 * model.config.dim**2))):
        theirs = {side: read_matrices(model, numbers, side).flatten(1) for side in SIDES}
        for key, other in (("swapped", SIDES[::-1]), ("same", SIDES)):
            pairs = zip(SIDES, other, strict=True)
            similar = [cosine_similarity(own[mine], theirs[their]) for mine, their in pairs]
            found[key].append(torch.stack(similar).mean(0).cpu())
    vectors = model.relations.detach().double()
    translation = cosine_similarity(vectors[[relation]], vectors).cpu()
    joined = {key: torch.cat(parts) for key, parts in found.items()}
    return {**joined, "translation": translation, **dict(compare_attention(model, relation))}


def compare_attention(model: Translation, relation: int) -> Iterator[tuple[str, Tensor]]:
    """Yield the similarities of attention vectors, sides swapped and not, where there are concepts."""
    projections = (model.project_head, model.project_tail)
    attention = [p.attention().double().cpu() for p in projections if isinstance(p, ConceptProjection)]
    if attention:
        for key, order in (("attention_same", attention), ("attention_swapped", attention[::-1])):
            pairs = zip(attention, order, strict=True)
            yield key, torch.stack([cosine_similarity(own[[relation]], other) for own, other in pairs]).mean(0)


def read_matrices(model: Translation, relations: Tensor, side: Side) -> Tensor:
    """Return the matrices of one side of relations (u,), in double precision, (u, d, d)."""
    projection = model.project_head if side == "head" else model.project_tail
    if isinstance(projection, MatrixProjection):
        return projection.matrices(relations).double()
    identity = torch.eye(model.config.dim, dtype=torch.float64, device=model.entities.device)
    return identity.expand(len(relations), -1, -1)


def compare_width(model: Translation, narrow: Tensor, wide: Tensor) -> tuple[Tensor, Tensor]:
    """Return how far wide relations follow from narrow ones (u,), pair by pair, by matrices and by translations.

    With M = [W_head, -W_tail], A is what comes closest to A M[narrow] = M[wide], its singular values cut at one.
    """
    maps, vectors = [], []
    for relations in (narrow, wide):
        maps.append(torch.cat([read_matrices(model, relations, "head"), -read_matrices(model, relations, "tail")], 2))
        vectors.append(model.relations.detach()[relations].double())
    gram = maps[0] @ maps[0].transpose(1, 2)  # (u, d, d)
    mean = gram.diagonal(dim1=1, dim2=2).mean(1).clamp_min(torch.finfo(gram.dtype).tiny)
    ridge = _RIDGE * mean[:, None, None] * torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
    best = torch.linalg.solve(gram + ridge, maps[0] @ maps[1].transpose(1, 2)).transpose(1, 2)  # A, (u, d, d)
    left, values, right = torch.linalg.svd(best)
    best = left @ (values.clamp_max(1.0)[:, :, None] * right)
    whole = maps[1].square().sum((1, 2)).clamp_min(torch.finfo(gram.dtype).tiny)
    shares = 1.0 - (maps[1] - best @ maps[0]).square().sum((1, 2)) / whole
    moved = (best @ vectors[0][:, :, None]).squeeze(2)  # (u, d)
    return shares.cpu(), cosine_similarity(moved, vectors[1]).cpu()
