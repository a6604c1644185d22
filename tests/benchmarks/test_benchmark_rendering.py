from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.comparing import compare, judge_memory, judge_times
from benchmarks.peers import TARGETS, plan_tasks, read_options
from benchmarks.records import ROOT, read_records, start_record
from benchmarks.render import main, render

from itransf.experiments.bench.records import summarise

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
    assert f"| 100 (99 to 101) | {ratio['ratio']:.1f}x | at least 5x: **missed** |" in line
    (ranked,) = find_lines(page, "wn18", "itransf ITransF, l1 |")
    assert ranked.endswith("| 799 | 1.00 GB | under 1.5 GB: met |")
    (plain,) = find_lines(page, "wn18", "itransf ITransF, l1, without `fast`")
    assert "at least" not in plain
    assert "under" not in plain
    assert "with the extra `fast`" in page
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
    page = render(
        {"peers": record, "other": {"benchmark": "other", "command": "python -m benchmarks.other", "date": "today"}}
    )
    assert "`results/benchmark-other.json`: `python -m benchmarks.other`, today" in page


@pytest.fixture
def engine() -> dict[str, Any]:
    """Return a made-up record of the engine."""
    measures = {
        "epoch: FB15k, m 300, batch 1000": (0.12, 0.15),
        "epoch: FB15k, m 15, batch 1000": (0.08, None),
        "ranking: FB15k test, l1": (0.9, 0.7),
    }
    return start_record("engine", 0, {"device": "cuda"}, ()) | {
        "measures": {
            name: {
                "seconds": {"median": median, "low": median / 2, "high": 2 * median},
                "bar": bar,
                "met": None if bar is None else median <= bar,
            }
            for name, (median, bar) in measures.items()
        }
    }


def test_the_engine_stands_beside_its_bars(engine: dict[str, Any]) -> None:
    page = render({"engine": engine})
    (epoch,) = find_lines(page, "epoch: FB15k, m 300")
    assert epoch == "| epoch: FB15k, m 300, batch 1000 | 0.1200 | 0.0600 to 0.2400 | at most 0.15 s | met |"
    (ranking,) = find_lines(page, "ranking: FB15k")
    assert ranking.endswith("| at most 0.7 s | **missed** |")
    (flat,) = find_lines(page, "m 15 against m 300")
    assert "| 1.50x |" in flat
    assert flat.endswith("| within 1.2x | **missed** |")
    engine["measures"].pop("epoch: FB15k, m 15, batch 1000")
    assert not find_lines(render({"engine": engine}), "m 15 against m 300")


def test_a_gpu_is_named(engine: dict[str, Any]) -> None:
    engine["hardware"] |= {"gpu": "Some GPU", "cpu": "Some CPU", "memory_bytes": None}
    assert "- Machine: Some GPU; Some CPU, " in render({"engine": engine})


def test_machines_stand_beside_their_ceilings() -> None:
    record = start_record("bench", 0, {"data": "world", "device": "cpu"}, ()) | {
        "ceilings": {"product": {"flops": 1e11}, "copy": {"bytes": 2e10}},
        "counted": {"triple": "A triple.", "query": "A query."},
        "measures": [
            {
                "activity": "training",
                "unit": "triples",
                "dim": 50,
                "concepts": 30,
                "counted": 3000,
                "rate": 1e5,
                "cost": {"flops": 45000.0, "bytes": 1000.0},
                "flops": 4.5e9,
                "bytes": 1e8,
                "of_product": 0.045,
                "of_copy": 0.005,
            }
        ],
    }
    (line,) = find_lines(render({"bench-cpu": record}), "training, n 50, m 30")
    assert line.endswith("| 3,000 triples | 100,000 triples/s | 45.0 | 4.50 | 4.5% | 0.10 | 0.5% |")


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "docs" / "performance.md"
    main(["--results", str(tmp_path), "--out", str(out)])
    assert out.read_text(encoding="utf-8") == render({})
    assert "wrote" in capsys.readouterr().out


@pytest.mark.skipif(not PAGE.is_file(), reason="the page was not written yet")
def test_the_page_in_docs_is_what_the_stored_records_give() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(read_records()), "run: python -m benchmarks.render"
