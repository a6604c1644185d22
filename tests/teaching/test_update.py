from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import nn

import itransf
from itransf.data.graph import Graph
from itransf.errors import ConfigError, DataError, RunError
from itransf.models import MODELS, Model, Sizes
from itransf.run import EnsembleRun, Run
from itransf.teaching import UPDATE, Effort, grow_graph, learn, update
from itransf.teaching.update import fold_in, update_model
from itransf.training.trainer import weights

NEW = [
    ("e0", "r0", "e1"),  # known
    ("e3", "likes", "new"),
    ("new", "r1", "e2"),
    ("other", "likes", "new"),
    ("e5", "r2", "e5"),
    ("e5", "r2", "e5"),
]
QUICK = Effort(steps=3, hold=3.0)


@pytest.fixture
def graph(random_graph: Callable[..., Graph]) -> Graph:
    made = random_graph(entities=12, relations=3, train=30, valid=8, test=8)
    train = np.concatenate(
        [[[0, 0, 1]], made.train[(made.train != [0, 0, 1]).any(1) & (made.train != [5, 2, 5]).any(1)]]
    )
    return replace(made, train=train).labelled({"e0": "Zero", "e1": "One", "e2": "Same", "e3": "Same"})


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit new rows briefly."""
    monkeypatch.setattr(learn, "ENTITY_EFFORT", QUICK)
    monkeypatch.setattr(learn, "RELATION_EFFORT", QUICK)


@pytest.fixture
def run(short: Callable[..., Run], graph: Graph) -> Run:
    return short(graph, "icomplex", "loss.name=cross_entropy", "validation.every=1")


def name(graph: Graph, triple: np.ndarray[Any, Any]) -> tuple[str, str, str]:
    head, relation_number, tail = triple.tolist()
    return graph.entities.name(head), graph.relations.name(relation_number), graph.entities.name(tail)


class TestTheGraph:
    def test_it_grows_at_the_end_and_known_triples_are_skipped(self, graph: Graph) -> None:
        growth = grow_graph(graph, NEW)
        assert growth.graph.entities.names == (*graph.entities.names, "new", "other")
        assert growth.graph.relations.names == (*graph.relations.names, "likes")
        assert growth.graph.train[: len(graph.train)].tolist() == graph.train.tolist()
        assert growth.graph.train[len(graph.train) :].tolist() == [[5, 2, 5], [3, 3, 12], [12, 1, 2], [13, 3, 12]]
        assert growth.counts == {"added": 4, "known": 2, "removed": 0, "absent": 0, "entities": 2, "relations": 1}
        assert (growth.trained, growth.unseen) == (4, 3)
        assert growth.graph.entities.label(0) == "Zero"

    def test_labels_are_names_too(self, graph: Graph) -> None:
        assert grow_graph(graph, [("Zero", "r0", "One")]).counts["known"] == 1
        with pytest.raises(DataError, match=r"^new, triple 2: 'Same' is the label of 2 entities"):
            grow_graph(graph, [("e0", "r0", "e1"), ("e0", "r0", "Same")])

    @pytest.mark.parametrize("split", ["train", "valid", "test"])
    def test_removals_leave_any_split(self, graph: Graph, split: str) -> None:
        gone = name(graph, graph.split(split)[2])
        growth = grow_graph(graph, [], [gone])
        assert growth.graph.split(split).tolist() == np.delete(graph.split(split), 2, axis=0).tolist()
        assert growth.counts["removed"] == 1
        assert growth.graph.entities.names == graph.entities.names

    def test_what_is_removed_and_given_is_there(self, graph: Graph) -> None:
        growth = grow_graph(graph, [("e0", "r0", "e1")], [("e0", "r0", "e1")])
        assert growth.graph.train[-1].tolist() == [0, 0, 1]
        assert (growth.counts["added"], growth.counts["removed"]) == (1, 1)

    def test_removals_that_are_not_there_are_noted_with_their_line(self, graph: Graph, tmp_path: Path) -> None:
        file = tmp_path / "gone.csv"
        file.write_text("Zero,r0,One\n" + "".join(f"e{n},r9,nobody\n" for n in range(7)), encoding="utf-8")
        growth = grow_graph(graph, [], file)
        assert (growth.counts["removed"], growth.counts["absent"]) == (1, 7)
        note = growth.notes[-1]
        assert note.startswith("7 of 8 triples to remove are not in the graph")
        assert f"{file}, line 2: e0 r9 nobody" in note
        assert note.endswith("; and 2 more.")

    def test_something_must_be_left(self, graph: Graph) -> None:
        with pytest.raises(DataError, match="no training triples would be left"):
            grow_graph(graph, [], [name(graph, triple) for triple in graph.train])

    def test_new_names_are_noted_with_similar_ones(self, graph: Graph) -> None:
        rows = [("Zeroo", "r0", "Paris"), ("e0", "likes", "e1"), *((f"{n}{n} London", "r0", "e0") for n in range(7))]
        entities, relations = grow_graph(graph, rows).notes
        assert relations == "New relations: likes."
        assert entities.startswith("New entities: Zeroo (similar to 'Zero'), 00 London, ")
        assert entities.endswith(" and 4 more.")

    def test_bad_lines_have_their_place(self, graph: Graph, tmp_path: Path) -> None:
        file = tmp_path / "new.csv"
        file.write_text("e0,r0,e1\ne0,e1\n", encoding="utf-8")
        with pytest.raises(DataError, match="line 2"):
            grow_graph(graph, file)

    def test_literals_of_new_relations_are_left_out(self, graph: Graph) -> None:
        prices = [(f"e{number}", "price", f"{number}.75") for number in range(9)]
        known = [("e0", "r0", "7.5"), ("e1", "likes", "e2")]
        growth = grow_graph(graph, [*prices, *known])
        assert growth.counts["added"] == 2
        assert growth.graph.entities.names[-1] == "7.5"  # its relation leads to entities
        assert "price (9 numbers)" in growth.notes[0]
        assert growth.notes[0].endswith("--literals keep (literals='keep') keeps them as entities.")
        assert grow_graph(graph, prices).counts["added"] == 0
        assert "9 tails are literals" in grow_graph(graph, prices).notes[-1]
        assert grow_graph(graph, prices, literals="keep").counts["added"] == 9

    def test_a_day_without_triples_is_fine(self, graph: Graph, tmp_path: Path) -> None:
        file = tmp_path / "none.csv"
        file.write_text("head,relation,tail,weight\n", encoding="utf-8")
        assert not any(grow_graph(graph, file).counts.values())

    def test_the_rule_of_the_split_decides_and_moves_nothing(self) -> None:
        rows = [(f"e{a}", f"r{(a + b) % 3}", f"e{b}") for a in range(14) for b in range(14)]
        part, whole = Graph.from_triples(rows[:150]), Graph.from_triples(rows)
        growth = grow_graph(part, rows)
        assert growth.counts["known"] == 150
        assert growth.trained == len(growth.graph.train) - len(part.train)
        for split in ("train", "valid", "test"):
            found, expected = ({name(each, row) for row in each.split(split)} for each in (growth.graph, whole))
            assert found == expected
            assert growth.graph.split(split)[: len(part.split(split))].tolist() == part.split(split).tolist()

    def test_weights_of_new_triples_join_those_of_old_ones(self, tmp_path: Path) -> None:
        first, more = tmp_path / "first.csv", tmp_path / "more.csv"
        first.write_text("head,relation,tail,weight\na,r,b,0.5\nb,r,c,0.25\n", encoding="utf-8")
        more.write_text("head,relation,tail,weight\na,r,b,9\nc,r,d,0.75\n", encoding="utf-8")
        weighted = itransf.load(first)
        grown = grow_graph(weighted, more).graph
        assert grown.weights is not None
        assert dict(zip(map(tuple, grown.weights.triples.tolist()), grown.weights.values.tolist(), strict=True)) == {
            tuple(grown.train[0].tolist()): 0.5,
            tuple(grown.train[1].tolist()): 0.25,
            tuple(grown.train[2].tolist()): 0.75,
        }
        assert grow_graph(weighted, [("c", "r", "d")]).graph.weights is weighted.weights
        changed = grow_graph(weighted, more, [("a", "r", "b")]).graph
        assert changed.weights is not None
        assert changed.weights.of(changed.train).tolist() == [0.25, 9.0, 0.75]
        assert len(changed.weights.values) == 3
        assert changed.weights.of(np.array([[9, 9, 9]])).tolist() == [pytest.approx(10 / 3)]
        assert grow_graph(weighted, [("c", "r", "d")], first).graph.weights is None
        frame = pa.table({"head": ["c"], "relation": ["r"], "tail": ["d"], "weight": [0.75]})
        framed = grow_graph(weighted, frame).graph
        assert framed.weights is not None
        assert framed.weights.values.tolist() == [0.5, 0.25, 0.75]


class TestTheModel:
    @pytest.mark.parametrize("model", [name for name in MODELS if name != "nodelink"])
    def test_only_new_rows_are_fitted(self, short: Callable[..., Run], graph: Graph, model: str) -> None:
        old = short(graph, model, "training.epochs=1")
        growth = grow_graph(graph, NEW)
        folded = fold_in(old.model, growth, old.config)
        assert (folded.sizes.entities, folded.sizes.relations) == (14, 4)
        for key, tensor in weights(old.model).items():
            new = weights(folded)[key]
            assert torch.equal(new[tuple(map(slice, tensor.shape))], tensor)

    def test_one_entity_is_learned_as_alone(self, short: Callable[..., Run], graph: Graph) -> None:
        old, mentions = short(graph, "transe"), [("new", "r1", "e2"), ("e3", "r0", "new")]
        learned = old.learn_entity("new", mentions, effort=QUICK)
        folded = fold_in(old.model, grow_graph(graph, mentions), old.config)
        assert torch.equal(folded.get_parameter("entities"), learned.model.get_parameter("entities"))

    def test_one_relation_is_learned_as_alone(self, short: Callable[..., Run], graph: Graph) -> None:
        old, mentions = short(graph, "itransf"), [("e0", "likes", "e2"), ("e3", "likes", "e1")]
        learned = old.learn_relation("likes", mentions, effort=QUICK)
        folded = fold_in(old.model, grow_graph(graph, mentions), old.config)
        assert all(torch.equal(tensor, weights(learned.model)[key]) for key, tensor in weights(folded).items())

    def test_several_entities_start_at_the_means_of_their_roles(self, graph: Graph) -> None:
        table = torch.randn(14, 3)
        triples = np.array([[12, 0, 1], [12, 1, 13], [12, 1, 2]])
        before = replace(graph, entities=itransf.data.Vocabulary([*graph.entities.names, "a", "b"]))
        domain = before.statistics.domain
        heads = np.concatenate([domain(0, "head"), domain(1, "head"), domain(1, "head")])
        expected = table[heads].mean(0), table[domain(1, "tail")].mean(0)
        learn.start_entities(table, before.statistics, triples, 2)
        torch.testing.assert_close(table[12:], torch.stack(expected))

    def test_all_is_trained_for_some_epochs_and_validated(self, run: Run) -> None:
        growth = grow_graph(run.graph, NEW)
        model, history = update_model(run.model, growth, run.config, epochs=2)
        assert [(line["phase"], line["epoch"]) for line in history] == [(UPDATE, 1), (UPDATE, 2)]
        assert history[-1]["best"]
        assert not torch.equal(model.get_parameter("entities")[:12], run.model.get_parameter("entities"))

    def test_a_removed_triple_is_less_plausible(self, short: Callable[..., Run], graph: Graph) -> None:
        old = short(graph, "complex", "loss.name=cross_entropy", "training.optimizer=adagrad")
        gone = name(graph, graph.train[4])
        found, before = old.update([], [gone], epochs=3).score([gone])[0], old.score([gone])[0]
        assert (found.percentile or 0) < (before.percentile or 0)

    def test_nothing_new_changes_nothing(self, run: Run) -> None:
        updated = run.update([("e0", "r0", "e1")])
        assert updated.record.lineage[-1]["known"] == 1
        assert all(torch.equal(tensor, weights(run.model)[key]) for key, tensor in weights(updated.model).items())

    def test_a_model_that_cannot_grow_is_refused(self, run: Run) -> None:
        @dataclass(frozen=True)
        class Settings: ...

        class Pairs(Model):
            Config: ClassVar[type] = Settings

            def __init__(self, sizes: Sizes, config: Any) -> None:
                super().__init__(sizes, config)
                self.table = nn.Parameter(torch.zeros(sizes.entities * sizes.entities))

            def score(self, heads: torch.Tensor, relations: torch.Tensor, tails: torch.Tensor) -> torch.Tensor:
                return self.table[heads * self.sizes.entities + tails]

        model = Pairs(run.model.sizes, Settings())
        with pytest.raises(ConfigError, match=r"icomplex cannot be updated .*table .*train again"):
            update_model(model, grow_graph(run.graph, NEW), run.config)

    def test_epochs_are_chosen_by_the_size_of_the_graph(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        growth, counts = grow_graph(run.graph, NEW), []
        for small in (0, 10**6):
            monkeypatch.setattr(update, "SMALL", small)
            monkeypatch.setattr(update, "EPOCHS", {True: 2, False: 1})
            counts.append(len(update_model(run.model, growth, run.config)[1]))
        assert counts == [1, 2]


class TestTheRun:
    def test_it_is_written_whole_with_its_lineage(self, run: Run, tmp_path: Path) -> None:
        run.name_concepts({0: "first"})
        run.save(tmp_path / "old")
        before = {file.name: file.read_bytes() for file in (tmp_path / "old").iterdir()}
        updated = itransf.open(tmp_path / "old").update(NEW, [("e9", "r9", "e9")], out=tmp_path / "new", epochs=1)
        assert {file.name: file.read_bytes() for file in (tmp_path / "old").iterdir()} == before
        again = itransf.open(tmp_path / "new")
        (step,) = again.record.lineage
        assert step == updated.record.lineage[0]
        assert (step["run"], step["added"], step["absent"], step["entities"]) == (run.record.id, 4, 1, 2)
        assert again.record.parent == run.record.id
        assert again.concept_names == {0: "first"}
        assert again.graph.train.tolist() == updated.graph.train.tolist()
        assert again.info()["update_epochs"] == 1
        twice = again.update([("e0", "r1", "newest")], epochs=0)
        assert [each["run"] for each in twice.record.lineage] == [run.record.id, updated.record.id]
        assert twice.learn_entity("x", [("x", "r0", "e0")]).record.lineage == twice.record.lineage

    def test_a_place_in_use_is_refused_before_any_work(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run.save(tmp_path / "old")
        monkeypatch.setattr(itransf.teaching, "grow_graph", lambda *_: pytest.fail("it was read"))
        with pytest.raises(RunError, match="overwrite"):
            run.update(NEW, out=tmp_path / "old")

    def test_a_failure_leaves_no_run(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Run, "write_result", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run.update(NEW, out=tmp_path / "new", epochs=0)
        assert not (tmp_path / "new").exists()

    @pytest.mark.parametrize("seeds", [1, 2])
    def test_probabilities_come_along(
        self, short: Callable[..., Run], random_graph: Callable[..., Graph], seeds: int
    ) -> None:
        graph = random_graph(entities=30, relations=3, train=200, valid=60, test=10)
        old = short(graph, "complex", "training.epochs=1", seeds=seeds).calibrate()
        updated = old.update([("e0", "r3", "new")], epochs=1)
        assert updated.calibration is not None
        assert len(updated.calibration.slopes) == 8

    def test_the_members_of_an_ensemble_are_updated(
        self, short: Callable[..., Run], graph: Graph, tmp_path: Path
    ) -> None:
        members = [short(graph, "transe", f"seed={seed}") for seed in (0, 1)]
        EnsembleRun(members).save(tmp_path / "old")
        old = itransf.open(tmp_path / "old")
        old.update(NEW, out=tmp_path / "new", epochs=1)
        new = itransf.open(tmp_path / "new")
        assert len(new.members) == 2
        assert new.record.parent == old.record.id == new.record.lineage[0]["run"]
        assert [each.record.parent for each in new.members] == [each.record.id for each in old.members]
        assert new.graph.entities.names[-1] == "other"

    def test_a_grown_graph_leaves_nothing_to_remove(self, run: Run) -> None:
        growth = grow_graph(run.graph, NEW)
        with pytest.raises(ConfigError, match="give what to remove to grow_graph"):
            run.update(growth, remove=[("e0", "r0", "e1")])

    def test_a_run_trained_on_all_triples_stays_one(self, run: Run) -> None:
        run.record = replace(run.record, final=True, metrics={"test": {"mrr": 0.5}})
        updated = run.update(NEW, epochs=1)
        assert updated.record.final
        assert updated.record.metrics == {"test": {"mrr": 0.5}}
