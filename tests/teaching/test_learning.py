from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import itransf
from itransf.data.graph import Graph
from itransf.errors import ConfigError, DataError
from itransf.models import MODELS
from itransf.run import Run
from itransf.teaching import Effort, find_closest
from itransf.training.trainer import weights

QUICK = Effort(steps=4, rate=0.05)
PAIRS = [("e0", "e1"), ("e2", "e3"), ("e4", "e5")]
MENTIONS = [("new", "r0", "e1"), ("e2", "r1", "new"), ("e3", "r1", "new")]
KINDS = {
    "itransf": ("itransf",),
    "softmax": ("itransf", "loss.name=cross_entropy", "negatives.filtered=false", "regularizer.weight=0.01"),
    "l1": ("itransf", "model.attention=l1"),
    "dense": ("itransf", "model.attention=dense"),
    "free": ("itransf", "model.entity_constraint=none", "model.projected_constraint=none", "model.p_norm=2"),
    "transe": ("transe",),
}


@pytest.fixture
def graph(random_graph: Callable[..., Graph]) -> Graph:
    return random_graph(entities=14, relations=3, train=40, valid=8, test=8).labelled({"e0": "Zero"})


def same_but_for(old: Run, new: Run, added: set[str]) -> None:
    """Check that every tensor is the old one, to the bit, with one row more where it is in `added`."""
    before, after = weights(old.model), weights(new.model)
    assert before.keys() == after.keys()
    for name, tensor in after.items():
        assert len(tensor) == len(before[name]) + (name in added), name
        assert torch.equal(tensor[: len(before[name])], before[name]), name
        assert torch.isfinite(tensor.double()).all(), name


