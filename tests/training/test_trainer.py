from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.errors import DivergenceError
from itransf.models import MODELS, Model
from itransf.training import EpochReport, Trainer
from itransf.training import trainer as trainer_module
from itransf.training.trainer import shuffle_triples, weights

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

LOSSES = ("hinge", "self_adversarial", "cross_entropy")


def make_trainer(
    graph: Graph,
    config: Config,
    validate: Callable[[Model], float] | None = None,
) -> Trainer:
    torch.manual_seed(config.seed)
    model = MODELS[config.name].build(graph, config.model)
    return Trainer(model, graph, config, validate)


def train(graph: Graph, config: Config) -> tuple[dict[str, Tensor], list[EpochReport]]:
    trainer = make_trainer(graph, config)
    reports = list(trainer.epochs())
    return weights(trainer.model), reports


def looker(values: list[float]) -> Callable[[Model], float]:
    """Return a validation that says these values one after the other."""
    remaining = iter(values)
    return lambda model: next(remaining)


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=20, relations=3, train=60)


@pytest.fixture
def ring(number_graph: GraphMaker) -> Graph:
    """One relation leads to the next of a ring, another to the one after, a third back: easy to learn."""
    steps = {0: 1, 1: 2, 2: -1}
    return number_graph([(e, r, (e + step) % 30) for e in range(30) for r, step in steps.items()])


class TestRepeating:
    @pytest.mark.parametrize("name", list(MODELS))
    def test_one_seed_gives_the_same_bits(self, configure: Configure, graph: Graph, name: str) -> None:
        config = configure(name, "assignment.every=1" if name == "itransf" else "seed=0")
        first, again = train(graph, config), train(graph, config)
        assert [report.loss for report in first[1]] == [report.loss for report in again[1]]
        for key, tensor in first[0].items():
            assert torch.equal(tensor, again[0][key]), key

    def test_another_seed_gives_other_weights(self, configure: Configure, graph: Graph) -> None:
        first, other = train(graph, configure("transe")), train(graph, configure("transe", "seed=1"))
        assert not torch.equal(first[0]["entities"], other[0]["entities"])

    def test_the_seed_draws_batches_and_negatives_too(self, configure: Configure, graph: Graph) -> None:
        trainers = [make_trainer(graph, configure("transe", f"seed={seed}")) for seed in (0, 1)]
        trainers[1].model.load_state_dict(trainers[0].model.state_dict())
        losses = [[report.loss for report in trainer.epochs()] for trainer in trainers]
        assert losses[0] != losses[1]

    def test_training_leaves_the_global_random_state_alone(self, configure: Configure, graph: Graph) -> None:
        trainer = make_trainer(graph, configure("itransf", "assignment.every=1"))
        before = torch.get_rng_state()
        list(trainer.epochs())
        assert torch.equal(torch.get_rng_state(), before)


