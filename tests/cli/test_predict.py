from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.conftest import call, write_triples
from golden.attentions import make_attention
from golden.comparing import check_golden, make_paper
from itransf.cli.output import show_shared
from itransf.cli.predict import note_probability, show_predictions, show_scores
from itransf.data import Vocabulary
from itransf.interpret import Use, concepts_behind
from itransf.interpret.sentences import PROBABILITY
from itransf.interpret.sharing import list_users
from itransf.prediction import Prediction, ScoredTriple


def make_predictions() -> list[Prediction]:
    names = [("Q90", "Paris"), ("Q1490", "Tokyo"), ("Q1085", "Prague")]
    return [
        Prediction(name, "capital_of", "Q142", label, "capital of", "France [state]", -1.25 * rank, rank, split)
        for rank, ((name, label), split) in enumerate(zip(names, ("train", "test", None), strict=True), start=1)
    ]


def test_predictions_with_the_concepts_behind_them() -> None:
    console, paper = make_paper()
    show_predictions([found.to_dict() for found in make_predictions()], console)
    console.say("\nConcepts of capital of, and the relations that share them", "bold")
    show_shared(concepts_behind(make_attention(), "capital_of"), console)
    check_golden("predictions.txt", paper.getvalue())


def test_no_answer_is_reported() -> None:
    console, paper = make_paper()
    show_predictions([], console)
    assert "There is no answer" in paper.getvalue()


def test_users_beyond_a_few_are_counted() -> None:
    users = [Use(f"r{place}", f"r{place}", "head", 0.5) for place in range(4)]
    assert list_users(users, 4) == "shared with r0 (H), r1 (H), r2 (H), r3 (H)"
    assert list_users(users, 3) == "shared with r0 (H), r1 (H), r2 (H) and 1 more"
    assert list_users([], 3) == "not shared"


def test_tails_by_name_and_label(run: Path, opened: Any) -> None:
    done = call("predict", run, "--head", "Italy", "--relation", "has capital", "--top", 3, "--json")
    content = json.loads(done.out)
    expected = opened.predict(head="Italy", relation="P36", top=3)
    assert content["predictions"] == [prediction.to_dict() for prediction in expected]
    assert content["query"] == {"head": "Italy", "relation": "has capital", "tail": None}
    assert content["concepts"]["head"][0]["others"]


@pytest.mark.parametrize(
    "asked",
    [
        ("--relation", "near", "--tail", "Rome"),
        ("--relation", "near"),
        ("--relation", "near", "--any"),
        ("--head", "Paris", "--tail", "Lyon"),
    ],
)
def test_other_questions(run: Path, asked: tuple[str, ...]) -> None:
    done = call("predict", run, *asked, "--known", "--top", 2)
    assert done.code == 0, done.err
    assert "Score" in done.out


def test_held_out_triples_are_answers_and_marked(run: Path, tmp_path: Path) -> None:
    asked = ("predict", run, "--head", "Lille", "--relation", "near", "--top", 50)
    held_out = [line for line in call(*asked).out.splitlines() if "held out" in line]
    assert len(held_out) == 1
    assert held_out[0].split()[1:4] == ["Lille", "near", "Lyon"]
    found = json.loads(call(*asked, "--json").out)["predictions"]
    assert {each["tail"]: each["known"] for each in found if each["known"]} == {"Lyon": "test"}
    queries = tmp_path / "queries.csv"
    queries.write_text("head,relation,tail\nLille,near,?\nParis,near,?\n")
    assert "train" not in call("predict", run, "--queries", queries, "--top", 50).out
    told = call("predict", run, "--queries", queries, "--top", 50, "--known").out
    assert told.count("held out") == told.count("train") == 1


def test_answers_fit_the_relation_unless_all_are_searched(run: Path) -> None:
    def ask(*options: str) -> list[tuple[str, str]]:
        asked = ("--relation", "city_in", "--top", 500, "--more")
        found = json.loads(call("predict", run, *asked, "--json", *options).out)
        return [(triple["head"], triple["tail"]) for triple in found["predictions"]]

    countries = {"France", "Spain", "Italy", "Poland"}
    assert ask()
    assert all(head not in countries and tail in countries for head, tail in ask())
    assert any(tail not in countries for _, tail in ask("--any"))