class TestRelation:
    @pytest.mark.parametrize("kind", list(KINDS))
    def test_all_else_keeps_its_bits(self, short: Callable[..., Run], graph: Graph, kind: str) -> None:
        run = short(graph, *KINDS[kind])
        learned = run.learn_relation("likes", PAIRS, effort=QUICK)
        sides = [f"project_{side}.{part}" for side in ("head", "tail") for part in ("scores", "support", "rules")]
        same_but_for(run, learned, {"relations", *sides})
        assert len(run.graph.relations) == 3  # the old run is left alone
        assert not any(parameter.grad is not None for parameter in learned.model.parameters())
        assert all(parameter.requires_grad for parameter in learned.model.parameters())

    def test_the_row_itself_is_fitted(self, short: Callable[..., Run], graph: Graph) -> None:
        run = short(graph)
        start = run.learn_relation("likes", PAIRS, effort=Effort(steps=0)).model
        fitted = run.learn_relation("likes", PAIRS, effort=QUICK).model
        for name in ("relations", "project_head.scores", "project_tail.scores"):
            assert not torch.equal(weights(start)[name][-1], weights(fitted)[name][-1]), name
        assert torch.equal(weights(start)["project_head.support"], weights(fitted)["project_head.support"])

    def test_the_start_is_the_mean_of_what_the_triples_ask_for(self, short: Callable[..., Run], graph: Graph) -> None:
        learned = short(graph, "transe").learn_relation("likes", PAIRS, effort=Effort(steps=0))
        vectors = learned.model.get_parameter("entities")
        asked = [vectors[int(tail[1:])] - vectors[int(head[1:])] for head, tail in PAIRS]
        projected = torch.stack(asked).mean(0)  # unit entities stay where they are
        torch.testing.assert_close(learned.model.get_parameter("relations")[-1], projected)

    def test_graph_and_statistics_follow(self, short: Callable[..., Run], graph: Graph) -> None:
        run = short(graph)
        run.name_concepts({1: "city"})
        learned = run.learn_relation("likes", [*PAIRS, ("Zero", "likes", "e1")], effort=QUICK)
        assert learned.graph.relations.names == (*graph.relations.names, "likes")
        assert learned.graph.train[-3:].tolist() == [[0, 3, 1], [2, 3, 3], [4, 3, 5]]  # each triple once
        assert np.array_equal(learned.graph.train[:-3], graph.train)
        assert learned.graph.statistics.counts[3] == 3
        assert learned.graph.known.contains(np.array([[0, 3, 1]])).all()
        assert learned.graph.entities.labels == {"e0": "Zero"}
        assert learned.graph.notes[-1] == "The relation 'likes' was learned from 3 triples; all else stayed as it was."
        assert learned.concept_names == {1: "city"}
        assert learned.config == run.config
        assert learned.predict(head="Zero", relation="likes", top=1)[0].head == "e0"

    def test_a_learned_run_is_kept_and_opened(self, short: Callable[..., Run], graph: Graph, tmp_path: Path) -> None:
        run = short(graph)
        run.save(tmp_path / "old")
        learned = itransf.open(tmp_path / "old", device="cpu").learn_relation("likes", PAIRS, effort=QUICK)
        learned.save(tmp_path / "new")
        opened = itransf.open(tmp_path / "new", device="cpu")
        for name, tensor in weights(learned.model).items():
            assert torch.equal(weights(opened.model)[name], tensor)
        assert opened.graph.relations.names[-1] == "likes"
        assert opened.learn_relation("hates", PAIRS, effort=QUICK).graph.relations.names[-2:] == ("likes", "hates")

    def test_the_same_triples_give_the_same_bits(self, short: Callable[..., Run], graph: Graph) -> None:
        run = short(graph)
        first, second = (run.learn_relation("likes", PAIRS, effort=QUICK) for _ in range(2))
        same_but_for(first, second, set())

    @pytest.mark.parametrize("name", ["stranse", "transr"])
    def test_models_with_matrices_of_their_own_are_refused(
        self, short: Callable[..., Run], graph: Graph, name: str
    ) -> None:
        with pytest.raises(ConfigError, match=f"a relation of a {name} model has matrices of its own, 4 x 4"):
            short(graph, name).learn_relation("likes", PAIRS)

    @pytest.mark.parametrize(
        ("name", "triples", "message"),
        [
            ("r1", PAIRS, "the relation 'r1' is in numbers already; choose another name"),
            (" ", PAIRS, "has no name"),
            ("likes", [], "no triple to learn from"),
            ("likes", [("e0", "e1"), ("e0", "e19")], r"^triple 2: unknown entity 'e19'\. Did you mean"),
            ("likes", [("e0", "hates", "e1")], "its relation is 'hates', but 'likes' is to be learned"),
            ("likes", ["e0"], "'e0' is not a triple; give"),
            ("likes", [("e0",)], "is not a triple; give"),
            ("likes", [None], r"^triple 1: None is not a triple; give \(head, tail\) or"),
            ("likes", None, "None is not a list of triples"),
            (None, PAIRS, "the new relation cannot be called None; names are text"),
            (5, PAIRS, "the new relation cannot be called 5; names are text"),
            (" r1 ", PAIRS, "the relation 'r1' is in numbers already"),
        ],
    )
    def test_mistakes_are_told(
        self, short: Callable[..., Run], graph: Graph, name: str, triples: list[Any], message: str
    ) -> None:
        with pytest.raises(DataError, match=message):
            short(graph).learn_relation(name, triples, effort=QUICK)

    def test_blanks_around_a_name_are_dropped_and_braces_kept(self, short: Callable[..., Run], graph: Graph) -> None:
        run = short(graph)
        learned = run.learn_relation(" likes {count} ", [*PAIRS, ("e6", " likes {count} ", "e7")], effort=QUICK)
        assert learned.graph.relations.names[-1] == "likes {count}"
        assert "'likes {count}' was learned from 4 triples" in learned.graph.notes[-1]
        named = run.learn_entity(" new ", [(" new ", "r0", "e1"), ("new", "r0", "e2")], effort=QUICK)
        assert named.graph.entities.names[-1] == "new"
        assert named.graph.train[-2:].tolist() == [[14, 0, 1], [14, 0, 2]]

    def test_triples_may_be_given_by_name_or_be_predictions(self, short: Callable[..., Run], graph: Graph) -> None:
        run = short(graph)
        by_name = [{"tail": tail, "head": head} for head, tail in PAIRS]
        same_but_for(
            run.learn_relation("likes", PAIRS, effort=QUICK), run.learn_relation("likes", by_name, effort=QUICK), set()
        )
        learned = run.learn_relation("likes", PAIRS, effort=QUICK)
        again = run.learn_relation("likes", learned.predict(head="e0", relation="likes", top=2), effort=QUICK)
        assert len(again.graph.train) == len(graph.train) + 2
        mentions = [{"head": "new", "relation": "r0", "tail": "e1"}]
        assert run.learn_entity("new", mentions, effort=QUICK).graph.train[-1].tolist() == [14, 0, 1]

    @pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
    def test_gradients_may_be_off_outside(
        self, short: Callable[..., Run], graph: Graph, mode: Callable[[], Any]
    ) -> None:
        run = short(graph)

        def learn() -> Run:
            return run.learn_relation("likes", PAIRS, effort=QUICK).learn_entity("new", MENTIONS, effort=QUICK)

        with mode():
            learned = learn()
        same_but_for(learn(), learned, set())
        assert not any(tensor.is_inference() for tensor in learned.model.parameters())

    def test_a_label_that_is_taken_is_told_with_its_name(self, short: Callable[..., Run], graph: Graph) -> None:
        run = short(graph.labelled({"r2": "sees"}))
        with pytest.raises(DataError, match=r"'sees' is in numbers already \(it is the label of 'r2'\)"):
            run.learn_relation("sees", PAIRS)

    def test_a_step_along_a_line_is_learned_from_few_triples(self, short: Callable[..., Run]) -> None:
        """Entities on a line, exactly: a step that no relation takes is found from five triples."""
        line = Graph.from_names("line", [(f"p{n}", "one", f"p{n + 1}") for n in range(30)])
        free = (
            "model.p_norm=2",
            "model.entity_constraint=none",
            "model.projected_constraint=none",
            "loss.name=cross_entropy",
        )
        run = short(line, "itransf", *free, "negatives.filtered=false")
        with torch.no_grad():
            places = torch.tensor([float(name[1:]) for name in line.entities.names])
            run.model.get_parameter("entities").copy_(places[:, None] * torch.tensor([1.0, 0.5, 0.0, -1.0]))
        learned = run.learn_relation("three", [(f"p{n}", f"p{n + 3}") for n in (3, 7, 11, 15, 19)])
        asked = [(f"p{n}", "three", f"p{n + 3}") for n in (1, 5, 9, 13, 17, 24)]
        assert [triple.tail_rank for triple in learned.score(asked)] == [1.0] * 6
        assert [triple.head_rank for triple in learned.score(asked)] == [1.0] * 6


