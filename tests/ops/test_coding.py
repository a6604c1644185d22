from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from itransf.ops.coding import learn_codes, pursue, unit, widen


def combine(table: Tensor, support: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted sums of table rows."""
    return (weights[:, :, None] * table[support]).sum(1)


def make_vectors(seed: int, count: int = 40, size: int = 2) -> tuple[Tensor, list[Tensor]]:
    """Return vectors made of a symmetric and an antisymmetric atom each, and the atoms."""
    generator = torch.Generator().manual_seed(seed)
    atoms = [unit(torch.randn(4, 12, generator=generator)) for _ in range(2)]
    places = torch.stack([torch.randint(4, (count,), generator=generator) + 4 * block for block in range(size)], 1)
    weights = torch.randn(count, size, generator=generator).sign() * (1 + torch.rand(count, size, generator=generator))
    return combine(widen(atoms), places, weights), atoms


def test_pursuit_of_one_atom_is_the_best_of_all() -> None:
    vectors, atoms = make_vectors(0)
    support, weights = pursue(vectors, atoms, 1)
    table = widen(atoms)
    for vector, chosen, weight in zip(vectors, support, weights, strict=True):
        errors = [float((vector - (vector @ atom) * atom).norm()) for atom in table]
        assert int(chosen) == min(range(len(table)), key=errors.__getitem__)
        assert float(weight) == pytest.approx(float(vector @ table[chosen[0]]), abs=1e-3)


def test_pursuit_finds_what_vectors_were_made_of() -> None:
    vectors, atoms = make_vectors(1)
    support, weights = pursue(vectors, atoms, 2)
    torch.testing.assert_close(combine(widen(atoms), support, weights), vectors, atol=1e-3, rtol=1e-3)


def test_a_vector_has_distinct_atoms_and_at_most_half_of_one_block() -> None:
    vectors, atoms = torch.randn(30, 24, generator=torch.Generator().manual_seed(2)), make_vectors(2)[1]
    support, _ = pursue(vectors, atoms, 5)
    for chosen in support.tolist():
        assert len(set(chosen)) == 5
        assert sum(concept < 4 for concept in chosen) in (2, 3)


def test_learned_atoms_code_vectors_that_have_a_code() -> None:
    vectors, _ = make_vectors(3)
    codes = learn_codes(vectors, torch.ones(len(vectors)), [4, 4], 2)
    rest = vectors - combine(torch.block_diag(codes.atoms[:4], codes.atoms[4:]), codes.support, codes.weights)
    assert float(rest.square().sum() / vectors.square().sum()) < 0.01
    torch.testing.assert_close(codes.atoms.norm(dim=1), torch.ones(8))
    assert (codes.support.diff(dim=1) > 0).all()


def test_codes_depend_on_the_vectors_and_not_on_their_frame() -> None:
    vectors, _ = make_vectors(4)
    turn = torch.linalg.qr(torch.randn(12, 12, generator=torch.Generator().manual_seed(5))).Q
    turned = torch.cat([block @ turn for block in vectors.chunk(2, 1)], 1)
    importance = torch.arange(len(vectors)).float()
    first, second = (learn_codes(each, importance, [4, 4], 2) for each in (vectors, turned))
    assert first.support.tolist() == second.support.tolist()


@pytest.mark.parametrize(("sizes", "size"), list(itertools.product(([1, 1], [6, 6], [3, 1]), (1, 2))))
def test_there_may_be_fewer_vectors_than_atoms(sizes: list[int], size: int) -> None:
    vectors = torch.randn(2, 8, generator=torch.Generator().manual_seed(6))
    codes = learn_codes(vectors, torch.ones(2), sizes, size)
    assert codes.atoms.shape == (sum(sizes), 4)
    assert codes.atoms.isfinite().all()
    assert codes.weights.isfinite().all()


def test_vectors_of_zeros_have_codes_of_zeros() -> None:
    codes = learn_codes(torch.zeros(3, 8), torch.ones(3), [2, 2], 2)
    assert not codes.weights.any()


def test_one_thread_at_a_time_solves_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU, torch fails with "lazy wrapper should be called at most once" if two threads load its solver."""
    busy, crowds, right = [], [], torch.linalg.solve

    def solve(system: Tensor, values: Tensor) -> Tensor:
        busy.append(1)
        time.sleep(0.001)
        crowds.append(len(busy))
        busy.pop()
        return right(system, values)

    monkeypatch.setattr(torch.linalg, "solve", solve)
    vectors, _ = make_vectors(0)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: learn_codes(vectors, torch.ones(len(vectors)), [4, 4], 2), range(4)))
    assert set(crowds) == {1}
