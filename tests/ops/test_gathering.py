from __future__ import annotations

import pytest
import torch

from itransf.ops import gathering
from itransf.ops.gathering import gathered_distance

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def measure_naively(tables: torch.Tensor, places: torch.Tensor, wanted: torch.Tensor, norm: int) -> torch.Tensor:
    return torch.tensor(
        [
            [float((table[place] - vector).double().norm(p=norm)) for table in tables]
            for place, vector in zip(places.tolist(), wanted, strict=True)
        ]
    ).view(len(places), len(tables))


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 37])
@pytest.mark.parametrize("in_kernel", [False, True])
def test_every_row_is_measured_against_every_table(norm: int, count: int, in_kernel: bool) -> None:
    tables, wanted = torch.randn(3, 9, 5, device=DEVICE), torch.randn(count, 5, device=DEVICE)
    places = torch.randint(9, (count,), device=DEVICE)
    if in_kernel:
        pytest.importorskip("triton")
        found = gathering._measure_in_kernel(tables, places, wanted, norm)  # type: ignore[arg-type]
    else:
        found = gathered_distance(tables.double(), places, wanted.double(), norm).float()  # type: ignore[arg-type]
    torch.testing.assert_close(found.cpu(), measure_naively(tables, places, wanted, norm), atol=1e-5, rtol=1e-5)