def test_the_only_answer_is_said_first_and_others_come_when_asked_for(run: Path, tmp_path: Path) -> None:
    asked = ("predict", run, "--head", "Lyon", "--relation", "city_in")
    done = call(*asked)
    told = "Already in train: Lyon – city_in – France. In train, each head of city_in has one tail."
    assert " ".join(done.out.split()) == f"{told} Others are ranked only with --more."
    content = json.loads(call(*asked, "--json").out)
    assert [triple["tail"] for triple in content["answered_by"]] == ["France"]
    assert content["predictions"] == []
    for option in ("--more", "--known"):
        shown = call(*asked, option).out
        assert " ".join(shown.split()).startswith(told)
        assert "Poland" in shown
    assert json.loads(call(*asked, "--more", "--json").out)["answered_by"] == content["answered_by"]
    several = json.loads(call("predict", run, "--relation", "city_in", "--tail", "France", "--json").out)
    assert several["answered_by"] == []
    assert several["predictions"]
    assert call("predict", run, "--relation", "city_in").out.startswith("There is no answer")  # all cities have theirs
    queries = tmp_path / "queries.csv"
    queries.write_text("head,relation,tail\nLyon,city_in,?\n?,city_in,France\n")
    done = call("predict", run, "--queries", queries, "--json")
    warned = "only answer to 1 of 2 queries, such as Lyon – city_in – France."
    assert f"{warned} Others are ranked only with --more." in done.err
    assert {answer["query"] for answer in json.loads(done.out)["predictions"]} == {2}
    for option in ("--more", "--known"):
        done = call("predict", run, "--queries", queries, "--json", option)
        assert warned + "\n" in done.err
        assert {answer["query"] for answer in json.loads(done.out)["predictions"]} == {1, 2}


def test_a_model_without_concepts_predicts_without_reasons(transe_run: Path) -> None:
    done = call("predict", transe_run, "--head", "Italy", "--relation", "P36", "--json")
    assert json.loads(done.out)["concepts"] is None
    assert "Concepts" not in call("predict", transe_run, "--head", "Italy", "--relation", "P36").out


