from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.records import read_records

from benchmarks import large
from itransf.training import Trainer


def test_triples_are_distinct_and_every_entity_is_a_head() -> None:
    drawn = large.draw_triples(2000, 40, 6000, seed=0)
    assert drawn.shape == (6000, 3)
    assert len(np.unique(drawn, axis=0)) == 6000
    assert set(drawn[:, 0]) == set(range(2000))
    counts = np.sort(np.bincount(drawn[:, 2], minlength=2000))
    assert counts[-400:].sum() > counts[:-400].sum()  # a fifth of the entities has more than half of the tails


def test_every_step_is_measured_stored_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_here(options: Any, name: str) -> dict[str, Any]:
        monkeypatch.setattr(Trainer, "_shuffle", Trainer._shuffle)  # what a step changes is undone
        return large.Step(options).measure(name)

    monkeypatch.setattr(large, "run_apart", run_here)
    sizes = {"entities": 200, "relations": 20, "triples": 600, "share": 0.5, "settings": "model.dim=4"}
    given = {**sizes, "folder": tmp_path / "large", "results": tmp_path}
    asked = [word for key, value in given.items() for word in (f"--{key}", str(value))]
    large.main([*asked, "--minutes", "1e-9"])
    assert not (tmp_path / "benchmark-large.json").exists()
    large.main(asked)
    record = read_records(tmp_path)["large"]
    assert list(record["steps"]) == list(large.STEPS)
    page = large.render(record)
    assert page.count("| a whole epoch of ") == 2
    assert "No step above 8.00 GB: met" in page
    del record["steps"]["score"]
    assert "not complete" in large.render(record)
