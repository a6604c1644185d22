"""Commands on an ensemble: each works, or says in one sentence what to do."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import itransf
from cli.conftest import CONCEPTS, QUICK, Outcome, call
from cli.test_predict import make_predictions
from golden.attentions import make_attention
from golden.comparing import check_golden, make_paper
from itransf.cli.concepts import describe_found
from itransf.cli.predict import show_predictions
from itransf.prediction import Agreement


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = tmp_path_factory.mktemp("runs") / "e"
    done = call("train", data, "--out", folder, *QUICK, *CONCEPTS, "--device", "cpu", "--seeds", 3)
    assert done.code == 0, done.err
    return folder, done


@pytest.fixture(scope="module")
def place(trained: tuple[Path, Outcome]) -> Path:
    return trained[0]


@pytest.fixture(scope="module")
def ensemble(place: Path) -> Any:
    return itransf.open(place, device="cpu")


def test_predictions_of_an_ensemble() -> None:
    console, paper = make_paper()
    agreements = [Agreement(3, 3, 1.0, 2.0), Agreement(1, 3, 2.5, 1040.0), Agreement(0, 3, 11.0, 40.0)]
    pairs = zip(make_predictions(), agreements, strict=True)
    found = [replace(each, agreement=agreement).to_dict() for each, agreement in pairs]
    show_predictions(found, console)
    check_golden("predictions_ensemble.txt", paper.getvalue())


def test_concepts_are_listed_by_the_number_of_seeds_that_have_them() -> None:
    attention = make_attention()
    concepts = attention.weights.shape[2]
    found = (3, 1, 3, *[0] * (concepts - 3))
    listed = describe_found(replace(attention, found=found, seeds=3), {0: "city"}).splitlines()
    used = [number for number in (0, 2) if attention.used[number]]
    named = ", ".join({0: "city (0)", 2: "concept 2"}[number] for number in used)
    assert listed == [f"Found in 3 of 3 seeds: {named}", "Found in 1 of 3 seeds: concept 1"]


def test_training_says_which_seed_it_is_at_and_what_to_do_next(trained: tuple[Path, Outcome]) -> None:
    folder, done = trained
    places = [done.err.index(f"Seed {number} of 3\n") for number in (1, 2, 3)]
    assert places == sorted(places)
    assert "Trained 3 seeds of itransf on places: 2 epochs for each seed in" in done.out
    assert f"itransf concepts {folder}" in done.out
    assert sorted(path.name for path in folder.iterdir()) == ["run.json", "seed-0", "seed-1", "seed-2"]


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "RUN"),
        ("predict", "RUN", "--head", "Italy", "--relation", "P36", "--explain"),
        ("predict", "RUN", "--relation", "near"),
        ("score", "RUN", "TRIPLES"),
        ("explain", "RUN", "Italy", "P36", "Roma"),
        ("relation", "RUN", "near"),
        ("concepts", "RUN"),
        ("concepts", "RUN", "--cards"),
        ("concepts", "RUN", "--sharing"),
        ("concepts", "RUN", "--table", "NEW.csv"),
        ("interpret", "RUN", "--no-ranking", "--draws", "20"),
        ("report", "RUN", "--out", "NEW.html"),
        ("info", "RUN"),
        ("runs", "RUN"),
        ("seal", "RUN"),
        ("seal", "RUN", "--check"),
        ("edit", "RUN/seed-1", "--prune", "3", "--epochs", "0", "--out", "NEW"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_command_works(
    place: Path, data: Path, tmp_path: Path, words: tuple[str, ...], options: tuple[str, ...]
) -> None:
    paths = {"RUN": str(place), "NEW": str(tmp_path / "new"), "TRIPLES": str(data / "test.tsv")}
    given = [
        next((word.replace(key, path, 1) for key, path in paths.items() if word.startswith(key)), word)
        for word in words
    ]
    done = call(*given, *options)
    assert done.code == 0, done.err
    assert done.out
    if options:
        json.loads(done.out)


@pytest.mark.parametrize(
    "words",
    [
        ("export", "RUN", "--out", "NEW"),
        ("edit", "RUN", "--prune", "1", "--out", "NEW"),
        ("learn", "RUN", "PAIRS", "--relation", "twin", "--out", "NEW"),
        ("learn", "RUN", "MENTIONS", "--entity", "Nantes", "--out", "NEW"),
        ("concepts", "RUN", "--rename", "0=x"),
    ],
)
def test_a_command_about_one_model_names_a_member(
    place: Path, ensemble: Any, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "pairs.tsv").write_text("Lyon\tMilano\nParis\tMadrid\n")
    (tmp_path / "mentions.tsv").write_text("Nantes\tcity_in\tFrance\n")
    paths = {
        "RUN": place,
        "NEW": tmp_path / "new",
        "PAIRS": tmp_path / "pairs.tsv",
        "MENTIONS": tmp_path / "mentions.tsv",
    }
    done = call(*(paths.get(word, word) for word in words))
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert f"{place} is an ensemble of 3 seeds" in done.err
    assert f"such as {ensemble.locate(ensemble.chosen)} " in done.err
    assert not (tmp_path / "new").exists()


def test_the_members_of_a_baseline_are_measured(place: Path) -> None:
    done = call("interpret", place / "seed-0", "--baseline", place, "--no-ranking", "--draws", 20, "--json")
    assert done.code == 0, done.err
    assert [each["name"] for each in json.loads(done.out)["models"]] == ["itransf"] * 4 + ["random"]


def test_agreement_is_in_the_table_in_json_and_in_files(place: Path, ensemble: Any, tmp_path: Path) -> None:
    asked = ("predict", place, "--head", "Italy", "--relation", "P36", "--top", 2)
    best = ensemble.predict(head="Italy", relation="P36", top=2)[0]
    shown = call(*asked).out
    assert "Agree" in shown.splitlines()[0]
    assert f"{best.agreement.agree} of 3" in shown
    assert json.loads(call(*asked, "--json").out)["predictions"][0] == best.to_dict()
    queries, out = tmp_path / "queries.csv", tmp_path / "answers.csv"
    queries.write_text("head,relation,tail\nItaly,P36,?\n")
    assert "Ranks" in call("predict", place, "--queries", queries).out
    assert call("predict", place, "--queries", queries, "--out", out).code == 0
    with out.open() as file:
        row = next(csv.DictReader(file))
    assert (row["agree"], row["seeds"]) == (str(best.agreement.agree), "3")
    assert float(row["worst_rank"]) == best.agreement.worst_rank
    single = call("predict", place / "seed-0", "--head", "Italy", "--relation", "P36").out
    assert "Agree" not in single


def test_concepts_say_in_how_many_seeds_they_are_found(place: Path, ensemble: Any) -> None:
    found = ensemble.concepts().found
    shown = call("concepts", place).out
    assert f"These are the concepts of {ensemble.locate(ensemble.chosen)}." in shown
    assert f"Found in {max(found)} of 3 seeds: " in shown
    content = json.loads(call("concepts", place, "--json").out)
    assert (content["found"], content["seeds"]) == (list(found), 3)
    assert f"found in     {found[0]} of 3 seeds" in call("concepts", place, "--card", 0).out
    assert "seeds" not in call("concepts", place / "seed-0").out


def test_runs_lists_it_with_its_members_and_seal_checks_all(place: Path) -> None:
    listed = json.loads(call("runs", place, "--json").out)
    assert sorted(Path(each["run"]).name for each in listed) == ["e", "seed-0", "seed-1", "seed-2"]
    (own,) = [each for each in listed if each["run"] == str(place)]
    assert len(own["members"]) == 3
    assert own["metrics"]["test"]["mrr"] > 0
    assert "0 to 2" in call("runs", place).out
    files = json.loads(call("seal", place, "--check", "--json").out)["files"]
    assert {file.partition("/")[0] for file in files} == {"seed-0", "seed-1", "seed-2"}
    assert "seed-1/model.safetensors" in files


def test_an_interrupted_ensemble_says_how_to_go_on(
    data: Path, place: Path, ensemble: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_one, started = itransf.run.opening.train_one, list[int]()

    def interrupt(*args: Any, **options: Any) -> Any:
        started.append(1)
        if len(started) == 2:  # the second member
            raise KeyboardInterrupt
        return train_one(*args, **options)

    words = ("train", data, "--out", tmp_path / "e", *QUICK, *CONCEPTS, "--seeds", 3, "-q")
    with monkeypatch.context() as patch:
        patch.setattr("itransf.run.opening.train_one", interrupt)
        done = call(*words)
    assert done.code == 130
    assert done.err.endswith("--seeds 3 -q --resume\n")
    refused = call("evaluate", tmp_path / "e")
    assert refused.code == 2
    assert f"{tmp_path / 'e'}: the training of this ensemble has not ended" in refused.err
    assert f"such as {tmp_path / 'e' / 'seed-0'}" in refused.err
    assert call("evaluate", tmp_path / "e" / "seed-0").code == 0
    # Settings that are not given again come from the members that are there.
    resumed = call("train", data, "--out", tmp_path / "e", "--seeds", 3, "-q", "--resume", "--json")
    assert resumed.code == 0, resumed.err
    assert json.loads(resumed.out)["config"] == ensemble.config.to_dict()
    assert itransf.open(tmp_path / "e", device="cpu").evaluate()["mrr"] == ensemble.evaluate()["mrr"]


def test_misuse_is_told_in_a_sentence(data: Path, place: Path, tmp_path: Path) -> None:
    none = call("train", data, "--seeds", 0, "--out", tmp_path / "e")
    assert (none.code, none.err.count("\n")) == (2, 1)
    assert "--seeds must be a whole number of at least 1" in none.err
    taken = call("train", data, *QUICK, *CONCEPTS, "--seeds", 3, "--out", place, "-q")
    assert taken.code == 2
    assert "already holds an ensemble; resume it (--seeds N --resume" in taken.err
    copy = shutil.copytree(place, tmp_path / "copy")
    (copy / "seed-1" / "model.safetensors").write_bytes(b"damaged")
    for words in (("evaluate", copy), ("seal", copy, "--check")):
        damaged = call(*words)
        assert damaged.code == 1
        assert "seed-1/model.safetensors: does not match its checksum" in damaged.err
