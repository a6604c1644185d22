from __future__ import annotations

import re
from dataclasses import replace

import pytest

from experiments.reproduction.conftest import Store
from itransf.experiments.reproduction import paper
from itransf.experiments.reproduction.drawing import write_picture
from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import MISSING, Section, Table
from itransf.experiments.reproduction.stages import STAGES, ablation, best, main, rare
from itransf.models import MODELS
from itransf.run.settings import flatten

WHOLE, SMALL = Scope(), Scope(quick=True)
OWN = ("datasets", "frequencies", "selection", "main", "rare", "choices", "rules", "best", "ablation")


def find_row(table: Table, name: str) -> dict[str, str]:
    row = next(row for row in table.rows if row[0].startswith(name))
    return dict(zip(table.columns, row, strict=True))


def write_text(section: Section) -> str:
    return section.to_markdown("page")


@pytest.mark.parametrize("scope", [WHOLE, SMALL], ids=["whole", "quick"])
@pytest.mark.parametrize("name", list(STAGES))
def test_every_stage_can_be_shown_before_anything_is_measured(name: str, scope: Scope, results: Results) -> None:
    section = STAGES[name].render(results, scope)
    assert MISSING in write_text(section)
    assert section.pictures == []


@pytest.mark.parametrize("scope", [WHOLE, SMALL], ids=["whole", "quick"])
@pytest.mark.parametrize("name", OWN)
def test_every_stage_shows_what_its_jobs_give(name: str, scope: Scope, results: Results, store: Store) -> None:
    stage = STAGES[name]
    for job in stage.plan(scope):
        store(job, mr=77.0 + job.seed, hits=0.8)
    section = stage.render(results, scope)
    if name not in ("best", "ablation"):  # where no preset is the best yet, there is nothing to show
        assert MISSING not in write_text(section)
    for picture in section.pictures if scope.quick else ():
        pytest.importorskip("matplotlib")
        assert write_picture(picture, results.folder).stat().st_size > 5000


@pytest.mark.parametrize("name", list(STAGES))
def test_quick_versions_use_bundled_graphs_and_settings_that_fit(name: str) -> None:
    for job in STAGES[name].plan(SMALL):
        assert job.dataset in ("world", "planted")
        assert job.quick
        if job.preset:
            assert job.resolve().training.epochs <= 120


def test_the_main_table_has_every_registered_model() -> None:
    jobs = main.list_jobs(WHOLE)
    trained = {(job.dataset, job.resolve().name) for job in jobs if job.preset}
    assert trained == {(dataset, model) for dataset in ("wn18", "fb15k") for model in MODELS}
    assert sum(job.resolve().negatives.domain > 0 for job in jobs if job.preset) == 2
    assert len(STAGES["main"].plan(WHOLE)) == 4 + 3 * 2 * (len(MODELS) + 1)


def test_the_papers_numbers_stand_beside_ours(results: Results, store: Store) -> None:
    for seed, mr in enumerate((204.0, 209.0, 202.0)):
        store(WHOLE.make_job("wn18/itransf", seed=seed), mr=mr, hits=0.9423)
    wn18, fb15k = STAGES["main"].render(results, WHOLE).tables
    row = find_row(wn18, "ITransF")
    assert (row["MR, paper"], row["MR"], row["Seeds"]) == ("205", "204 (202–209)", "3")
    assert (row["Hits@10, paper"], row["Hits@10"]) == ("94.2", "94.2 (94.2–94.2)")
    low, high = map(float, row["MR, 95 %"].split("–"))
    assert low < 204 < high
    assert find_row(wn18, "STransE")["MR"] == MISSING
    assert find_row(fb15k, "TransR")["MR, paper"] == "77"
    assert find_row(wn18, "One-hop")["MR, paper"] == "–"


def test_the_papers_gap_stands_beside_what_queries_alone_move(results: Results, store: Store) -> None:
    store(WHOLE.make_job("wn18/itransf"), mr=204.0)
    store(SMALL.make_job("wn18/itransf"), mr=204.0)
    text = write_text(STAGES["main"].render(results, WHOLE))
    assert "ITransF 1 ahead of STransE in mean rank (205 against 206)" in text
    width = float(text.partition("median of ITransF's seeds over ")[2].partition(" ranks")[0])
    assert 11 < width < 13  # 1.96 standard deviations of 3 on both sides
    assert "ahead of STransE" not in write_text(STAGES["main"].render(results, SMALL))


def test_how_few_questions_mean_rank_hangs_on_is_told_where_every_seed_has_it(results: Results, store: Store) -> None:
    job = main.make_row(WHOLE, "wn18", "itransf")
    store(job, heaviest=0.8)
    store(replace(job, seed=1))
    assert "worst ranks" not in write_text(STAGES["main"].render(results, WHOLE))
    store(replace(job, seed=1), heaviest=0.9)
    text = write_text(STAGES["main"].render(results, WHOLE))
    assert "the 1 % of questions with the worst ranks make up 85 % (median over seeds)" in text


