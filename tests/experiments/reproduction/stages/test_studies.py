"""The stages that look closer: attention, sparseness, compression, domain sampling, sparse coding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from experiments.reproduction.conftest import Store
from itransf.data.vocabulary import Vocabulary
from itransf.experiments.reproduction.drawing import write_picture
from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.measuring import pack_attention
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import MISSING, Section, Table
from itransf.experiments.reproduction.stages import (
    STAGES,
    attention,
    compression,
    domain_sampling,
    main,
    rare,
    sparse_encoding,
    sparseness,
)
from itransf.experiments.reproduction.stages.families import WN18
from itransf.experiments.reproduction.timing import WARM_UP, shorten
from itransf.interpret import Attention

WHOLE, SMALL = Scope(), Scope(quick=True)
STUDIES = ("attention", "sparseness", "compression", "domain-sampling", "sparse-encoding")
CODING = {"library": "some 1.0", "penalty": 0.0123, "non_zeros": 5.04, "non_zeros_kept": 3.5, "error": 0.021}
NAMES = {
    "wn18": ("_hypernym", "_hyponym", "_instance_hypernym", "_similar_to", "_other"),
    "fb15k": (*attention.SHORT, "/some/other"),
}


def make_attention(dataset: str, *, signed: bool = False) -> Attention:
    """Return attention over four concepts in which inverse and symmetric relations mirror each other."""
    weights = np.zeros((2, 5, 4), dtype=np.float32)
    weights[0, 0] = weights[1, 1] = [0.75, 0.25, 0, 0]
    weights[1, 0] = weights[0, 1] = [0, 0.5, 0.5, 0]
    weights[1, 2] = [0, 0, 0.5, 0.5]
    weights[0, 2] = weights[0, 4] = [0, 0, 0, 1]
    weights[:, 3] = [0, 0.5, 0, 0.5]
    weights[1, 4] = [0.25, 0.25, 0.25, 0.25]
    if signed:
        weights[0] *= -4
    names = Vocabulary(NAMES[dataset], kind="relation")
    kind = "l1" if signed else "sparse"
    return Attention(weights, names, np.zeros((2, 5, 2), dtype=np.int64), np.arange(5, 0, -1), kind)


def invent(job: Job) -> dict[str, Any]:
    """Return the parts of a record that a study's job has beside the usual ones."""
    if job.method == "timing":
        slow = "model.attention=dense" in job.settings
        epochs = shorten(job.resolve()).training.epochs - WARM_UP
        return {"seconds_of_epochs": [0.55 + slow] * epochs, "steps": "fused"}
    dataset = job.preset.partition("/")[0]
    found = pack_attention(make_attention(dataset, signed="model.attention=l1" in job.settings))
    return {"attention": found, **({"coding": CODING} if job.method == "sparse-coding" else {})}


def store_all(store: Store, name: str, scope: Scope) -> None:
    for place, job in enumerate(STAGES[name].plan(scope)):
        store(job, mr=200.0 + place, hits=0.9 + 0.001 * place, **invent(job))


def find_row(table: Table, *names: str) -> dict[str, str]:
    row = next(row for row in table.rows if row[: len(names)] == names)
    return dict(zip(table.columns, row, strict=True))


def render(results: Results, name: str, scope: Scope = WHOLE) -> Section:
    return STAGES[name].render(results, scope)


@pytest.mark.parametrize("scope", [WHOLE, SMALL], ids=["whole", "quick"])
@pytest.mark.parametrize("name", STUDIES)
def test_a_study_shows_what_its_jobs_give(name: str, scope: Scope, results: Results, store: Store) -> None:
    store_all(store, name, scope)
    section = render(results, name, scope)
    assert MISSING not in section.to_markdown("page")
    assert section.pictures
    for picture in section.pictures:
        pytest.importorskip("matplotlib")
        assert write_picture(picture, results.folder).stat().st_size > 5000


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_one_training_of_what_the_tables_before_it_have(name: str) -> None:
    # Whatever is trained with a preset's own settings is a row of the main table, or of that on rare relations.
    rows = {job.row_key for job in (*main.list_jobs(WHOLE), *rare.list_jobs(WHOLE))}
    plain = {job.row_key for job in STAGES[name].list_jobs(WHOLE) if not job.settings and job.method == "train"}
    assert plain <= rows
    resolved = [str(job.resolve()) + job.dataset for job in STAGES[name].list_jobs(WHOLE) if job.method == "train"]
    assert len(set(resolved)) == len(resolved)


