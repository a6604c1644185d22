from __future__ import annotations

import json
from pathlib import Path

import pytest

import itransf
from cli.conftest import CONCEPTS, QUICK, TRAIN, Outcome, call, write_triples
from itransf.cli.train import write_resuming


def test_training_prints_ranks_and_what_to_do_next(trained: tuple[Path, Outcome]) -> None:
    folder, done = trained
    assert "itransf on places: 2 epochs" in done.out
    assert "filtered  both" in done.out
    assert f"\n  itransf predict {folder} --head" in done.out.partition("What next")[2]
    assert f"itransf concepts {folder}" in done.out
    assert "16 entities, 4 relations, 27 triples" in done.err


def test_the_commands_it_recommends_work(trained: tuple[Path, Outcome], tmp_path: Path) -> None:
    import shlex

    lines = [line.strip() for line in trained[1].out.splitlines() if line.startswith("  itransf ")]
    assert len(lines) == 3
    for line in lines:
        arguments = [str(tmp_path / "c.svg") if word == "concepts.png" else word for word in shlex.split(line)]
        assert call(*arguments[1:]).code == 0


def test_labels_are_kept_in_the_run(run: Path) -> None:
    assert itransf.open(run).graph.relations.label(2) == "has capital"


def test_json_holds_the_run_its_settings_and_its_ranks(data: Path, tmp_path: Path) -> None:
    done = call("train", data, "--out", tmp_path / "run", *QUICK, *CONCEPTS, "--json", "--seed", 7)
    assert done.code == 0
    content = json.loads(done.out)
    assert content["run"] == str(tmp_path / "run")
    assert content["config"]["seed"] == 7
    assert content["config"]["model"]["concepts"] == 4
    assert content["evaluation"]["filtered"]["both"]["queries"] == 4


