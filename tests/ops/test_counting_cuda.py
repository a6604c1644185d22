from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest
import torch
from torch import Tensor

from fresh import Interpreters
from interpreting import patch_language_once
from itransf.ops import counting_cuda
from itransf.ops.counting_cuda import KnownLists, count_grouped_cuda
from itransf.ops.distance import Norm
from itransf.ops.ranks import count_rivals

pytest.importorskip("triton")
patch_language_once()

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
NAN = float("nan")
SMALL = {"TILE_QUERIES": 4, "TILE_CANDIDATES": 8, "TILE_WARPS": 1, "UNROLLED": 2}


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in SMALL.items():
        monkeypatch.setattr(counting_cuda, name, size)


def whole_numbers(*shape: int) -> Tensor:
    """Vectors for which float32 is exact and ties are frequent."""
    return torch.randint(-2, 3, shape).float()


def reference(queries: Tensor, table: Tensor, answers: Tensor, known: Sequence[set[int]], norm: Norm) -> Tensor:
    """Above and tied, (2, 2, q), one candidate at a time."""
    counts = torch.zeros(2, 2, len(queries), dtype=torch.int64)
    for row, (query, answer) in enumerate(zip(queries.double(), answers.tolist(), strict=True)):
        distances = [(query - candidate).abs().pow(norm).sum().item() for candidate in table.double()]
        true = distances[answer]
        for protocol, left_out in enumerate((known[row] | {answer}, {answer})):
            rivals = [distances[other] for other in range(len(table)) if other not in left_out]
            # Nothing is closer than what is not a number, yet such an answer comes last.
            counts[0, protocol, row] = len(rivals) if math.isnan(true) else sum(rival < true for rival in rivals)
            counts[1, protocol, row] = sum(rival == true for rival in rivals)
    return counts


def draw_known(queries: int, candidates: int, most: int) -> tuple[list[set[int]], Tensor, Tensor]:
    """Known candidates of each query, as sets and as offsets and values."""
    lists = [torch.randperm(candidates)[: int(torch.randint(0, most + 1, ()))].tolist() for _ in range(queries)]
    offsets = torch.tensor([0, *(len(row) for row in lists)]).cumsum(0)
    return list(map(set, lists)), offsets, torch.tensor(list(chain(*lists)), dtype=torch.int64)


def move(*tensors: Tensor) -> list[Tensor]:
    return [tensor.to(DEVICE) for tensor in tensors]


def count_closer(
    queries: Tensor, table: Tensor, answers: Tensor, offsets: Tensor, known: Tensor, norm: Norm
) -> tuple[Tensor, Tensor]:
    """Count among one table: the candidates above the answer, and those that tie with it."""
    everyone, lists = torch.tensor([0, len(queries)]), KnownLists(*move(offsets[:-1], offsets[1:], known))
    found = count_grouped_cuda(*move(queries, table[None], everyone, answers), lists, norm)
    return found.above, found.tied


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(("count", "candidates", "dim"), [(5, 21, 7), (1, 1, 1), (3, 600, 3)])
def test_small_whole_numbers_give_the_reference(norm: Norm, count: int, candidates: int, dim: int) -> None:
    torch.manual_seed(count)
    queries, table = whole_numbers(count, dim), whole_numbers(candidates, dim)
    answers = torch.randint(0, candidates, (count,))
    known, offsets, values = draw_known(count, candidates, most=90)
    found = count_closer(queries, table, answers, offsets, values, norm)
    wanted = reference(queries, table, answers, known, norm)
    assert torch.equal(torch.stack(found).cpu(), wanted)
    assert found[0].dtype == torch.int64
    assert candidates == 1 or int(wanted[1].sum()) > 0


