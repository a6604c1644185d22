from __future__ import annotations

import re
import signal
import sys
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import Tensor

import itransf
from itransf import fitting
from itransf.config import Config
from itransf.data.graph import Graph
from itransf.data.planted import plant
from itransf.data.vocabulary import Vocabulary
from itransf.errors import CheckpointError, ConfigError, DivergenceError
from itransf.evaluation import evaluate
from itransf.fitting import (
    Fit,
    build_model,
    choose_weight,
    describe_epoch,
    describe_plan,
    deterministic,
    set_weight,
    warm_config,
    write_duration,
)
from itransf.models import MODELS, Model
from itransf.storage import RunFolder
from itransf.training import EpochReport, Trainer
from itransf.training.trainer import weights
from training.interruption import FragileFolder, InterruptionError

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

CPU = torch.device("cpu")


def start(graph: Graph, config: Config, folder: RunFolder | None = None) -> Fit:
    if folder is not None and not folder.checkpoints:
        folder.create(graph, config)
    return Fit(graph, config, CPU, folder, progress=False)


def same_bits(left: Model, right: Model) -> bool:
    return all(torch.equal(tensor, weights(right)[name]) for name, tensor in weights(left).items())


def without_time(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**line, "seconds": 0.0} for line in history]


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=24, valid=8, test=8)


