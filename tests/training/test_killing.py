from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from itransf.storage import RunFolder

SCRIPT = Path(__file__).with_name("killing.py")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_run_killed_again_and_again_ends_with_the_same_bits(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == 0, done.stderr
    assert told["kills"] >= 3
    assert told["found"], "no kill found a checkpoint to go on from"
    wanted, _ = RunFolder(tmp_path / "unbroken").read_tensors("model.safetensors")
    found, _ = RunFolder(tmp_path / "broken").read_tensors("model.safetensors")
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        assert torch.equal(found[name], tensor), name
    stripped = [
        [{**line, "seconds": 0} for line in RunFolder(tmp_path / name).read_history()]
        for name in ("unbroken", "broken")
    ]
    assert stripped[0] == stripped[1]
