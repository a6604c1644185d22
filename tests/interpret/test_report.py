from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interpret.pages_checking import check_page
from itransf.data import Graph
from itransf.errors import ConfigError, DataError, WriteError
from itransf.interpret.report import choose_triples
from itransf.models import Sizes
from itransf.run import Run
from stubs import BilinearConfig, BilinearModel, TransH

SECTIONS = ("metrics", "relations", "heatmap", "concepts", "sharing", "findings", "examples", "settings")
EVIL = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def run(random_graph: Callable, short: Callable) -> Run:
    graph: Graph = random_graph(entities=20, relations=6, train=120, valid=30, test=40)
    labels = {"r1": EVIL, "e1": f"{EVIL} & co", "r2": "/film/film/genre"}
    found: Run = short(graph.labelled(labels), "itransf", "model.concepts=6")
    return found


def test_a_report_has_all_its_sections_and_stands_alone(run: Run, tmp_path: Path) -> None:
    path = run.report(tmp_path / "deep" / "report.html")
    page = path.read_text(encoding="utf-8")
    reader = check_page(page)
    assert set(SECTIONS) <= set(reader.ids)
    assert {f"concept-{number}" for number in range(6)} >= {name for name in reader.ids if name.startswith("concept-")}
    assert page.count("<tr>") > 6
    assert len(page) < 500_000
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_names_cannot_become_scripts(run: Run, tmp_path: Path) -> None:
    run = Run(run.graph, run.config, run.model, run.history, {0: EVIL})
    page = run.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    reader = check_page(page)
    assert reader.tags.count("script") == 4  # the data and three scripts
    assert EVIL in "".join(reader.text)


def test_the_figures_are_those_of_an_evaluation(run: Run, tmp_path: Path) -> None:
    shown = {}
    for split in ("test", "valid"):
        page = run.report(tmp_path / "report.html", split, most_triples=3).read_text(encoding="utf-8")
        shown[split] = "".join(check_page(page).text)
        assert f"{run.evaluate(split)['mrr']:.3f}MRR on {split}" in shown[split]
    assert "3 of them ranked" in shown["valid"]


@pytest.mark.parametrize("kind", [BilinearModel, TransH])
def test_a_model_that_cannot_be_explained_has_a_report_that_says_so(
    kind: type, random_graph: Callable, short: Callable, tmp_path: Path
) -> None:
    run = short(random_graph(), "transe")
    sizes = Sizes(len(run.graph.entities), len(run.graph.relations))
    model = kind(sizes, BilinearConfig() if kind is BilinearModel else run.config.model)
    report = Run(run.graph, run.config, model, run.history).report(tmp_path / "report.html")
    text = "".join(check_page(report.read_text(encoding="utf-8")).text)
    assert f"{kind.__name__} has no concepts" in text
    assert f"{kind.__name__} cannot be split" in text
    assert "MRR on test" in text


def test_a_model_without_concepts_tells_its_figures_and_says_why_not_more(
    random_graph: Callable, short: Callable, tmp_path: Path
) -> None:
    run = short(random_graph(), "transe")
    reader = check_page(run.report(tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "TransE has no concepts" in "".join(reader.text)
    assert "concepts" not in reader.ids
    assert "relations" in reader.ids


def test_a_model_without_sides_is_reported_without_a_word_on_them(signed_run: Run, tmp_path: Path) -> None:
    reader = check_page(signed_run.report(tmp_path / "report.html").read_text(encoding="utf-8"))
    assert {*SECTIONS} <= set(reader.ids)
    text = "".join(reader.text)
    assert "antisymmetric" in text
    assert "Adds most to the scores of" in text
    for word in ("sides", "(H)", "Moves", "Head concepts"):
        assert word not in text


@pytest.mark.parametrize("kind", ["dense", "l1"])
def test_other_kinds_of_attention_are_reported_too(
    kind: str, random_graph: Callable, short: Callable, tmp_path: Path
) -> None:
    run = short(random_graph(), "itransf", f"model.attention={kind}")
    reader = check_page(run.report(tmp_path / "report.html").read_text(encoding="utf-8"))
    assert set(SECTIONS) <= set(reader.ids)


def test_without_triples_to_rank_the_rest_is_reported(random_graph: Callable, short: Callable, tmp_path: Path) -> None:
    run = short(random_graph(valid=0, test=0), "itransf", "validation.every=0")
    text = "".join(check_page(run.report(tmp_path / "report.html").read_text(encoding="utf-8")).text)
    assert "nothing was measured" in text
    assert "no validation triples" in text
    with pytest.raises(DataError, match="no valid triples"):
        run.report(tmp_path / "report.html", split="valid")


def test_places_that_cannot_be_are_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"written as \.html"):
        run.report(tmp_path / "report.pdf")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match="cannot be written"):
        run.report(tmp_path / "file" / "report.html", most_triples=1)


def test_examples_repeat_no_relation_and_are_found_or_missed(run: Run) -> None:
    ranks = run.evaluate().ranks
    chosen = choose_triples(ranks, hits=4, misses=3)
    for missed in (False, True):
        rows = [row for row, is_missed in chosen if is_missed == missed]
        relations = ranks.triples[rows, 1].tolist()
        assert len(set(relations)) == len(relations)
        places = ranks.ranks("tail")[rows]
        assert (places > 10).all() if missed else (places <= 1).all()
    assert any(is_missed for _, is_missed in chosen)


def test_many_relations_stay_within_bounds(random_graph: Callable, short: Callable, tmp_path: Path) -> None:
    graph = random_graph(entities=30, relations=400, train=3000, valid=10, test=10)
    run = short(graph, "itransf", "model.concepts=20", "training.epochs=1", "training.batch_size=3000")
    page = run.report(tmp_path / "report.html", most_triples=1).read_text(encoding="utf-8")
    reader = check_page(page)
    assert "60 of 400 relations" in "".join(reader.text)
    assert len(page) < 1_500_000
