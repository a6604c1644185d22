from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.comparing import compare, judge_memory, judge_times
from benchmarks.peers import TARGETS, plan_tasks, read_options
from benchmarks.records import ROOT, read_records, start_record, summarise
from benchmarks.render import main, render

PAGE = ROOT / "docs" / "performance.md"


@pytest.fixture
def record() -> dict[str, Any]:
    """Return a made-up record: task number i of the plan, from one, ran at 100 i - 1, 100 i and 100 i + 1."""
    options = read_options(["--threads", "2"])
    rows: list[dict[str, Any]] = []
    for number, task in enumerate(plan_tasks(options), start=1):
        rates = [100.0 * number + offset for offset in (-1.0, 0.0, 1.0)]
        repetitions = [{"units": int(2 * rate), "seconds": 2.0, "rate": rate, "peak_bytes": 10**9} for rate in rates]
        row = {**vars(task), "repetitions": repetitions, "rate": summarise(rates), "peak_bytes": 10**9}
        rows.append(row)
    config = {key: value for key, value in vars(options).items() if key != "out"}
    starts = {"import": {"seconds": [0.125], **summarise([0.125])}}
    return start_record("peers", 0, config, ()) | {
        "missing": [],
        "targets": TARGETS,
        "rows": rows,
        "comparisons": compare(rows, TARGETS),
        "memory": judge_memory(rows, TARGETS),
        "starts": judge_times(starts, TARGETS),
    }


def find_lines(page: str, *words: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("|") and all(word in line for word in words)]


def test_without_a_record_the_page_says_so() -> None:
    page = render({})
    assert "There is no record" in page
    assert "python -m benchmarks.peers" in page
    assert not find_lines(page)


def test_rates_ratios_and_targets_come_from_the_record(record: dict[str, Any]) -> None:
    page = render({"peers": record})
    (line,) = find_lines(page, "wn18", "itransf ITransF |")
    ratio = record["comparisons"][0]
    assert f"| 100 (99 to 101) | {ratio['ratio']:.1f}x | at least 3x: **missed** |" in line
    (ranked,) = find_lines(page, "wn18", "itransf ITransF, l1")
    assert ranked.endswith("| 699 | 1.00 GB | under 1.5 GB: met |")
    (started,) = find_lines(page, "import itransf")
    assert "| 0.12 s | under 0.3 s: met |" in started


def test_peers_have_no_ratio_and_no_target(record: dict[str, Any]) -> None:
    for line in find_lines(render({"peers": record}), "PyKEEN"):
        assert "x |" not in line
        assert "met" not in line


def test_other_figures_give_another_page(record: dict[str, Any]) -> None:
    before = render({"peers": record})
    record["rows"][0]["rate"] = summarise([123456.0])
    assert "123,456" in render({"peers": record})
    assert "123,456" not in before


def test_what_is_missing_or_failed_is_named(record: dict[str, Any]) -> None:
    record["missing"] = ["torchkge"]
    record["rows"][1] |= {"repetitions": [], "rate": None, "peak_bytes": None, "error": "ran out of memory"}
    page = render({"peers": record})
    assert "left out: TorchKGE" in page
    assert "PyKEEN TransR failed: ran out of memory" in page
    assert find_lines(page, "PyKEEN TransR", "| failed |")


def test_a_dirty_tree_is_admitted(record: dict[str, Any]) -> None:
    record["git"] = {"commit": "abc", "dirty": True}
    assert "Commit: abc, with uncommitted changes" in render({"peers": record})
    record["git"] = {"commit": "abc", "dirty": False}
    assert "uncommitted" not in render({"peers": record})


def test_unknown_records_are_listed(record: dict[str, Any]) -> None:
    page = render({"peers": record, "other": {"command": "python -m benchmarks.other", "date": "today"}})
    assert "`results/benchmark-other.json`: `python -m benchmarks.other`, today" in page


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "docs" / "performance.md"
    main(["--results", str(tmp_path), "--out", str(out)])
    assert out.read_text(encoding="utf-8") == render({})
    assert "wrote" in capsys.readouterr().out


@pytest.mark.skipif(not PAGE.is_file(), reason="the page was not written yet")
def test_the_page_in_docs_is_what_the_stored_records_give() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(read_records()), "run: python -m benchmarks.render"
