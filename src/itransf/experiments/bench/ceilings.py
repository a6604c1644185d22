"""What the machine can do at best: multiply matrices, and copy."""

from __future__ import annotations

from typing import Any

import torch

from itransf.experiments.bench.clock import time_calls

SIDE = {"cpu": 1024, "cuda": 8192}  # of the square matrices: large enough for the full rate
COPIED = {"cpu": 1 << 26, "cuda": 1 << 28}  # numbers: too many for any cache


def measure_ceilings(device: torch.device, seconds: float) -> dict[str, Any]:
    """Return the best float32 matrix product in FLOP/s and the best copy in bytes/s, reading and writing counted."""
    side, copied = SIDE[device.type], COPIED[device.type]
    return {
        "product": {"flops": measure_product(device, side, seconds), "side": side},
        "copy": {"bytes": measure_copy(device, copied, seconds), "numbers": copied},
    }


def measure_product(device: torch.device, side: int, seconds: float) -> float:
    """Return the FLOP/s of the fastest of several float32 products of square matrices."""
    left, right = torch.rand(side, side, device=device), torch.rand(side, side, device=device)
    product = torch.empty_like(left)
    return 2.0 * side**3 / min(time_calls(lambda: torch.mm(left, right, out=product), device, seconds))


def measure_copy(device: torch.device, numbers: int, seconds: float) -> float:
    """Return the bytes/s, read and written, of the fastest of several copies."""
    source = torch.rand(numbers, device=device)
    target = torch.empty_like(source)
    return 2.0 * source.nbytes / min(time_calls(lambda: target.copy_(source), device, seconds))
