"""Compile kernels for a GPU that need not be there; run by `test_compiling` without the interpreter."""

from __future__ import annotations

from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from itransf.training.fused import contrast_kernels, kernels, updates

TARGET = GPUTarget("cuda", 80, 32)
NUMBERS = ("margin", "temperature", "penalty", "factor")
TABLES = ("vectors", "relation_table", "gradients", "relation_gradients", "wanted_table", "figures", "losses",
          "source", "matrices", "products", "entities", "totals", "concept_table",
          "gains", "scores", "weights", "first_state", "second_state", "rates")  # fmt: skip
LISTS = ("counter", "relations", "replaces_head", "sizes", "row_entities", "triple_slots", "slot_relations",
         "group_rows", "group_offsets", "tile_groups", "tile_starts", "segment_groups", "segment_starts",
         "segment_offsets")  # fmt: skip
DIM = 300  # no power of two, and too wide for a matrix to be read at once
SIZES = {"dim": DIM, "size": DIM**2}
POINTERS = {
    **dict.fromkeys(TABLES, "*fp32"),
    **dict.fromkeys((*LISTS, "slot_offsets"), "*i32"),
    **dict.fromkeys(NUMBERS, "fp32"),
    "left_out": "*i8",
    "support": "*i64",
}
KINDS: list[dict[str, Any]] = [
    {"PROJECTED": projected, "ADVERSARIAL": adversarial, "NORM": norm, "LENGTH": length, "CHUNK": 4, "DIM": 512}
    for projected, adversarial, norm, length in ((True, False, 1, 1), (True, True, 1, 2), (False, True, 2, 0))
]


def compile_kernel(kernel: Any, constants: dict[str, Any]) -> None:
    """Compile down to machine code."""
    constants = {**{name: value for name, value in SIZES.items() if name in kernel.arg_names}, **constants}
    signature = {name: "constexpr" if name in constants else POINTERS.get(name, "i32") for name in kernel.arg_names}
    places = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    built = triton.compile(ASTSource(fn=kernel, signature=signature, constexprs=places), target=TARGET)
    assert built.asm["cubin"]


if __name__ == "__main__":
    for kinds in KINDS:
        for shared in (False, True):
            compile_kernel(contrast_kernels.contrast, {"SHARED": shared, **kinds})
        compile_kernel(contrast_kernels.push_away, kinds)
    for gathers, precision, across, along in ((True, "tf32x3", DIM, 1), (False, "ieee", 1, DIM)):
        tiles = {"GATHER": gathers, "PRECISION": precision, "TILE": 64, "OUT": 64, "INNER": 16}
        compile_kernel(kernels.multiply_rows, {"across": across, "along": along, **tiles})
    tiles = {"SEGMENT": 512, "TILE": 16, "OUT": 64, "ACROSS": 64}
    compile_kernel(kernels.sum_outer_products, tiles)
    compile_kernel(updates.measure_gains, {"BLOCK": 4096})
    compile_kernel(updates.update_scores, {"OPTIMIZER": 2, "K": 8, "COLUMNS": 64})
    compile_kernel(updates.update_free_weights, {"OPTIMIZER": 2, "K": 16})
    print("compiled")