@pytest.mark.parametrize("norm", [1, 2])
def test_groups_of_any_size_see_their_own_tables(norm: Norm) -> None:
    """Sizes around the tile's four queries, an empty group among them, and queries that share a list."""
    torch.manual_seed(1)
    sizes = [1, 4, 0, 9, 5]
    offsets = torch.tensor([0, *sizes]).cumsum(0)
    queries, tables = whole_numbers(19, 3), whole_numbers(5, 19, 3)
    answers = torch.randint(0, 19, (19,))
    known, ends, values = draw_known(6, 19, most=8)
    shared = torch.randint(0, 6, (19,))
    lists = KnownLists(*move(ends[:-1][shared], ends[1:][shared], values))
    found = count_grouped_cuda(*move(queries, tables, offsets, answers), lists, norm)
    for group in range(5):
        rows = slice(int(offsets[group]), int(offsets[group + 1]))
        left_out = [known[number] for number in shared[rows].tolist()]
        wanted = reference(queries[rows], tables[group], answers[rows], left_out, norm)
        assert torch.equal(torch.stack(found[:2])[..., rows].cpu(), wanted)
    others = [len(known[number] - {answer}) for number, answer in zip(shared.tolist(), answers.tolist(), strict=True)]
    assert found.rivals.tolist() == [[18 - other for other in others], [18] * 19]


@pytest.mark.parametrize("norm", [1, 2])
def test_copies_of_the_answer_tie_whatever_their_numbers(norm: Norm) -> None:
    """Numbers that round at every step: the answer's distance has the same bits as its copies' in tile and list."""
    torch.manual_seed(2)
    rows = torch.randn(11, 9)
    queries, table, answers = torch.randn(6, 9), torch.cat([rows, rows, rows]), torch.arange(6)
    known = torch.stack([answers + 11, answers], dim=1).flatten()
    lists = KnownLists(*move(torch.arange(0, 12, 2), torch.arange(2, 13, 2), known))
    found = count_grouped_cuda(*move(queries, table[None], torch.tensor([0, 6]), answers), lists, norm)
    assert found.tied.tolist() == [[1] * 6, [2] * 6]  # one copy is known
    assert bool((found.above >= 0).all())


def test_a_table_shared_by_groups_is_transposed_once() -> None:
    torch.manual_seed(3)
    table = whole_numbers(10, 3)
    shared = counting_cuda.transpose_tables(table.expand(4, -1, -1), 8)
    assert shared.shape == (4, 3, 16)
    assert shared.stride(0) == 0
    assert torch.equal(shared[3, :, :10], table.T)
    assert bool(shared[:, :, 10:].isnan().all())
    queries, answers, offsets = whole_numbers(4, 3), torch.randint(0, 10, (4,)), torch.arange(5)
    nothing = torch.zeros(4, dtype=torch.int64)
    found = count_grouped_cuda(
        queries.to(DEVICE),
        table.to(DEVICE).expand(4, -1, -1),
        *move(offsets, answers),
        KnownLists(*move(nothing, nothing, nothing)),
        1,
    )
    assert torch.equal(torch.stack(found[:2]).cpu(), reference(queries, table, answers, [set()] * 4, 1))


@pytest.mark.parametrize("norm", [1, 2])
def test_what_is_not_a_number_comes_last_and_beats_nobody(norm: Norm) -> None:
    torch.manual_seed(4)
    queries, table = whole_numbers(4, 3), whole_numbers(9, 3)
    queries[0, 1] = NAN
    table[5, 2] = NAN
    answers = torch.tensor([2, 5, 3, 3])
    known = [{1, 2, 5}, {5, 6}, {5}, set()]
    offsets, values = torch.tensor([0, 3, 5, 6, 6]), torch.tensor([1, 2, 5, 5, 6, 5])
    found = count_closer(queries, table, answers, offsets, values, norm)
    assert torch.equal(torch.stack(found).cpu(), reference(queries, table, answers, known, norm))
    distances = torch.linalg.vector_norm(queries[:, None] - table, ord=norm, dim=-1)
    assert torch.equal(torch.stack(found).cpu(), torch.stack(count_rivals(-distances, answers, offsets, values)))
    assert found[0][:, :2].tolist() == [[6, 7], [8, 8]]


def test_no_queries_give_no_counts() -> None:
    nothing, start = torch.zeros(0, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    above, tied = count_closer(torch.zeros(0, 3), torch.zeros(4, 3), nothing, start, nothing, 1)
    assert above.shape == tied.shape == (2, 0)


def test_triton_is_not_imported_with_the_package(interpreters: Interpreters, tmp_path: Path) -> None:
    script = "import sys, itransf, itransf.evaluation.ranking; sys.exit('triton' in sys.modules)"
    assert interpreters.call("-c", script, folder=tmp_path).code == 0
