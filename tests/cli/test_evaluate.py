from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import TRAIN, call, write_triples
from golden.comparing import check_golden, make_paper
from itransf.cli.evaluate import show_evaluation
from itransf.cli.options import parse_memory
from itransf.errors import ConfigError
from itransf.evaluation import Skill

NAN = float("nan")


def make_metrics(mr: float, mrr: float, queries: int = 2074) -> dict[str, float]:
    return {
        "mr": mr,
        "mrr": mrr,
        "amri": NAN if math.isnan(mr) else 0.5336,
        "hits@1": mrr / 2,
        "hits@3": mrr,
        "hits@10": mrr * 1.25,
        "queries": queries,
    }


def make_sides(mr: float, mrr: float, queries: int = 2074) -> dict[str, dict[str, float]]:
    return {
        "both": make_metrics(mr, mrr, queries),
        "head": make_metrics(mr * 2, mrr * 0.9, queries // 2),
        "tail": make_metrics(mr / 2, mrr * 1.1, queries // 2),
    }


def make_evaluation() -> dict[str, Any]:
    """Return an evaluation as a dictionary, made by hand."""
    buckets = [
        {
            "bucket": place,
            "relations": 11,
            "ranked_relations": 11,
            "train_triples": span,
            "weighting": "relation",
            **make_metrics(23.46 + place, 0.6512 - place / 10, 1486 // (place + 1)),
        }
        for place, span in enumerate(([196, 1012], [92, 196], [31, 85]))
    ]
    relations = [
        {
            "relation": "r1",
            "label": "near",
            "train_triples": 1012,
            "category": "N-N",
            **make_sides(9.5, 0.8, 252),
            "typed": make_metrics(3.5, 0.78, 252),
            "skill": Skill(252, 0.78, 0.0322, 0.0123, 0.7123, 0.8123).to_dict(),
        },
        {
            "relation": "r2",
            "label": "/people/person/spouse_s./people/marriage/type_of_union",
            "train_triples": 31,
            "category": "1-1",
            **make_sides(1234.5, 0.0123, 8),
            "typed": make_metrics(24.5, 0.123, 8),
            "skill": Skill(8, 0.123, 0.4, 0.05, -1.0, 0.4).to_dict(),
        },
    ]
    categories = [
        {"category": "1-1", **make_sides(NAN, NAN, 0)},
        *({"category": name, **make_sides(40.0, 0.5, 346)} for name in ("1-N", "N-1", "N-N")),
    ]
    return {
        "split": "test",
        "ties": "realistic",
        "filtered": make_sides(23.46, 0.6512),
        "raw": make_sides(41.94, 0.4321),
        "optimistic": {"both": make_metrics(23.4, 0.6513)},
        "pessimistic": {"both": make_metrics(23.5, 0.6507)},
        "typed": make_sides(12.34, 0.7012),
        "relations": relations,
        "buckets": buckets,
        "categories": categories,
    }


def test_an_evaluation_as_tables() -> None:
    console, paper = make_paper()
    show_evaluation(make_evaluation(), console, relations=True)
    check_golden("evaluation.txt", paper.getvalue())


def test_two_rules_that_differ_by_less_than_a_point_are_shown_once() -> None:
    console, paper = make_paper()
    evaluation = make_evaluation()
    show_evaluation({**evaluation, "typed": evaluation["filtered"]}, console)
    assert "Type-constrained" not in paper.getvalue()
    assert "Standard protocol" in paper.getvalue()


def test_triples_that_are_also_in_train_are_noted() -> None:
    console, paper = make_paper()
    show_evaluation({**make_evaluation(), "also_in_train": 1000}, console)
    shown = " ".join(paper.getvalue().split())
    assert "1,000 of 1,037 ranked test triples are also in train, so the model was shown them" in shown


def test_tables_fit_eighty_columns() -> None:
    console, paper = make_paper()
    show_evaluation(make_evaluation(), console, relations=True)
    assert max(len(line.rstrip()) for line in paper.getvalue().splitlines()) <= 80


def test_json_is_the_evaluation_with_null_for_nothing(run: Path, opened: Any) -> None:
    done = call("evaluate", run, "--json")
    assert done.code == 0
    content = json.loads(done.out, parse_constant=pytest.fail)
    expected = opened.evaluate().to_dict()
    assert content["filtered"] == expected["filtered"]
    assert content["raw"] == expected["raw"]
    assert list(content)[:4] == ["split", "ties", "filtered", "raw"]
    empty = [entry for entry in content["categories"] if entry["both"]["queries"] == 0]
    assert empty
    assert all(entry["both"]["mrr"] is None for entry in empty)


def test_options_reach_the_evaluation(run: Path) -> None:
    options = ("--split", "train", "--ties", "pessimistic", "--buckets", 2, "--bucket-edges", "log")
    done = call("evaluate", run, *options, "--bucket-weighting", "query", "--memory", "1kB", "--json")
    content = json.loads(done.out)
    assert (content["split"], content["ties"]) == ("train", "pessimistic")
    assert len(content["buckets"]) == 2
    assert {bucket["weighting"] for bucket in content["buckets"]} == {"query"}


def test_relations_are_listed_when_asked_for(run: Path) -> None:
    assert "has capital" not in call("evaluate", run).out
    assert "has capital" in call("evaluate", run, "--relations").out


def test_a_split_without_triples_is_misuse(tmp_path: Path) -> None:
    import itransf
    from cli.conftest import CONCEPTS, QUICK

    write_triples(tmp_path / "only" / "train.tsv", TRAIN)
    folder = tmp_path / "run"
    settings = [word for word in (*QUICK, *CONCEPTS) if word != "--set"]
    itransf.train(tmp_path / "only", settings=settings, out=folder, progress=False)
    done = call("evaluate", folder)
    assert done.code == 2
    assert "no test triples" in done.err


@pytest.mark.parametrize(
    ("text", "size"),
    [("512MB", 512 * 10**6), ("2GB", 2 * 10**9), ("1.5 GiB", 3 * 2**29), ("4096", 4096), ("8k", 8000)],
)
def test_memory_is_read_with_its_unit(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["lots", "", "-5MB", "5XB", "3iB"])
def test_memory_that_is_no_size_is_refused(text: str, run: Path) -> None:
    with pytest.raises(ConfigError, match="512MB"):
        parse_memory(text)
    assert call("evaluate", run, f"--memory={text}").code == 2


def test_no_memory_is_refused(run: Path) -> None:
    done = call("evaluate", run, "--memory", "0")
    assert done.code == 2
    assert "memory must be" in done.err


@pytest.mark.parametrize("command", ["evaluate", "info", "concepts"])
def test_a_missing_run_says_how_to_make_one(command: str, tmp_path: Path) -> None:
    done = call(command, tmp_path / "nowhere")
    assert done.code == 2
    assert "there is no such run" in done.err
    assert "itransf train" in done.err


def test_a_damaged_run_is_a_failure(run: Path, tmp_path: Path) -> None:
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(run, broken)
    (broken / "model.safetensors").write_bytes(b"nonsense")
    done = call("evaluate", broken)
    assert done.code == 1
    assert "model.safetensors" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--triples", 5, "--relations"), "not ranks; leave out --relations, --triples"),
        (("--ties", "optimistic", "--buckets", 2), "leave out --ties, --buckets"),
        (("--bucket-edges", "log", "--bucket-weighting", "query"), "leave out --bucket-edges, --bucket-weighting"),
        (("--weighted",), "leave out --weighted"),
        (("--plot", "plot.jpg"), "plot.jpg: a picture is written as .png or .svg"),
    ],
)
def test_what_calibration_does_not_obey_is_refused_before_any_work(arguments: tuple[object, ...], message: str) -> None:
    done = call("evaluate", "nowhere", "--calibration", *arguments)
    assert done.code == 2
    assert message in done.err
