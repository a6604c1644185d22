from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from itransf.config import TrainingConfig
from itransf.training.optimizers import EPSILON, RowOptimizer, make_optimizer, sum_rows

RATE = 0.1
KINDS = ["sgd", "adagrad", "adam"]


class Tables(nn.Module):
    """A table read by rows (sparse gradients) and one read as a whole (dense gradients)."""

    def __init__(self, whole_rate: float = 1.0) -> None:
        super().__init__()
        self.whole_rate = whole_rate
        generator = torch.Generator().manual_seed(0)
        self.rows = nn.Parameter(torch.randn(6, 3, generator=generator, dtype=torch.float64))
        self.whole = nn.Parameter(torch.randn(3, 3, generator=generator, dtype=torch.float64))

    def learning_rate_factor(self, parameter: str) -> float:
        """Return the factor on the learning rate, as models do."""
        return self.whole_rate if parameter == "whole" else 1.0

    def loss(self, batch: list[int]) -> Tensor:
        """Return something whose gradients change from step to step; a row named twice counts twice."""
        read = embedding(torch.tensor(batch), self.rows, sparse=True)
        weights = torch.arange(1.0, len(batch) + 1, dtype=torch.float64)[:, None]
        return (weights * (read @ self.whole).sin()).sum()


def make_ours(tables: Tables, kind: str) -> RowOptimizer:
    config = TrainingConfig(optimizer=kind, learning_rate=RATE)  # type: ignore[arg-type]
    return make_optimizer(tables, config)  # type: ignore[arg-type]


def make_theirs(tables: Tables, kind: str) -> list[torch.optim.Optimizer]:
    if kind == "sgd":
        return [torch.optim.SGD(tables.parameters(), lr=RATE)]
    if kind == "adagrad":
        return [torch.optim.Adagrad(tables.parameters(), lr=RATE, eps=EPSILON)]
    return [
        torch.optim.SparseAdam([tables.rows], lr=RATE, eps=EPSILON),
        torch.optim.Adam([tables.whole], lr=RATE, eps=EPSILON),
    ]


BATCHES = [[0, 1, 2], [2, 4], [5, 5, 1], [0, 1, 2, 3, 4, 5], [3]]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_move_as_torchs_own_optimisers_move_them(kind: str) -> None:
    ours, theirs = Tables(), Tables()
    optimizer, others = make_ours(ours, kind), make_theirs(theirs, kind)
    for batch in BATCHES:
        ours.loss(batch).backward()
        theirs.loss(batch).backward()
        optimizer.step()
        for other in others:
            with torch.sparse.check_sparse_tensor_invariants():  # torch warns where this is left open
                other.step()
            other.zero_grad()
        # SparseAdam adds its epsilon before the correction of the moments, hence the tolerance.
        torch.testing.assert_close(ours.rows, theirs.rows, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(ours.whole, theirs.whole, rtol=1e-6, atol=1e-8)
    assert optimizer.steps == len(BATCHES)


def test_adam_equals_dense_adam_when_every_row_is_touched() -> None:
    ours, theirs = Tables(), Tables()
    optimizer = make_ours(ours, "adam")
    other = torch.optim.Adam(theirs.parameters(), lr=RATE, eps=EPSILON)
    for _ in range(5):
        batch = [0, 1, 2, 3, 4, 5]
        ours.loss(batch).backward()
        (theirs.loss(batch)).backward()
        theirs.rows.grad = theirs.rows.grad.to_dense()  # type: ignore[union-attr]
        optimizer.step()
        other.step()
        other.zero_grad()
    torch.testing.assert_close(ours.rows, theirs.rows, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_untouched_rows_and_their_state_stay_as_they_are(kind: str) -> None:
    tables = Tables()
    optimizer = make_ours(tables, kind)
    tables.loss([0, 1, 2, 3, 4, 5]).backward()
    optimizer.step()
    before = tables.rows.detach().clone()
    state = {name: tensor.clone() for name, tensor in optimizer.state.items()}
    tables.loss([1, 4, 1]).backward()
    optimizer.step()
    others = [0, 2, 3, 5]
    assert torch.equal(tables.rows[others], before[others])
    assert not torch.equal(tables.rows[[1, 4]], before[[1, 4]])
    for name, tensor in optimizer.state.items():
        if name.startswith("rows."):
            assert torch.equal(tensor[others], state[name][others])
            assert not torch.equal(tensor[[1, 4]], state[name][[1, 4]])


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_forgotten_and_missing_ones_skipped(kind: str) -> None:
    tables = Tables()
    optimizer = make_ours(tables, kind)
    tables.whole.requires_grad_(False)
    before = tables.whole.detach().clone()
    tables.loss([1]).backward()
    optimizer.step()
    assert tables.rows.grad is None
    assert torch.equal(tables.whole, before)
    rows = tables.rows.detach().clone()
    optimizer.step()
    assert torch.equal(tables.rows, rows)


def test_sum_rows_adds_what_a_row_got_twice() -> None:
    gradient = torch.sparse_coo_tensor(
        torch.tensor([[3, 1, 3]]),
        torch.tensor([[1.0, 1.0], [2.0, 2.0], [4.0, 5.0]]),
        (5, 2),
        check_invariants=True,
    )
    rows, values = sum_rows(gradient)
    assert rows.tolist() == [1, 3]
    assert values.tolist() == [[2.0, 2.0], [5.0, 6.0]]


@pytest.mark.parametrize("kind", KINDS)
def test_learning_rate_can_change_between_steps(kind: str) -> None:
    moved = []
    for rate in (RATE, RATE / 2):
        tables = Tables()
        optimizer = make_ours(tables, kind)
        optimizer.learning_rate = rate
        before = tables.rows.detach().clone()
        tables.loss([0, 1]).backward()
        optimizer.step()
        moved.append(tables.rows.detach() - before)
    torch.testing.assert_close(moved[0], 2 * moved[1])


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_may_have_a_factor_of_their_own(kind: str) -> None:
    moved = []
    for factor in (1.0, 0.25):
        tables = Tables(factor)
        before = [tables.rows.detach().clone(), tables.whole.detach().clone()]
        optimizer = make_ours(tables, kind)
        tables.loss([0, 1]).backward()
        optimizer.step()
        moved.append([tables.rows.detach() - before[0], tables.whole.detach() - before[1]])
    torch.testing.assert_close(moved[1][0], moved[0][0])
    torch.testing.assert_close(moved[1][1], 0.25 * moved[0][1])