class TestLearning:
    @pytest.mark.parametrize(
        ("name", "loss"),
        [(name, loss) for name in MODELS for loss in LOSSES if loss == "cross_entropy" or not MODELS[name].is_random],
    )
    def test_the_loss_falls(self, configure: Configure, ring: Graph, name: str, loss: str) -> None:
        config = configure(
            name,
            *(["model.dim=8"] if hasattr(MODELS[name].Config, "dim") else []),
            f"loss.name={loss}",
            "loss.margin=2",
            "loss.scale=3",
            "negatives.per_triple=4",
            "training.optimizer=adam",
            "training.learning_rate=0.05",
            "training.epochs=12",
            "training.batch_size=30",
        )
        _, reports = train(ring, config)
        assert reports[-1].loss < 0.75 * reports[0].loss

    def test_every_triple_is_learned_once_in_each_epoch(self, configure: Configure, graph: Graph) -> None:
        trainer = make_trainer(graph, configure("transe", "training.batch_size=7", "training.epochs=2"))
        trainer.engine = None
        seen: list[list[int]] = []
        inner = trainer.objective

        class Watch:
            draw = inner.draw

            def __call__(self, model: Model, triples: Tensor, negatives: Any) -> tuple[Tensor, Tensor | None]:
                seen.append(triples.tolist())
                return inner(model, triples, negatives)

        trainer.objective = Watch()
        list(trainer.epochs())
        assert [len(batch) for batch in seen] == [7] * 8 + [4] + [7] * 8 + [4]
        for epoch in (seen[:9], seen[9:]):
            assert sorted(triple for batch in epoch for triple in batch) == list(range(60))
        assert seen[:9] != seen[9:]

    def test_entities_stay_at_unit_length(self, configure: Configure, graph: Graph) -> None:
        for batch_size in (1, 60):  # a few touched rows, or all
            trained, _ = train(graph, configure("stranse", f"training.batch_size={batch_size}"))
            lengths = torch.linalg.vector_norm(trained["entities"], dim=1)
            torch.testing.assert_close(lengths, torch.ones(20))

    def test_relations_that_relation_prediction_changes_stay_in_the_ball(
        self, configure: Configure, graph: Graph
    ) -> None:
        settings = ("training.batch_size=1", "training.learning_rate=0.5", "training.optimizer=adam")
        trained, _ = train(graph, configure("kg2e", "loss.name=cross_entropy", "loss.relation_weight=1.0", *settings))
        means = trained["relations"].chunk(2, dim=1)[0]
        assert float(torch.linalg.vector_norm(means, dim=1).max()) <= 1 + 1e-6

    def test_a_penalty_shrinks_attention_and_is_not_counted_in_the_loss(
        self, configure: Configure, graph: Graph
    ) -> None:
        sums = []
        for weight in (0.0, 0.05):
            free = (
                "model.attention=l1",
                "model.projected_constraint=none",
                "training.epochs=5",
                "training.batch_size=60",
            )
            trained, reports = train(graph, configure("itransf", *free, f"model.l1_weight={weight}"))
            sums.append((float(trained["project_head.scores"].abs().sum()), reports[0].loss))
        assert sums[1][0] < sums[0][0]
        assert sums[1][1] == pytest.approx(sums[0][1])

    def test_a_loss_without_bounds_is_an_error_that_names_the_cure(self, configure: Configure, graph: Graph) -> None:
        config = configure(
            "transe",
            "model.entity_constraint=none",
            "model.projected_constraint=none",
            "training.learning_rate=1e18",
            "regularizer.weight=1",
            "training.epochs=50",
        )
        with pytest.raises(
            DivergenceError, match=r"the loss became (inf|nan) in epoch \d+: lower training\.learning_rate"
        ):
            train(graph, config)

    @pytest.mark.parametrize("every", [0, 1])
    @pytest.mark.parametrize("averaging", [0, 1])
    def test_weights_without_bounds_after_the_last_update_are_such_an_error(
        self, configure: Configure, graph: Graph, every: int, averaging: float
    ) -> None:
        plan = f"validation.every={every}", "training.epochs=1", f"training.weight_averaging={averaging}"
        trainer = make_trainer(graph, configure("transe", *plan), lambda model: pytest.fail("they are validated"))

        def spoil() -> None:
            if trainer.progress.batches == 8:
                trainer.model.get_parameter("entities").data[3, 1] = float("nan")

        with pytest.raises(DivergenceError, match=r"the weights .* in epoch 1: lower training\.learning_rate"):
            list(trainer.epochs(after_batch=spoil))


