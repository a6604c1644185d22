"""How the models whose readability is measured are trained: ITransF, and beside it the same recipe for other models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from itransf.data.datasets import load
from itransf.data.graph import Graph
from itransf.data.planted import Planted, plant
from itransf.models.translation import TranslationConfig
from itransf.run import resolve_config

TITLES = {"itransf": "ITransF", "stranse": "STransE", "dense": "dense attention", "l1": "dense + l1"}
"""The models, as tables call them; all but the first are baselines, trained once."""
PLANTED, PLANTED_SIZES, PLANTED_CONCEPTS = "planted", (1, 2), 8
SPARE = 1.5  # learned concepts for each that was planted


@dataclass(frozen=True)
class Recipe:
    """Settings of a data set's trainings.

    Attributes:
        preset: What they start from; without one, the defaults for the graph's size.
        settings: Over those, for all models.
        own: Over those, for single models.
        remark: What a reader should know.
        graph: What is trained on, where that is not what the recipe is called.
    """

    preset: str | None = None
    settings: tuple[str, ...] = ()
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    remark: str = ""
    graph: str = ""


SEEN = "the recipe was settled after the inverse and symmetric measures of other WN18 runs had been seen"
FOUND = (
    "the supports of ITransF are those that the matrices of its warm start condense into, and no block step changes "
    "them; the generator, what condensing keeps and this recipe were settled on the graphs of seeds 0 to 4, which are "
    "not among those measured"
)
ALONE = ("warm_start.epochs=0", "training.epochs=40", "training.learning_rate=0.1")
RECIPES: Mapping[str, Recipe] = {
    "wn18": Recipe(
        preset="wn18/itransf",
        settings=(
            "model.support_size=5",
            "training.epochs=250",
            "training.learning_rate=0.001",
            "negatives.per_triple=8",
            "negatives.sampler=bernoulli",
            "warm_start.epochs=300",
            "warm_start.learning_rate=0.005",
            "warm_start.sampler=same",
        ),
        remark=SEEN,
    ),
    "fb15k-237": Recipe(
        settings=(
            "model.dim=50",
            "model.concepts=60",
            "model.support_size=2",
            "model.concept_init=identity",
            "model.matrix_lr_factor=0.3",
            "loss.candidates=512",
            "training.epochs=15",
            "warm_start.epochs=4",
            "assignment.start=1",
            "assignment.stop=0.5",
            "assignment.accept=always",
            "assignment.triples=0",
            "assignment.negatives=8",
            "validation.every=5",
        ),
        remark="the recipe was settled on runs of seeds 0 to 5 whose measures had been seen, which are not among these",
    ),
    "world-reading": Recipe(
        graph="world",
        settings=(
            "model.concept_init=identity",
            "warm_start.epochs=10",
            "assignment.start=1",
            "assignment.stop=0.5",
            "assignment.accept=always",
            "assignment.triples=0",
            "assignment.negatives=8",
        ),
        remark="the recipe was settled on seeds 10 to 12, whose measures had been seen and which are not among these",
    ),
    PLANTED: Recipe(
        settings=(
            "model.dim=8",
            "model.matrix_lr_factor=0.3",
            "model.n3=0",
            "loss.scale=4",
            "loss.candidates=256",
            "training.batch_size=1024",
            "training.block_size=64",
            "training.learning_rate=0.02",
            "training.epochs=10",
            "warm_start.model=stranse",
            "warm_start.epochs=30",
            "warm_start.learning_rate=0.1",
            "assignment.every=0",
            "validation.every=0",
        ),
        own=dict.fromkeys(("stranse", "dense", "l1"), ALONE),
        remark=FOUND,
    ),
}


def write_recipe(dataset: str) -> dict[str, Any]:
    """Return a data set's recipe as a record holds it."""
    content: dict[str, Any] = json.loads(json.dumps(asdict(RECIPES.get(dataset, Recipe()))))
    # Records of before there was a graph to name have none.
    return {key: value for key, value in content.items() if value or key != "graph"}


@dataclass(frozen=True)
class Case:
    """One training: a model, a seed and, on planted graphs, the support size of the truth."""

    model: str
    seed: int
    size: int | None = None

    @property
    def name(self) -> str:
        """What its folder is called, beside the data set."""
        return "-".join(str(part) for part in (self.model, self.seed, self.size) if part is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return what tells it from others, ready for JSON."""
        return {"model": self.model, "seed": self.seed} | ({} if self.size is None else {"support size": self.size})


def list_cases(dataset: str, models: Sequence[str], seeds: Sequence[int]) -> list[Case]:
    """Return the trainings: ITransF with every seed, then each baseline with the first one."""
    sizes = PLANTED_SIZES if dataset == PLANTED else (None,)
    chosen = [(model, seed) for model in models for seed in (seeds if model == "itransf" else seeds[:1])]
    return [Case(model, seed, size) for size in sizes for model, seed in chosen]


def load_graph(dataset: str, case: Case) -> tuple[Graph, Planted | None]:
    """Return the graph of a training and, where it was planted, the truth."""
    if case.size is None:
        return _load_once(RECIPES.get(dataset, Recipe()).graph or dataset), None
    truth = plant(case.seed, concepts=PLANTED_CONCEPTS, support_size=case.size)
    return truth.graph, truth


@cache
def _load_once(dataset: str) -> Graph:
    return load(dataset, progress=False)


def make_config(dataset: str, case: Case, graph: Graph, settings: Sequence[str], device: str) -> dict[str, Any]:
    """Return all settings of a training: the recipe's, the model's own, then those given.

    STransE has those of ITransF but for what only concepts need.
    """
    recipe = RECIPES.get(dataset, Recipe())
    attention = [f"model.attention={case.model}"] if case.model in ("dense", "l1") else []
    sizes = [] if case.size is None else list_sizes(case.size)
    own = recipe.own.get(case.model, ())
    chosen = [*recipe.settings, *sizes, *attention, *own, *settings, f"seed={case.seed}"]
    config = resolve_config(graph, recipe.preset, settings=chosen, device=device).to_dict()
    if case.model == "stranse":
        shared = {key: config["model"][key] for key in TranslationConfig.__dataclass_fields__}
        config["model"] = {"name": "stranse", **shared}
    return config


def list_sizes(size: int) -> list[str]:
    """Return the settings that fit a planted truth with this support size."""
    return [f"model.concepts={round(SPARE * PLANTED_CONCEPTS)}", f"model.support_size={size}"]
