from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import itransf
from comparing import same_but_for
from itransf.data.graph import Graph
from itransf.data.vocabulary import Vocabulary
from itransf.errors import ConfigError, DataError
from itransf.models import IComplEx, ITransF, Sizes
from itransf.models.icomplex import IComplExConfig
from itransf.run import Run
from itransf.teaching import Effort, learn, learn_relation
from itransf.teaching.learn import mark_answers, measure_pairs, start_attention
from itransf.training.trainer import weights
from stubs import BilinearConfig, BilinearModel, TableModel

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
    "icomplex": ("icomplex",),
    "icomplex softmax": ("icomplex", "loss.name=cross_entropy", "negatives.filtered=false", "regularizer.weight=0.01"),
    "ilineare": ("ilineare",),
    "complex": ("complex",),
    "distmult": ("distmult",),
}


@pytest.fixture
def graph(random_graph: Callable[..., Graph]) -> Graph:
    return random_graph(entities=14, relations=3, train=40, valid=8, test=8).labelled({"e0": "Zero"})


@pytest.mark.parametrize("kind", list(KINDS))
def test_all_else_keeps_its_bits(short: Callable[..., Run], graph: Graph, kind: str) -> None:
    run = short(graph, *KINDS[kind])
    learned = run.learn_relation("likes", PAIRS, effort=QUICK)
    sides = [f"project_{side}.{part}" for side in ("head", "tail") for part in ("scores", "support", "rules")]
    attention = [f"attention.{part}" for part in ("scores", "support", "rules")]
    same_but_for(run, learned, {"relations", *sides, *attention})
    assert len(run.graph.relations) == 3  # the old run is left alone
    assert not any(parameter.grad is not None for parameter in learned.model.parameters())
    assert all(parameter.requires_grad for parameter in learned.model.parameters())


def test_the_row_itself_is_fitted(short: Callable[..., Run], graph: Graph) -> None:
    run = short(graph)
    start = run.learn_relation("likes", PAIRS, effort=Effort(steps=0)).model
    fitted = run.learn_relation("likes", PAIRS, effort=QUICK).model
    for name in ("relations", "project_head.scores", "project_tail.scores"):
        assert not torch.equal(weights(start)[name][-1], weights(fitted)[name][-1]), name
    assert torch.equal(weights(start)["project_head.support"], weights(fitted)["project_head.support"])


def test_the_start_is_the_mean_of_what_the_triples_ask_for(short: Callable[..., Run], graph: Graph) -> None:
    learned = short(graph, "transe").learn_relation("likes", PAIRS, effort=Effort(steps=0))
    vectors = learned.model.get_parameter("entities")
    asked = [vectors[int(tail[1:])] - vectors[int(head[1:])] for head, tail in PAIRS]
    projected = torch.stack(asked).mean(0)  # unit entities stay where they are
    torch.testing.assert_close(learned.model.get_parameter("relations")[-1], projected)


def make_products(concepts: int, size: int) -> tuple[IComplEx, Graph]:
    """Return a model whose concepts are orthogonal, and triples whose pairs add up to concepts 1 and 4."""
    torch.manual_seed(0)
    model = IComplEx(Sizes(8, 3), IComplExConfig(dim=6, concepts=concepts, support_size=size))
    with torch.no_grad():
        model.concepts.copy_(2.0 * torch.eye(6)[torch.arange(concepts) % 6])
        model.attention.scores.normal_()
        model.entities.normal_()
        real, imaginary = model.concepts[1], -model.concepts[4]
        model.entities[:4] = torch.cat([torch.ones(6), torch.zeros(6)])  # conj(h) t = t
        model.entities[4:] = torch.cat([real, imaginary])
    names = [[f"{letter}{number}" for number in range(count)] for letter, count in (("e", 8), ("r", 3))]
    triples = np.array([[0, 2, 4], [1, 2, 5]])
    vocabularies = Vocabulary(names[0], kind="entity"), Vocabulary(names[1], kind="relation")
    return model, Graph("products", *vocabularies, triples, triples[:0], triples[:0])