class TestTellingBeforehand:
    def test_the_plan_names_model_epochs_and_device(self, graph: Graph) -> None:
        config = itransf.run.resolve_config(graph, settings=["training.epochs=7", "warm_start.epochs=1200"])
        memory = r"; about \d+\.\d GB of memory"
        told = (
            "icomplex, dimension 100, 3 concepts, at most 3 for a relation; 1,200 epochs of complex, then 7 epochs in "
            "batches of 32 on cpu"
        )
        assert re.fullmatch(told + memory, describe_plan(graph, config, CPU))
        plain = itransf.run.resolve_config(graph, settings=["model.name=transe", "training.epochs=9"])
        told = "transe, dimension 64; 9 epochs in batches of 32 on cpu"
        assert re.fullmatch(told + memory, describe_plan(graph, plain, CPU))

    @pytest.mark.parametrize(("device", "name"), [("cpu", "numba"), ("cuda", "triton")])
    @pytest.mark.parametrize(
        ("settings", "is_said"),
        [
            (("itransf", "loss.name=hinge"), True),
            (("itransf", "loss.name=cross_entropy"), False),  # it has no compiled steps
            (("icomplex",), False),
        ],
    )
    def test_a_missing_compiler_is_named(
        self,
        configure: Configure,
        graph: Graph,
        monkeypatch: pytest.MonkeyPatch,
        settings: tuple[str, ...],
        is_said: bool,
        device: str,
        name: str,
    ) -> None:
        plan, said = configure(*settings), f"; compiled steps need an optional dependency: pip install {name}"
        for module in ("numba", "triton"):
            monkeypatch.setitem(sys.modules, module, None)
        assert describe_plan(graph, plan, torch.device(device)).endswith(said) == is_said

    def test_the_model_that_is_trained_first_does_not_outlive_its_use(self, graph: Graph) -> None:
        settings = ["training.epochs=1", "warm_start.epochs=1", "validation.every=0"]
        fit, made = start(graph, itransf.run.resolve_config(graph, settings=settings)), list[Any]()
        make = fit._make_trainer

        def watch(*given: Any) -> Trainer:
            assert [each() for each in made] == [None] * len(made)
            trainer = make(*given)
            made.append(weakref.ref(trainer))
            return trainer

        fit._make_trainer = watch  # type: ignore[method-assign]
        fit.run()
        assert len(made) == 2

    @pytest.mark.parametrize(
        ("seconds", "text"), [(0.1, "1 s"), (89.2, "89 s"), (90, "2 min"), (5399, "90 min"), (7200, "2 h")]
    )
    def test_durations_are_written_in_one_unit(self, seconds: float, text: str) -> None:
        assert write_duration(seconds) == text

    def test_the_time_left_of_all_phases_is_said_once(
        self, graph: Graph, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        times = iter(range(0, 10**6, 2))  # every look at the clock is two seconds after the one before
        monkeypatch.setattr(fitting.time, "monotonic", lambda: float(next(times)))
        monkeypatch.setattr(Fit, "_save_if_due", lambda *_: None)
        settings = ["training.epochs=2", "warm_start.epochs=3", "training.batch_size=32", "validation.every=0"]
        config = itransf.run.resolve_config(graph, settings=settings)
        Fit(graph, config, CPU).run()
        lines = [line for line in capsys.readouterr().err.splitlines() if "left, validation not counted" in line]
        # One batch is an epoch. After the second, three are left, of as many seconds as the second took.
        assert len(lines) == 1
        assert "GB of memory in use" in lines[0]
        seconds = float(lines[0].split()[1])
        assert seconds % 3 == 0
        assert seconds > 0


class TestChoosingTheWeight:
    CHOOSE = (
        "loss.name=cross_entropy",
        "negatives.filtered=false",
        "regularizer.weight=-1",
        "training.optimizer=adagrad",
    )

    def test_the_best_weight_on_validation_is_taken(
        self, configure: Configure, graph: Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tried = []

        def validate(self: Fit) -> Any:
            def measure(model: Model) -> float:
                tried.append((self.config.regularizer.weight, self.config.name, model.config.dim))
                return {0.004: 0.1, 0.015: 0.3, 0.05: 0.2, 0.1: 0.3}[self.config.regularizer.weight]

            return measure

        monkeypatch.setattr(Fit, "make_validate", validate)
        config = configure("icomplex", *self.CHOOSE, "warm_start.epochs=6", "model.dim=50")
        chosen = choose_weight(graph, config, CPU)
        assert chosen == set_weight(config, 0.015)  # the first of equals
        assert tried == [(weight, "complex", 40) for weight in (0.004, 0.015, 0.05, 0.1)]

    @pytest.mark.parametrize("metric", ["mrr", "mr"])
    def test_a_trial_that_diverges_loses(
        self, configure: Configure, graph: Graph, monkeypatch: pytest.MonkeyPatch, metric: str
    ) -> None:
        def diverge(self: Trainer) -> Any:
            if self.config.regularizer.weight in (0.004, 0.1):
                raise DivergenceError("the loss became nan")
            return iter(())

        found = {0.015: 0.1, 0.05: 0.2}
        monkeypatch.setattr(Trainer, "epochs", diverge)
        monkeypatch.setattr(Fit, "make_validate", lambda self: lambda _: found[self.config.regularizer.weight])
        config = configure("complex", *self.CHOOSE, f"validation.metric={metric}")
        assert choose_weight(graph, config, CPU) == set_weight(config, 0.05 if metric == "mrr" else 0.015)

    @pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
    def test_it_is_chosen_where_gradients_are_switched_off(
        self, configure: Configure, graph: Graph, mode: Callable[[], AbstractContextManager[None]]
    ) -> None:
        config = configure("complex", *self.CHOOSE, "training.epochs=2")
        with mode():
            chosen = choose_weight(graph, config, CPU)
        assert chosen == choose_weight(graph, config, CPU)

    def test_a_given_weight_is_kept_and_no_model_is_trained(self, configure: Configure, graph: Graph) -> None:
        config = configure("icomplex", "regularizer.weight=0")
        assert choose_weight(graph, config, CPU) is config

    def test_without_validation_triples_a_fixed_weight_is_taken(
        self, configure: Configure, random_graph: GraphMaker
    ) -> None:
        graph = random_graph(entities=12, relations=3, train=24)
        assert choose_weight(graph, configure("complex", *self.CHOOSE), CPU).regularizer.weight > 0

    def test_a_graph_too_large_for_two_epochs_of_a_trial_gets_a_fixed_weight(
        self, configure: Configure, graph: Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fitting, "TRIED_VISITS", 2 * len(graph.train) - 1)
        monkeypatch.setattr(Fit, "_make_trainer", lambda *_: pytest.fail("nothing is tried"))
        assert choose_weight(graph, configure("complex", *self.CHOOSE), CPU).regularizer.weight == 0.015

    def test_a_trainer_refuses_a_weight_that_is_not_chosen(self, configure: Configure, graph: Graph) -> None:
        config = configure("complex", *self.CHOOSE)
        with pytest.raises(ConfigError, match="weight"):
            Trainer(build_model(graph, config, CPU), graph, config)

    def test_other_negative_weights_are_refused(self, configure: Configure) -> None:
        with pytest.raises(ConfigError, match=r"regularizer\.weight"):
            configure("complex", "regularizer.weight=-0.5")

    def test_the_chosen_weight_is_stored_and_resumed(self, configure: Configure, graph: Graph, tmp_path: Path) -> None:
        config = configure("icomplex", *self.CHOOSE, "warm_start.epochs=2", "training.epochs=2")
        run = itransf.train(graph, config=config, out=tmp_path / "run", progress=False)
        assert run.config.regularizer.weight in fitting.WEIGHTS_TRIED
        assert itransf.open(tmp_path / "run").config == run.config
        longer = itransf.train(graph, settings=["training.epochs=3"], out=tmp_path / "run", resume=True, progress=False)
        assert longer.config.regularizer == run.config.regularizer

    @pytest.mark.parametrize("seeds", [1, 2])
    def test_a_run_that_chose_its_weight_resumes_with_the_same_arguments(
        self, configure: Configure, graph: Graph, tmp_path: Path, seeds: int
    ) -> None:
        config = configure("complex", *self.CHOOSE, "training.epochs=2")
        options: dict[str, Any] = {"config": config, "seeds": seeds, "out": tmp_path / "run", "progress": False}
        run = itransf.train(graph, **options)
        again = itransf.train(graph, **options, resume=True)
        assert again.config == run.config != config


class TestBuilding:
    def test_one_seed_gives_one_model_and_leaves_the_global_state_alone(
        self, configure: Configure, graph: Graph
    ) -> None:
        before = torch.get_rng_state()
        first, again = (build_model(graph, configure("itransf"), CPU) for _ in range(2))
        other = build_model(graph, configure("itransf", "seed=1"), CPU)
        assert torch.equal(torch.get_rng_state(), before)
        assert same_bits(first, again)
        assert not torch.equal(weights(first)["concepts"], weights(other)["concepts"])

    @pytest.mark.parametrize("name", list(MODELS))
    def test_every_model_can_be_fitted(self, configure: Configure, graph: Graph, name: str) -> None:
        fit = start(graph, configure(name))
        model = fit.run()
        assert isinstance(model, MODELS[name])
        assert [line["epoch"] for line in fit.history] == [1, 2, 3]
        assert {line["phase"] for line in fit.history} == {"training"}


def test_a_planted_graph_is_learned(configure: Configure) -> None:
    graph = plant(0, entities=80, relations=6, concepts=3, dim=6).graph
    settings = (
        "model.dim=12",
        "training.optimizer=adam",
        "training.learning_rate=0.03",
        "training.batch_size=50",
    )
    config = configure("itransf", *settings, "training.epochs=15", "loss.margin=2", "assignment.every=5")
    fit = start(graph, config)
    untrained, trained = (evaluate(model, graph)["mrr"] for model in (build_model(graph, config, CPU), fit.run()))
    assert fit.history[-1]["loss"] < 0.6 * fit.history[0]["loss"]
    assert trained > 1.5 * untrained


class TestWarmStart:
    def test_the_settings_are_transes_with_their_own_length(self, configure: Configure) -> None:
        config = configure("itransf", "warm_start.epochs=7", "warm_start.learning_rate=0.3", "model.p_norm=2")
        warm = warm_config(config)
        assert (warm.name, warm.training.epochs, warm.training.learning_rate) == ("transe", 7, 0.3)
        assert (warm.model.dim, warm.model.p_norm) == (config.model.dim, 2)
        assert warm.loss == config.loss
        assert warm_config(configure("itransf", "warm_start.epochs=7")).training.learning_rate == 0.1

    def test_settings_that_a_model_does_not_have_keep_their_default(self, configure: Configure) -> None:
        warm = warm_config(configure("kg2e", "warm_start.epochs=7", "model.dim=9", "model.entity_constraint=unit"))
        assert (warm.name, warm.model.dim, warm.model.entity_constraint, warm.model.p_norm) == ("transe", 9, "unit", 2)

    @pytest.mark.parametrize("training", ["uniform", "bernoulli"])
    def test_it_may_corrupt_triples_otherwise_than_the_training(self, training: str, configure: Configure) -> None:
        settings = (f"negatives.sampler={training}", "negatives.domain=0.5", "negatives.per_triple=3")
        same, *others = (
            warm_config(configure("itransf", *settings, f"warm_start.sampler={kind}")).negatives
            for kind in ("same", "uniform", "bernoulli")
        )
        assert (same.sampler, same.domain, same.per_triple) == (training, 0.5, 3)
        assert [(other.sampler, other.domain, other.per_triple) for other in others] == [
            ("uniform", 0.0, 3),
            ("bernoulli", 0.0, 3),
        ]

    def test_vectors_come_from_transe(self, configure: Configure, graph: Graph) -> None:
        config = configure("itransf", "warm_start.epochs=4", "training.epochs=0")
        fit = start(graph, config)
        model = fit.run()
        warm = warm_config(config)
        transe = build_model(graph, warm, CPU)
        list(Trainer(transe, graph, warm).epochs())
        for name in ("entities", "relations"):
            assert torch.equal(weights(model)[name], weights(transe)[name])
        assert torch.equal(weights(model)["concepts"], weights(build_model(graph, config, CPU))["concepts"])
        assert [line["phase"] for line in fit.history] == ["warm start"] * 4

    def test_vectors_are_handed_on_as_they_are_where_weights_are_averaged(
        self, configure: Configure, graph: Graph
    ) -> None:
        settings = ("warm_start.epochs=4", "training.epochs=0")
        plain, averaged = (
            weights(start(graph, configure("itransf", *settings, f"training.weight_averaging={share}")).run())
            for share in (0, 0.5)
        )
        assert torch.equal(plain["entities"], averaged["entities"])

    def make_run(self, graph: Graph, config: Config, path: Path) -> dict[str, Tensor]:
        folder = RunFolder(path)
        model = start(graph, config, folder).run()
        folder.stage_tensors("model.safetensors", weights(model), {})
        folder.commit()
        return weights(model)

    def test_vectors_come_from_another_run(self, configure: Configure, graph: Graph, tmp_path: Path) -> None:
        stored = self.make_run(graph, configure("transe", "seed=5"), tmp_path / "other")
        config = configure("stranse", "training.epochs=0", f"warm_start.run={tmp_path / 'other'}")
        model = start(graph, config).run()
        assert torch.equal(weights(model)["entities"], stored["entities"])
        assert torch.equal(weights(model)["relations"], stored["relations"])

    def test_rows_of_an_earlier_graph_are_found_by_name(
        self, configure: Configure, graph: Graph, tmp_path: Path
    ) -> None:
        stored = self.make_run(graph, configure("transe", "seed=5"), tmp_path / "other")
        names = {kind: getattr(graph, kind).names for kind in ("entities", "relations")}
        grown = replace(
            graph,
            entities=Vocabulary(["new", *reversed(names["entities"])]),
            relations=Vocabulary(["newer", *reversed(names["relations"])], kind="relation"),
        )
        config = configure("stranse", "training.epochs=0", f"warm_start.run={tmp_path / 'other'}")
        found, usual = weights(start(grown, config).run()), weights(build_model(grown, warm_config(config), CPU))
        for kind in names:
            assert torch.equal(found[kind][1:].flip(0), stored[kind])
            assert torch.equal(found[kind][0], usual[kind][0])

    def test_a_run_whose_weights_are_not_numbers_is_refused(
        self, configure: Configure, graph: Graph, tmp_path: Path
    ) -> None:
        stored = self.make_run(graph, configure("transe"), tmp_path / "other")
        stored["entities"][2, 1] = float("nan")
        folder = RunFolder(tmp_path / "other")
        folder.stage_tensors("model.safetensors", stored, {})
        folder.commit()
        with pytest.raises(CheckpointError, match=r"warm_start\.run: .*other: 'entities' contain NaN"):
            start(graph, configure("stranse", f"warm_start.run={tmp_path / 'other'}")).run()

    def test_a_run_that_does_not_fit_is_refused(
        self, configure: Configure, graph: Graph, number_graph: GraphMaker, tmp_path: Path
    ) -> None:
        self.make_run(graph, configure("transe"), tmp_path / "other")
        setting = f"warm_start.run={tmp_path / 'other'}"
        with pytest.raises(ConfigError, match=r"\(12, 4\).*\(12, 6\).*model\.dim"):
            start(graph, configure("stranse", "model.dim=6", setting)).run()
        with pytest.raises(ConfigError, match=r"warm_start\.run: .*other .*another graph"):
            start(number_graph([(0, 0, 1)]), configure("stranse", setting)).run()
        with pytest.raises(CheckpointError, match="none"):
            start(graph, configure("stranse", f"warm_start.run={tmp_path / 'none'}")).run()


class TestValidating:
    def test_the_history_tells_epochs_looks_and_choices(self, configure: Configure, graph: Graph) -> None:
        config = configure("itransf", "training.epochs=4", "validation.every=2", "assignment.every=3")
        fit = start(graph, config)
        fit.run()
        assert [sorted(line) for line in fit.history] == [
            sorted({"phase", "epoch", "loss", "seconds"} | more)
            for more in (
                {"changed", "rejected"},
                {"metric", "best"},
                set(),
                {"metric", "best", "changed", "rejected"},
            )
        ]

    @pytest.mark.parametrize("metric", ["mrr", "mr", "hits@10"])
    def test_the_model_returned_is_the_best_seen(self, configure: Configure, graph: Graph, metric: str) -> None:
        settings = ("training.epochs=8", "training.learning_rate=0.5", "validation.every=1")
        fit = start(graph, configure("transe", *settings, f"validation.metric={metric}"))
        model = fit.run()
        seen = [line["metric"] for line in fit.history]
        best = min(seen) if metric == "mr" else max(seen)
        untested = replace(graph, test=graph.test[:0])  # selection never sees test triples, not even as a filter
        assert evaluate(model, untested, "valid")[metric] == pytest.approx(best)
        if metric == "mrr":
            assert evaluate(model, graph, "valid")[metric] != pytest.approx(best)
        assert [line["epoch"] for line in fit.history if line["best"]][-1] == seen.index(best) + 1

    def test_a_sample_of_the_triples_is_always_the_same(self, configure: Configure, graph: Graph) -> None:
        config = configure("transe", "validation.triples=3", "validation.every=1", "training.learning_rate=0.0")
        fits = [start(graph, config) for _ in range(2)]
        for fit in fits:
            fit.run()
        looks = {line["metric"] for fit in fits for line in fit.history}
        assert len(looks) == 1
        everything = start(graph, configure("transe", "validation.every=1", "training.learning_rate=0.0"))
        everything.run()
        assert everything.history[0]["metric"] not in looks

    def test_without_validation_triples_nothing_is_looked_at(
        self, configure: Configure, number_graph: GraphMaker
    ) -> None:
        fit = start(number_graph([(0, 0, 1), (1, 0, 2)]), configure("transe", "validation.every=1"))
        fit.run()
        assert not any("metric" in line for line in fit.history)


class TestCheckpoints:
    def test_are_due_after_epochs(self, configure: Configure, graph: Graph, tmp_path: Path) -> None:
        folder = FragileFolder(tmp_path / "run")
        start(graph, configure("transe", "training.epochs=5", "checkpoint.epochs=2"), folder).run()
        assert len(folder.phases) == 3  # after epochs 2 and 4, and at the end
        assert len(folder.read_history()) == 5

    @pytest.mark.usefixtures("single_batch_plans")
    def test_are_due_after_minutes_even_within_an_epoch(
        self, configure: Configure, graph: Graph, tmp_path: Path
    ) -> None:
        folder = FragileFolder(tmp_path / "run")
        start(graph, configure("transe", "training.epochs=2", "checkpoint.minutes=1e-9"), folder).run()
        assert len(folder.phases) == 2 * (3 + 1) + 1  # three batches and the epoch, twice, and the end

    def test_without_a_folder_nothing_is_written(
        self, configure: Configure, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        start(graph, configure("transe", "checkpoint.epochs=1")).run()
        assert list(tmp_path.iterdir()) == []


def test_progress_names_the_model_the_phase_and_the_metric(
    configure: Configure, graph: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configure("stranse", "warm_start.epochs=2", "validation.every=1")
    Fit(graph, config, CPU, progress=True).run()
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("compiling")]
    starts = ("transe (warm start): 2/2 epochs", "stranse: 3/3 epochs")
    assert [line.startswith(start) for line, start in zip(lines, starts, strict=True)] == [True, True]
    assert "valid" not in lines[0]
    assert "valid mrr" in lines[1]


def test_deterministic_algorithms_are_asked_for_only_within_the_block() -> None:
    before = torch.are_deterministic_algorithms_enabled()
    with deterministic(True):
        assert torch.are_deterministic_algorithms_enabled()
    assert torch.are_deterministic_algorithms_enabled() == before
    with pytest.raises(ValueError, match="no"), deterministic(True):
        raise ValueError("no")
    assert torch.are_deterministic_algorithms_enabled() == before


def test_deterministic_algorithms_are_left_alone_where_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call of that switch imports torch's compiler: more than a second that a CPU run can spare."""
    calls: list[bool] = []
    monkeypatch.setattr(torch, "use_deterministic_algorithms", calls.append)
    with deterministic(False):
        pass
    assert calls == []


def test_one_seed_gives_one_history(configure: Configure, graph: Graph) -> None:
    config = configure("itransf", "assignment.every=1", "validation.every=1")
    fits = [start(graph, config) for _ in range(2)]
    assert same_bits(*(fit.run() for fit in fits))
    assert without_time(fits[0].history) == without_time(fits[1].history)
    assert np.isfinite([line["loss"] for line in fits[0].history]).all()


def test_the_last_of_several_that_ask_for_the_same_bits_lets_go() -> None:
    before = torch.are_deterministic_algorithms_enabled()
    first, second = deterministic(True), deterministic(True)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert torch.are_deterministic_algorithms_enabled()
    second.__exit__(None, None, None)
    assert torch.are_deterministic_algorithms_enabled() == before


@pytest.mark.parametrize(
    "recipe",
    [
        ("stranse", "training.optimizer=sgd"),
        ("itransf", "training.optimizer=adam", "training.learning_rate=0.02", "assignment.every=1"),
    ],
    ids=["sgd", "adam"],
)
@pytest.mark.usefixtures("single_batch_plans")
def test_a_run_cut_anywhere_goes_on_to_the_same_bits(
    configure: Configure, graph: Graph, tmp_path: Path, recipe: tuple[str, ...]
) -> None:
    """Every checkpoint of a run is tried: in the warm start and after it, within and between epochs."""
    length = (
        "warm_start.epochs=1",
        "training.epochs=2",
        "training.batch_size=12",
        "checkpoint.minutes=1e-9",
    )
    config = configure(recipe[0], *length, "validation.every=1", *recipe[1:])
    folder = FragileFolder(tmp_path / "unbroken")
    unbroken = start(graph, config, folder)
    wanted = unbroken.run()
    assert folder.phases == ["warm start"] * 4 + ["training"] * 7  # two batches, the epoch; the phase
    for number in range(1, len(folder.phases) + 1):
        path = tmp_path / f"cut{number}"
        with pytest.raises(InterruptionError):
            start(graph, config, FragileFolder(path, stop_after=number)).run()
        fit = start(graph, config, RunFolder(path))
        found = fit.run(resume=True)
        assert same_bits(found, wanted), (number, folder.phases[number - 1])
        assert without_time(fit.history) == without_time(unbroken.history)


@pytest.mark.usefixtures("single_batch_plans")
def test_more_epochs_go_on_where_a_finished_run_ended(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    settings = ("training.optimizer=adam", "validation.every=1")
    longer = configure("itransf", *settings, "training.epochs=6")
    start(graph, configure("itransf", *settings, "training.epochs=2"), RunFolder(tmp_path)).run()
    fit = start(graph, longer, RunFolder(tmp_path))
    assert same_bits(fit.run(resume=True), start(graph, longer).run())
    assert [line["epoch"] for line in fit.history] == [1, 2, 3, 4, 5, 6]


@pytest.mark.usefixtures("single_batch_plans")
def test_a_run_that_lost_its_patience_does_not_go_on(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    config = configure(
        "transe",
        "training.epochs=50",
        "validation.every=1",
        "validation.patience=2",
        "checkpoint.epochs=1",
    )
    unbroken = start(graph, config, RunFolder(tmp_path))
    wanted = unbroken.run()
    assert len(unbroken.history) < 50
    fit = start(graph, config, RunFolder(tmp_path))
    assert same_bits(fit.run(resume=True), wanted)
    assert len(fit.history) == len(unbroken.history)


@pytest.mark.usefixtures("single_batch_plans")
def test_more_patience_lets_it_go_on(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    settings = ("training.epochs=12", "validation.every=1")
    short = start(graph, configure("transe", *settings, "validation.patience=2"), RunFolder(tmp_path))
    short.run()
    assert len(short.history) < 12
    fit = start(graph, configure("transe", *settings, "validation.patience=0"), RunFolder(tmp_path))
    fit.run(resume=True)
    assert len(fit.history) == 12


@pytest.mark.usefixtures("single_batch_plans")
def test_with_nothing_saved_it_starts(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    config = configure("transe")
    assert same_bits(start(graph, config, RunFolder(tmp_path)).run(resume=True), start(graph, config).run())


@pytest.mark.usefixtures("single_batch_plans")
def test_a_damaged_checkpoint_is_named(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    config = configure("transe")
    start(graph, config, RunFolder(tmp_path)).run()
    for path in tmp_path.glob("checkpoint-*"):
        path.write_bytes(b"nonsense")
    with pytest.raises(CheckpointError, match=r"checkpoint-\d\.safetensors: .*checksum"):
        start(graph, config, RunFolder(tmp_path)).run(resume=True)


@pytest.mark.usefixtures("single_batch_plans")
def test_an_interrupt_after_the_last_batch_of_a_warm_start_is_heard(
    configure: Configure, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure("itransf", "warm_start.epochs=2", "training.epochs=2")
    folder = RunFolder(tmp_path / "run")

    def describe(report: EpochReport, phase: str) -> dict[str, Any]:
        if report.epoch == 2:
            signal.raise_signal(signal.SIGINT)
        return describe_epoch(report, phase)

    with monkeypatch.context() as patch:
        patch.setattr(fitting, "describe_epoch", describe)
        with pytest.raises(KeyboardInterrupt):
            start(graph, config, folder).run()
    meta = folder.read_checkpoint()[1]
    assert (meta["phase"], meta["progress"]["finished"]) == ("warm start", True)
    resumed = start(graph, config, folder).run(resume=True)
    assert same_bits(resumed, start(graph, config).run())
