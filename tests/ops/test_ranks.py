from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from itransf.ops import ranks
from itransf.ops.distance import Counted, Norm
from itransf.ops.ranks import BYTES_PER_SCORE, Answers, count_closer, count_rivals, count_rows
from itransf.progress import track

numba = pytest.importorskip("numba")
from itransf.ops import counting_cpu  # noqa: E402 (it needs numba)

WAYS = ("compiled", "interpreted", "scores")
NORMS = (1, 2)
ROUNDING = 2.0**-24  # of one float32 operation, relative

CANDIDATES = 5
QUERY = st.tuples(
    st.lists(st.integers(0, 2), min_size=CANDIDATES, max_size=CANDIDATES),
    st.integers(0, CANDIDATES - 1),
    st.sets(st.integers(0, CANDIDATES - 1)),
)


class Case:
    """Queries that have any number of answers and of known candidates."""

    def __init__(self, queries: Tensor, table: Tensor, answers: list[list[int]], known: list[list[int]]) -> None:
        self.queries, self.table, self.lists = queries, table, (answers, known)
        self.answers = flatten(answers)
        self.known, self.offsets = flatten(known), torch.tensor([0, *np.cumsum([len(row) for row in known])])
        self.answer_queries = torch.tensor([i for i, row in enumerate(answers) for _ in row], dtype=torch.int64)

    def count(self, norm: Counted, memory: int = 1 << 20) -> tuple[list[list[int]], list[list[int]]]:
        wanted = Answers(self.answers, self.answer_queries, self.offsets, self.known)
        above, tied = count_closer(self.queries, self.table, wanted, norm, memory)
        return above.tolist(), tied.tolist()

    def count_one_by_one(self, norm: Norm) -> tuple[list[list[int]], list[list[int]]]:
        """The same in float64, one candidate at a time."""
        above: list[list[int]] = [[], []]
        tied: list[list[int]] = [[], []]
        for query, answers, known in zip(self.queries.tolist(), *self.lists, strict=True):
            distances = [
                sum(abs(a - b) ** norm for a, b in zip(query, row, strict=True)) for row in self.table.tolist()
            ]
            for answer in answers:
                everyone = [c for c in range(len(distances)) if c != answer]
                for protocol, rivals in enumerate(([c for c in everyone if c not in known], everyone)):
                    above[protocol].append(sum(distances[c] < distances[answer] for c in rivals))
                    tied[protocol].append(sum(distances[c] == distances[answer] for c in rivals))
        return above, tied


def flatten(rows: list[list[int]]) -> Tensor:
    return torch.tensor([value for row in rows for value in row], dtype=torch.int64)


