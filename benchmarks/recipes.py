"""Trainings of `benchmarks.interpretation`: a model with several seeds, and baselines with the same settings."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from itransf.data import Graph, load
from itransf.data.planted import Planted, plant
from itransf.models.distmult import DistMultConfig
from itransf.models.lineare import LineaREConfig
from itransf.models.translation import TranslationConfig
from itransf.run import resolve_config

TITLES = {
    "itransf": "ITransF",
    "icomplex": "IComplEx",
    "ilineare": "ILineaRE",
    "complex": "ComplEx",
    "lineare": "LineaRE",
    "stranse": "STransE",
    "dense": "dense attention",
    "l1": "dense + l1",
}
"""The models by their names in tables."""
BASELINES = {"itransf": ("stranse", "dense", "l1"), "icomplex": ("complex",), "ilineare": ("lineare",)}
"""The models that are measured, and their baselines, which are trained once."""
RECIPES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PLANTED, PLANTED_SIZES, PLANTED_CONCEPTS = "planted", (1, 2), 8
SPARE = 1.5  # learned concepts per planted concept


@dataclass(frozen=True)
class Case:
    """One training: a model, a seed and, on planted graphs, the true support size."""

    model: str
    seed: int
    size: int | None = None

    @property
    def name(self) -> str:
        """The name of its run folder."""
        return "-".join(str(part) for part in (self.model, self.seed, self.size) if part is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return its fields, ready for JSON."""
        return {"model": self.model, "seed": self.seed} | ({} if self.size is None else {"support size": self.size})


def find_model(dataset: str) -> str:
    """Return the model that is measured."""
    return str(RECIPES.get(dataset, {}).get("model", "itransf"))


def list_models(dataset: str) -> list[str]:
    """Return the model that is measured, and its baselines."""
    model, others = find_model(dataset), RECIPES.get(dataset, {}).get("like", {})
    return [model, *BASELINES[model], *others]


def list_cases(dataset: str, models: Sequence[str], seeds: Sequence[int]) -> list[Case]:
    """Return the trainings: the model with every seed, then each baseline with the first one."""
    sizes = PLANTED_SIZES if dataset == PLANTED else (None,)
    chosen = [(model, seed) for model in models for seed in (seeds if model in BASELINES else seeds[:1])]
    return [Case(model, seed, size) for size in sizes for model, seed in chosen]


def load_graph(dataset: str, case: Case) -> tuple[Graph, Planted | None]:
    """Return the graph of a training and, on planted graphs, the true concepts."""
    if case.size is None:
        return _load_once(RECIPES.get(dataset, {}).get("graph", dataset)), None
    truth = plant(case.seed, concepts=PLANTED_CONCEPTS, support_size=case.size)
    return truth.graph, truth


@cache
def _load_once(dataset: str) -> Graph:
    return load(dataset, progress=False)


def make_config(dataset: str, case: Case, graph: Graph, settings: Sequence[str], device: str) -> dict[str, Any]:
    """Return all settings of a training: those of the recipe, then the given ones.

    STransE, ComplEx and LineaRE have the settings of ITransF, IComplEx and ILineaRE without those of concepts. ComplEx
    and LineaRE are trained for all epochs as for the warm start. A model that the recipe lists under `like` is trained
    as in that recipe.
    """
    recipe = RECIPES.get(dataset, {})
    if case.model in recipe.get("like", {}):
        return make_config(recipe["like"][case.model], case, graph, settings, device)
    chosen = [f"model.name={find_model(dataset)}", *recipe.get("settings", ())]
    if case.size is not None:
        chosen += [f"model.concepts={round(SPARE * PLANTED_CONCEPTS)}", f"model.support_size={case.size}"]
    if case.model in ("dense", "l1"):
        chosen.append(f"model.attention={case.model}")
    chosen += [*settings, f"seed={case.seed}"]
    config = resolve_config(graph, recipe.get("preset"), settings=chosen, device=device).to_dict()
    kinds = {"stranse": TranslationConfig, "complex": DistMultConfig, "lineare": LineaREConfig}
    if case.model in kinds:
        shared = {key: config["model"][key] for key in kinds[case.model].__dataclass_fields__}
        config["model"] = {"name": case.model, **shared}
    if case.model in ("complex", "lineare"):
        start = config["warm_start"]
        config["training"]["epochs"] += start["epochs"]
        config["training"]["learning_rate"] = start["learning_rate"] or config["training"]["learning_rate"]
        start["epochs"] = 0
    return config
