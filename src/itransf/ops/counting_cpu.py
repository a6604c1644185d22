"""Counting closer candidates on the CPU, compiled by numba; imported only if numba is installed.

Every distance is the same sum in the same order, first dimension to last, each step rounded alone: nothing is
reassociated or fused. A candidate's distance has the same bits whether it is measured as an answer, as a rival in a
tile or as a known candidate. For l2 squares are compared, as taking roots would create ties.

A tile holds one candidate per lane. All queries are compared with a tile while it is in the nearest cache, two queries
at a time, so that each number read is used twice.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.ops.compilation import announce_compilation, compiled
from itransf.ops.distance import Counted
from itransf.ops.ranks import Answers

LANES = 128  # candidates of a tile: with 50 dimensions it takes 25 kB
MODULI = 3  # in place of a norm
PARTS_PER_THREAD = 4  # faster threads take more parts
Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


class Inputs(NamedTuple):
    """Inputs of the kernels: f answers to q queries among n candidates.

    Attributes:
        queries: (q, d)
        table: (n, d)
        answers: (f,), those of query i from starts[i] to starts[i + 1].
        starts: (q + 1,)
        known: Known candidates, those of query i from offsets[i] to offsets[i + 1].
        offsets: (q + 1,)
        norm: Norm of the distance, or MODULI.
    """

    queries: Floats
    table: Floats
    answers: Integers
    starts: Integers
    known: Integers
    offsets: Integers
    norm: int


def count_closer_cpu(queries: Tensor, table: Tensor, wanted: Answers, norm: Counted) -> tuple[Tensor, Tensor]:
    """Count, for each answer, the candidates closer to its query, and those as close.

    Args:
        queries: (q, d) float32.
        table: Candidates, (n, d) float32.
        wanted: Answers to the queries.
        norm: Norm of the distance, or "moduli".

    Returns:
        (above, tied), both (2, f), as from `ranks.count_rivals` for minus the distances.
    """
    answers, of_query, offsets, known = wanted
    starts = torch.searchsorted(of_query, torch.arange(len(queries) + 1, device="cpu"))
    arrays = (x.detach().contiguous().numpy() for x in (queries, table, answers, starts, known, offsets))
    code = MODULI if norm == "moduli" else norm
    inputs, own = Inputs._make((*arrays, code)), np.empty(len(answers), np.float32)
    with announce_compilation("the ranking"):
        known_above, known_tied = run_in_threads(count_known, len(queries), inputs, own)
        above, tied = run_in_threads(count_tiles, -(-len(table) // LANES), inputs, own)
    is_nan = np.isnan(own)  # a model that diverged: its answer comes last
    above, tied = np.where(is_nan, len(table) - 1, above), np.where(is_nan, 0, tied - 1)  # less the answer itself
    return (
        torch.from_numpy(np.stack([above - known_above, above])),
        torch.from_numpy(np.stack([tied - known_tied, tied])),
    )


def run_in_threads(kernel: Callable[..., None], count: int, inputs: Inputs, own: Floats) -> Integers:
    """Return the counts of a kernel over a range of queries or tiles, (2, f), on as many threads as torch uses."""

    def run(first: int, last: int) -> Integers:
        counts = np.zeros((2, len(own)), np.int64)
        kernel(inputs, first, last, own, counts)
        return counts

    threads = torch.get_num_threads()
    parts = min(threads * PARTS_PER_THREAD, count)
    if threads == 1 or parts <= 1:
        return run(0, count)
    bounds = [count * part // parts for part in range(parts + 1)]
    with ThreadPoolExecutor(threads) as pool:
        counts: Integers = np.stack(list(pool.map(run, bounds[:-1], bounds[1:]))).sum(0)
    return counts


parallel = compiled(nogil=True)  # without the interpreter's lock, so that threads run at the same time
inlined = compiled(nogil=True, inline="always")  # so that constant arguments are constants in the function


@parallel
def fill(tile: Floats, table: Floats, rows: Integers) -> None:
    """Copy candidates into a tile (d, lanes), one per lane."""
    for lane in range(len(rows)):
        for k in range(table.shape[1]):
            tile[k, lane] = table[rows[lane], k]


@parallel
def count_within(distances: Floats, limit: Any) -> Any:
    """Count the distances not above a limit; NaN is never counted."""
    count = np.int32(0)  # as wide as a distance, so that vector instructions fit
    for lane in range(len(distances)):
        count = np.int32(count + (distances[lane] <= limit))
    return count


@parallel
def count_below(distances: Floats, limit: Any) -> Any:
    """Count the distances below a limit."""
    count = np.int32(0)
    for lane in range(len(distances)):
        count = np.int32(count + (distances[lane] < limit))
    return count


@parallel
def gap(left: Any, right: Any, norm: int) -> Any:
    """Return the contribution of one dimension to an l1 distance, or to a squared l2 distance."""
    difference = left - right
    return abs(difference) if norm == 1 else difference * difference


@inlined
def measure_as(norm: int, distances: Floats, left: Floats, right: Floats, tile: Floats) -> None:
    """Write the distances of two queries to each lane of a tile, four dimensions in one pass."""
    for lane in range(len(distances)):
        distances[lane] = 0
    whole = len(left) // 4 * 4
    for k in range(0, whole, 4):
        a, b, c, d = left[k], left[k + 1], left[k + 2], left[k + 3]
        e, f, g, h = right[k], right[k + 1], right[k + 2], right[k + 3]
        row_0, row_1, row_2, row_3 = tile[k], tile[k + 1], tile[k + 2], tile[k + 3]
        for lane in range(LANES):
            x = distances[lane] + gap(a, row_0[lane], norm)
            y = distances[LANES + lane] + gap(e, row_0[lane], norm)
            x, y = x + gap(b, row_1[lane], norm), y + gap(f, row_1[lane], norm)
            x, y = x + gap(c, row_2[lane], norm), y + gap(g, row_2[lane], norm)
            distances[lane] = x + gap(d, row_3[lane], norm)
            distances[LANES + lane] = y + gap(h, row_3[lane], norm)
    for k in range(whole, len(left)):
        a, e, row_0 = left[k], right[k], tile[k]
        for lane in range(LANES):
            distances[lane] += gap(a, row_0[lane], norm)
            distances[LANES + lane] += gap(e, row_0[lane], norm)


@parallel
def measure_l1(distances: Floats, left: Floats, right: Floats, tile: Floats) -> None:
    """Measure l1 distances."""
    measure_as(1, distances, left, right, tile)


@parallel
def measure_l2(distances: Floats, left: Floats, right: Floats, tile: Floats) -> None:
    """Measure squared l2 distances."""
    measure_as(2, distances, left, right, tile)


@parallel
def measure_moduli(distances: Floats, left: Floats, right: Floats, tile: Floats) -> None:
    """Measure sums of the moduli of complex differences, whose real parts come first."""
    half = len(left) // 2
    for lane in range(len(distances)):
        distances[lane] = 0
    for k in range(half):
        a, b, c, d = left[k], left[half + k], right[k], right[half + k]
        real, imaginary = tile[k], tile[half + k]
        for lane in range(LANES):
            x, y = a - real[lane], b - imaginary[lane]
            distances[lane] += np.sqrt(x * x + y * y)
            x, y = c - real[lane], d - imaginary[lane]
            distances[LANES + lane] += np.sqrt(x * x + y * y)


@parallel
def measure(norm: int, distances: Floats, left: Floats, right: Floats, tile: Floats) -> None:
    """Measure distances of either norm, see `measure_as`, or of moduli."""
    if norm == MODULI:
        measure_moduli(distances, left, right, tile)
    elif norm == 1:
        measure_l1(distances, left, right, tile)
    else:
        measure_l2(distances, left, right, tile)


@parallel
def count_known(inputs: Inputs, first: int, last: int, own: Floats, counts: Integers) -> None:
    """Measure the answers of a range of queries; count the known candidates closer than each, and as close."""
    queries, table, answers, starts, known, offsets, norm = inputs
    tile = np.zeros((table.shape[1], LANES), np.float32)
    distances = np.empty(2 * LANES, np.float32)
    for i in range(first, last):
        for start in range(starts[i], starts[i + 1], LANES):
            rows = answers[start : min(start + LANES, starts[i + 1])]
            fill(tile, table, rows)
            measure(norm, distances, queries[i], queries[i], tile)
            for lane in range(len(rows)):
                own[start + lane] = distances[lane]
        for start in range(offsets[i], offsets[i + 1], LANES):
            rows = known[start : min(start + LANES, offsets[i + 1])]
            fill(tile, table, rows)
            measure(norm, distances, queries[i], queries[i], tile)
            for f in range(starts[i], starts[i + 1]):
                for lane in range(len(rows)):
                    if rows[lane] != answers[f]:
                        counts[0, f] += distances[lane] < own[f] or np.isnan(own[f])
                        counts[1, f] += distances[lane] == own[f]


@parallel
def count_tiles(inputs: Inputs, first: int, last: int, own: Floats, counts: Integers) -> None:
    """Count the candidates in a range of tiles that are closer than each answer, and as close."""
    queries, table, starts = inputs.queries, inputs.table, inputs.starts
    tile = np.zeros((table.shape[1], LANES), np.float32)
    distances = np.empty(2 * LANES, np.float32)
    for number in range(first, last):
        rows = np.arange(number * LANES, min((number + 1) * LANES, len(table)))
        fill(tile, table, rows)
        for i in range(0, len(queries), 2):
            pair = min(2, len(queries) - i)
            measure(inputs.norm, distances, queries[i], queries[i + pair - 1], tile)
            for j in range(pair):
                near = distances[j * LANES : j * LANES + len(rows)]
                for f in range(starts[i + j], starts[i + j + 1]):
                    below = count_below(near, own[f])
                    counts[0, f] += below
                    counts[1, f] += count_within(near, own[f]) - below
