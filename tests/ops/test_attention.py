from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from itransf.ops.attention import compose, scatter_weights, sparse_softmax


def masked_softmax(scores: Tensor, assignment: Tensor, temperature: float) -> Tensor:
    """The paper's SparseSoftmax(v, I), as written there."""
    raised = torch.exp(scores / temperature) * assignment
    return raised / raised.sum(-1, keepdim=True)


def draw_support(rows: int, concepts: int, size: int) -> Tensor:
    return torch.rand(rows, concepts).argsort(1)[:, :size]


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.data(), st.sampled_from([0.25, 1.0, 3.0]))
def test_sparse_softmax_equals_the_papers_formula(concepts: int, data: st.DataObject, temperature: float) -> None:
    torch.manual_seed(data.draw(st.integers(0, 1000)))
    support = draw_support(4, concepts, data.draw(st.integers(1, concepts)))
    scores = torch.randn(4, concepts, dtype=torch.float64)
    assignment = torch.zeros(4, concepts, dtype=torch.float64).scatter_(1, support, 1.0)
    weights = sparse_softmax(scores, support, temperature)
    full = scatter_weights(weights, support, concepts)
    torch.testing.assert_close(full, masked_softmax(scores, assignment, temperature))
    assert bool((full[assignment == 0] == 0).all())
    torch.testing.assert_close(weights.sum(1), torch.ones(4, dtype=torch.float64))


def test_sparse_softmax_of_large_scores_does_not_overflow() -> None:
    weights = sparse_softmax(torch.tensor([[900.0, 899.0, -900.0]]), torch.tensor([[0, 2]]), 0.25)
    assert weights.tolist() == [[1.0, 0.0]]


def test_a_lower_temperature_sharpens() -> None:
    scores, support = torch.tensor([[1.0, 0.0]]), torch.tensor([[0, 1]])
    assert sparse_softmax(scores, support, 0.25)[0, 0] > sparse_softmax(scores, support, 1.0)[0, 0] > 0.5


def test_unsupported_scores_get_no_gradient() -> None:
    scores = torch.randn(2, 5, requires_grad=True)
    support = torch.tensor([[0, 3], [1, 2]])
    (sparse_softmax(scores, support, 1.0) * torch.tensor([1.0, 2.0])).sum().backward()
    assert scores.grad is not None
    assert (scores.grad != 0).tolist() == [
        [True, False, False, True, False],
        [False, True, True, False, False],
    ]


def test_compose_equals_mixing_all_concepts_with_the_full_attention() -> None:
    torch.manual_seed(0)
    concepts = torch.randn(6, 3, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(4, 2, dtype=torch.float64, requires_grad=True)
    support = draw_support(4, 6, 2)
    mixed = compose(concepts, support, weights)
    full = torch.einsum("um,mij->uij", scatter_weights(weights, support, 6), concepts)  # (u, d, d)
    torch.testing.assert_close(mixed, full)
    target = torch.randn(4, 3, 3, dtype=torch.float64)
    fast = torch.autograd.grad((mixed * target).sum(), [concepts, weights])
    slow = torch.autograd.grad((full * target).sum(), [concepts, weights])
    for got, wanted in zip(fast, slow, strict=True):
        torch.testing.assert_close(got, wanted)


def test_compose_does_not_read_unsupported_concepts() -> None:
    concepts = torch.full((3, 2, 2), float("nan"))
    concepts[1] = torch.eye(2)
    mixed = compose(concepts, torch.tensor([[1]]), torch.tensor([[1.0]]))
    assert torch.equal(mixed, torch.eye(2)[None])