class TestEntity:
    @pytest.mark.parametrize("name", list(MODELS))
    @pytest.mark.parametrize("loss", ["hinge", "cross_entropy"])
    def test_all_else_keeps_its_bits(self, short: Callable[..., Run], graph: Graph, name: str, loss: str) -> None:
        run = short(graph, name, f"loss.name={loss}", "negatives.filtered=false", "regularizer.weight=0.01")
        learned = run.learn_entity("new", MENTIONS, effort=QUICK)
        same_but_for(run, learned, {"entities"})
        assert torch.linalg.vector_norm(learned.model.get_parameter("entities")[-1]).item() == pytest.approx(1.0)

    def test_graph_follows_and_the_entity_can_be_asked_about(self, short: Callable[..., Run], graph: Graph) -> None:
        learned = short(graph).learn_entity("new", MENTIONS, effort=QUICK)
        assert learned.graph.entities.names == (*graph.entities.names, "new")
        assert learned.graph.train[-3:].tolist() == [[14, 0, 1], [2, 1, 14], [3, 1, 14]]
        assert learned.predict(head="new", relation="r1", top=1)[0].head == "new"
        assert len(find_closest(learned.model, learned.graph, 14)) == 5

    def test_it_starts_among_those_in_its_place_and_comes_closer(self, short: Callable[..., Run], graph: Graph) -> None:
        run = short(graph, "transe", "model.entity_constraint=none", "model.projected_constraint=none")
        start = run.learn_entity("new", MENTIONS[:1], effort=Effort(steps=0))
        heads = graph.statistics.head_domain(0)
        vectors = start.model.get_parameter("entities")
        torch.testing.assert_close(vectors[14], vectors[torch.as_tensor(heads)].mean(0))
        longer = run.learn_entity("new", MENTIONS[:1], effort=Effort(steps=50, rate=0.05))
        before, after = (r.score(MENTIONS[:1])[0] for r in (start, longer))
        assert after.tail_rank <= before.tail_rank
        assert after.score > before.score

    def test_a_relation_without_triples_starts_at_the_mean_of_all(
        self, short: Callable[..., Run], number_graph: Callable[..., Graph]
    ) -> None:
        graph = number_graph([(0, 0, 1), (1, 0, 2)], test=[(0, 1, 2)])
        run = short(graph, "transe", "model.entity_constraint=none", "validation.every=0")
        learned = run.learn_entity("new", [("new", "r1", "e0")], effort=Effort(steps=0))
        vectors = learned.model.get_parameter("entities")
        torch.testing.assert_close(vectors[3], vectors[:3].mean(0))

    @pytest.mark.parametrize(
        ("name", "triples", "message"),
        [
            ("Zero", MENTIONS, "the entity 'Zero' is in numbers already"),
            ("new", [("e0", "r0", "e1")], "triple 1: does not mention 'new'"),
            ("new", [("new", "r0", "e1"), ("new", "r9", "e1")], "triple 2: unknown relation 'r9'"),
            ("new", [("new", "e1")], "give three names"),
            ("new", [None], "^triple 1: None is not a triple; give three names"),
            ("new", [], "no triple to learn from"),
            (None, MENTIONS, "the new entity cannot be called None; names are text"),
        ],
    )
    def test_mistakes_are_told(
        self, short: Callable[..., Run], graph: Graph, name: str, triples: list[Any], message: str
    ) -> None:
        with pytest.raises(DataError, match=message):
            short(graph).learn_entity(name, triples, effort=QUICK)