def draw_case(seed: int, q: int, n: int, d: int, *, whole: bool = True) -> Case:
    """Tables of small whole numbers, where float32 is exact and ties are many, or of any numbers."""
    rng = np.random.default_rng(seed)
    draw = (lambda *shape: rng.integers(-2, 3, shape)) if whole else (lambda *shape: rng.standard_normal(shape))
    answers = [rng.integers(0, n, rng.integers(0, 4)).tolist() for _ in range(q)]
    known = [rng.permutation(n)[: rng.integers(0, n + 1)].tolist() for _ in range(q)]
    return Case(torch.tensor(draw(q, d)).float(), torch.tensor(draw(n, d)).float(), answers, known)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Count by the compiled kernel, by its source in the interpreter, or as where numba is missing."""
    if request.param == "scores":
        monkeypatch.setattr(ranks, "load_compiled", lambda: None)
    if request.param == "interpreted":
        interpret_kernels(monkeypatch)
    return str(request.param)


def interpret_kernels(monkeypatch: pytest.MonkeyPatch, lanes: int = 4) -> None:
    monkeypatch.setattr(counting_cpu, "LANES", lanes)
    for name, value in list(vars(counting_cpu).items()):
        if hasattr(value, "py_func"):
            monkeypatch.setattr(counting_cpu, name, value.py_func)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("q", "n", "d"), [(5, 13, 3), (1, 1, 1), (4, 9, 4), (3, 2, 10), (2, 6, 5)])
def test_small_whole_numbers_are_counted_exactly(way: str, norm: Norm, q: int, n: int, d: int) -> None:
    for seed in range(5):
        case = draw_case(seed, q, n, d)
        assert case.count(norm) == case.count_one_by_one(norm)


def test_moduli_of_complex_numbers_are_counted_exactly(way: str) -> None:
    for seed, shape in enumerate([(5, 13, 3), (1, 1, 1), (4, 9, 4), (3, 200, 6)]):
        case = draw_case(seed, *shape)
        turned = Case(*(torch.cat([3 * each, -4 * each], 1) for each in (case.queries, case.table)), *case.lists)
        assert turned.count("moduli") == case.count(1)  # |3 x - 4 i x| = 5 |x|


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**31), st.integers(0, 6), st.integers(1, 300), st.integers(1, 9), st.sampled_from(NORMS))
def test_the_compiled_kernel_equals_a_loop(seed: int, q: int, n: int, d: int, norm: Norm) -> None:
    case = draw_case(seed, q, n, d)
    assert case.count(norm) == case.count_one_by_one(norm)


@pytest.mark.parametrize("norm", NORMS)
def test_counts_do_not_depend_on_threads_or_chunks(norm: Norm, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, real = draw_case(0, 20, 700, 6), draw_case(1, 20, 700, 50, whole=False)
    wanted = [case.count(norm) for case in (whole, real)]
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert [case.count(norm) for case in (whole, real)] == wanted
    monkeypatch.setattr(ranks, "load_compiled", lambda: None)
    for queries_per_chunk in (1, 3, 100):
        assert whole.count(norm, memory=BYTES_PER_SCORE * 700 * queries_per_chunk) == wanted[0]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("way", ["compiled", "scores"], indirect=True)
def test_real_numbers_are_counted_to_the_rounding_of_the_answers_distance(way: str, norm: Norm) -> None:
    """Each count lies between those in float64 at the answer's distance less and plus the rounding of two sums.

    A sum of d rounded terms is within (d + 1) roundings of itself. Distances made by matrix products (l2 without
    numba) round what the lengths of both vectors are, however close those lie.
    """
    case = draw_case(3, 30, 900, 50, whole=False)
    above, tied = (np.array(counts)[1] for counts in case.count(norm))
    queries, table = case.queries.double().numpy()[case.answer_queries], case.table.double().numpy()
    exact = (np.abs(queries[:, None] - table) ** norm).sum(-1)
    own = exact[np.arange(len(queries)), case.answers]
    sizes = own
    if way == "scores" and norm == 2:
        sizes = (np.linalg.norm(queries, axis=1) + np.linalg.norm(table, axis=1).max()) ** 2
    eps = 2 * (50 + 2) * ROUNDING * sizes
    least = (exact < (own - eps)[:, None]).sum(1)
    most = (exact <= (own + eps)[:, None]).sum(1) - 1
    assert (least <= above).all()
    assert (above + tied <= most).all()
    assert (most - least).mean() < 1  # or else the bounds would say nothing


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("d", [1, 5, 50])
def test_copies_of_the_answer_tie_with_it_wherever_they_lie(norm: Norm, d: int) -> None:
    """Bits must agree in every lane, in full tiles and in the last one, among the known and not."""
    torch.manual_seed(d)
    n = 3 * counting_cpu.LANES + 7
    table = torch.randn(1, d).expand(n, d).contiguous()
    case = Case(torch.randn(3, d), table, [[0], [n - 1, 130], [64]], [[], list(range(200)), [64, 64, 65]])
    above, tied = case.count(norm)
    assert above == [[0] * 4] * 2
    assert tied == [[n - 1, n - 1 - 200, n - 200, n - 2], [n - 1] * 4]


@pytest.mark.parametrize("norm", NORMS)
def test_no_queries_and_no_answers_give_no_counts(way: str, norm: Norm) -> None:
    nothing = Case(torch.zeros(0, 3), torch.zeros(5, 3), [], [])
    assert nothing.count(norm) == ([[], []], [[], []])
    assert Case(torch.zeros(2, 3), torch.zeros(5, 3), [[], []], [[1], []]).count(norm) == ([[], []], [[], []])


@pytest.mark.parametrize("norm", NORMS)
def test_what_is_not_a_number_comes_last_and_beats_none(way: str, norm: Norm) -> None:
    table = torch.tensor([[0.0], [1.0], [float("nan")], [3.0]])
    case = Case(torch.tensor([[0.0], [float("nan")]]), table, [[2, 3], [1]], [[0, 2], [0, 1]])
    above, tied = case.count(norm)
    assert above == [[2, 1, 2], [3, 2, 3]]  # of the three others, those known are left out
    assert tied == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("way", ["compiled", "scores"], indirect=True)
def test_infinite_distances_tie(way: str) -> None:
    table = torch.tensor([[float("inf")], [1.0], [float("inf")]])
    assert Case(torch.zeros(1, 1), table, [[0]], [[]]).count(1) == ([[1], [1]], [[1], [1]])


def test_tables_may_lie_in_memory_in_any_way(way: str) -> None:
    case = draw_case(7, 4, 10, 6)
    wanted = case.count_one_by_one(1)
    case.table = case.table.t().contiguous().t().requires_grad_()
    with torch.no_grad():
        assert case.count(1) == wanted


@pytest.mark.parametrize("norm", NORMS)
def test_doubles_are_scored(norm: Norm) -> None:
    case = draw_case(7, 4, 10, 6)
    wanted = case.count_one_by_one(norm)
    case.queries, case.table = case.queries.double(), case.table.double()
    assert case.count(norm) == wanted


def test_the_kernel_is_used_where_numba_is_installed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks.load_compiled.cache_clear()
    assert ranks.load_compiled() is counting_cpu.count_closer_cpu
    ranks.load_compiled.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    for name in ("itransf.ops.counting_cpu", "itransf.ops.compilation"):
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(name)
    assert ranks.load_compiled() is None
    ranks.load_compiled.cache_clear()


def test_a_broken_numba_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks.load_compiled.cache_clear()
    monkeypatch.setitem(sys.modules, "itransf.ops.counting_cpu", None)  # importing it fails
    with pytest.raises(ImportError):
        ranks.load_compiled()


def test_what_was_compiled_is_kept() -> None:
    assert counting_cpu.count_tiles.stats.cache_path  # type: ignore[attr-defined]


def test_a_first_ranking_says_that_it_compiles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("count_known", "count_tiles"):
        monkeypatch.setattr(counting_cpu, name, numba.njit(lambda inputs, first, last, own, counts: None))
    with track("ranking", 1, "queries"):
        draw_case(2, 6, 14, 3).count(1)
    assert "compiling the ranking ..." in capsys.readouterr().err


def test_numba_is_not_loaded_before_something_is_ranked() -> None:
    script = "import sys, itransf.evaluation, itransf.cli; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


@settings(deadline=None, max_examples=60)
@given(st.lists(QUERY, min_size=1, max_size=6))
def test_counts_of_scores_equal_brute_force(queries: list[tuple[list[int], int, set[int]]]) -> None:
    scores = torch.tensor([row for row, _, _ in queries], dtype=torch.float32)
    answers = torch.tensor([answer for _, answer, _ in queries])
    sizes = [len(known) for _, _, known in queries]
    offsets = torch.tensor([0, *torch.tensor(sizes).cumsum(0).tolist()])
    known = torch.tensor([c for _, _, known in queries for c in sorted(known)], dtype=torch.int64)
    above, tied = count_rivals(scores, answers, offsets, known)
    for place, (row, answer, left_out) in enumerate(queries):
        everyone = [c for c in range(CANDIDATES) if c != answer]
        unknown = [c for c in everyone if c not in left_out]
        for protocol, rivals in enumerate((unknown, everyone)):
            assert above[protocol, place] == sum(row[c] > row[answer] for c in rivals)
            assert tied[protocol, place] == sum(row[c] == row[answer] for c in rivals)


def test_infinite_scores_are_compared_like_others() -> None:
    scores = torch.tensor([[float("-inf"), float("-inf"), 0.0]])
    above, tied = count_rivals(scores, torch.tensor([0]), torch.tensor([0, 0]), torch.zeros(0, dtype=torch.int64))
    assert (above.tolist(), tied.tolist()) == ([[1], [1]], [[1], [1]])


def test_a_broken_score_is_never_better_than_the_first_place() -> None:
    """A model that went to NaN must not look perfect: no count may fall below zero."""
    scores = torch.full((1, 3), float("nan"))
    above, tied = count_rivals(scores, torch.tensor([1]), torch.tensor([0, 1]), torch.tensor([1]))
    assert bool((tied >= 0).all())
    assert bool((above + tied > 0).all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_more_candidates_than_a_float_counts_are_counted(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = torch.tensor([[2.0, 1.0, 1.0, 0.0] * 1000], dtype=dtype)
    for most in (ranks.EXACT_SUM, 10):
        monkeypatch.setattr(ranks, "EXACT_SUM", most)
        above, tied = (count_rows(compare, scores, scores[:, 1]) for compare in (torch.gt, torch.eq))
        assert (above.tolist(), tied.tolist()) == ([1000], [2000])
