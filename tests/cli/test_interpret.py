from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from cli.conftest import CONCEPTS, QUICK, call
from golden.comparing import check_golden, make_paper
from interpret.pages_checking import check_page
from itransf.cli.interpret import show_interpretations
from itransf.interpret.measures import Interpretation
from itransf.interpret.measures.structure import Finding, report_missing

FEW = ("--draws", 20, "--device", "cpu")


def make_interpretations() -> list[Interpretation]:
    own = (
        Finding(
            "sparse attention", "at most 5 weights, sum 1", 1.0, 1.0, 1.0, None, None, 66, "relation sides", (1.0,)
        ),
        Finding("inverse pairs", "average precision", 0.343, 0.028, 0.802, 0.021, 0.0005, 5, "gold pairs", (0.3, 0.4)),
        report_missing("domains by top concept", "purity", "names of relations have no domain"),
        Finding("faithful weights", "heaviest / lightest loss", 1711.1, 361, 3e4, 1.0, 0.0005, 66, "sides", (), "so"),
    )
    other = (
        Finding("inverse pairs", "average precision", 0.723, 0.5, 0.9, 0.02, 0.0005, 5, "gold pairs", (0.723,)),
        report_missing("sparse attention", "at most 5 weights, sum 1", "there are no concepts"),
    )
    return [Interpretation("itransf", 2, own), Interpretation("stranse", 1, other)]


def test_what_people_see() -> None:
    console, paper = make_paper(100)
    show_interpretations("world", make_interpretations(), console)
    check_golden("interpretation.txt", paper.getvalue())


@pytest.fixture(scope="module")
def other_seed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "seed-1"
    done = call("train", data, "--out", folder, *QUICK, *CONCEPTS, "--seed", 1, "--quiet", "--device", "cpu")
    assert done.code == 0, done.err
    return folder


def test_runs_beside_a_baseline(run: Path, other_seed: Path, transe_run: Path) -> None:
    done = call("interpret", run, other_seed, "--baseline", transe_run, "--json", *FEW)
    assert done.code == 0, done.err
    assert "in more than the seed" not in done.err
    found = json.loads(done.out)
    assert found["graph"] == "places"
    assert [(each["name"], each["runs"]) for each in found["models"]] == [("itransf", 2), ("transe", 1), ("random", 1)]
    by_name = {finding["measure"]: finding for finding in found["models"][0]["findings"]}
    assert by_name["sparse attention"]["value"] == 1.0
    assert by_name["inverse pairs"]["remark"].endswith("no inverse pairs")
    assert "faithful weights" in by_name


def test_the_table_says_what_was_not_measured(run: Path) -> None:
    done = call("interpret", run, "--no-ranking", *FEW)
    assert done.code == 0, done.err
    assert "itransf on places, 1 run" in done.out
    missing = " ".join(done.out.partition("Not measured")[2].split())
    assert "stability over seeds" in missing
    assert "one run alone" in missing
    assert "faithful" not in done.out


def test_runs_with_other_settings_are_remarked(run: Path, transe_run: Path) -> None:
    done = call("interpret", run, transe_run, "--no-ranking", *FEW)
    assert done.code == 0, done.err
    assert "in more than the seed" in " ".join(done.err.split())


def test_a_mirrored_start_is_noted(run: Path, data: Path, tmp_path: Path) -> None:
    settings = (*QUICK, *CONCEPTS, "--set", "assignment.init=mirrored")
    done = call("train", data, "--out", tmp_path / "mirrored", *settings, "--quiet", "--device", "cpu")
    assert done.code == 0, done.err
    told = " ".join(call("interpret", tmp_path / "mirrored", "--no-ranking", *FEW).err.split())
    assert "assignment.init = mirrored" in told
    assert "mirrored" not in call("interpret", run, "--no-ranking", *FEW).err


def test_mistakes_are_reported(run: Path, tmp_path: Path) -> None:
    done = call("interpret", tmp_path / "nothing")
    assert done.code != 0
    assert "nothing" in done.err
    assert call("interpret", run, "--draws", 3).code == 2
    for options, message in (
        ((run, "--draws", 10**20), "draws must be at most 100,000"),
        ((run, run.parent / "." / run.name), "a run is given twice"),
    ):
        done = call("interpret", *options)
        assert done.code == 2, options
        assert message in done.err


def test_a_run_that_is_another_again_is_remarked(run: Path, other_seed: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "copy")
    told = " ".join(call("interpret", run, tmp_path / "copy", other_seed, "--no-ranking", *FEW).err.split())
    assert re.search(f"copy has .*the seed of {run}", told.replace("- ", "-"))
    assert f"{other_seed} has the" not in told


def test_a_report_is_written_and_its_path_printed(run: Path, tmp_path: Path) -> None:
    done = call("report", run, "--out", tmp_path / "report.html")
    assert done.code == 0, done.err
    assert f"The report is in {tmp_path / 'report.html'}" in done.out
    assert "ranking" in done.err
    text = "".join(check_page((tmp_path / "report.html").read_text(encoding="utf-8")).text)
    assert "has capital" in text
    assert "MRR on test" in text


def test_json_tells_place_and_size_alone(run: Path, tmp_path: Path) -> None:
    done = call("report", run, "--out", tmp_path / "report.html", "--split", "valid", "--triples", "1", "--json")
    content = json.loads(done.out)
    assert content == {"report": str(tmp_path / "report.html"), "bytes": (tmp_path / "report.html").stat().st_size}
    assert done.err == ""


def test_a_model_without_concepts_has_a_report_too(transe_run: Path, tmp_path: Path) -> None:
    done = call("report", transe_run, "--out", tmp_path / "report.html")
    assert done.code == 0, done.err


@pytest.mark.parametrize(("name", "message"), [("report.pdf", "written as .html"), ("report", "written as .html")])
def test_mistakes_about_reports_are_misuse(name: str, message: str, run: Path, tmp_path: Path) -> None:
    done = call("report", run, "--out", tmp_path / name)
    assert done.code == 2
    assert message in done.err


def test_a_path_that_cannot_be_written_is_refused_before_any_work(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("itransf.Run.evaluate")
    (tmp_path / "page.html").mkdir()
    done = call("report", run, "--out", tmp_path / "page.html")
    assert done.code == 1
    assert "is a folder" in done.err
