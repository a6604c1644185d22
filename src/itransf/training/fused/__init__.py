"""Fused training steps: many batches are planned at once and run by compiled kernels, on a GPU or a CPU."""
