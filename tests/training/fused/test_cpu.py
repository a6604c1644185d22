from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from itransf.fitting import Fit

numba = pytest.importorskip("numba")
from itransf.training.fused import cpu  # noqa: E402 (it needs numba)

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
    assert told[0] == "compiling the training step ..."
    assert told[1].startswith("transe: 3/3 epochs")
    Fit(random_graph(), configure("transe"), torch.device("cpu")).run()
    assert "compiling" not in capsys.readouterr().err
