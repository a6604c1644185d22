"""Non-negative sparse coding of a trained STransE: sharing found after training instead of during it.

All 2 |R| projection matrices, flattened to the rows of X, are written as X = A D with m atoms D and non-negative codes
A by minimising |X - A D|^2 / 2 + penalty |A|_1 with atoms no longer than one, as the paper does to compare with. The
penalty is searched so that a matrix has about k non-zero codes, then each matrix keeps its k largest and these are
fitted again by non-negative least squares, which only comes closer. Entity and relation vectors stay as they are.

The paper leaves open: matrices are coded as they are (the identity is not taken off); atoms may have any sign, as
matrices do; atoms start as principal directions, which is the library's own start.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.errors import ConfigError, MissingExtraError
from itransf.interpret.similarity import read_matrices
from itransf.models import SIDES, ITransF, STransE
from itransf.models.itransf import ITransFConfig

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = npt.NDArray[np.float64]

LIBRARY = "scikit-learn"
FIRST_PENALTY = 0.1
STRIDE = 3.0  # factor between penalties until some are too high and some too low
NEAR = 0.05  # share by which the codes may be more or fewer than asked for
SEARCHES = 10  # penalties that are tried at most
PASSES = 40  # over all matrices at most, at each penalty; all start alike, so that a higher one means fewer codes
STILL = 1e-5  # share by which a pass must lower the objective for another to follow
MANY = 1000  # matrices from which on they are coded by all cores at once
DESCENTS = 100  # rounds of coordinate descent for one matrix in one pass; the next pass goes on from there


@dataclass(frozen=True, eq=False)
class SparseCoding:
    """A trained STransE whose matrices are mixtures of few shared ones.

    Attributes:
        model: Has the atoms as its concepts and the codes as its attention, free weights without softmax
            (`attention = "l1"`), so that everything that ranks or reads a model can rank and read it; on the device
            of the model that was coded.
        codes: (2, r, m) of heads, then of tails, as in `itransf.interpret.Attention`; at most k of each m are not zero.
        penalty: The one that was found.
        non_zeros: Codes per matrix with that penalty, before all but k were dropped.
        error: |X - A D|^2 / |X|^2 in the end.
        library: What learned the atoms, with its version.
    """

    model: ITransF
    codes: npt.NDArray[np.float32]
    penalty: float
    non_zeros: float
    error: float
    library: str


def encode_matrices(model: STransE, atoms: int, most: int, seed: int = 0) -> SparseCoding:
    """Code the matrices of a trained model as mixtures of shared atoms.

    Args:
        model: Trained.
        atoms: m, how many matrices are shared.
        most: k, how many of them one side of a relation may use.
        seed: Of all that is random.

    Raises:
        ConfigError: There are no more matrices than atoms, or no atom may be used.
        MissingExtraError: scikit-learn is not installed.
    """
    rows, dim = 2 * model.sizes.relations, model.config.dim
    if not 0 < atoms <= rows:
        raise ConfigError(f"{rows} matrices cannot be made of {atoms} atoms; choose 1 to {rows}")
    if not 0 < most <= atoms:
        raise ConfigError(f"a matrix cannot be made of {most} of {atoms} atoms; choose 1 to {atoms}")
    # Divided by the identity's length, so that penalties and codes mean the same for every dimension.
    matrices = read_all_matrices(model) / math.sqrt(dim)
    # Atoms are mixtures of the matrices, so nothing is lost in the space that the principal directions span.
    left, lengths, directions = torch.linalg.svd(matrices, full_matrices=False)  # (2 r, q), (q,), (q, d d)
    points = (left * lengths).cpu().numpy()  # (2 r, q)
    found = search_penalty(points, atoms, most, seed)
    codes = refit(points, found.atoms, keep_largest(found.codes, most))
    apart = points - codes @ found.atoms
    concepts = torch.from_numpy(found.atoms).to(directions) @ directions * math.sqrt(dim)
    return SparseCoding(
        compose_model(model, concepts.view(atoms, dim, dim), codes, most),
        codes.reshape(len(SIDES), -1, atoms).astype(np.float32),
        found.penalty,
        found.non_zeros,
        float(np.square(apart).sum() / np.square(points).sum()),
        f"{LIBRARY} {metadata.version(LIBRARY)}",
    )


@torch.no_grad()
def read_all_matrices(model: STransE) -> Tensor:
    """Return the matrices of all heads, then of all tails, flattened, in double precision, (2 r, d d)."""
    everyone = torch.arange(model.sizes.relations, device=model.entities.device)
    return torch.cat([read_matrices(model, everyone, side).flatten(1) for side in SIDES])


@dataclass(frozen=True, eq=False)
class Dictionary:
    """What was learned with one penalty: atoms (m, q) and the codes (n, m) of all points."""

    penalty: float
    atoms: Floats
    codes: Floats

    @property
    def non_zeros(self) -> float:
        """Codes per point that are not zero."""
        return float((self.codes != 0).sum(axis=1).mean())


def search_penalty(points: Floats, atoms: int, most: float, seed: int) -> Dictionary:
    """Learn with one penalty after the other until points have about `most` codes; return the nearest."""
    low, high, penalty = 0.0, math.inf, FIRST_PENALTY  # too many codes at `low`, too few at `high`
    found = best = learn(points, atoms, penalty, seed)
    for _ in range(SEARCHES - 1):
        if abs(found.non_zeros - most) <= NEAR * most:
            break
        low, high = (penalty, high) if found.non_zeros > most else (low, penalty)
        if math.isinf(high):
            penalty *= STRIDE
        else:
            penalty = math.sqrt(low * high) if low else penalty / STRIDE
        found = learn(points, atoms, penalty, seed)
        best = min(found, best, key=lambda one: abs(one.non_zeros - most))
    return best


def learn(points: Floats, atoms: int, penalty: float, seed: int) -> Dictionary:
    """Learn atoms and the codes of all points, given in principal coordinates.

    Atoms start as the principal directions, as long as these are, which here are multiples of the unit vectors.
    """
    make_learner, complaint = _import_learner()
    lengths = np.linalg.norm(points, axis=0)  # (q,)
    learner = make_learner(
        atoms,
        alpha=penalty,
        max_iter=PASSES,
        tol=STILL,
        fit_algorithm="cd",
        dict_init=np.eye(atoms, len(lengths)) * lengths,
        code_init=np.zeros((len(points), atoms)),
        transform_algorithm="lasso_cd",
        transform_alpha=penalty,
        transform_max_iter=DESCENTS,
        positive_code=True,
        n_jobs=-1 if len(points) >= MANY else None,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # A descent that was cut short goes on in the next pass, and what is kept is fitted again in the end.
        warnings.simplefilter("ignore", complaint)
        codes = learner.fit_transform(points)
    return Dictionary(penalty, learner.components_, codes)


def keep_largest(codes: Floats, most: int) -> Floats:
    """Return codes (n, m) with all but the largest `most` of each row set to zero."""
    if most >= codes.shape[1]:
        return codes
    dropped = np.argsort(-codes, axis=1, kind="stable")[:, most:]
    kept = codes.copy()
    np.put_along_axis(kept, dropped, 0.0, axis=1)
    return kept


def refit(points: Floats, atoms: Floats, codes: Floats) -> Floats:
    """Return codes that come closest to the points with the atoms in use, by non-negative least squares."""
    solve = _import_solver()
    fitted = np.zeros_like(codes)
    for row, (point, own) in enumerate(zip(points, codes, strict=True)):
        used = np.flatnonzero(own)
        if len(used):
            fitted[row, used] = solve(atoms[used].T, point)[0]
    return fitted


@torch.no_grad()
def compose_model(model: STransE, concepts: Tensor, codes: Floats, most: int) -> ITransF:
    """Return a model with these concepts (m, d, d), codes (2 r, m) as attention, and all else as it was."""
    kept = asdict(model.config) | {"concepts": len(concepts), "support_size": most, "attention": "l1"}
    composed = ITransF(model.sizes, ITransFConfig(**kept)).to(model.entities.device)
    composed.entities.copy_(model.entities)
    composed.relations.copy_(model.relations)
    composed.concepts.copy_(concepts)
    for side, own in zip(SIDES, np.split(codes, len(SIDES)), strict=True):
        composed.concept_attention(side).scores.copy_(torch.from_numpy(own))
    return composed.eval()


def _import_learner() -> tuple[Callable[..., Any], type[Warning]]:
    try:
        from sklearn.decomposition import DictionaryLearning  # noqa: PLC0415
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("sparse coding", "reproduce") from None
    return DictionaryLearning, ConvergenceWarning


def _import_solver() -> Callable[..., Any]:
    try:
        from scipy.optimize import nnls  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("sparse coding", "reproduce") from None
    solve: Callable[..., Any] = nnls
    return solve
