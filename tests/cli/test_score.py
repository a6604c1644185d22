from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli.conftest import call, write_triples
from golden.comparing import check_golden, make_paper
from itransf.cli.score import tabulate_scores
from itransf.prediction import ScoredTriple


def test_scores_as_a_table() -> None:
    triples = [
        ScoredTriple("Q90", "P36", "Q142", "Paris", "capital of", "France", -0.5, "train", 1.0, 2.5, 99.96),
        ScoredTriple("Q90", "P36", "Q183", "Paris", "capital of", "Germany", -12.25, None, 1033.0, 339.5, 8.0),
    ]
    console, paper = make_paper()
    console.print(tabulate_scores(triple.to_dict() for triple in triples))
    check_golden("scores.txt", paper.getvalue())


def test_triples_of_a_file_are_scored_in_order(run: Path, opened: Any, tmp_path: Path) -> None:
    triples = [("Paris", "capital_of", "France"), ("Lyon", "near", "Rome")]
    done = call("score", run, write_triples(tmp_path / "triples.tsv", triples), "--json")
    assert json.loads(done.out)["triples"] == [triple.to_dict() for triple in opened.score(triples)]
    shown = call("score", run, tmp_path / "triples.tsv").out
    assert shown.index("Paris") < shown.index("Rome")


def test_a_name_that_is_not_known_is_told_with_its_line(run: Path, tmp_path: Path) -> None:
    triples = [("Paris", "capital_of", "France"), ("Lyonn", "near", "Rome")]
    done = call("score", run, write_triples(tmp_path / "triples.tsv", triples))
    assert done.code == 2
    assert "triples.tsv, line 2" in done.err
    assert "Lyon" in done.err


def test_columns_that_are_left_out_are_told_beside_the_scores(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "triples.csv"
    path.write_text("weight,head,relation,tail\n3,Paris,capital_of,France\n", encoding="utf-8")
    done = call("score", run, path, "--json")
    assert len(json.loads(done.out)["triples"]) == 1
    assert "left out: weight.\n" in done.err