class TestSchedule:
    @pytest.mark.usefixtures("single_batch_plans")
    def test_linear_decay_reaches_zero_after_the_last_epoch(self, configure: Configure, graph: Graph) -> None:
        trainer = make_trainer(
            graph,
            configure("transe", "training.lr_decay=linear", "training.epochs=4", "training.learning_rate=0.8"),
        )
        rates: list[float] = []
        for _ in trainer.epochs(after_batch=lambda: rates.append(trainer.optimizer.learning_rate)):
            pass
        assert rates == pytest.approx([0.8] * 8 + [0.6] * 8 + [0.4] * 8 + [0.2] * 8)

    def test_without_decay_the_rate_stays(self, configure: Configure, graph: Graph) -> None:
        trainer = make_trainer(graph, configure("transe", "training.learning_rate=0.8"))
        list(trainer.epochs())
        assert trainer.optimizer.learning_rate == 0.8

    @pytest.mark.parametrize(("stop", "epochs"), [(1.0, 4), (0.5, 2), (0.7, 3), (0.0, 0)])
    def test_domain_sampling_ends_with_its_share_of_the_epochs(
        self, configure: Configure, graph: Graph, stop: float, epochs: int
    ) -> None:
        settings = ("training.epochs=4", "negatives.domain=0.5", f"negatives.domain_stop={stop}")
        trainer = make_trainer(graph, configure("itransf", *settings, "assignment.every=1"))
        used = [trainer.sampler.uses_domains for _ in trainer.epochs()]
        assert used == [True] * epochs + [False] * (4 - epochs)

    def test_minutes_end_training(self, configure: Configure, graph: Graph) -> None:
        _, reports = train(graph, configure("transe", "training.epochs=100", "training.max_minutes=1e-9"))
        assert len(reports) == 1

    @pytest.mark.parametrize(
        ("settings", "epochs"),
        [
            (("assignment.every=2", "assignment.start=3", "assignment.stop=0.8"), [3, 5, 7]),
            (("assignment.every=4", "assignment.start=1", "assignment.stop=1.0"), [1, 5, 9]),
            (("assignment.every=1", "assignment.start=0", "assignment.stop=0.2"), [1, 2]),
            (("assignment.every=0",), []),
        ],
    )
    def test_concepts_are_chosen_anew_when_due(
        self, configure: Configure, graph: Graph, settings: tuple[str, ...], epochs: list[int]
    ) -> None:
        _, reports = train(graph, configure("itransf", "training.epochs=10", *settings))
        assert [report.epoch for report in reports if report.assignment is not None] == epochs

    @pytest.mark.parametrize("name", ["transe", "stranse", "itransf"])
    def test_models_without_supports_have_no_such_step(self, configure: Configure, graph: Graph, name: str) -> None:
        more = ["model.attention=dense"] if name == "itransf" else []
        _, reports = train(graph, configure(name, "assignment.every=1", *more))
        assert all(report.assignment is None for report in reports)


