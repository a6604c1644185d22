from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli.conftest import call
from golden.attentions import make_attention
from golden.comparing import check_golden, make_paper
from itransf.cli.demo import show_result
from itransf.demo import Discovery
from itransf.interpret import concepts_behind, format_heatmap
from itransf.prediction import ScoredTriple

QUICK = [
    *("training.epochs=1", "training.batch_size=1000", "training.optimizer=adam", "loss.name=hinge"),
    *("negatives.per_triple=1", "warm_start.epochs=0", "validation.every=0", "model.dim=8"),
]


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
        "run": "demo/run",
        "heatmap": heatmap,
    }


def make_discoveries() -> list[Discovery]:
    attention, found = make_attention(), []
    triples = (("Paris", "capital_of", "France"), ("Lyon", "near", "Grenoble [city]"), ("Ghana", "P37", "Twi"))
    for head, relation, tail in triples:
        label = attention.relations.label(attention.relations.index(relation))
        triple = ScoredTriple(head, relation, tail, head, label, tail, -1.0, None, 1.0, 1.0, 99.0)
        found.append(Discovery(triple, 0.5, concepts_behind(attention, relation)))
    return found


def test_the_demo_with_a_picture() -> None:
    console, paper = make_paper()
    show_result(make_result("demo/attention.png"), make_discoveries(), "", "", console)
    check_golden("demo.txt", paper.getvalue())


def test_the_demo_without_matplotlib_names_the_extra() -> None:
    console, paper = make_paper()
    missing = "drawing a heat map needs an optional dependency: pip install 'itransf[plots]'"
    show_result(make_result(None), make_discoveries(), format_heatmap(make_attention()), missing, console)
    shown = paper.getvalue()
    assert "█ to 1" in shown
    assert "itransf[plots]" in shown
    assert "The heat map is in" not in shown


def test_json_is_all_that_is_printed(tmp_path: Path) -> None:
    settings = [word for setting in QUICK for word in ("--set", setting)]
    done = call("demo", "--out", tmp_path / "demo", "--json", *settings)
    assert done.code == 0, done.err
    content = json.loads(done.out)
    assert [model["model"] for model in content["models"]] == ["distmult", "complex", "icomplex"]
    assert content["run"] == str(tmp_path / "demo" / "run")
    assert call("info", content["run"]).code == 0