def test_candidates_restrict_the_answers(run: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("Rome\nMilano\n")
    asked = ("predict", run, "--head", "Spain", "--relation", "P36", "--candidates", names)
    done = call(*asked, "--json")
    assert {found["tail"] for found in json.loads(done.out)["predictions"]} == {"Roma", "Milano"}
    names.write_text("Rome\nMilan\n")
    done = call(*asked)
    assert done.code == 2
    assert "line 2" in done.err
    assert "Milano" in done.err


def test_queries_go_to_a_file(run: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.csv"
    queries.write_text("head,relation,tail\nItaly,P36,?\n?,near,Rome\nLyon,?,Rome\n")
    out = tmp_path / "answers.csv"
    asked = ("predict", run, "--queries", queries, "--top", 2, "--more")
    done = call(*asked, "--out", out)
    assert done.code == 0, done.err
    assert "5 answers to 3 queries" in done.err
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["query"] for row in rows] == ["1", "1", "2", "2", "3"]
    assert {row["head"] + row["tail"] for row in rows[4:]} == {"LyonRoma"}
    shown = call(*asked, "--json")
    assert [row["head"] for row in json.loads(shown.out)["predictions"]] == [row["head"] for row in rows]
    assert rows[0]["tail_label"] in call(*asked).out
    assert {row["relation_label"] for row in rows[:2]} == {"has capital"}
    told = call(*asked, "--out", out, "--json")
    assert json.loads(told.out) == {"queries": 3, "answers": 5, "out": str(out)}


def test_answers_do_not_replace_their_questions(run: Path, tmp_path: Path) -> None:
    queries, link = tmp_path / "queries.csv", tmp_path / "link.csv"
    queries.write_text("head,relation,tail\nItaly,P36,?\n")
    link.symlink_to(queries)
    for out in (queries, link):
        done = call("predict", run, "--queries", queries, "--out", out)
        assert done.code == 2
        assert "would replace the queries" in done.err
    assert queries.read_text() == "head,relation,tail\nItaly,P36,?\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--head", "Itly", "--relation", "P36"), "Did you mean 'Italy'"),
        (("--head", "Italy", "--relation", "neer"), "Did you mean 'near'"),
        (("--head", "Pluto", "--relation", "P36"), "itransf find RUN TEXT"),
        (("--head", "Italy"), "too little to predict"),
        (("--head", "Italy", "--relation", "P36", "--tail", "Roma"), "nothing to predict"),
        (("--queries", "q.tsv", "--head", "Italy"), "leave out --head"),
        (("--head", "Italy", "--relation", "P36", "--out", "x.xls"), "'.xls'"),
        (("--queries", "q.tsv", "--out", "x.xls"), "'.xls'"),
        (("--queries", "nowhere.tsv"), "nowhere.tsv"),
        (("--head", "Italy", "--relation", "P36", "--candidates", "nowhere.txt"), "nowhere.txt"),
    ],
)
def test_mistakes_are_misuse(arguments: tuple[str, ...], message: str, run: Path) -> None:
    done = call("predict", run, *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""


def test_questions_without_an_answer_say_so(run: Path, opened: Any, tmp_path: Path) -> None:
    graph = opened.graph
    head, relation, tail = graph.train[0].tolist()
    asked, known = tmp_path / "asked.csv", tmp_path / "known.txt"
    asked.write_text(f"head,relation,tail\n{graph.entities.name(head)},{graph.relations.name(relation)},?\n")
    known.write_text(f"{graph.entities.name(tail)}\n")
    done = call("predict", run, "--queries", asked, "--candidates", known)
    assert done.code == 0, done.err
    assert done.out.startswith("There is no answer")
    assert "Score" in call("predict", run, "--queries", asked, "--candidates", known, "--known").out


def test_scores_as_a_table() -> None:
    triples = [
        ScoredTriple("Q90", "P36", "Q142", "Paris", "capital of", "France", -0.5, "train", 1.0, 2.5, 99.96),
        ScoredTriple("Q90", "P36", "Q183", "Paris", "capital of", "Germany", -12.25, None, 1033.0, 339.5, 8.0),
    ]
    console, paper = make_paper()
    show_scores([triple.to_dict() for triple in triples], console)
    check_golden("scores.txt", paper.getvalue())


def test_triples_of_a_file_are_scored_in_order(run: Path, opened: Any, tmp_path: Path) -> None:
    triples = [("Paris", "capital_of", "France"), ("Lyon", "near", "Rome")]
    done = call("score", run, write_triples(tmp_path / "triples.tsv", triples), "--json")
    assert json.loads(done.out)["triples"] == [{**each.to_dict(), "problem": None} for each in opened.score(triples)]
    shown = call("score", run, tmp_path / "triples.tsv").out
    assert shown.index("Paris") < shown.index("Rome")


def test_a_name_that_is_not_known_is_reported_with_its_line(run: Path, opened: Any, tmp_path: Path) -> None:
    triples = [("Lyonn", "near", "Rome"), ("Paris", "capital_of", "France")]
    path = write_triples(tmp_path / "triples.tsv", triples)
    done = call("score", run, path)
    assert done.code == 0
    assert "triples.tsv, line 1: unknown entity" in " ".join(done.out.split())
    assert "'Lyonn'. Did you mean 'Lyon'?" in done.out
    unknown, known = json.loads(call("score", run, path, "--json").out)["triples"]
    assert (unknown["head"], unknown["score"], known["problem"]) == ("Lyonn", None, None)
    assert "'Lyonn'" in unknown["problem"]
    assert known["score"] == opened.score(triples[1:])[0].score
    assert call("score", run, path, "--out", tmp_path / "scores.csv").code == 0
    rows = (tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[0] for row in rows] == ["head", "Lyonn", "Paris"]


def test_columns_that_are_left_out_are_told_beside_the_scores(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "triples.csv"
    path.write_text("weight,head,relation,tail\n3,Paris,capital_of,France\n", encoding="utf-8")
    done = call("score", run, path, "--json")
    assert len(json.loads(done.out)["triples"]) == 1
    assert "left out: weight" in done.err


def test_relations_with_less_reliable_probabilities_are_named() -> None:
    console, paper = make_paper()
    names = Vocabulary(["likes", "crowned_in", "found_later"], kind="relation")
    graph = SimpleNamespace(relations=names, share_answered=lambda number: (float("nan"), 0.07, 0.07)[number])
    calibration = SimpleNamespace(lacks_skill=lambda number: number == 0, covers=lambda number: number < 2)
    run: Any = SimpleNamespace(graph=graph, calibration=calibration)
    note_probability(run, [{"relation": name, "probability": None} for name in ("crowned_in", "found_later")], console)
    assert paper.getvalue() == "found_later: no probability, as the relation was learned later.\n"
    paper.truncate(paper.seek(0))
    note_probability(run, [{"relation": name, "probability": 0.5} for name in ("crowned_in", "likes")], console)
    first, *others = paper.getvalue().splitlines()
    assert first == f"Prob.: {PROBABILITY}."
    assert others == [
        "likes: on the validation set, the model ranks answers no better than popularity.",
        "crowned_in: only 7% of the entities that fit have this relation in the data; "
        "the probabilities of new triples are too high.",
    ]
