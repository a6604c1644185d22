from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from itransf.data.graph import Graph
from itransf.errors import ConfigError
from itransf.models import SIDES, Sizes
from itransf.models.ilineare import ILineaRE, ILineaREConfig
from itransf.models.lineare import LineaRE, LineaREConfig
from itransf.run import Run, train


def make_models(concepts: int = 8, support_size: int = 8) -> tuple[LineaRE, ILineaRE]:
    """Return a LineaRE of four relations, with relation 1 the inverse of 0; and an ILineaRE."""
    torch.manual_seed(0)
    free = LineaRE(Sizes(6, 4), LineaREConfig(dim=10))
    with torch.no_grad():
        for parameter in free.parameters():
            parameter.normal_()
        free.project_head.weight[1], free.project_tail.weight[1] = (
            free.project_tail.weight[0],
            free.project_head.weight[0],
        )
    return free, ILineaRE(Sizes(6, 4), ILineaREConfig(dim=10, concepts=concepts, support_size=support_size))


def test_with_enough_concepts_it_starts_as_the_model_it_starts_from() -> None:
    free, model = make_models()
    model.start_from(free, torch.tensor([4, 3, 2, 1]))
    for side in SIDES:
        torch.testing.assert_close(model.part_vectors(side), free.projection(side).weight, atol=1e-3, rtol=1e-3)
    triples = torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 2, 3]), torch.tensor([4, 5, 1, 0])
    torch.testing.assert_close(model.score(*triples), free.score(*triples), atol=1e-3, rtol=1e-3)


def test_inverse_relations_get_each_others_concepts() -> None:
    free, model = make_models(concepts=4, support_size=2)
    model.start_from(free, torch.tensor([4, 3, 2, 1]))
    head, tail = (model.shown_weights(side) for side in SIDES)
    torch.testing.assert_close(head[1], tail[0], atol=1e-4, rtol=1e-3)
    torch.testing.assert_close(tail[1], head[0], atol=1e-4, rtol=1e-3)
    assert not torch.allclose(head[0], tail[0])
    assert bool((torch.cat([head, tail]) < 0).any())
    torch.testing.assert_close(head.abs().sum(1), torch.ones(4))


def test_a_new_relation_starts_with_the_concepts_of_the_relation_that_fits_its_triples() -> None:
    free, model = make_models(concepts=4, support_size=2)
    model.start_from(free, torch.tensor([4, 3, 2, 1]))
    heads, tails = torch.tensor([0, 1]), torch.tensor([2, 3])
    with torch.no_grad():
        head, tail = (model.part_vectors(side)[2] for side in SIDES)
        model.entities[tails] = (head * model.entities[heads] + model.relations[2]) / tail
    model.start_relation(heads, tails)
    for side in SIDES:
        torch.testing.assert_close(model.part_vectors(side)[3], model.part_vectors(side)[2])
    torch.testing.assert_close(model.relations[3], model.relations[2], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("concepts", "size"), [(0, 0), (4, 0), (4, 5)])
def test_impossible_sizes_are_refused(concepts: int, size: int) -> None:
    with pytest.raises(ConfigError, match="model"):
        ILineaREConfig(concepts=concepts, support_size=size)


@pytest.fixture(scope="module")
def run(random_graph: Callable[..., Graph], tmp_path_factory: pytest.TempPathFactory) -> Run:
    graph = random_graph(entities=20, relations=6, train=160, valid=40, test=40)
    settings = ["model.name=ilineare", "model.dim=8", "model.concepts=7", "model.support_size=3"]
    folder = tmp_path_factory.mktemp("runs")
    options = {"device": "cpu", "progress": False}
    simpler = ["model.name=lineare", "model.dim=8", "training.epochs=2"]
    train(graph, settings=simpler, out=folder / "simpler", **options)
    settings += ["training.epochs=2", "warm_start.epochs=0", f"warm_start.run={folder / 'simpler'}"]
    return train(graph, settings=settings, **options)


def diagonals(run: Run, side: str) -> torch.Tensor:
    assert isinstance(run.model, ILineaRE)
    return run.model.part_vectors(side).detach()


def test_another_run_gives_it_its_diagonals_too(run: Run) -> None:
    assert all(diagonals(run, side).norm(dim=1).min() > 0.1 for side in SIDES)  # they start at zero


def test_a_concept_that_one_side_loses_leaves_all_others_alone(run: Run) -> None:
    gone = run.model.supports("tail")[1, 0].item()  # type: ignore[operator]
    edited = run.edit(forbid=[("r1", "tail", gone)])
    assert gone not in edited.model.supports("tail")[1].tolist()  # type: ignore[operator]
    assert torch.equal(diagonals(edited, "head"), diagonals(run, "head"))
    others = [0, 2, 3, 4, 5]
    assert torch.equal(diagonals(edited, "tail")[others], diagonals(run, "tail")[others])


def test_pruned_and_merged_concepts_leave_well_formed_models(run: Run) -> None:
    smaller = run.edit(prune=5, merge=[(0, 3)])
    assert smaller.model.concepts.shape == (5, 8)
    for side in SIDES:
        assert all(len(set(row)) == 3 for row in smaller.model.supports(side).tolist())  # type: ignore[operator]
        assert diagonals(smaller, side).isfinite().all()


def test_it_can_be_read_like_any_model_with_concepts(run: Run, tmp_path: Path) -> None:
    head, relation, tail = run.graph.train[0].tolist()
    entities, relations = run.graph.entities.names, run.graph.relations.names
    explained = run.explain(entities[head], relations[relation], entities[tail])
    assert explained.removals
    raised = [triple for card in run.cards(most_triples=0) for triple in card.raised]
    assert raised
    assert all(triple.value > 0 for triple in raised)
    for part in explained.sharing or {}:
        assert part in SIDES
    run.export(tmp_path / "tables", "csv")
    assert "score" in (tmp_path / "tables" / "attention.csv").read_text().splitlines()[0]
    run.report(tmp_path / "report.html")
    assert "<html" in (tmp_path / "report.html").read_text()
