from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from reproduction.experiments import HERE, Row, read_experiments
from reproduction.page import fill_template, write_pages
from reproduction.results import Results

from itransf.errors import DataError, MissingExtraError

ROOT = HERE.parent
STORED = Results(ROOT / "results" / "reproduction")
PAGES = sorted((HERE / "pages").glob("*.md"))


@pytest.mark.parametrize("template", PAGES, ids=lambda path: path.stem)
def test_the_page_in_docs_is_what_the_stored_results_give(template: Path) -> None:
    page = (ROOT / "docs" / template.name).read_text(encoding="utf-8")
    assert page == fill_template(template.read_text(encoding="utf-8"), STORED)
    assert "{{" not in page
    pictures = re.findall(r"\]\((reproduction/\S+\.png)\)", page)
    assert all((ROOT / "docs" / picture).is_file() for picture in pictures)


def test_the_main_page_is_short_and_names_every_experiment() -> None:
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert len(page.split()) < 4100
    assert all(f"`{name}`" in page for name in read_experiments() if name not in ("selection",))


def test_outdated_results_are_named_and_shown_nowhere(results: Results, make: Callable[..., dict]) -> None:
    job = Row("", "wn18/itransf").make_job()
    record = make(job, mr=123.0)
    record["config"]["training"]["epochs"] = 7
    results.store(job, record)
    assert fill_template("{{outdated}} {{count}}", results).endswith("of their preset: `wn18-itransf-seed0`. 1")
    assert "123" not in fill_template("{{tables | main}}", results)


def test_what_falls_short_of_the_paper_is_listed(results: Results, store: Callable[..., None]) -> None:
    store(Row("", "wn18/itransf").make_job(), mr=205.4, hits=0.9419)
    short = fill_template("{{short | main}}", results)
    assert "MR 205, paper 205" in short
    assert "Hits@10 94.2, paper 94.2" in short
    store(Row("", "wn18/itransf").make_job(), mr=204.0, hits=0.942)
    assert fill_template("{{short | main}}", results) == "none"


def test_deviations_of_a_preset_from_the_paper_are_listed(results: Results) -> None:
    found = fill_template("{{deviations | wn18/itransf}}", results)
    assert "`training.batch_size` 1000 (20)" in found
    assert "model.dim" not in found


def test_pages_need_results_and_figures(
    results: Results, store: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="no results"):
        write_pages(tmp_path / "docs", results.folder)
    for name in ("wn18", "fb15k"):
        store(Row("", dataset=name, method="describe").make_job())
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError):
        write_pages(tmp_path / "docs", results.folder)
    assert not (tmp_path / "docs" / "reproduction.md").exists()
