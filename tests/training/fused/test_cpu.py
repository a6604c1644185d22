from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from itransf.fitting import Fit

numba = pytest.importorskip("numba")
from itransf.ops.distance import limit_length  # noqa: E402 (after what may be skipped)
from itransf.training.fused import compiled_step, cpu  # noqa: E402 (they need numba)

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker


def test_a_first_training_says_that_it_compiles(
    configure: Configure,
    random_graph: GraphMaker,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    compile_something = numba.njit(lambda number: number)
    monkeypatch.setattr(cpu, "run_steps", lambda count, *_: compile_something(count))
    Fit(random_graph(), configure("transe"), torch.device("cpu")).run()
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("compiling")
    assert told[1].startswith("transe: 3/3 epochs")
    Fit(random_graph(), configure("transe"), torch.device("cpu")).run()
    assert "compiling" not in capsys.readouterr().err


@pytest.mark.parametrize(("x", "expected"), [(0.5, [3.0, 2.0]), (1.0, [0.0, 2.0]), (2.0, [0.0, 1.0])])
def test_the_edge_of_the_ball_is_outside_as_torch_has_it(x: float, expected: list[float]) -> None:
    vector = torch.tensor([x, 0.0], requires_grad=True)
    (limit_length(vector[None], "ball") * torch.tensor([3.0, 2.0])).sum().backward()
    gradient = np.array([3.0, 2.0], dtype=np.float32)
    compiled_step.backpropagate_constraint(gradient, np.array([x, 0.0], dtype=np.float32), np.float32(max(x, 1.0)), 2)
    assert vector.grad is not None
    assert gradient.tolist() == vector.grad.tolist() == expected