def test_what_the_paper_sees_is_measured_in_stored_attention(results: Results, store: Store) -> None:
    store_all(store, "attention", WHOLE)
    (table,) = render(results, "attention").tables
    overlaps = {row[2]: row[3:] for row in table.rows}
    assert overlaps["hypernym (H) and hyponym (T)"] == ("1.00", "0.38", "1 of 1", "2 of 2")
    assert overlaps["instance_hypernym (T) and hypernym (T)"] == ("0.50", "0.38", "1 of 1", "1 of 2")
    assert overlaps["similar_to (H) and similar_to (T)"] == ("1.00", "0.38", "1 of 1", "2 of 2")
    assert overlaps["won_award_for (H) and was_nominated_for (H)"] == ("0.00", "0.38", "0 of 1", "0 of 2")
    assert len(table.rows) == len(attention.STATEMENTS)


def test_what_the_paper_sees_is_looked_for_in_every_seed(results: Results, store: Store) -> None:
    row = main.make_row(WHOLE, "wn18", "itransf")
    found = make_attention("wn18")
    other = np.roll(found.weights[1], 1, axis=1)  # tails that use what heads do not
    without = replace(found, weights=np.stack([found.weights[0], other]))
    for seed, each in enumerate((found, without, found)):
        store(replace(row, seed=seed), attention=pack_attention(each))
    (table,) = render(results, "attention").tables
    cells = next(row[3:] for row in table.rows if row[2] == "similar_to (H) and similar_to (T)")
    assert cells[0] == "1.00 (0.00–1.00)"
    assert cells[2] == "2 of 3"


def test_the_overlap_of_all_sides_is_a_mean_over_pairs() -> None:
    found = make_attention("wn18")
    rows = found.weights.reshape(-1, 4)
    pairs = [np.minimum(rows[i], rows[j]).sum() for i in range(10) for j in range(i)]
    assert attention.average_overlap(found) == pytest.approx(float(np.mean(pairs)))


def test_relations_the_paper_names_are_shown_first_and_called_by_its_names(results: Results, store: Store) -> None:
    store_all(store, "attention", WHOLE)
    (found,) = attention.find_attention(results, WHOLE, "fb15k")
    assert [found.relations.label(number) for number in range(5)] == [*attention.SHORT.values(), "/some/other"]
    rare_first = Attention(found.weights, found.relations, found.supports, found.counts[::-1], found.kind)
    assert attention.choose_shown(rare_first, 9)[-1] == "/some/other"
    assert set(attention.choose_shown(rare_first, 4)) == set(attention.SHORT)


def test_a_quick_heat_map_does_not_speak_of_the_papers_relations(results: Results, store: Store) -> None:
    store_all(store, "attention", SMALL)
    section = render(results, "attention", SMALL)
    assert section.tables == []
    assert [picture.name for picture in section.pictures] == ["attention-world", "attention-planted"]


def test_kinds_of_attention_stand_beside_the_papers(results: Results, store: Store) -> None:
    store_all(store, "sparseness", WHOLE)
    section = render(results, "sparseness")
    wn18, fb15k, weights = section.tables
    dense = find_row(wn18, "Dense")
    assert (wn18.title, fb15k.title) == ("WN18, 22 concepts", "FB15k, 15 concepts")
    assert (dense["MR, paper"], dense["MR"], dense["Hits@10, paper"], dense["Hits@10"]) == (
        "199",
        "200",
        "94.0",
        "90.0",
    )
    assert (dense["Epoch, paper"], dense["Epoch"], dense["Steps"]) == ("4m34s", "1.55 s", "fused")
    assert [row[:2] for row in wn18.rows] == [
        (kind, epochs) for epochs in ("300", "2,000") for kind in ("Dense", "Dense + l1", "Sparse")
    ]
    assert find_row(fb15k, "Sparse")["Epoch"] == "0.55 s"
    # 20 weights are not zero, in 10 sides.
    assert find_row(weights, "WN18", "Sparse")["≥ 0.1"] == find_row(weights, "FB15k", "Dense + l1")["≥ 0.01"] == "2.0"
    assert [picture.name for picture in section.pictures] == ["attention-l1-wn18", "attention-l1-fb15k"]


def test_a_length_that_is_given_is_the_only_one() -> None:
    given = replace(WHOLE, settings=("training.epochs=7",))
    lengths = {job.resolve().training.epochs for job in sparseness.list_jobs(given)}
    assert lengths == {7}
    assert len(sparseness.list_jobs(given)) == len(sparseness.list_jobs(WHOLE)) - 6


def test_the_epochs_whose_weights_were_kept_are_told(results: Results, store: Store) -> None:
    training = sparseness.make_training(WHOLE, "wn18", "dense")
    assert sparseness.write_kept([]) == "–"
    for seed, best in enumerate((None, {"epoch": 250}, {"epoch": 1300}, {"epoch": 300})):
        store(replace(training, seed=seed), training={"best": best})
        assert (
            find_row(render(results, "sparseness").tables[0], "Dense")["Kept"]
            == ("–", "250", "250–1,300")[min(seed, 2)]
        )