class TestValidation:
    def test_patience_ends_training(self, configure: Configure, graph: Graph) -> None:
        config = configure("transe", "training.epochs=20", "validation.every=2", "validation.patience=2")
        trainer = make_trainer(graph, config, looker([0.1, 0.3, 0.2, 0.3, 0.9]))
        reports = list(trainer.epochs())
        assert [report.metric for report in reports] == [None, 0.1, None, 0.3, None, 0.2, None, 0.3]
        assert [report.is_best for report in reports if report.metric] == [True, True, False, False]
        assert (trainer.progress.best_metric, trainer.progress.best_epoch) == (0.3, 4)
        assert trainer.progress.finished

    def test_without_patience_it_goes_on(self, configure: Configure, graph: Graph) -> None:
        config = configure("transe", "training.epochs=5", "validation.every=1", "validation.patience=0")
        trainer = make_trainer(graph, config, looker([0.5, 0.4, 0.3, 0.2, 0.1]))
        assert len(list(trainer.epochs())) == 5

    @pytest.mark.parametrize(("metric", "best_epoch"), [("mrr", 2), ("mr", 4)])
    def test_the_best_weights_come_back(self, configure: Configure, graph: Graph, metric: str, best_epoch: int) -> None:
        schedule = ("training.epochs=5", "validation.every=1", "assignment.every=1")
        config = configure("itransf", *schedule, f"validation.metric={metric}")
        trainer = make_trainer(graph, config, looker([3.0, 7.0, 5.0, 2.0, 4.0]))
        kept = []
        for _ in trainer.epochs():
            kept.append({name: tensor.clone() for name, tensor in weights(trainer.model).items()})
        trainer.restore_best()
        assert trainer.progress.best_epoch == best_epoch
        for name, tensor in weights(trainer.model).items():
            assert torch.equal(tensor, kept[best_epoch - 1][name]), name
        assert not torch.equal(weights(trainer.model)["entities"], kept[-1]["entities"])

    def test_the_last_epoch_is_always_looked_at(self, configure: Configure, graph: Graph) -> None:
        config = configure("transe", "training.epochs=5", "validation.every=3")
        reports = list(make_trainer(graph, config, looker([0.1, 0.2])).epochs())
        assert [report.epoch for report in reports if report.metric is not None] == [3, 5]

    def test_the_last_epoch_within_the_minutes_is_looked_at(
        self, configure: Configure, graph: Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = iter(range(0, 1000, 20))  # of each epoch, 20 seconds are measured
        monkeypatch.setattr(trainer_module.time, "perf_counter", lambda: next(clock))
        config = configure("transe", "training.epochs=9", "training.max_minutes=1.5", "validation.every=3")
        trainer = make_trainer(graph, config, looker([0.1, 0.2]))
        reports = list(trainer.epochs())
        assert [report.epoch for report in reports if report.metric is not None] == [3, 5]
        assert trainer.progress.best_epoch == 5

    def test_without_a_look_the_last_weights_stay(self, configure: Configure, graph: Graph) -> None:
        trainer = make_trainer(graph, configure("transe", "validation.every=0"), looker([]))
        list(trainer.epochs())
        last = weights(trainer.model)["entities"].clone()
        trainer.restore_best()
        assert torch.equal(weights(trainer.model)["entities"], last)


@pytest.mark.parametrize("block_size", [1, 3, 7])
def test_shuffling_keeps_blocks_of_a_relation_together(block_size: int) -> None:
    relations = torch.tensor([0, 1, 2, 0, 1, 0, 0, 0, 0, 2] * 3)
    order = shuffle_triples(relations, block_size, torch.Generator().manual_seed(1))
    assert sorted(order.tolist()) == list(range(30))
    runs = torch.unique_consecutive(relations[order], return_counts=True)[1]
    blocks = sum(-(-int(count) // block_size) for count in torch.bincount(relations))
    assert len(runs) <= blocks
    again = shuffle_triples(relations, block_size, torch.Generator().manual_seed(2))
    assert not torch.equal(order, again)


class TestEstimatingTheState:
    @pytest.mark.parametrize("name", ["transe", "stranse", "icomplex", "complex"])
    def test_a_whole_epoch_gives_its_squares_for_trained_rows(
        self, configure: Configure, graph: Graph, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setattr(trainer_module, "SEEN", 1.0)
        config = configure(name, "training.optimizer=adagrad", "training.learning_rate=1e-9", "training.epochs=1")
        alone, ours = make_trainer(graph, config), make_trainer(graph, config)
        before = {key: tensor.clone() for key, tensor in weights(ours.model).items()}
        list(alone.epochs())  # at a rate that changes next to nothing
        rows = {key: len(tensor) - 1 for key, tensor in before.items()}
        ours.estimate_state(rows)
        for key, tensor in weights(ours.model).items():
            torch.testing.assert_close(tensor, before[key])
        assert ours.optimizer.steps == 0
        for key in ours.optimizer.parameters:
            squares, expected = (each.optimizer.state[f"{key}.squares"] for each in (ours, alone))
            assert expected[:-1].any()
            torch.testing.assert_close(squares[:-1], trainer_module.EARLIER * expected[:-1], rtol=1e-3, atol=1e-9)
            assert not squares[-1].any()

    def test_a_part_of_an_epoch_stands_for_all_of_it(self, configure: Configure, graph: Graph) -> None:
        config = configure("complex", "training.optimizer=adagrad", "training.batch_size=10", "loss.candidates=0")
        trainer = make_trainer(graph, config)
        trainer.estimate_state({key: len(tensor) for key, tensor in weights(trainer.model).items()})
        part = trainer.optimizer.state["entities.squares"].sum()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trainer_module, "SEEN", 1.0)
            whole = make_trainer(graph, config)
            whole.estimate_state({key: len(tensor) for key, tensor in weights(whole.model).items()})
        assert float(part / whole.optimizer.state["entities.squares"].sum()) == pytest.approx(1, abs=0.5)

    @pytest.mark.parametrize("optimizer", ["sgd", "adam"])
    def test_other_optimizers_start_with_an_empty_state(
        self, configure: Configure, graph: Graph, optimizer: str
    ) -> None:
        trainer = make_trainer(graph, configure("transe", f"training.optimizer={optimizer}"))
        trainer.estimate_state({})
        assert not any(bool(tensor.any()) for tensor in trainer.optimizer.state.values())
