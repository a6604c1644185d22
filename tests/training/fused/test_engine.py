"""Fused steps do what the plain ones do, on the same triples and the same negatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor

from interpreting import patch_language_once
from itransf.config import Config
from itransf.data.graph import Graph
from itransf.fitting import build_model
from itransf.models import ITransF, Sizes, TransE, distmult
from itransf.models.projection import FullProjection, NoProjection
from itransf.models.translation import Translation, TranslationConfig
from itransf.training.fused import choice, plan
from itransf.training.fused.choice import Engine, can_fuse, make_engine
from itransf.training.fused.plan import sort_by_relation
from itransf.training.negatives import Corruption, SharedCorruption
from itransf.training.trainer import Trainer, weights
from stubs import HyperplaneProjection, TransH

pytest.importorskip("triton")
pytest.importorskip("numba")
from itransf.training.fused.cpu import CPUEngine
from itransf.training.fused.engine import FusedEngine
from itransf.training.fused.gpu import GPUEngine

patch_language_once()

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
needs_cpu = pytest.mark.skipif(DEVICE.type == "cuda", reason="models are on the GPU")
LOSSES_NORMS_COUNTS = [
    ("hinge", 1, 1),
    ("self_adversarial", 2, 1),
    ("hinge", 2, 17),
    ("self_adversarial", 1, 17),
]
"""Every pair of values occurs: the interpreter takes seconds for each."""


class FixedSampler:
    """Gives every triple the same negatives whoever asks, and in whatever order."""

    def __init__(self, triples: int, entities: int, count: int) -> None:
        generator = torch.Generator().manual_seed(3)
        self.replaces_head = (torch.rand(triples, generator=generator) < 0.5).to(DEVICE)
        self.replacements = torch.randint(entities, (triples, count), generator=generator).to(DEVICE)

    def corrupt(self, triples: Tensor, count: int, generator: torch.Generator) -> Corruption:
        assert count == self.replacements.shape[1]
        return Corruption(self.replaces_head[triples], self.replacements[triples])


class SharingSampler:
    """Gives every relation the same negatives, of which each triple leaves out some."""

    def __init__(self, train: Tensor, entities: int, count: int) -> None:
        generator = torch.Generator().manual_seed(4)
        relations = int(train[:, 1].max()) + 1
        self.relations = train[:, 1]
        self.replaces_head = (torch.rand(relations, generator=generator) < 0.5).to(DEVICE)
        self.replacements = torch.randint(entities, (relations, count), generator=generator).to(DEVICE)
        self.masked = (torch.rand(len(train), count, generator=generator) < 0.3).to(DEVICE)
        self.masked[0] = True  # a triple without any negative

    def corrupt_together(self, triples: Tensor, count: int, batch: int, generator: torch.Generator) -> SharedCorruption:
        assert count == self.replacements.shape[1]
        batches = torch.arange(len(triples), device=triples.device) // batch
        keys = batches * len(self.replacements) + self.relations[triples]
        distinct, owners = torch.unique_consecutive(keys, return_inverse=True)
        chosen = distinct % len(self.replacements)
        return SharedCorruption(owners, self.replaces_head[chosen], self.replacements[chosen], self.masked[triples])


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=11, relations=4, train=22, valid=4, test=4)


def make_trainer(graph: Graph, config: Config) -> Trainer:
    trainer = Trainer(build_model(graph, config, DEVICE), graph, config)
    count = config.negatives.per_triple
    sampler: Any = FixedSampler(len(graph.train), len(graph.entities), count)
    if config.negatives.shared:
        sampler = SharingSampler(trainer.train, len(graph.entities), count)
    trainer.sampler = trainer.objective.sampler = sampler  # type: ignore[attr-defined]
    return trainer


def run_plain(graph: Graph, config: Config, order: Tensor) -> tuple[list[float], dict[str, Tensor]]:
    trainer = make_trainer(graph, config)
    size = config.training.batch_size
    order = sort_by_relation(order, trainer.train[order, 1], size)
    negatives = trainer.objective.draw(order, size, trainer.generator)
    losses = [trainer._step(*batch) for batch in zip(order.split(size), negatives, strict=True)]
    return losses, {**weights(trainer.model), **trainer.optimizer.state}


# Tracing doubles the time of the interpreter; tests of the GPU engine alone measure the coverage of its kernels.
GPU_ENGINE = pytest.param(GPUEngine, marks=pytest.mark.no_cover)


@pytest.fixture(params=[CPUEngine, GPU_ENGINE] if DEVICE.type == "cpu" else [GPU_ENGINE])
def engine_kind(request: pytest.FixtureRequest) -> type[FusedEngine]:
    kind: type[FusedEngine] = request.param
    return kind


def run_fused(
    kind: type[FusedEngine], graph: Graph, config: Config, order: Tensor
) -> tuple[list[float], dict[str, Tensor]]:
    trainer = make_trainer(graph, config)
    assert can_fuse(trainer.model, config)
    engine = kind(trainer.model, trainer.objective, trainer.optimizer, config)
    order = sort_by_relation(order, trainer.train[order, 1], config.training.batch_size)
    losses = engine.run(order, trainer.generator)
    return losses.tolist(), {**weights(trainer.model), **trainer.optimizer.state}


def compare(kind: type[FusedEngine], graph: Graph, config: Config, triples: int = 6) -> None:
    order = torch.randperm(len(graph.train), generator=torch.Generator().manual_seed(5))[:triples].to(DEVICE)
    losses, found = run_fused(kind, graph, config, order)
    expected_losses, expected = run_plain(graph, config, order)
    assert losses == pytest.approx(expected_losses, abs=1e-5)
    for name, tensor in expected.items():
        torch.testing.assert_close(
            found[name], tensor, atol=2e-5, rtol=1e-4, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.parametrize(("planned", "shared"), [(1, False), (2, False), (100, False), (2, True)])
def test_plain_and_fused_steps_draw_the_same_batches_and_negatives(
    engine_kind: type[FusedEngine],
    configure: Configure,
    random_graph: GraphMaker,
    planned: int,
    shared: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if shared and not engine_kind.shares_negatives:
        return
    graph = random_graph(entities=11, relations=4, train=10, valid=4, test=4)
    monkeypatch.setattr(plan, "PLANNED_ROWS", {"cpu": 16 * planned, "cuda": 16 * planned})
    monkeypatch.setattr(choice, "load_engine", lambda device: engine_kind)
    settings = ("negatives.per_triple=2", "negatives.domain=0.5", f"negatives.shared={shared}".lower())
    config = configure("transe", *settings, "training.block_size=2", "training.batch_size=4", "training.epochs=2")

    def train(plain: bool) -> tuple[list[list[Any]], list[float], dict[str, Tensor]]:
        trainer = Trainer(build_model(graph, config, DEVICE), graph, config)
        assert trainer.planned == min(planned, 3)
        assert type(trainer.engine) is engine_kind
        trainer.engine = None if plain else trainer.engine
        name = "corrupt_together" if shared else "corrupt"
        corrupt, seen = getattr(trainer.sampler, name), []

        def watch(triples: Tensor, *rest: Any) -> Any:
            drawn = corrupt(triples, *rest)
            seen.append([triples.tolist(), *(part.tolist() for part in drawn)])
            return drawn

        monkeypatch.setattr(trainer.sampler, name, watch)
        losses = [report.loss for report in trainer.epochs()]
        return seen, losses, weights(trainer.model)

    (seen, losses, found), (expected_seen, expected_losses, expected) = train(plain=False), train(plain=True)
    assert seen == expected_seen
    assert len(seen) == 2 * -(-3 // min(planned, 3))
    assert losses == pytest.approx(expected_losses, abs=1e-4)
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize(
    ("name", "optimizer"),
    [
        *(("itransf", optimizer) for optimizer in ("sgd", "adagrad", "adam")),  # the only model with concepts
        *(("stranse", optimizer) for optimizer in ("sgd", "adagrad", "adam")),
        ("transe", "adam"),
        ("transr", "adagrad"),
        ("lineare", "adam"),
        ("ilineare", "adam"),
    ],
)
def test_every_model_and_optimizer(
    engine_kind: type[FusedEngine], configure: Configure, graph: Graph, name: str, optimizer: str
) -> None:
    settings = (f"training.optimizer={optimizer}", "training.learning_rate=0.05", "training.batch_size=4")
    compare(engine_kind, graph, configure(name, *settings), triples=8)  # states of the first step change the second


@pytest.mark.parametrize(
    ("loss", "optimizer", "count"),
    [("hinge", "sgd", 1), ("hinge", "adagrad", 3), ("self_adversarial", "adam", 1), ("self_adversarial", "sgd", 3)],
)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(pytest.param(CPUEngine, name, marks=needs_cpu) for name in ("transe", "distmult", "complex", "rotate")),
        (GPUEngine, "rotate"),
    ],
)
def test_every_operation(
    configure: Configure,
    graph: Graph,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[FusedEngine],
    name: str,
    loss: str,
    optimizer: str,
    count: int,
) -> None:
    monkeypatch.setattr(distmult, "SCALE", 0.5)  # with embeddings near zero nothing would change
    settings = (f"loss.name={loss}", f"training.optimizer={optimizer}", f"negatives.per_triple={count}")
    compare(kind, graph, configure(name, *settings, "loss.margin=0.3", "training.learning_rate=0.05"), triples=22)


@pytest.mark.parametrize(
    ("name", "loss", "norm", "shared"),
    [
        ("lineare", "hinge", 1, False),
        ("lineare", "self_adversarial", 2, True),
        ("ilineare", "self_adversarial", 1, True),
    ],
)
def test_kernels_drop_the_same_numbers_as_plain_steps(
    configure: Configure, graph: Graph, name: str, loss: str, norm: int, shared: bool
) -> None:
    negatives = (f"negatives.shared={shared}".lower(), "negatives.per_triple=5", "training.batch_size=4")
    settings = (f"loss.name={loss}", f"model.p_norm={norm}", "model.dropout=0.4", "loss.margin=0.7", "seed=3")
    compare(GPUEngine, graph, configure(name, *settings, *negatives, "training.optimizer=sgd"), triples=10)


@needs_cpu
@pytest.mark.parametrize("name", ["transe", "rotate", "stranse"])
def test_threads_do_not_change_results(configure: Configure, graph: Graph, name: str) -> None:
    config, threads = configure(name, "training.optimizer=adagrad"), torch.get_num_threads()

    def train(count: int) -> dict[str, Tensor]:
        torch.set_num_threads(count)
        _, found = run_fused(CPUEngine, graph, config, torch.arange(len(graph.train)))
        assert torch.get_num_threads() == count  # though numba starts threads of its own
        return found

    try:
        alone, together = train(1), train(2)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(alone[key], together[key]) for key in alone)


@pytest.mark.parametrize(("loss", "norm", "count"), [*LOSSES_NORMS_COUNTS, ("hinge", 1, 5), ("self_adversarial", 2, 5)])
def test_every_loss_and_distance(
    engine_kind: type[FusedEngine], configure: Configure, graph: Graph, loss: str, norm: int, count: int
) -> None:
    settings = (f"loss.name={loss}", f"model.p_norm={norm}", f"negatives.per_triple={count}", "loss.margin=0.7")
    compare(engine_kind, graph, configure("itransf", *settings))


@pytest.mark.parametrize("length", ["unit", "ball", "none"])
def test_every_constraint(engine_kind: type[FusedEngine], configure: Configure, graph: Graph, length: str) -> None:
    compare(
        engine_kind,
        graph,
        configure("itransf", f"model.entity_constraint={length}", f"model.projected_constraint={length}"),
    )


@pytest.mark.parametrize(
    "settings", [("model.attention=dense",), ("model.support_size=1",), ("model.matrix_lr_factor=0.3",)]
)
def test_other_attention(
    engine_kind: type[FusedEngine], configure: Configure, graph: Graph, settings: tuple[str, ...]
) -> None:
    compare(engine_kind, graph, configure("itransf", *settings))


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam"])
def test_free_weights_under_a_penalty(
    engine_kind: type[FusedEngine], configure: Configure, graph: Graph, optimizer: str
) -> None:
    settings = (
        "model.attention=l1",
        "model.l1_weight=0.1",
        "model.projected_constraint=none",
        "model.matrix_lr_factor=0.3",
    )
    # Two steps, with relations in neither: in later ones Adam makes whole steps of gradients that are rounding alone.
    compare(
        engine_kind,
        graph,
        configure("itransf", *settings, "training.batch_size=3", f"training.optimizer={optimizer}"),
    )


@pytest.mark.parametrize(("batch", "triples"), [(1, 4), (7, 16), (11, 11), (100, 11)])
def test_every_batch_size(
    engine_kind: type[FusedEngine], configure: Configure, graph: Graph, batch: int, triples: int
) -> None:
    compare(engine_kind, graph, configure("itransf", f"training.batch_size={batch}"), triples)


@pytest.mark.parametrize("dim", [3, pytest.param(70, marks=pytest.mark.no_cover)])
def test_vectors_that_do_not_fill_a_block(configure: Configure, graph: Graph, dim: int) -> None:
    settings = (f"model.dim={dim}", "negatives.per_triple=2", "training.batch_size=11")
    compare(GPUEngine, graph, configure("itransf", *settings))


@pytest.mark.parametrize(("loss", "norm", "count"), LOSSES_NORMS_COUNTS)
def test_shared_negatives(configure: Configure, graph: Graph, loss: str, norm: int, count: int) -> None:
    settings = (f"loss.name={loss}", f"model.p_norm={norm}", f"negatives.per_triple={count}", "loss.margin=0.7")
    compare(GPUEngine, graph, configure("itransf", *settings, "negatives.shared=true"))


@pytest.mark.parametrize(
    ("name", "batch"),
    [("transe", 4), ("transr", 100), ("stranse", 4), ("lineare", 4), ("ilineare", 4), ("itransf", 100)],
)
def test_negatives_are_shared_within_a_batch_of_every_model(
    configure: Configure, graph: Graph, name: str, batch: int
) -> None:
    settings = ("negatives.shared=true", "negatives.per_triple=3", f"training.batch_size={batch}")
    compare(GPUEngine, graph, configure(name, *settings))


@pytest.mark.parametrize(
    ("loss", "optimizer", "count"),
    [("hinge", "sgd", 5), ("self_adversarial", "adagrad", 2), ("self_adversarial", "adam", 5)],
)
def test_shared_negatives_of_turned_vectors(
    configure: Configure, graph: Graph, weigh: Callable[[Graph], Graph], loss: str, optimizer: str, count: int
) -> None:
    settings = (f"loss.name={loss}", f"training.optimizer={optimizer}", f"negatives.per_triple={count}")
    shared = ("negatives.shared=true", "loss.margin=0.3", "loss.subsampling=0.5")
    compare(GPUEngine, weigh(graph), configure("rotate", *settings, *shared), triples=12)


@pytest.mark.parametrize("length", ["ball", "none"])
def test_shared_negatives_under_every_constraint(configure: Configure, graph: Graph, length: str) -> None:
    settings = ("negatives.shared=true", "negatives.per_triple=4", "loss.name=self_adversarial")
    compare(
        GPUEngine,
        graph,
        configure("itransf", *settings, f"model.entity_constraint={length}", f"model.projected_constraint={length}"),
    )


@pytest.mark.parametrize(("name", "length"), [("transe", "none"), ("lineare", "none"), ("itransf", "unit")])
def test_weights_of_triples_and_the_l2_regularizer(
    engine_kind: type[FusedEngine],
    configure: Configure,
    graph: Graph,
    weigh: Callable[[Graph], Graph],
    name: str,
    length: str,
) -> None:
    settings = ("loss.subsampling=0.5", "regularizer.name=l2", "regularizer.weight=0.1", "negatives.per_triple=2")
    config = configure(name, *settings, f"model.projected_constraint={length}")
    compare(engine_kind, graph, config)
    compare(engine_kind, weigh(graph), config)
    if engine_kind.shares_negatives:
        compare(engine_kind, weigh(graph), replace(config, negatives=replace(config.negatives, shared=True)))


class TransHFromTransE(TransE):
    def __init__(self, sizes: Sizes, config: TranslationConfig) -> None:
        super().__init__(sizes, config)
        self.project_head = self.project_tail = HyperplaneProjection(sizes.relations, config.dim)


@pytest.mark.parametrize("kind", [TransH, TransHFromTransE])
def test_a_projection_without_a_kernel_is_trained_by_plain_steps(
    engine_kind: type[FusedEngine],
    configure: Configure,
    graph: Graph,
    kind: type[Translation],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choice, "load_engine", lambda device: engine_kind)
    config = configure("transe", "training.learning_rate=0.05")

    def train(plain: bool) -> tuple[list[float], dict[str, Tensor], Tensor]:
        torch.manual_seed(0)
        model = kind(Sizes(len(graph.entities), len(graph.relations)), config.model).to(DEVICE)
        start = model.project_head.normals.detach().clone()  # type: ignore[attr-defined]
        trainer = Trainer(model, graph, config)
        if plain:
            trainer.engine = None
        return [report.loss for report in trainer.epochs()], weights(model), start

    (losses, found, start), (expected_losses, expected, _) = train(plain=False), train(plain=True)
    assert losses == pytest.approx(expected_losses)  # a GPU adds in another order
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor)
    moved = (found["project_head.normals"] - start).abs().sum(1)
    assert (moved > 0).all()


def test_the_choice_of_an_engine(
    engine_kind: type[FusedEngine], configure: Configure, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "load_engine", lambda device: engine_kind)

    def choose(*settings: str) -> Engine | None:
        trainer = make_trainer(graph, configure("stranse", *settings))
        return make_engine(trainer.model, trainer.objective, trainer.optimizer, trainer.config)

    assert type(choose()) is engine_kind
    assert choose("loss.name=cross_entropy") is None
    assert (choose("negatives.shared=true") is None) == (engine_kind is CPUEngine)


@pytest.mark.parametrize(
    ("name", "operation", "compared", "known"),
    [
        ("rotate", "rotate", "modulus", True),
        ("rotate", "rotate", "l1", False),
        ("rotate", "add", "modulus", False),
        ("distmult", "add", "dot", False),
        ("distmult", "multiply", "dot", False),
        ("transe", "add", "l2", True),
        ("transe", "rotate", "modulus", False),  # it may project or constrain vectors
    ],
)
def test_only_pairs_of_operations_and_comparisons_with_kernels_are_trained_on_a_gpu(
    configure: Configure,
    graph: Graph,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    operation: str,
    compared: str,
    known: bool,
) -> None:
    trainer = make_trainer(graph, configure(name))
    parts: Any = trainer.objective, trainer.optimizer, trainer.config
    base = type(trainer.model)
    other: Any = type("Other", (base,), {"fused": True, "operation": operation, "compare": compared})
    model = other(trainer.model.sizes, trainer.model.config)
    assert can_fuse(model, trainer.config)
    for kind, expected in ((GPUEngine, known), (CPUEngine, True)):
        monkeypatch.setattr(choice, "load_engine", lambda device, kind=kind: kind)
        assert (make_engine(model, *parts) is not None) == expected


@pytest.mark.parametrize("name", ["transe", "rotate"])
def test_a_learning_rate_of_its_own_is_not_fused(configure: Configure, graph: Graph, name: str) -> None:
    config = configure(name)
    kind: Any = type(build_model(graph, config, DEVICE))
    own: Any = type("Other", (kind,), {"fused": True, "learning_rate_factor": lambda self, parameter: 0.5})
    sizes = Sizes(len(graph.entities), len(graph.relations))
    assert can_fuse(kind(sizes, config.model), config)
    assert not can_fuse(own(sizes, config.model), config)


class PlainITransF(ITransF):
    """A subclass may score differently, so it has no kernels."""


def test_only_what_the_kernels_know_exactly_is_fused(configure: Configure, graph: Graph) -> None:
    config = configure("itransf")
    assert can_fuse(build_model(graph, config, DEVICE), config)
    sizes = Sizes(len(graph.entities), len(graph.relations))
    assert not can_fuse(PlainITransF(sizes, config.model), config)
    assert not can_fuse(ITransF(sizes, config.model).double(), config)
    for name in ("lineare", "ilineare"):
        dropping = configure(name, "model.dropout=0.05")
        assert can_fuse(build_model(graph, configure(name), DEVICE), configure(name))
        model = build_model(graph, dropping, DEVICE)
        assert can_fuse(model, dropping)
        assert (GPUEngine.has_kernels(model), CPUEngine.has_kernels(model)) == (True, False)
        model.is_random = False  # then it may also be random elsewhere
        assert not can_fuse(model, dropping)

    class OtherMatrices(FullProjection):
        pass

    plain = configure("transe")
    for head, tail in (
        (OtherMatrices(4, 4), OtherMatrices(4, 4)),
        (FullProjection(4, 4), NoProjection(4, 4)),
        (NoProjection(4, 4), HyperplaneProjection(4, 4)),
    ):
        model = TransE(sizes, plain.model)
        assert can_fuse(model, plain)
        model.project_head, model.project_tail = head, tail
        assert not can_fuse(model, plain)


@pytest.mark.parametrize(("section", "key"), [("loss", "name"), ("negatives", "sampler"), ("training", "optimizer")])
def test_parts_from_outside_the_package_are_not_fused(
    configure: Configure, graph: Graph, section: str, key: str
) -> None:
    config = configure("transe")
    outside = replace(config, **{section: replace(getattr(config, section), **{key: "somewhere.else:Thing"})})
    model = build_model(graph, config, DEVICE)
    assert can_fuse(model, config)
    assert not can_fuse(model, outside)
