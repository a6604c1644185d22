from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.reproduction.conftest import Store, make_record
from itransf.errors import ConfigError, DataError, MissingExtraError
from itransf.experiments.reproduction import list_stages, write_page
from itransf.experiments.reproduction import page as page_module
from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.stages import STAGES

ROW = Scope().make_job("wn18/itransf")


def read_page(results: Results, folder: Path) -> str:
    return write_page(folder / "docs" / "reproduction.md", results.folder).read_text(encoding="utf-8")


def test_the_page_has_a_section_for_every_stage_even_where_nothing_is_measured(
    results: Results, store: Store, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="there is no result in it"):
        read_page(results, tmp_path)
    assert not (tmp_path / "docs").exists()
    store(Scope(quick=True).make_job("wn18/itransf"))
    page = read_page(results, tmp_path)
    assert page.startswith("# Reproduction\n")
    titles = [line for line in page.splitlines() if line.startswith("## ")]
    assert len(titles) == len(set(titles)) == len(STAGES) + 2
    assert titles[-2:] == ["## Results and the commands that gave them", "## The paper's claims"]
    assert all(f"\n`itransf reproduce {name}`\n" in page for name in STAGES)
    assert "not measured yet" in page


def test_every_result_is_listed_with_its_command_and_every_figure_is_there(
    results: Results, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(page_module, "STAGES", {name: STAGES[name] for name in ("datasets", "main", "rare")})
    for job in STAGES["rare"].plan(Scope(seeds=(0,))):
        store(job)
    page = read_page(results, tmp_path)
    for record in results.records.values():
        assert f"| `{record['key']}` | `{record['command']}` | 0123456789 | Some CPU | 2026-01-02 |" in page
    pictures = [line.rpartition("(")[2].rstrip(")") for line in page.splitlines() if line.startswith("![")]
    assert "reproduction/rare-buckets.png" in pictures
    for picture in pictures:
        assert (tmp_path / "docs" / picture).read_bytes().startswith(b"\x89PNG")
    assert "Made with other settings" not in page
    assert "ITransF on WN18 has 4.0 MB of weights; ITransF on FB15k has 4.0 MB" in page


def test_outdated_results_are_named_and_shown_nowhere(results: Results, tmp_path: Path) -> None:
    record = make_record(ROW, mr=123.0, device="cuda", hardware={"cpu": "c", "gpu": "Some GPU"})
    record["config"]["training"]["epochs"] = 7
    record["git"]["dirty"] = True
    results.store(ROW, record)
    page = read_page(results, tmp_path)
    assert "123" not in page.partition("## Results and")[0]
    assert "0123456789* | Some GPU |" in page
    assert "- `wn18-itransf-seed0`: training.epochs: 7 then, " in page


def test_a_page_without_its_figures_is_not_written(
    results: Results, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(Scope().make_measure("wn18", "describe"))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError):
        read_page(results, tmp_path)
    assert not (tmp_path / "docs" / "reproduction.md").exists()


def test_stages_are_asked_for_by_name() -> None:
    assert [stage.name for stage in list_stages("rare")] == ["rare"]
    assert [stage.name for stage in list_stages("all")] == list(STAGES)
    with pytest.raises(ConfigError, match=r"no table or figure 'rear' here\. Did you mean 'rare'"):
        list_stages("rear")


def test_what_is_noted_of_results_is_told_once_for_all_seeds(results: Results, store: Store, tmp_path: Path) -> None:
    store(ROW)
    assert "What is noted" not in read_page(results, tmp_path)
    for seed in (1, 2):
        store(replace(ROW, seed=seed), note="made elsewhere")
    assert "(all seeds of a row):\n\n- made elsewhere: `wn18-itransf`\n" in read_page(results, tmp_path)