def test_the_three_kinds_differ_in_nothing_else() -> None:
    for dataset in sparseness.MATRICES:
        for epochs in sparseness.list_lengths(WHOLE):
            jobs = {kind: sparseness.make_training(WHOLE, dataset, kind, epochs) for kind in sparseness.KINDS}
            found = {kind: job.resolve().to_dict() for kind, job in jobs.items()}
            for kind, config in found.items():
                assert config["model"].pop("attention") == kind
                assert config == found["dense"] | {"model": config["model"]}


def test_weights_are_shares_of_their_sides_largest() -> None:
    scaled = sparseness.scale_rows(make_attention("wn18", signed=True))
    assert scaled.weights[0, 0].tolist() == pytest.approx([-1, -1 / 3, 0, 0])
    assert scaled.weights[1, 4].tolist() == [1, 1, 1, 1]
    assert scaled.kind == "l1"
    nothing = Attention(scaled.weights * 0, scaled.relations, scaled.supports, scaled.counts, "l1")
    assert (sparseness.scale_rows(nothing).weights == 0).all()
    assert sparseness.scale_rows(nothing).kind == "sparse"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0123, "0.0123 s"), (59.4, "59.4 s"), (274.0, "4m34s"), (120.2, "2m00s")]
)
def test_times_are_written_as_the_paper_does(seconds: float, text: str) -> None:
    assert sparseness.format_seconds(seconds) == text


def test_fewer_matrices_stand_beside_the_baselines(results: Results, store: Store) -> None:
    store_all(store, "compression", WHOLE)
    wn18, larger, fb15k = render(results, "compression").tables
    assert [row[:2] for row in larger.rows[1:]] == [("ITransF", "18"), ("ITransF", "30")]
    assert [row[:2] for row in wn18.rows[2:]] == [("ITransF", str(m)) for m in (6, 12, 18, 24, 30, 36)]
    assert [row[1] for row in fb15k.rows[-2:]] == ["300", "2,200"]
    stranse, few = find_row(wn18, "STransE"), find_row(wn18, "ITransF", "6")
    assert (stranse["MR, paper"], stranse["MR"]) == ("206", "200")
    assert (few["MR, paper"], few["MR"]) == ("–", "205")
    assert few["Hits@10 against STransE (95 %)"].startswith("+0.50 (+")


def test_a_curve_is_drawn_from_what_there_is(results: Results, store: Store) -> None:
    store(compression.make_point(WHOLE, WN18, 18), mr=210.0)
    section = render(results, "compression")
    assert [picture.name for picture in section.pictures] == ["compression-wn18"]
    pytest.importorskip("matplotlib")
    figure = section.pictures[0].draw()
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["18"]


def test_each_share_of_domain_sampling_stands_beside_the_papers(results: Results, store: Store) -> None:
    store_all(store, "domain-sampling", WHOLE)
    wn18, fb15k = render(results, "domain-sampling").tables
    assert [row[0] for row in wn18.rows] == ["0", "0.0003", "0.001", "0.003"]
    row = find_row(fb15k, "0.003")
    assert (row["MR, paper"], row["Hits@10, paper"], row["MR"]) == ("82", "80.9", "207")
    assert find_row(wn18, "0")["MR, paper"] == "–"


@pytest.mark.parametrize("dataset", ["wn18", "fb15k"])
def test_shares_of_domain_sampling_differ_in_nothing_else(dataset: str) -> None:
    plain, with_it = (main.make_row(WHOLE, dataset, row) for row in ("itransf", "itransf-domain"))
    for value in (0.001, 0.003):
        negatives = replace(with_it.resolve().negatives, domain=value)
        assert domain_sampling.make_training(WHOLE, dataset, value).resolve() == replace(
            with_it.resolve(), negatives=negatives
        )
    assert domain_sampling.make_training(WHOLE, dataset, 0.0) == plain
    assert domain_sampling.make_training(WHOLE, dataset, 0.001) == with_it


def test_sparse_coding_stands_between_stranse_and_itransf(results: Results, store: Store) -> None:
    store_all(store, "sparse-encoding", WHOLE)
    wn18, _, details = render(results, "sparse-encoding").tables
    assert [row[0] for row in wn18.rows] == ["STransE", sparse_encoding.CODED, "STransE, sparse coding", "ITransF"]
    row = find_row(wn18, "STransE, sparse coding")
    assert (row["MR, paper"], row["Hits@10, paper"], row["MR"]) == ("211", "86.6", "204")
    assert details.rows[0] == ("WN18", "30", "0.012", "5.0", "3.5", "2.1", "some 1.0")


def test_as_many_atoms_are_learned_as_there_are_concepts() -> None:
    job = sparse_encoding.make_coding(WHOLE, "fb15k")
    model = main.make_row(WHOLE, "fb15k", "itransf").resolve().model
    assert job.options == (f"atoms={model.concepts}", f"nonzeros={model.support_size}")
    assert job.training == main.make_row(WHOLE, "fb15k", "stranse")
