"""Sparse coding of STransE's matrices, against planted atoms and brute force."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import numpy.typing as npt
import pytest
import torch
from reproduction.sparse_coding import SparseCoding, encode_matrices, keep_largest, read_all_matrices, refit

from itransf.errors import ConfigError, MissingExtraError
from itransf.evaluation import evaluate
from itransf.models import SIDES, Sizes, STransE
from itransf.models.translation import TranslationConfig
from reproduction import sparse_coding

pytest.importorskip("sklearn")
Floats = npt.NDArray[np.float64]

ATOMS, MOST, RELATIONS, DIM = 6, 2, 40, 5


@pytest.fixture(scope="module", autouse=True)
def few_passes() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_coding, "PASSES", 25)
        yield


@pytest.fixture(scope="module")
def planted_atoms() -> Floats:
    return np.random.default_rng(3).normal(size=(ATOMS, DIM * DIM))


@pytest.fixture(scope="module")
def model(planted_atoms: Floats) -> STransE:
    """Return a model whose matrices are mixtures of two of six atoms, with positive weights."""
    generator = np.random.default_rng(2)
    codes = np.zeros((2 * RELATIONS, ATOMS))
    for row in codes:
        chosen = generator.choice(ATOMS, size=MOST, replace=False)
        row[chosen] = generator.uniform(0.5, 1.5, size=len(chosen))
    torch.manual_seed(0)
    planted = STransE(Sizes(12, RELATIONS), TranslationConfig(dim=DIM))
    heads, tails = np.split(codes @ planted_atoms, 2)
    with torch.no_grad():
        planted.project_head.weight.copy_(torch.from_numpy(heads))
        planted.project_tail.weight.copy_(torch.from_numpy(tails))
    return planted


@pytest.fixture(scope="module")
def coding(model: STransE) -> SparseCoding:
    return encode_matrices(model, ATOMS, MOST)


def test_planted_atoms_are_found(coding: SparseCoding, planted_atoms: Floats) -> None:
    found = coding.model.concepts.detach().flatten(1).double().numpy()
    cosines = normalise(found) @ normalise(planted_atoms).T
    assert sorted(cosines.argmax(axis=0).tolist()) == list(range(ATOMS))  # one atom for each
    assert cosines.max(axis=0).min() > 0.97


def test_few_codes_and_none_below_zero(coding: SparseCoding) -> None:
    assert coding.codes.shape == (2, RELATIONS, ATOMS)
    assert (coding.codes >= 0).all()
    assert (coding.codes != 0).sum(axis=2).max() <= MOST
    assert coding.non_zeros == pytest.approx(MOST, rel=0.1)


def test_the_model_has_the_mixtures_and_the_old_vectors(coding: SparseCoding, model: STransE) -> None:
    assert torch.equal(coding.model.entities, model.entities)
    assert torch.equal(coding.model.relations, model.relations)
    atoms = coding.model.concepts.detach().flatten(1)
    mixed = torch.from_numpy(coding.codes) @ atoms  # (2, r, d d)
    composed = read_all_matrices(coding.model).view(2, RELATIONS, -1).float()
    torch.testing.assert_close(composed, mixed)
    apart = read_all_matrices(model) - composed.flatten(0, 1).double()
    error = apart.square().sum() / read_all_matrices(model).square().sum()
    assert coding.error == pytest.approx(float(error), rel=1e-3)
    assert coding.error < 0.02
    for place, side in enumerate(SIDES):
        attention = coding.model.concept_attention(side).attention().detach().numpy()
        np.testing.assert_array_equal(attention, coding.codes[place])


def test_a_coded_model_is_ranked_like_any(coding: SparseCoding, model: STransE, random_graph) -> None:
    graph = random_graph(entities=12, relations=RELATIONS, train=200, test=40)
    ours, theirs = evaluate(coding.model, graph), evaluate(model, graph)
    assert ours["mr"] == pytest.approx(theirs["mr"], rel=0.1)  # nearly the same matrices


def test_the_library_is_named(coding: SparseCoding) -> None:
    name, version = coding.library.split()
    assert name == "scikit-learn"
    assert version[0].isdigit()


def test_the_same_seed_gives_the_same_codes(coding: SparseCoding, model: STransE) -> None:
    np.testing.assert_array_equal(encode_matrices(model, ATOMS, MOST).codes, coding.codes)


def test_all_cores_find_what_one_finds(model: STransE, monkeypatch: pytest.MonkeyPatch) -> None:
    points = read_all_matrices(model).numpy()
    alone = sparse_coding.learn(points, ATOMS, 0.1, seed=0)
    monkeypatch.setattr(sparse_coding, "MANY", 10)
    together = sparse_coding.learn(points, ATOMS, 0.1, seed=0)
    np.testing.assert_allclose(together.atoms, alone.atoms, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(together.codes, alone.codes, rtol=1e-6, atol=1e-9)


def test_more_atoms_leave_a_smaller_error(model: STransE, coding: SparseCoding) -> None:
    fewer = [encode_matrices(model, atoms, MOST).error for atoms in (2, 4)]
    assert fewer[0] > fewer[1] > coding.error


def test_a_higher_penalty_leaves_fewer_codes(model: STransE) -> None:
    points = read_all_matrices(model).numpy() / DIM**0.5
    counts = [sparse_coding.learn(points, ATOMS, penalty, 0).non_zeros for penalty in (0.01, 0.1, 1.0)]
    assert counts[0] > counts[1] > counts[2]


@pytest.mark.parametrize("most", [1.5, 3.0])
def test_the_penalty_gives_about_as_many_codes_as_asked_for(model: STransE, most: float) -> None:
    points = read_all_matrices(model).numpy() / DIM**0.5
    assert sparse_coding.search_penalty(points, ATOMS, most, 0).non_zeros == pytest.approx(most, rel=0.15)


def test_the_largest_codes_are_kept() -> None:
    codes = np.array([[0.1, 0.5, 0.3], [0.2, 0.2, 0.2], [0.0, 0.0, 0.7]])
    assert keep_largest(codes, 2).tolist() == [[0.0, 0.5, 0.3], [0.2, 0.2, 0.0], [0.0, 0.0, 0.7]]
    assert keep_largest(codes, 3).tolist() == codes.tolist()


def test_refitting_equals_trying_every_subset_of_the_atoms_in_use() -> None:
    generator = np.random.default_rng(3)
    points, atoms = generator.normal(size=(7, 4)), generator.normal(size=(5, 4))
    codes = keep_largest(generator.uniform(size=(7, 5)), 3)
    codes[6] = 0.0
    fitted = refit(points, atoms, codes)
    for point, own, found in zip(points, codes, fitted, strict=True):
        best = fit_by_trying(point, atoms, np.flatnonzero(own).tolist())
        np.testing.assert_allclose(found, best, atol=1e-9)
    assert np.square(points - fitted @ atoms).sum() < np.square(points - codes @ atoms).sum()


@pytest.mark.parametrize(
    ("atoms", "most", "words"), [(81, 2, "choose 1 to 80"), (4, 5, "choose 1 to 4"), (4, 0, "0 of 4")]
)
def test_impossible_sizes_are_refused(model: STransE, atoms: int, most: int, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        encode_matrices(model, atoms, most)


@pytest.mark.parametrize("missing", ["sklearn.decomposition", "scipy.optimize"])
def test_without_the_library_the_extra_is_named(model: STransE, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[reproduce\]'"):
        encode_matrices(model, ATOMS, MOST)


def normalise(rows: Floats) -> Floats:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def fit_by_trying(point: Floats, atoms: Floats, used: list[int]) -> Floats:
    """Return the best non-negative weights of some atoms: least squares on every subset of them."""
    best, closest = np.zeros(len(atoms)), float(np.square(point).sum())
    subsets = itertools.chain.from_iterable(itertools.combinations(used, size) for size in range(1, len(used) + 1))
    for subset in map(list, subsets):
        weights = np.linalg.lstsq(atoms[subset].T, point, rcond=None)[0]
        apart = float(np.square(point - weights @ atoms[subset]).sum())
        if (weights >= 0).all() and apart < closest:
            best, closest = np.zeros(len(atoms)), apart
            best[subset] = weights
    return best
