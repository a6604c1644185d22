"""Tables, rules of choice and figures, from invented results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reproduction.experiments import WHOLE, Row, Scope, Table, read_experiments
from reproduction.figures import find_room, write_pictures
from reproduction.results import Results
from reproduction.rows import Found, fill, scale_rows
from reproduction.tables import MISSING, Cells, average_overlap, tabulate, tabulate_grid

from itransf.interpret import Attention

Store = Callable[..., None]
EXPERIMENTS = read_experiments()


def show(results: Results, name: str, title: str = "WN18") -> dict[str, dict[str, str]]:
    """Return the rows of a table by their first cell."""
    cells = tabulate(EXPERIMENTS[name].find_table(title), results)
    return {row[0]: dict(zip(cells.columns, row, strict=True)) for row in cells.rows}


def store_all(store: Store, name: str, scope: Scope = WHOLE) -> None:
    for place, job in enumerate(EXPERIMENTS[name].list_jobs(scope)):
        store(job, mr=200.0 + place, hits=0.9 + 0.001 * place)


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("scope", [WHOLE, Scope(quick=True)], ids=["whole", "quick"])
def test_every_table_can_be_shown_before_anything_is_measured(results: Results, name: str, scope: Scope) -> None:
    for table in EXPERIMENTS[name].tables:
        cells = tabulate(table, results, scope)
        assert all(len(row) == len(cells.columns) for row in cells.rows)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_shows_and_draws_what_its_jobs_give(
    results: Results, store: Store, name: str, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    store_all(store, name, Scope(seeds=(0,)))
    for table in EXPERIMENTS[name].tables:
        assert tabulate(table, results).rows
    paths = write_pictures(EXPERIMENTS[name], results, tmp_path)
    assert [path.stem for path in paths] == [picture.name for picture in EXPERIMENTS[name].pictures]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_the_papers_numbers_are_beside_ours(results: Results, store: Store) -> None:
    for seed, mr in enumerate((207.0, 203.0, 212.0)):
        store(replace(Row("", "wn18/itransf").make_job(), seed=seed), mr=mr, hits=0.942)
    rows = show(results, "main")
    assert (rows["ITransF"]["MR, paper"], rows["ITransF"]["MR"]) == ("205", "207 (203–212)")
    assert (rows["ITransF"]["Hits@10, paper"], rows["ITransF"]["Hits@10"]) == ("94.2", "94.2 (94.2–94.2)")
    assert (rows["ITransF"]["MRR"], rows["ITransF"]["Seeds"]) == ("0.471 (0.471–0.471)", "3")
    assert (rows["STransE"]["MR, paper"], rows["STransE"]["MR"], rows["STransE"]["Seeds"]) == ("206", MISSING, "0")
    assert rows["One-hop rules"]["MR, paper"] == MISSING


def test_counts_that_differ_from_the_papers_are_marked(results: Results, store: Store) -> None:
    store_all(store, "datasets")
    row = show(results, "datasets", "Sizes")["WN18"]
    assert (row["Entities"], row["Test"], row["Leaked, %"]) == ("40,943", "5,001 (paper: 5,000)", "94.0")


def test_frequencies_are_summarised(results: Results, store: Store) -> None:
    store_all(store, "frequencies")
    row = show(results, "frequencies", "Triples per relation")["FB15k"]
    assert [row[key] for key in ("Most", "Median", "Fewest", "Triples of the top tenth, %")] == ["500", "30", "5", "89"]


def test_thirds_of_the_relations_are_macro_averages(results: Results, store: Store) -> None:
    store(Row("", "wn18/stranse").make_job(), hits=0.5, rare_hits=0.4)
    store(Row("", "wn18/itransf").make_job(), hits=0.6, rare_hits=0.9)
    rows = show(results, "rare")
    assert list(rows) == [
        "most frequent third: 1",
        "middle third: 1",
        "rarest third: 2",
        "rarest without `_hardly`: 1",
    ]
    rarest = rows["rarest third: 2"]
    assert [rarest[key] for key in ("Train triples", "Test triples", "STransE", "ITransF")] == [
        "5–9",
        "33",
        "36.7",
        "95.0",
    ]
    assert rarest["Difference"].startswith("+58.33 (")


def test_statements_of_figure_3_hold_in_every_seed_or_not_at_all(results: Results, store: Store) -> None:
    store_all(store, "attention", Scope(seeds=(0, 1)))
    cells = tabulate(EXPERIMENTS["attention"].find_table("WN18"), results)
    assert [row[-1] for row in cells.rows] == ["holds", "holds", "holds", "holds"]
    assert [row[2] for row in cells.rows] == ["1.00 (1.00–1.00)"] * 2 + ["0.50 (0.50–0.50)", "1.00 (1.00–1.00)"]
    other = tabulate(EXPERIMENTS["attention"].find_table("FB15k"), results)
    assert [row[-1] for row in other.rows] == ["holds", "holds", "does not hold", "holds", "holds"]


def test_the_overlap_of_all_pairs_equals_a_loop(results: Results, store: Store) -> None:
    job = Row("", "wn18/itransf").make_job()
    store(job)
    (attention,) = Found(Row("", "wn18/itransf"), results, WHOLE).attention
    sides = attention.weights.reshape(-1, attention.weights.shape[2])
    pairs = [np.minimum(sides[i], sides[j]).sum() for i in range(len(sides)) for j in range(i)]
    assert average_overlap(attention) == pytest.approx(np.mean(pairs))


def test_weights_are_shares_of_the_largest_of_their_side(results: Results, store: Store) -> None:
    row = Row("", "wn18/itransf", set=("model.concepts=22", "model.attention=l1"))
    store(row.make_job())
    found = Found(row, results, WHOLE)
    scaled: Attention = scale_rows(found.attention[0])
    assert scaled.weights.min() == -1.0
    assert found.list_weights().shape == (10, 4)
    assert found.sample("weights").median == 2.0  # one side has four, two have one, seven have two


def test_times_codes_and_gains_have_columns(results: Results, store: Store) -> None:
    for name in ("sparseness", "sparse_encoding", "compression"):
        store_all(store, name, Scope(seeds=(0,)))
    rows = show(results, "sparseness", "WN18, 22 concepts")
    assert (rows["Dense"]["Epoch, paper"], rows["Dense"]["Epoch"], rows["Sparse"]["Epoch"]) == (
        "4m34s",
        "1.5 s",
        "0.5 s",
    )
    coded = show(results, "sparse_encoding")["the same, sparse coding"]
    assert (coded["Coefficients"], coded["Error, %"]) == ("3.5", "2.1")
    gains = show(results, "compression")
    assert gains["STransE"]["Hits@10 minus STransE's"] == MISSING
    assert gains["ITransF"]["Hits@10 minus STransE's"].startswith("+")


def test_a_grid_has_a_column_for_each_table(results: Results, store: Store) -> None:
    store(Row("", "wn18/itransf-best", set=("assignment.every=0",), method="validate").make_job(), hits=0.9)
    cells = tabulate_grid(EXPERIMENTS["ablation"], "valid_mrr", results)
    rows = {row[0]: row[1:] for row in cells.rows}
    assert cells.columns[1:] == ("WN18", "FB15k, 20 epochs", "WN18RR", "FB15k-237, 20 epochs")
    assert rows["no assignment step"] == ("0.450", MISSING, MISSING, MISSING)


@pytest.mark.parametrize(
    ("rule", "figures", "marked"),
    [
        # (mean rank, Hits@10, rarest third) of the baseline and of others
        ("lowest_mr_near_best_hits", [(65, 0.8, 0), (60, 0.799, 0)], [1]),
        ("lowest_mr_near_best_hits", [(65, 0.8, 0), (60, 0.7979, 0)], [0]),
        ("lowest_mr_near_best_hits", [(65, 0.8, 0), (60, 0.799, 0), (50, 0.7979, 0)], [1]),
        ("best_rarest_near_lowest_mr", [(100, 0.9, 0.9), (101.9, 0.9, 0.91)], [1]),
        ("best_rarest_near_lowest_mr", [(100, 0.9, 0.9), (102.1, 0.9, 0.99)], [0]),
        ("lowest_mr_at_no_cost_in_hits", [(220, 0.95, 0), (200, 0.9499, 0), (210, 0.95, 0)], [2]),
        ("lowest_mr_at_no_cost_in_hits", [(220, 0.95, 0), (200, 0.9499, 0), (230, 0.96, 0)], [0]),
        ("highest_mrr", [(10, 0.9, 0), (90, 0.91, 0), (5, 0.8, 0)], [1]),
        ("better", [(210, 0.94, 0), (209, 0.95, 0), (211, 0.95, 0), (209, 0.93, 0)], [1]),
    ],
)
def test_rules_of_choice(
    results: Results, store: Store, rule: str, figures: list[tuple[float, float, float]], marked: list[int]
) -> None:
    rows = tuple(Row(str(n), "wn18/itransf", set=(f"model.concepts={n + 5}",)) for n in range(len(figures)))
    filled = fill(Table("", rows, rule=rule, baseline="0"), results)
    for row, (mr, hits, rarest) in zip(rows[:-1], figures, strict=False):
        store(row.make_job(), mr=mr, hits=hits, rare_hits=rarest)
    assert filled.marked == []  # one row is missing
    mr, hits, rarest = figures[-1]
    store(rows[-1].make_job(), mr=mr, hits=hits, rare_hits=rarest)
    filled = fill(Table("", rows, rule=rule, baseline="0"), results)
    assert [int(found.row.label) for found in filled.marked] == marked


@pytest.mark.parametrize(
    ("ranks", "hits", "is_better"),
    [
        ((200, 209), (0.94, 0.951), True),  # each mean rank below all of the baseline
        ((200, 219), (0.951, 0.96), True),  # each Hits@10 above all of the baseline
        ((200, 219), (0.94, 0.96), False),  # on average only
        ((200, 209), (0.93, 0.95), False),  # one metric for the other
    ],
)
def test_better_is_beyond_the_seeds_in_one_metric(
    results: Results, store: Store, ranks: tuple[float, ...], hits: tuple[float, ...], is_better: bool
) -> None:
    rows = (Row("usual", "wn18/itransf"), Row("it", "wn18/itransf", set=("model.concepts=6",)))
    for seed in (0, 1):
        store(replace(rows[0].make_job(), seed=seed), mr=(210, 220)[seed], hits=(0.94, 0.95)[seed])
        store(replace(rows[1].make_job(), seed=seed), mr=ranks[seed], hits=hits[seed])
    marked = fill(Table("", rows, rule="better", baseline="usual"), results).marked
    assert [found.row.label for found in marked] == (["it"] if is_better else [])


def test_a_table_is_markdown_and_json() -> None:
    cells = Cells("Title", ("", "A"), [("x", "1")])
    assert cells.to_markdown() == "**Title**\n\n|  | A |\n| --- | ---: |\n| x | 1 |"
    assert cells.to_dict() == {"title": "Title", "rows": [{"": "x", "A": "1"}]}


def test_a_number_covers_no_other_place() -> None:
    places = [(0.0, 0.0), (50.0, 50.0), (53.0, 52.0), (99.0, 0.0), (96.0, 0.0), (100.0, 100.0), (10.0, 90.0)]
    assert find_room(np.array(places)) == [2, 3, 5, 6]  # 1 would cover 2, and 4 would cover 3
