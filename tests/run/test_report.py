from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch

from interpret.pages_checking import PageReader, check_page
from itransf.data import Graph
from itransf.errors import ConfigError, DataError, WriteError
from itransf.evaluation.skill import BETTER, NO_BETTER
from itransf.interpret.sentences import NO_PROBABILITY, PROBABILITY, format_probability, write_triple
from itransf.models import SIDES, Sizes
from itransf.prediction.inputs import LabelledTriple, name_triple
from itransf.run import Run, report
from itransf.run.report import DOUBTFUL, NEW, NEW_OF_RELATION, SEARCHED, choose_triples, list_connected
from stubs import BilinearConfig, BilinearModel

ANSWERS = ("new", "held-out", "doubtful", "entities", "relations")
CONCEPTS = ("heatmap", "concepts", "sharing")
MEASURES = ("metrics", "findings", "settings")
SECTIONS = (*ANSWERS, *CONCEPTS, *MEASURES)
EVIL = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def run(random_graph: Callable, short: Callable) -> Run:
    graph: Graph = random_graph(entities=20, relations=6, train=120, valid=30, test=40)
    labels = {"r1": EVIL, "e1": f"{EVIL} & co", "r2": "/film/film/genre"}
    found: Run = short(graph.labelled(labels), "itransf", "model.concepts=6")
    return found