def test_what_is_not_reached_is_named(results: Results, store: Store) -> None:
    def tell(scope: Scope = WHOLE) -> str:
        return write_text(STAGES["main"].render(results, scope))

    assert "reached" not in tell()
    for row, mr, hits in (("itransf", 204.0, 0.942), ("stranse", 206.0, 0.934)):
        store(WHOLE.make_job(f"wn18/{row}"), mr=mr, hits=hits)
    assert tell().count("All of the paper's figures in this table are reached.") == 1
    for seed, mr in enumerate((232.0, 217.0, 233.0)):
        store(WHOLE.make_job("wn18/itransf-domain", seed=seed), mr=mr, hits=0.952)
    store(WHOLE.make_job("fb15k/itransf"), mr=66.3, hits=0.8095)
    assert (
        "Where the paper's figures are not reached: ITransF, domain sampling has MR 232 for 223, which lies between "
        "its seeds." in tell()
    )
    assert "not reached: ITransF has MR 66.3 for 65; ITransF has Hits@10 80.95 for 81." in tell()
    store(SMALL.make_job("wn18/itransf"), mr=999.0)
    assert "reached" not in tell(SMALL)


def test_a_quick_table_does_not_pretend_to_be_the_papers(results: Results) -> None:
    table = STAGES["main"].render(results, SMALL).tables[0]
    assert {row[1] for row in table.rows} == {"–"}


def test_leakage_is_noted_beside_the_rule_list(results: Results, store: Store) -> None:
    store(WHOLE.make_measure("wn18", "rules"), mr=1261.0, hits=0.938)
    assert "Read WN18" not in write_text(STAGES["main"].render(results, WHOLE))
    store(WHOLE.make_measure("wn18", "describe"))
    text = write_text(STAGES["main"].render(results, WHOLE))
    assert "Read WN18 with care: 94.0 % of its test pairs" in text
    assert "Hits@10 93.8; its mean rank of 1,261" in text


def store_pair(store: Store, scope: Scope, dataset: str) -> None:
    store(main.make_row(scope, dataset, "stranse"), hits=0.5, rare_hits=0.4)
    store(main.make_row(scope, dataset, "itransf"), hits=0.5, rare_hits=0.9)


def test_rare_relations_are_compared_bucket_by_bucket(results: Results, store: Store) -> None:
    store_pair(store, WHOLE, "wn18")
    section = STAGES["rare"].render(results, WHOLE)
    wn18, larger, fb15k, relations = section.tables
    rarest = find_row(wn18, "rarest third")
    assert (rarest["Relations"], rarest["Train triples"], rarest["Test triples"]) == ("rarest third: 2", "5 to 9", "33")
    assert (rarest["STransE"], rarest["ITransF"]) == ("36.7", "95.0")
    assert rarest["Gain (95 %)"].startswith("+58.33 (+")
    assert find_row(wn18, "most frequent")["Gain (95 %)"] == "+0.00 (+0.00 to +0.00)"
    assert find_row(wn18, "the rarest without _hardly")["STransE"] == "40.0"
    assert (larger.rows[0][0], fb15k.rows[0][0]) == (MISSING, MISSING)
    assert [row[0] for row in relations.rows] == ["often", "sometimes", "_rarely", "_hardly"]
    text = write_text(section)
    assert "The paper has 74.4 for STransE and 92.0 for ITransF on WN18's rarest third, which has 2 relations" in text
    assert "`_hardly`, of which test has 3 triples (6 questions), weighs 50.0 points alone" in text
    assert re.search(r"drawn anew, has \d+\.\d–\d+\.\d and \d+\.\d–\d+\.\d there \(95 %\)\.", text)
    assert [picture.name for picture in section.pictures] == ["rare-buckets", "rare-relations"]


def test_settings_for_rare_relations_stand_beside_the_main_tables(results: Results, store: Store) -> None:
    for row, mr, rare_hits in (("stranse-rare", 219.0, 0.4), ("itransf-rare", 218.0, 0.9)):
        store(WHOLE.make_job(f"wn18/{row}"), mr=mr, hits=0.95, rare_hits=rare_hits)
    section = STAGES["rare"].render(results, WHOLE)
    assert [table.title for table in section.tables] == [
        "WN18",
        "WN18, larger batches",
        "FB15k",
        "WN18, larger batches, relation by relation, the most frequent first",
    ]
    assert find_row(section.tables[1], "rarest third")["ITransF"] == "95.0"
    assert [picture.name for picture in section.pictures] == ["rare-buckets", "rare-relations-rare"]
    for row, mr in (("stranse", 199.0), ("itransf", 221.0)):
        store(WHOLE.make_job(f"wn18/{row}"), mr=mr, hits=0.94, rare_hits=0.8)
    section = STAGES["rare"].render(results, WHOLE)
    beside = {row[:2]: row[2:] for row in section.tables[2].rows}
    assert section.tables[2].title == "WN18, larger batches, beside the main table's settings"
    assert beside["STransE", "MR"][:2] == ("219", "199")
    assert beside["STransE", "MR"][2].startswith("+20.0 (")
    assert beside["ITransF", "MR"][2].startswith("-3.0 (")
    assert beside["ITransF", "Hits@10"][2].startswith("+1.00 (")
    assert beside["ITransF", "Hits@10, rarest third"][:2] == ("95.0", "73.3")
    assert "wn18/itransf-best" not in write_text(section)
    store(WHOLE.make_job("wn18/itransf-best"), mr=104.0, rare_hits=0.9)
    text = write_text(STAGES["rare"].render(results, WHOLE))
    assert "`wn18/itransf-best` has 95.0 of the rarest third at MR 104." in text