def test_a_product_starts_with_the_concepts_of_the_mean_pair() -> None:
    model, _ = make_products(concepts=6, size=2)
    others = model.relation_table()[:-1].detach().clone()
    model.start_relation(torch.tensor([0, 1]), torch.tensor([4, 5]))
    assert model.attention.support[-1].tolist() == [1, 4]
    scores = model.attention.scores[-1].detach()
    assert scores[1] > 0 > scores[4]
    assert scores[[0, 2, 3, 5]].abs().max() == 0
    vectors = model.relation_table().detach()
    torch.testing.assert_close(vectors[-1].norm(), others.norm(dim=1).median(), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(vectors[:-1], others)


def test_only_supported_weights_of_a_product_are_fitted(short: Callable[..., Run], graph: Graph) -> None:
    run = short(graph, "icomplex")
    start = run.learn_relation("likes", PAIRS, effort=Effort(steps=0)).model
    fitted = run.learn_relation("likes", PAIRS, effort=QUICK).model
    assert torch.equal(weights(start)["attention.support"], weights(fitted)["attention.support"])
    changed = weights(start)["attention.scores"][-1] != weights(fitted)["attention.scores"][-1]
    assert changed.nonzero().squeeze(1).tolist() == weights(fitted)["attention.support"][-1].tolist()


def test_graph_and_statistics_follow(short: Callable[..., Run], graph: Graph) -> None:
    run = short(graph)
    run.name_concepts({1: "city"})
    learned = run.learn_relation("likes", [*PAIRS, ("Zero", "likes", "e1")], effort=QUICK)
    assert learned.graph.relations.names == (*graph.relations.names, "likes")
    assert learned.graph.train[-3:].tolist() == [[0, 3, 1], [2, 3, 3], [4, 3, 5]]  # each triple once
    assert np.array_equal(learned.graph.train[:-3], graph.train)
    assert learned.graph.statistics.counts[3] == 3
    assert learned.graph.known.contains(np.array([[0, 3, 1]])).all()
    assert learned.graph.entities.labels == {"e0": "Zero"}
    assert "'likes'" in learned.graph.notes[-1]
    assert "3 triples" in learned.graph.notes[-1]
    assert learned.concept_names == {1: "city"}
    assert learned.config == run.config
    assert learned.predict(head="Zero", relation="likes", top=1)[0].head == "e0"


def test_a_learned_run_is_kept_and_opened(short: Callable[..., Run], graph: Graph, tmp_path: Path) -> None:
    run = short(graph)
    run.save(tmp_path / "old")
    learned = itransf.open(tmp_path / "old", device="cpu").learn_relation("likes", PAIRS, effort=QUICK)
    learned.save(tmp_path / "new")
    opened = itransf.open(tmp_path / "new", device="cpu")
    for name, tensor in weights(learned.model).items():
        assert torch.equal(weights(opened.model)[name], tensor)
    assert opened.graph.relations.names[-1] == "likes"
    assert opened.learn_relation("hates", PAIRS, effort=QUICK).graph.relations.names[-2:] == ("likes", "hates")


def test_the_same_triples_give_the_same_bits(short: Callable[..., Run], graph: Graph) -> None:
    run = short(graph)
    first, second = (run.learn_relation("likes", PAIRS, effort=QUICK) for _ in range(2))
    same_but_for(first, second, set())


@pytest.mark.parametrize("name", ["stranse", "transr"])
def test_models_with_matrices_of_their_own_are_refused(short: Callable[..., Run], graph: Graph, name: str) -> None:
    with pytest.raises(ConfigError, match=rf"model {name} .*relation .*\.weight"):
        short(graph, name).learn_relation("likes", PAIRS)


@pytest.mark.parametrize(
    ("name", "triples", "message"),
    [
        ("r1", PAIRS, "relation 'r1' .*already"),
        (" ", PAIRS, "has no name"),
        ("likes", [], "no triples to learn from"),
        ("likes", [("e0", "e1"), ("e0", "e19")], r"^triple 2: .*'e19'.*Did you mean"),
        ("likes", [("e0", "hates", "e1")], "relation is 'hates', but 'likes'"),
        ("likes", ["e0"], "'e0' is not a triple"),
        ("likes", [("e0",)], "is not a triple"),
        ("likes", [None], r"^triple 1: None .*\(head, tail\) or"),
        ("likes", None, "None .*list of triples"),
        (None, PAIRS, "relation .*None; names are text"),
        (5, PAIRS, "relation .*5; names are text"),
        (" r1 ", PAIRS, "relation 'r1' .*already"),
    ],
)
def test_mistakes_are_reported(
    short: Callable[..., Run], graph: Graph, name: str, triples: list[Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        short(graph).learn_relation(name, triples, effort=QUICK)


def test_blanks_around_a_name_are_dropped_and_braces_kept(short: Callable[..., Run], graph: Graph) -> None:
    run = short(graph)
    learned = run.learn_relation(" likes {count} ", [*PAIRS, ("e6", " likes {count} ", "e7")], effort=QUICK)
    assert learned.graph.relations.names[-1] == "likes {count}"
    assert "'likes {count}'" in learned.graph.notes[-1]
    named = run.learn_entity(" new ", [(" new ", "r0", "e1"), ("new", "r0", "e2")], effort=QUICK)
    assert named.graph.entities.names[-1] == "new"
    assert named.graph.train[-2:].tolist() == [[14, 0, 1], [14, 0, 2]]


def test_triples_may_be_given_by_name_or_be_predictions(short: Callable[..., Run], graph: Graph) -> None:
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
def test_gradients_may_be_off_outside(short: Callable[..., Run], graph: Graph, mode: Callable[[], Any]) -> None:
    run = short(graph)

    def learn() -> Run:
        return run.learn_relation("likes", PAIRS, effort=QUICK).learn_entity("new", MENTIONS, effort=QUICK)

    with mode():
        learned = learn()
    same_but_for(learn(), learned, set())
    assert not any(tensor.is_inference() for tensor in learned.model.parameters())


def test_a_label_that_is_taken_is_reported_with_its_name(short: Callable[..., Run], graph: Graph) -> None:
    run = short(graph.labelled({"r2": "sees"}))
    with pytest.raises(DataError, match=r"'sees' .*already .*label of 'r2'"):
        run.learn_relation("sees", PAIRS)


def test_a_step_along_a_line_is_learned_from_few_triples(short: Callable[..., Run]) -> None:
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


def make_concept_model(norm: int = 2, projected: str = "none", concepts: int = 6) -> ITransF:
    torch.manual_seed(3)
    config = ITransF.Config(dim=4, p_norm=norm, projected_constraint=projected, concepts=concepts, support_size=2)
    model = ITransF(Sizes(12, 2), config).double()
    with torch.no_grad():
        model.entities.normal_()
        model.concepts.add_(torch.randn_like(model.concepts) * 0.5)
    return model


def cost_slowly(model: ITransF, triples: Tensor, head: int, tail: int, norm: int) -> float:
    """One pair of concepts, triple by triple, rival by rival."""

    def see(entity: int, concept: int) -> Tensor:
        seen = model.concepts[concept] @ model.entities[entity]
        return seen / seen.norm() if model.config.projected_constraint == "unit" else seen

    rows = triples.tolist()
    total = 0.0
    for place, (h, _, t) in enumerate(rows):
        others = [see(b, tail) - see(a, head) for i, (a, _, b) in enumerate(rows) if i != place]
        v = torch.stack(others).mean(0)

        def score(a: int, b: int, shift: Tensor = v) -> float:
            return float(-torch.linalg.vector_norm(see(a, head) + shift - see(b, tail), ord=norm))

        tails = [e for e in range(12) if [h, 0, e] not in rows]
        heads = [e for e in range(12) if [e, 0, t] not in rows]
        for rivals in ([score(h, e) for e in tails], [score(e, t) for e in heads]):
            scores = 1.5 * torch.tensor([score(h, t), *rivals], dtype=torch.float64)
            total += float(torch.logsumexp(scores, 0) - scores[0])
    return total


TRIPLES = torch.tensor([[0, 0, 5], [1, 0, 6], [1, 0, 7], [3, 0, 5]])
LOSS = ("loss.name=cross_entropy", "loss.scale=1.5")


@pytest.mark.parametrize(("norm", "projected"), [(1, "none"), (2, "none"), (2, "unit")])
def test_costs_of_pairs_equal_a_slow_count(configure: Callable[..., Any], norm: int, projected: str) -> None:
    model = make_concept_model(norm, projected)
    with torch.no_grad():
        table = measure_pairs(model, TRIPLES, configure("itransf", *LOSS))
        for head, tail in ((0, 0), (2, 5), (4, 1)):
            slow = cost_slowly(model, TRIPLES, head, tail, norm)
            assert float(table[head, tail]) == pytest.approx(slow / len(TRIPLES), rel=1e-5)


def test_large_searches_have_fewer_triples_and_negatives(
    configure: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(learn, "FEWEST_RIVALS", 3)
    monkeypatch.setattr(learn, "PAIR_WORK", 2 * 6 * 6 * 4 * 6)  # six times a triple with a negative
    costs = learn.pair_costs
    monkeypatch.setattr(
        learn, "pair_costs", lambda model, sample, *rest, **more: seen.append(sample.corruption.replacements.shape)
        or costs(model, sample, *rest, **more),
    )  # fmt: skip
    measure_pairs(make_concept_model(), TRIPLES, configure("itransf", *LOSS))
    assert seen == [(2, 3), (2, 3)]


def test_a_planted_pair_is_recovered(configure: Callable[..., Any], number_graph: Callable[..., Graph]) -> None:
    model = make_concept_model(concepts=8)
    with torch.no_grad():
        wanted = model.entities[:6] @ model.concepts[3].T + 0.3  # D_3 h + v = D_5 t
        model.entities[6:12] = torch.linalg.solve(model.concepts[5], wanted.T).T
    graph = number_graph([(number, 1, number + 6) for number in range(6)])
    config = configure("itransf", *LOSS)
    costs = measure_pairs(model, torch.as_tensor(graph.train), config)
    assert divmod(int(costs.argmin()), 8) == (3, 5)
    start_attention(model, torch.as_tensor(graph.train[-6:]), config)
    for side, best, own in (("head", 3, costs[:, 5]), ("tail", 5, costs[3])):
        projection = model.concept_attention(side)  # type: ignore[arg-type]
        assert projection.support[-1].tolist() == sorted(own.argsort()[:2].tolist())
        assert int(projection.scores[-1].argmax()) == best
        torch.testing.assert_close(projection.scores[-1].detach(), own.min() - own)


def test_every_answer_to_a_query_is_marked() -> None:
    marks = mark_answers(torch.tensor([1, 1, 2]), torch.tensor([5, 6, 7]), torch.tensor([5, 6, 7, 8]))
    assert marks.int().tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]]


def test_models_whose_relations_are_plain_vectors_learn_one(graph: Graph, configure: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    model = BilinearModel(Sizes(14, 3), BilinearConfig())
    start, _ = learn_relation(model, graph, configure("transe"), "likes", PAIRS, effort=Effort(steps=0))
    fitted, _ = learn_relation(model, graph, configure("transe"), "likes", PAIRS, effort=Effort(steps=40, rate=0.1))
    assert torch.equal(start.get_parameter("relations")[-1], model.relations.mean(0))
    rows = torch.tensor([[0, 3, 1], [2, 3, 3], [4, 3, 5]]).T
    assert fitted.score(*rows).mean() > start.score(*rows).mean()
    for name in ("entities", "relations"):
        assert torch.equal(fitted.get_parameter(name)[: len(model.get_parameter(name))], model.get_parameter(name))


def test_models_without_relation_embeddings_are_refused(graph: Graph, configure: Callable[..., Any]) -> None:
    class Table(TableModel):
        def __init__(self, sizes: Sizes, config: Any) -> None:
            super().__init__(torch.zeros(sizes.entities, sizes.relations, sizes.entities))

    with pytest.raises(ConfigError, match=r"transe.*embedding.*\(table\)"):
        learn_relation(Table(Sizes(14, 3), None), graph, configure("transe"), "likes", PAIRS)
