from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli.conftest import call
from golden.attentions import make_attention
from golden.comparing import check_golden, make_paper
from itransf.cli.demo import show_result
from itransf.interpret import format_heatmap

QUICK = [
    *("training.epochs=1", "training.batch_size=1000", "training.optimizer=adam", "loss.name=hinge"),
    *("negatives.per_triple=1", "warm_start.epochs=0", "validation.every=0", "model.dim=8"),
]


def name(head: str, relation: str, tail: str) -> dict[str, str]:
    return {"head_label": head, "relation_label": relation, "tail_label": tail}


def make_result(heatmap: str | None) -> dict[str, Any]:
    models = [
        {
            "model": name,
            "mr": 40.04 - 5 * place,
            "mrr": 0.5 + place / 10,
            "hits@1": 0.4,
            "hits@3": 0.55,
            "hits@10": 0.7123,
            "hits@10_rare": 0.3 + place / 10,
            "seconds": 20.4 + place,
        }
        for place, name in enumerate(("distmult", "complex", "icomplex"))
    ]
    return {
        "models": models,
        "rare_relations": 11,
        "hidden": {"hits@1": 0.8123, "hits@10": 0.95},
        "recovered": [{**name("Paris", "capital of", "France"), "candidates": 1240}],
        "discoveries": [
            {**name("Nuuk", "largest city of", "Greenland"), "reason": "Nuuk – capital of – Greenland; 3 of 4"},
            {**name("Lyon", "near", "Grenoble [city]"), "reason": "like Lyon – near – Paris"},
        ],
        "run": "demo/run",
        "heatmap": heatmap,
    }


def test_the_demo_with_a_picture() -> None:
    console, paper = make_paper()
    show_result(make_result("demo/attention.png"), "", "", console)
    check_golden("demo.txt", paper.getvalue())


def test_the_demo_without_matplotlib_names_the_extra() -> None:
    console, paper = make_paper()
    missing = "drawing a picture needs an optional dependency; in a clone of itransf: pip install '.[plots]'"
    show_result(make_result(None), format_heatmap(make_attention()), missing, console)
    shown = paper.getvalue()
    assert "█ to 1" in shown
    assert ".[plots]" in shown
    assert "The heat map is in" not in shown


def test_json_is_all_that_is_printed(tmp_path: Path) -> None:
    settings = [word for setting in QUICK for word in ("--set", setting)]
    done = call("demo", "--out", tmp_path / "demo", "--json", *settings)
    assert done.code == 0, done.err
    content = json.loads(done.out)
    assert [model["model"] for model in content["models"]] == ["distmult", "complex", "icomplex"]
    assert content["run"] == str(tmp_path / "demo" / "run")
    assert call("info", content["run"]).code == 0