@pytest.fixture(scope="module")
def path(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run.report(tmp_path_factory.mktemp("report") / "deep" / "report.html")


@pytest.fixture(scope="module")
def page(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def bare_page(run: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the report of a run with a named concept and without calibration."""
    return write(Run(run.graph, run.config, run.model, run.history, {0: EVIL}), tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def signed_page(signed_run: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(signed_run, tmp_path_factory.mktemp("signed"))


def write(run: Run, folder: Path) -> str:
    return run.report(folder / "report.html").read_text(encoding="utf-8")


def read_text(page: str, section: str | None = None) -> str:
    """Return the text of a page, or of one of its sections, as a reader sees it."""
    if section is not None:
        page = page.split(f'<section id="{section}">')[1].split("</section>", maxsplit=1)[0]
    return " ".join("".join(PageReader(page).text).split())


def test_a_report_has_all_its_sections_in_order_and_stands_alone(path: Path, page: str) -> None:
    reader = check_page(page)
    assert tuple(name for name in reader.ids if name in SECTIONS) == SECTIONS
    assert {f"concept-{number}" for number in range(6)} >= {name for name in reader.ids if name.startswith("concept-")}
    assert page.count("<tr>") > 6
    assert len(page) < 500_000
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_a_phone_shows_all_of_it(page: str) -> None:
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert page.count("<table") == page.count('<div class="scroll"><table') > 3
    assert ".scroll { overflow-x: auto;" in page
    assert "display: none" not in page.split("@media (max-width")[1].split("@media print", maxsplit=1)[0]


def test_names_cannot_become_scripts(bare_page: str) -> None:
    assert "<script>alert" not in bare_page
    reader = check_page(bare_page)
    assert reader.tags.count("script") == 4  # the data and three scripts
    assert EVIL in "".join(reader.text)


def test_the_figures_are_those_of_an_evaluation(run: Run, page: str, tmp_path: Path) -> None:
    other = run.report(tmp_path / "report.html", "valid", most_triples=3).read_text(encoding="utf-8")
    for split, shown in (("test", page), ("valid", other)):
        text, found = "".join(check_page(shown).text), run.evaluate(split)
        assert f"{found['mrr']:.3f}MRR on {split}" in text
        ranks = np.concatenate([found.typed_ranks.ranks(side) for side in SIDES])
        firsts = f"first in {(ranks <= 1).sum()} ({(ranks <= 1).mean():.1%})"
        tens = f"among the first ten in {(ranks <= 10).sum()} ({(ranks <= 10).mean():.1%})"
        assert f"Of {len(ranks)} queries, the true answer is ranked {firsts} and {tens}" in text
    assert "3 of them ranked" in text


def test_new_triples_are_those_of_missing_with_probability_reason_and_skill(run: Run, page: str) -> None:
    assert run.calibration is not None
    text, seen, shown = read_text(page, "new"), Counter[str](), 0
    assert f"In percent: {PROBABILITY}." in text
    verdicts = {each["relation"]: each["skill"]["verdict"] for each in run.evaluate().relations}
    place = 0
    for each in run.missing(top=SEARCHED):
        seen[each.relation] += 1
        if seen[each.relation] <= NEW_OF_RELATION and shown < NEW:
            mark = "" if verdicts[each.relation] == BETTER else f" {verdicts[each.relation]}"
            (reason,) = run.give_reasons([each])
            wanted = f"{write_triple(each)} {format_probability(each.probability)}{mark}{reason}"
            place = text.index(" ".join(wanted.split()), place)
            shown += 1
    assert shown > 5
    assert NO_BETTER in verdicts.values()


def test_held_out_triples_are_shown_with_rank_and_answers(run: Run, page: str) -> None:
    text = read_text(page, "held-out")
    ranks = run.evaluate().typed_ranks
    for row in chain(*choose_triples(ranks)):
        triple = LabelledTriple(*name_triple(run.graph, ranks.triples[row].tolist()))
        head, relation, tail = triple.head, triple.relation, triple.tail
        assert write_triple(triple) in text
        (scored,) = run.score([(head, relation, tail)])
        assert scored.tail_rank == ranks.ranks("tail")[row]
        assert f"The model answers: {run.predict(head, relation, top=1)[0].tail_label}" in text
        assert run.explain(head, relation, tail, removals=False).sentence in unescape(text)


def test_doubtful_triples_and_entities_are_those_of_the_run(run: Run, page: str) -> None:
    doubtful, entities = read_text(page, "doubtful"), read_text(page, "entities")
    for each in run.doubt(top=DOUBTFUL):
        assert f"{write_triple(each)} doubt {each.doubt:.1f}{each.reason}" in doubtful
    for name in list_connected(run.graph):
        found = run.show(name)
        for triple in found["predicted"]:
            assert f"{triple['head_label']} – {triple['relation_label']} – {triple['tail_label']}" in entities
        assert " · ".join(f"{each['label']} {each['likeness']:.2f}" for each in found["near"]) in entities
        assert f"– {found['known'][0]['relation']} –" in entities


def test_held_out_triples_that_are_also_in_train_are_counted(run: Run, page: str, tmp_path: Path) -> None:
    assert "The test triples were hidden from training." in read_text(page, "held-out")
    leaked = replace(run.graph, test=np.concatenate([run.graph.test, run.graph.train[:3]]))
    text = read_text(write(Run(leaked, run.config, run.model, run.history), tmp_path), "held-out")
    assert f"Of the {len(leaked.test)} test triples, 3 are also in train, so the model was shown them" in text


def test_connected_entities_occur_in_the_most_relations() -> None:
    triples = [("a", "r", "b"), ("a", "s", "c"), ("d", "r", "e"), ("d", "r", "f"), ("d", "r", "g"), ("b", "s", "a")]
    assert list_connected(Graph.from_names("few", triples), 3) == ["a", "b", "d"]


def test_without_calibration_no_probability_is_shown_and_it_says_why(bare_page: str) -> None:
    for section in ("new", "held-out", "entities"):
        text = read_text(bare_page, section)
        assert (NO_PROBABILITY in text) == (section == "new")
        assert not re.search(r"[<>\d] ?\d* %", text.replace("%)", "")), section


def test_every_measure_ends_with_a_verdict(signed_page: str) -> None:
    findings = signed_page.split('<section id="findings">')[1].split("</section>", maxsplit=1)[0]
    panels = findings.split('<div class="panel">')[1:]
    assert panels
    for panel in panels:
        last = re.findall(r"<p>(.*?)</p>", panel.split("</div>")[0])[-1]
        assert re.match("Good|Too few to tell|At chance|Worse than chance|Not supported", last)


def test_a_score_without_parts_has_a_report_that_says_so_and_gives_reasons(
    random_graph: Callable, short: Callable, tmp_path: Path
) -> None:
    trained = short(random_graph(), "transe")
    torch.manual_seed(0)
    model = BilinearModel(Sizes(len(trained.graph.entities), len(trained.graph.relations)), BilinearConfig())
    run = Run(trained.graph, trained.config, model, trained.history)
    text = "".join(check_page(write(run, tmp_path)).text)
    row = next(chain(*choose_triples(run.evaluate().typed_ranks)))
    names = name_triple(run.graph, run.evaluate().typed_ranks.triples[row].tolist())[:3]
    assert run.explain(*names, removals=False).sentence in text
    assert "BilinearModel has no concepts" in text
    assert "BilinearModel cannot be split" in text
    assert "MRR on test" in text


def test_a_model_without_concepts_has_answers_and_measures(
    random_graph: Callable, short: Callable, tmp_path: Path
) -> None:
    reader = check_page(write(short(random_graph(), "transe"), tmp_path))
    assert "TransE has no concepts" in "".join(reader.text)
    assert [name for name in reader.ids if name in SECTIONS] == [*ANSWERS, "metrics", "settings"]


def test_a_model_without_sides_is_reported_without_a_word_on_them(signed_page: str) -> None:
    assert {*SECTIONS} <= set(check_page(signed_page).ids)
    text = "".join(read_text(signed_page, section) for section in (*CONCEPTS, *MEASURES))
    assert "antisymmetric" in text
    assert "Adds most to the scores of" in text
    for word in ("sides", "(H)", "Moves", "Head concepts"):
        assert word not in text


@pytest.mark.parametrize("kind", ["dense", "l1"])
def test_other_kinds_of_attention_are_reported_too(
    kind: str, random_graph: Callable, short: Callable, tmp_path: Path
) -> None:
    run = short(random_graph(), "itransf", f"model.attention={kind}")
    assert set(SECTIONS) <= set(check_page(write(run, tmp_path)).ids)


def test_without_triples_to_rank_the_rest_is_reported(random_graph: Callable, short: Callable, tmp_path: Path) -> None:
    run = short(random_graph(valid=0, test=0), "itransf", "validation.every=0")
    reader = check_page(write(run, tmp_path))
    text = "".join(reader.text)
    assert "held-out" not in reader.ids
    assert "nothing was measured" in text
    assert "no validation triples" in text
    with pytest.raises(DataError, match="no valid triples"):
        run.report(tmp_path / "report.html", split="valid")


def test_places_that_cannot_be_are_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"written as \.html"):
        run.report(tmp_path / "report.pdf")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match="cannot be written"):
        run.report(tmp_path / "file" / "report.html", most_triples=1)


def test_held_out_triples_repeat_no_relation_and_are_found_or_missed(run: Run) -> None:
    ranks = run.evaluate().typed_ranks
    tails = ranks.ranks("tail")
    found, missed = choose_triples(ranks, hits=4, misses=3)
    assert (tails[found] == 1).all()
    assert (tails[missed] > 10).all()
    assert tails[missed[0]] == tails.max()
    for rows in (found, missed):
        assert rows
        relations, ends = ranks.triples[rows, 1].tolist(), ranks.triples[rows][:, [0, 2]]
        assert len(set(relations)) == len(relations)
        assert sum(len({*pair}) for pair in ends.tolist()) == len({*ends.ravel().tolist()})


def test_many_relations_stay_within_bounds(
    random_graph: Callable, short: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "list_connected", lambda graph: [])  # entities are searched in all relations
    graph = random_graph(entities=15, relations=64, train=400, valid=10, test=10)
    run = short(graph, "itransf", "model.concepts=20", "training.epochs=1", "training.batch_size=400")
    page = run.report(tmp_path / "report.html", most_triples=1).read_text(encoding="utf-8")
    assert "60 of 64 relations" in "".join(check_page(page).text)
    assert len(page) < 750_000
