"""Compile kernels for a GPU that need not be there; run by `test_gpu` without the interpreter."""

from __future__ import annotations

from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from itransf.training.fused import contrast_kernels, matrix_kernels, rotation_kernels, update_kernels
from itransf.training.fused.engine import Buffers
from itransf.training.fused.plan import Plan

TARGET = GPUTarget("cuda", 80, 32)
DIM = 300  # no power of two, and too wide for a matrix to be read at once
SIZES = {"dim": DIM, "relation_dim": DIM, "matrix_size": DIM**2}
TABLES = ("relation_table", "entity_table", "concept_table", "losses", "source", "products", "scores", "weights",
          "table", "first_state", "second_state", "rates", *Buffers._fields)  # fmt: skip
NUMBERS = ("keep_scale", "margin", "adversarial_temperature", "attention_temperature", "l1_weight", "l2_weight",
           "factor", "angle")  # fmt: skip
TYPES = {
    **dict.fromkeys(TABLES, "*fp32"),
    **dict.fromkeys(("counter", "keys", "offsets", *Plan._fields), "*i32"),
    **dict.fromkeys(NUMBERS, "fp32"),
    "masked": "*i8",
    "shares": "*fp32",
    "support": "*i64",
    "seeds": "*i64",
}
KINDS: list[dict[str, Any]] = [
    {
        "PROJECTED": projected,
        "ADVERSARIAL": adversarial,
        "NORM": norm,
        "CONSTRAINT": constraint,
        "DROPS": adversarial,
        "NEGATIVES": 4,
        "DIM": 512,
    }
    for projected, adversarial, norm, constraint in ((True, False, 1, 1), (True, True, 1, 2), (False, True, 2, 0))
]


def compile_kernel(kernel: Any, constants: dict[str, Any]) -> None:
    """Compile down to machine code."""
    constants = {**{name: value for name, value in SIZES.items() if name in kernel.arg_names}, **constants}
    signature = {name: "constexpr" if name in constants else TYPES.get(name, "i32") for name in kernel.arg_names}
    places = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    built = triton.compile(ASTSource(fn=kernel, signature=signature, constexprs=places), target=TARGET)
    assert built.asm["cubin"]


if __name__ == "__main__":
    for kinds in KINDS:
        for shared in (False, True):
            compile_kernel(contrast_kernels.contrast, {"SHARED": shared, **kinds})
        compile_kernel(contrast_kernels.sum_shared_gradients, kinds)
    for adversarial in (False, True):
        kinds = {"ADVERSARIAL": adversarial, "NEGATIVES": 4, "RELATION_DIM": 512}
        for shared in (False, True):
            compile_kernel(rotation_kernels.contrast, {"SHARED": shared, **kinds})
        compile_kernel(rotation_kernels.sum_shared_gradients, kinds)
    for gathers, precision, across, along, diagonal in ((True, "tf32x3", DIM, 1, False), (False, "ieee", 1, DIM, True)):
        tiles = {"GATHER": gathers, "PRECISION": precision, "DIAGONAL": diagonal, "TILE": 64, "OUT": 64, "INNER": 16}
        compile_kernel(matrix_kernels.multiply_rows, {"across": across, "along": along, **tiles})
    for diagonal in (False, True):
        tiles = {"DIAGONAL": diagonal, "SEGMENT": 512, "TERMS": 16, "SIDE": 64}
        compile_kernel(matrix_kernels.sum_outer_products, tiles)
    compile_kernel(matrix_kernels.compose_matrices, {"FREE": False, "K": 8, "BLOCK": 1024})
    compile_kernel(update_kernels.measure_weight_gradients, {"LONG_BLOCK": 4096})
    for free in (False, True):
        compile_kernel(update_kernels.update_scores, {"FREE": free, "OPTIMIZER": 2, "K": 8, "COLUMNS": 64})
    compile_kernel(update_kernels.update_concepts, {"OPTIMIZER": 1, "CHUNK": 8, "NARROW_BLOCK": 256})
    options = {"LISTED": True, "CONSTRAINT": 1, "OPTIMIZER": 2, "CHUNK": 8, "DIM": 512}
    compile_kernel(update_kernels.update_rows, options)
    print("compiled")
