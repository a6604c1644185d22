"""The training step for the CPU, compiled by numba; imported only where that is installed.

It follows the same plan as the GPU kernels, phase by phase; the phases run on all cores. No two iterations of a
parallel loop write to one place, so results do not depend on how many threads there are.
"""