def test_one_command_trains_and_writes_a_report(data: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = call("train", data, "--out", tmp_path / "run", *QUICK, *CONCEPTS, "-q", "--report", page)
    assert done.code == 0, done.err
    assert f"Report: {page}" in done.out
    assert "<html" in page.read_text(encoding="utf-8")
    refused = call("train", data, "--out", tmp_path / "other", *QUICK, "--report", tmp_path / "page.pdf")
    assert refused.code == 2
    assert "a report is written as .html" in refused.err
    assert not (tmp_path / "other").exists()


def test_the_default_folder_is_named_after_data_and_model(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("train", data, *QUICK, "--set", "model.name=transe", "-q")
    assert done.code == 0, done.err
    assert (tmp_path / "runs" / "places-transe" / "run.json").is_file()
    assert done.err == ""
    assert "What next" not in done.out


def test_a_config_file_is_overridden_by_single_settings(data: Path, tmp_path: Path) -> None:
    config = tmp_path / "mine.toml"
    config.write_text('[model]\nname = "stranse"\ndim = 3\n[training]\nepochs = 9\n')
    done = call("train", data, "--config", config, *QUICK[2:-2], "--out", tmp_path / "run", "--json", "-q")
    assert done.code == 0, done.err
    content = json.loads(done.out)["config"]
    assert (content["model"]["name"], content["model"]["dim"]) == ("stranse", 3)
    assert content["training"]["epochs"] == 2


def test_an_occupied_folder_is_refused_replaced_or_continued(data: Path, tmp_path: Path) -> None:
    arguments = ("train", data, "--out", tmp_path / "run", *QUICK, *CONCEPTS, "-q", "--json")
    assert call(*arguments).code == 0
    refused = call(*arguments)
    assert refused.code == 2
    assert "--resume" in refused.err
    assert "--overwrite" in refused.err
    assert call(*arguments, "--overwrite").code == 0
    longer = call(*arguments, "--set", "training.epochs=3", "--resume")
    assert longer.code == 0, longer.err
    assert json.loads(longer.out)["epochs"] == 3
    assert longer.err.startswith("Note: ")
    assert "training.lr_decay" in longer.err
    assert call(*arguments, "--set", "training.epochs=3", "--resume").err == ""


def test_other_settings_or_triples_are_misuse_and_damage_is_a_failure(data: Path, tmp_path: Path) -> None:
    arguments = ("train", data, "--out", tmp_path / "run", *QUICK, *CONCEPTS, "-q", "--resume")
    assert call(*arguments).code == 0
    assert call(*arguments, "--set", "model.dim=7").code == 2
    write_triples(tmp_path / "other" / "train.tsv", TRAIN[1:])
    assert call("train", tmp_path / "other", *arguments[2:]).code == 2
    (checkpoint,) = (tmp_path / "run").glob("checkpoint-*")
    checkpoint.write_bytes(b"damaged")
    damaged = call(*arguments)
    assert damaged.code == 1
    assert f"{checkpoint.name}: " in damaged.err


def test_mistakes_are_found_before_the_data_are_read(run: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.tsv"
    assert "already holds a run" in call("train", missing, "--out", run).err
    assert "no preset" in call("train", missing, "--preset", "wn18/nonsense").err
    assert "missing.tsv" in call("train", missing, "--out", tmp_path / "new").err


@pytest.mark.parametrize("way", [(), ("--resume",), ("--overwrite",)])
def test_a_folder_of_something_else_is_left_alone_with_true_advice(
    data: Path, tmp_path: Path, way: tuple[str, ...]
) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    done = call("train", data, "--out", tmp_path, *QUICK, *CONCEPTS, "-q", *way)
    assert done.code == 2
    assert f"{tmp_path}: is not a run" in done.err
    assert "--overwrite" not in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_written_is_named(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = call("train", data, "--out", tmp_path / "file" / "run", *QUICK, *CONCEPTS, "-q")
    assert done.code == 1
    assert f"the folder {tmp_path / 'file' / 'run'} cannot be written: " in done.err
    assert "choose another" in done.err


def test_labels_of_unknown_names_are_counted(data: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.tsv"
    labels.write_text("Roma\tRome\nPluto\tthe ninth\n", encoding="utf-8")
    done = call("data", "info", data, "--labels", labels)
    assert done.code == 0
    assert "Note: 1 of 2 labels" in done.err
    assert "'Pluto'" in done.err


def test_resume_and_overwrite_exclude_each_other(data: Path) -> None:
    done = call("train", data, "--resume", "--overwrite")
    assert done.code == 2
    assert "exclude each other" in done.err


def test_final_trains_on_all_triples_and_says_where_its_metrics_come_from(data: Path, tmp_path: Path) -> None:
    out, final = tmp_path / "run", tmp_path / "run-final"
    assert call("train", data, "--out", out, "--seeds", 2, "--final").code == 2
    first = call("train", data, "--out", out, *QUICK, *CONCEPTS, "--resume")
    assert first.code == 0, first.err
    assert f"There is nothing to resume in {out}: a new run begins\nTraining on places" in first.err
    done = call("train", data, "--out", out, *QUICK, *CONCEPTS, "--final", "--resume")
    assert done.code == 0, done.err
    assert "Resuming on places" in done.err
    assert "nothing to resume" not in done.err
    assert f"Trained on all 30 triples for {itransf.open(final).info()['epochs']} epochs: {final}." in done.out
    assert f"Its metrics are those of {out}, above." in done.out
    info, judged = call("info", final), call("evaluate", final)
    assert "Final    trained on all triples; Best and Test are of the run it was chosen by (Parent)" in info.out
    assert judged.code == 2
    assert "no test triples are left to evaluate it on" in judged.err
    assert "itransf (final)" in call("runs", tmp_path).out
    taken = call("train", data, "--out", tmp_path / "run", "--overwrite", "--final", *QUICK, *CONCEPTS, "--json")
    assert json.loads(taken.out)["final"]["run"] == str(final)


def test_weights_are_read_stored_and_used_by_evaluation(tmp_path: Path) -> None:
    path, out = tmp_path / "sales.csv", tmp_path / "run"
    rows = [f"{h},{r},{t},{number % 5 + 1}\n" for number, (h, r, t) in enumerate(TRAIN)]
    path.write_text("".join(["head,relation,tail,units\n", *rows]), encoding="utf-8")
    done = call("train", path, "--weight", "units", "--out", out, *QUICK, *CONCEPTS)
    assert done.code == 0, done.err
    assert "Each triple counts in the loss by its weight, from 1 to 5." in done.err
    assert "counted by weights" in call("evaluate", out, "--weighted").out
    assert call("evaluate", out, "--weighted", "--calibration").code == 2
    assert "no column 'unit'" in call("train", path, "--weight", "unit").err
    assert call("train", path, "--out", out, "--resume", *QUICK, *CONCEPTS).code == 2


def test_types_restrict_the_answers(data: Path, tmp_path: Path) -> None:
    types, domains = tmp_path / "types.csv", tmp_path / "domains.csv"
    cities = "".join(f"{head},city\n" for head, relation, _ in TRAIN if relation == "city_in")
    types.write_text(cities + "".join(f"{name},country\n" for name in ("France", "Spain", "Italy", "Poland")))
    domains.write_text("near,city,city\n")
    options = ("--types", types, "--domains", domains, "--out", tmp_path / "run", *QUICK, *CONCEPTS)
    done = call("train", data, *options)
    assert done.code == 0, done.err
    run = itransf.open(tmp_path / "run")
    assert {each.tail for each in run.predict(head="Lyon", relation="near", top=99)} <= {
        line.partition(",")[0] for line in cities.split()
    }
    assert len(run.graph.typing.candidates(run.graph.relations.index("near"), "tail")) == 12
    done = call("train", data, "--domains", domains)
    assert (done.code, "give them with --types" in done.err) == (2, True)


def test_a_single_file_is_split_and_the_note_is_a_warning(tmp_path: Path) -> None:
    path = write_triples(tmp_path / "triples.csv", [(f"{h},{r},{t}", "", "") for h, r, t in TRAIN])
    path.write_text("".join(",".join(triple) + "\n" for triple in TRAIN))
    done = call("train", path, "--out", tmp_path / "run", *QUICK, *CONCEPTS, "--no-header", "--json")
    assert done.code == 0, done.err
    assert "Note: " in done.err
    assert "was split with seed 0" in done.err
    assert json.loads(done.out)["triples"]["train"] > 0


def test_settings_without_effect_are_reported(tmp_path: Path) -> None:
    write_triples(tmp_path / "only" / "train.tsv", TRAIN)
    idle = ("--set", "loss.name=cross_entropy", "--set", "loss.margin=2")
    done = call("train", tmp_path / "only", "--out", tmp_path / "run", *QUICK, *CONCEPTS, *idle)
    assert done.code == 0, done.err
    assert "Note: loss.margin " in done.err
    assert "'cross_entropy'" in done.err
    again = call("train", tmp_path / "only", "--out", tmp_path / "run", *QUICK, *CONCEPTS, *idle, "--resume")
    assert "no effect" not in again.err


def test_without_test_triples_nothing_is_ranked(tmp_path: Path) -> None:
    write_triples(tmp_path / "only" / "train.tsv", TRAIN)
    done = call("train", tmp_path / "only", "--out", tmp_path / "run", *QUICK, *CONCEPTS, "-q")
    assert done.code == 0, done.err
    assert "no test triples" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("wrold",), "Did you mean 'world'"),
        (("world", "--set", "model.dmi=3"), "Did you mean 'model.dim'"),
        (("world", "--set", "training.epochs"), "section.key=value"),
        (("world", "--set", "training.epochs=many"), "training.epochs"),
        (("world", "--set", "negatives.shared=maybe"), "must be true or false"),
        (("world", "--set", "model.name=itrans"), "Did you mean 'itransf'"),
        (("world", "--preset", "wn18/itrans"), "Did you mean 'wn18/itransf"),
        (("world", "--config", "nowhere.toml"), "nowhere.toml"),
        (("world", "--labels", "nowhere.tsv"), "nowhere.tsv"),
        (("world", "--set", "model.concepts=3"), "model.support_size"),
    ],
)
def test_mistakes_are_misuse_and_leave_nothing_behind(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("train", *arguments)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert not list(tmp_path.iterdir())


def test_a_bad_line_is_named(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    write_triples(folder / "train.tsv", TRAIN)
    with (folder / "train.tsv").open("a") as file:
        file.write("only\ttwo\n")
    done = call("train", folder)
    assert done.code == 2
    assert f"train.tsv, line {len(TRAIN) + 1}" in done.err


def test_strict_refuses_names_train_does_not_have(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "strange"
    write_triples(folder / "train.tsv", TRAIN)
    write_triples(folder / "test.tsv", [("Atlantis", "near", "Paris")])
    done = call("train", folder, "--strict", "--out", tmp_path / "run")
    assert done.code == 2
    assert "Atlantis" in done.err


def test_an_interrupt_tells_how_to_go_on(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(vars(itransf), "train", interrupt)
    done = call("train", data, "--out", tmp_path / "my run", "--overwrite", "-q")
    assert done.code == 130
    assert done.err.endswith(f"itransf train {data} --out '{tmp_path / 'my run'}' -q --resume\n")


def test_the_resuming_command_keeps_everything_but_overwrite() -> None:
    arguments = ["train", "x", "--set", "training.epochs=5", "--overwrite"]
    assert write_resuming(arguments) == "itransf train x --set training.epochs=5 --resume"
