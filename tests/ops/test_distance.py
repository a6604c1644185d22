from __future__ import annotations

import pytest
import torch
from torch import Tensor

from itransf.ops import distance as distance_module
from itransf.ops.distance import (
    Norm,
    distance,
    gathered_distance,
    grouped_distance,
    limit_length,
)
from itransf.ops.grouped import group_rows, one_group

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def loop_distance(queries: Tensor, candidates: Tensor, norm: Norm) -> Tensor:
    rows = [torch.stack([torch.linalg.vector_norm(q - c, ord=norm) for c in candidates]) for q in queries]
    return torch.stack(rows)


def pairwise_distance(queries: Tensor, candidates: Tensor, norm: Norm) -> Tensor:
    return grouped_distance(queries, candidates[None], one_group(queries), norm)


@pytest.mark.parametrize("norm", [1, 2])
def test_pairwise_distance_equals_a_loop_and_cdist(norm: Norm) -> None:
    torch.manual_seed(0)
    queries, candidates = torch.randn(4, 6, dtype=torch.float64), torch.randn(5, 6, dtype=torch.float64)
    found = pairwise_distance(queries, candidates, norm)
    torch.testing.assert_close(found, loop_distance(queries, candidates, norm))
    torch.testing.assert_close(found, torch.cdist(queries, candidates, p=float(norm)))
    single = pairwise_distance(queries.float(), candidates.float(), norm)
    torch.testing.assert_close(single.double(), found, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", [1, 2])
def test_pairwise_distance_has_the_right_gradient(norm: Norm) -> None:
    torch.manual_seed(0)
    queries = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    candidates = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda q, c: pairwise_distance(q, c, norm), (queries, candidates))


@pytest.mark.parametrize("norm", [1, 2])
def test_grouped_distance_equals_a_loop_and_has_the_right_gradient(norm: Norm) -> None:
    torch.manual_seed(0)
    places = [0, 0, 1, 2, 2, 2]
    queries = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    tables = torch.randn(3, 5, 4, dtype=torch.float64, requires_grad=True)  # one per distinct key
    grouping = group_rows(torch.tensor([0, 0, 2, 5, 5, 5]))
    found = grouped_distance(queries, tables, grouping, norm)
    wanted = [loop_distance(queries[i : i + 1], tables[place], norm) for i, place in enumerate(places)]
    torch.testing.assert_close(found, torch.cat(wanted))
    assert torch.autograd.gradcheck(lambda q, t: grouped_distance(q, t, grouping, norm), (queries, tables))


@pytest.mark.parametrize("norm", [1, 2])
def test_the_distance_to_itself_is_nothing_and_its_gradient_finite(norm: Norm) -> None:
    torch.manual_seed(0)
    points = torch.randn(6, 8, requires_grad=True)
    found = pairwise_distance(points, points.detach(), norm)
    assert bool((found >= 0).all())
    assert found.diagonal().tolist() == pytest.approx([0.0] * 6, abs=2e-3)
    found.sum().backward()
    assert points.grad is not None
    assert torch.isfinite(points.grad).all()


def test_distance_is_the_length_of_the_last_dimension() -> None:
    difference = torch.tensor([[3.0, -4.0], [0.0, 0.0]])
    assert distance(difference, 1).tolist() == [7.0, 0.0]
    assert distance(difference, 2).tolist() == [5.0, 0.0]


def test_limit_length_scales_to_the_sphere_into_the_ball_or_not_at_all() -> None:
    vectors = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    assert limit_length(vectors, "none") is vectors
    torch.testing.assert_close(limit_length(vectors, "unit"), torch.tensor([[0.6, 0.8], [0.6, 0.8], [0.0, 0.0]]))
    torch.testing.assert_close(limit_length(vectors, "ball"), torch.tensor([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]))


def measure_naively(tables: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor, norm: int) -> torch.Tensor:
    return torch.tensor(
        [
            [float((table[row] - vector).double().norm(p=norm)) for table in tables]
            for row, vector in zip(rows.tolist(), targets, strict=True)
        ]
    ).view(len(rows), len(tables))


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 37])
@pytest.mark.parametrize("in_kernel", [False, True])
def test_every_row_is_measured_against_every_table(norm: int, count: int, in_kernel: bool) -> None:
    tables, targets = torch.randn(3, 9, 5, device=DEVICE), torch.randn(count, 5, device=DEVICE)
    rows = torch.randint(9, (count,), device=DEVICE)
    if in_kernel:
        pytest.importorskip("triton")
        found = distance_module._gathered_distance_cuda(tables, rows, targets, norm)  # type: ignore[arg-type]
    else:
        found = gathered_distance(tables.double(), rows, targets.double(), norm).float()  # type: ignore[arg-type]
    torch.testing.assert_close(found.cpu(), measure_naively(tables, rows, targets, norm), atol=1e-5, rtol=1e-5)