def test_domain_sampling_is_told_apart_from_what_the_rare_table_shows(results: Results, store: Store) -> None:
    store_pair(store, WHOLE, "wn18")
    assert "With domain sampling" not in write_text(STAGES["rare"].render(results, WHOLE))
    for seed, rare_hits in enumerate((0.8, 1.0, 1.0)):
        store(WHOLE.make_job("wn18/itransf-domain", seed=seed), hits=0.5, rare_hits=rare_hits)
    text = write_text(STAGES["rare"].render(results, WHOLE))
    assert "With domain sampling ITransF has 100.0 (73.3–100.0) there" in text
    assert "the largest gains are `_rarely` +10.0, `_hardly` +0.0." in text
    store_pair(store, SMALL, "wn18")
    store(SMALL.make_job("wn18/itransf-domain"))
    assert "domain sampling ITransF" not in write_text(STAGES["rare"].render(results, SMALL))


def test_rare_relations_need_two_trainings_beyond_the_main_table() -> None:
    assert {job.key for job in {*rare.list_jobs(WHOLE)} - {*main.list_jobs(WHOLE)}} == {
        "wn18-stranse-rare-seed0",
        "wn18-itransf-rare-seed0",
    }
    assert {*rare.list_jobs(SMALL)} <= {*main.list_jobs(SMALL)}


def test_frequencies_are_summed_up(results: Results, store: Store) -> None:
    store(WHOLE.make_measure("wn18", "describe"))
    table = STAGES["frequencies"].render(results, WHOLE).tables[0]
    assert table.rows[0] == ("WN18", "4", "500", "30", "5", "89")


def test_the_papers_counts_stand_above_those_of_the_files(results: Results, store: Store) -> None:
    store(WHOLE.make_measure("wn18", "describe"))
    rows = STAGES["datasets"].render(results, WHOLE).tables[0].rows
    assert rows[0][2:7] == rows[1][2:7] == ("40,943", "18", "141,442", "5,000", "5,000")
    assert [row[1] for row in rows] == ["paper", "here", "paper", "here"]


def test_the_best_presets_are_those_called_so(results: Results, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best, "list_presets", lambda: ["fb15k/itransf", "wn18/itransf", "wn18/itransf-best"])
    assert (best.find_best("wn18"), best.find_best("fb15k")) == ("wn18/itransf-best", None)
    monkeypatch.setattr(best, "find_best", {"wn18": "wn18/itransf"}.get)
    for job in STAGES["best"].plan(WHOLE):
        store(job, mr=190.0 + job.seed, hits=0.955)
    rows = STAGES["best"].render(results, WHOLE).tables[0].rows
    assert rows[0][:4] == ("WN18", "wn18/itransf", "30", "191 (190–192)")
    assert (rows[0][-1], rows[1][2]) == ("3", MISSING)


def test_one_choice_after_the_other_is_taken_back(
    results: Results, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "find_best", {"wn18": "wn18/itransf"}.get)
    jobs = ablation.list_variants(WHOLE, "wn18")
    assert jobs["as it is"] == main.make_row(WHOLE, "wn18", "itransf")
    assert "the paper's loss" not in jobs
    assert jobs["16 negatives"].resolve().negatives.per_triple == 16
    assert {job.method for words, job in jobs.items() if words != "as it is"} == {"validate"}
    assert "vectors are held to unit length" not in jobs
    assert "five concepts on a side" in jobs
    store(jobs["as it is"], mr=200.0, hits=0.94)
    store(jobs["16 negatives"], mr=250.0, hits=0.92)
    (table,) = STAGES["ablation"].render(results, WHOLE).tables
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["as it is"] == ("200", "0.470", "23.5", "94.0")
    assert rows["16 negatives"] == ("250", "0.460", "23.0", "92.0")
    assert rows["one concept on a side"][0] == MISSING


def test_large_graphs_are_trained_for_fewer_epochs_in_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablation, "find_best", {"fb15k": "fb15k/itransf"}.get)
    epochs = {job.resolve().training.epochs for job in ablation.list_variants(WHOLE, "fb15k").values()}
    assert epochs == {ablation.EPOCHS["fb15k"]}


def test_what_departs_from_the_paper_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told = main.note_deviations(WHOLE, "wn18")[0]
    assert "`training.batch_size` 1000 (20)" in told
    assert "loss.margin" not in told
    assert main.note_deviations(SMALL, "wn18") == []
    settings = flatten(WHOLE.make_job("wn18/itransf").resolve().to_dict())
    monkeypatch.setitem(paper.SETTINGS, "wn18", settings)
    (told,) = main.note_deviations(WHOLE, "wn18")
    assert told.startswith("The preset `wn18/itransf` has what the paper gives. `wn18/itransf-domain` differs")
