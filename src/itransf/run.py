"""A run: graph, settings and trained model together, to be evaluated, asked, read, saved and opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from itransf.config import Config, Layer, assignments_layer, build_config, read_layer
from itransf.data.graph import Graph
from itransf.data.sources import load
from itransf.defaults import default_layer
from itransf.errors import CheckpointError, ConfigError, RunError
from itransf.evaluation import Evaluation, evaluate
from itransf.fitting import CHECKPOINT, Fit, build_model
from itransf.interpret import (
    RARE,
    Attention,
    ConceptCard,
    Explanation,
    RelationProfile,
    SharingGraph,
    build_sharing_graph,
    check_name,
    explain,
    make_cards,
    profile_relation,
    read_attention,
    write_report,
)
from itransf.models import MODELS, ITransF, Model
from itransf.prediction import Prediction, ScoredFact, complete, score_facts
from itransf.presets import read_preset
from itransf.storage import RunFolder
from itransf.teaching import REFIT_EPOCHS, Place, change_run, learn_entity, learn_relation, refit
from itransf.training.trainer import load_weights, weights
from itransf.version import VERSION

MODEL_CONFIGS = {name: model.Config for name, model in MODELS.items()}


class Run:
    """A trained model with the graph it knows and the settings it had.

    Attributes:
        concept_names: What people call some of the concepts, by number.
        unfinished: The epoch whose weights are used, where training has not ended and they are a checkpoint's; None
            for a finished run.
    """

    def __init__(
        self,
        graph: Graph,
        config: Config,
        model: Model,
        history: list[dict[str, Any]],
        concept_names: Mapping[int, str] | None = None,
        unfinished: int | None = None,
    ) -> None:
        self.graph, self.config, self.model, self.history = graph, config, model.eval(), history
        self.concept_names = dict(concept_names or {})
        self.unfinished = unfinished

    def __repr__(self) -> str:
        state = "" if self.unfinished is None else ", unfinished"
        return f"Run({self.config.name} on {self.graph.name}: {len(self.history)} epochs{state})"

    def evaluate(self, split: str = "test", **options: Any) -> Evaluation:
        """Rank a split's facts; the options are those of `itransf.evaluation.evaluate`."""
        return evaluate(self.model, self.graph, split, **options)

    def predict(
        self, head: str | None = None, relation: str | None = None, tail: str | None = None, **options: Any
    ) -> list[Prediction]:
        """Return the most plausible facts that complete what is given; see `itransf.prediction.complete`."""
        return complete(self.model, self.graph, head=head, relation=relation, tail=tail, **options)

    def score(self, facts: Iterable[tuple[str, str, str]], **options: Any) -> list[ScoredFact]:
        """Return score, filtered rank and percentile of given facts."""
        return score_facts(self.model, self.graph, list(facts), **options)

    def concepts(self) -> Attention:
        """Return which concepts each side of each relation uses, and how strongly."""
        if not isinstance(self.model, ITransF):
            raise ConfigError(f'a {self.config.name} model has no concepts; train one with model.name = "itransf"')
        return read_attention(self.model, self.graph)

    def explain(self, head: str, relation: str, tail: str, **options: Any) -> Explanation:
        """Explain the score of a fact, known or not; the options are those of `itransf.interpret.explain`."""
        return explain(self.model, self.graph, head, relation, tail, names=self.concept_names, **options)

    def relation(self, name: str, top: int = 3) -> RelationProfile:
        """Return what a relation is made of, and its inverse, equivalent and sub-relation candidates."""
        return profile_relation(self.model, self.graph, name, top)

    def cards(self, concepts: Sequence[int] | None = None, **options: Any) -> list[ConceptCard]:
        """Return what these concepts, or all, do and what is lost without them; see `itransf.interpret.make_cards`."""
        attention = self.concepts()
        assert isinstance(self.model, ITransF), "only such a model has concepts"
        return make_cards(self.model, self.graph, attention, concepts, self.concept_names, **options)

    def sharing(self) -> SharingGraph:
        """Return which relations share concepts, and who lends strength to the rare ones."""
        return build_sharing_graph(self.concepts(), self.graph.statistics.frequency_buckets() == RARE)

    def name_concepts(self, names: Mapping[int, str], path: str | Path | None = None) -> None:
        """Give concepts names that people read; an empty name takes one back.

        Args:
            names: By the concept's number.
            path: The run's folder, to keep the names in; without it they are kept when the run is saved.

        Raises:
            ConfigError: There is no such concept, or a name is too long.
        """
        count = self.concepts().weights.shape[2]
        checked = {concept: check_name(concept, name, count) for concept, name in names.items()}
        kept = {**self.concept_names, **checked}
        self.concept_names = {concept: name for concept, name in kept.items() if name}
        if path is not None:
            folder = RunFolder(Path(path))
            folder.read_summary()
            folder.write_concept_names(self.concept_names)

    def learn_relation(self, name: str, facts: Iterable[Sequence[str]], **options: Any) -> Run:
        """Return a run that knows one more relation, learned from a handful of (head, tail) facts.

        Everything else keeps its bits; the options are those of `itransf.teaching.learn_relation`.
        """
        model, graph = learn_relation(self.model, self.graph, self.config, name, facts, **options)
        return self._follow(model, graph=graph)

    def learn_entity(self, name: str, facts: Iterable[tuple[str, str, str]], **options: Any) -> Run:
        """Return a run that knows one more entity, learned from facts that mention it.

        Everything else keeps its bits; the options are those of `itransf.teaching.learn_entity`.
        """
        model, graph = learn_entity(self.model, self.graph, self.config, name, list(facts), **options)
        return self._follow(model, graph=graph)

    def edit(
        self,
        *,
        forbid: Iterable[Place] = (),
        pin: Iterable[Place] = (),
        merge: Iterable[tuple[int | str, int | str]] = (),
        prune: int = 0,
    ) -> Run:
        """Return a run whose concepts were changed by hand, without training; `refit` follows.

        Args:
            forbid: (relation, side, concept): the side may not use the concept. Concepts are told by the numbers
                they have now, or by name.
            pin: (relation, side, concept): the side always has the concept in its support.
            merge: Pairs of concepts to make one; the first keeps its number.
            prune: How many concepts to keep, those without which validation loses most; zero keeps all.
        """
        self.concepts()  # says so where there are none
        assert isinstance(self.model, ITransF), "only such a model has concepts"
        asked: dict[str, Any] = {"forbid": forbid, "pin": pin, "merge": merge, "prune": prune}
        changed = change_run(self.model, self.graph, self.config, self.concept_names, **asked)
        config = replace(self.config, model=changed.model.config)
        return self._follow(changed.model, graph=changed.graph, config=config, concept_names=changed.names)

    def refit(self, epochs: int = REFIT_EPOCHS, progress: bool = False) -> Run:
        """Return a run trained for some more epochs from its weights; pinned stays pinned, forbidden forbidden."""
        model, history = refit(self.model, self.graph, self.config, epochs, progress)
        return self._follow(model, history=[*self.history, *history])

    def _follow(self, model: Model, **changes: Any) -> Run:
        """Return a run with this model, and with all else that is not changed."""
        kept = {"graph": self.graph, "config": self.config, "history": list(self.history)}
        return Run(model=model, **{**kept, "concept_names": self.concept_names, **changes})

    def report(self, path: str | Path = "report.html", split: str | None = None, **options: Any) -> Path:
        """Write everything worth seeing as one HTML page; the options are those of `itransf.interpret.write_report`."""
        found = {"names": self.concept_names, "split": split, **options}
        return write_report(path, self.model, self.graph, self.info(), self.history, **found)

    def info(self) -> dict[str, Any]:
        """Return what the run is, ready for JSON."""
        looks = [line for line in self.history if line.get("best")]
        return {
            "model": self.config.name,
            "graph": self.graph.name,
            "entities": len(self.graph.entities),
            "relations": len(self.graph.relations),
            "facts": {split: len(self.graph.split(split)) for split in ("train", "valid", "test")},
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "epochs": len([line for line in self.history if line["phase"] == "training"]),
            "seconds": sum(line["seconds"] for line in self.history),
            "unfinished": self.unfinished,
            "best": {"epoch": looks[-1]["epoch"], self.config.validation.metric: looks[-1]["metric"]}
            if looks
            else None,
            "config": self.config.to_dict(),
            "notes": list(self.graph.notes),
        }

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the run into a folder that `itransf.open` reads."""
        folder = prepare_folder(path, overwrite)
        folder.create(self.graph, self.config, VERSION)
        self._finish(folder)

    def _finish(self, folder: RunFolder) -> None:
        folder.write_tensors("model.safetensors", weights(self.model), {})
        folder.write_history(self.history)
        folder.write_concept_names(self.concept_names)


def resolve_config(
    graph: Graph,
    preset: str | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    settings: Sequence[str] = (),
    device: str = "auto",
    stored: Config | None = None,
) -> Config:
    """Merge defaults for this graph and device, or a preset, or a stored run's settings, with what overrides them."""
    layers: list[Layer] = [read_preset(preset)] if preset else []
    if config is not None:
        layers.append(Layer("config", config) if isinstance(config, Mapping) else read_layer(Path(config)))
    layers.append(assignments_layer(settings))
    if stored is not None:
        layers.insert(0, Layer("the stored run", stored.to_dict()))
    elif not preset:
        chosen = build_model_name(layers)
        layers.insert(0, default_layer(graph, chosen, choose_device(device).type))
    return build_config(layers, MODEL_CONFIGS)


def build_model_name(layers: Iterable[Layer]) -> str:
    """Return the model's name that the layers agree on in the end."""
    name = "itransf"
    for layer in layers:
        model = layer.content.get("model", {})
        found = model.get("name", name) if isinstance(model, Mapping) else name
        name = found if isinstance(found, str) else name  # what is no name is refused when the layers are merged
    return name


def train(
    graph: Graph | str | Path,
    preset: str | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    settings: Sequence[str] = (),
    *,
    seed: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    device: str = "auto",
    progress: bool = True,
) -> Run:
    """Train a model.

    Args:
        graph: A graph, or what `itransf.load` takes.
        preset: A named row of the paper, such as "wn18/itransf"; without it settings fit the graph's size.
        config: A TOML file (or nested mapping) of settings that override those.
        settings: Strings such as "training.epochs=50" that override all.
        seed: Overrides the settings' seed.
        out: A folder for checkpoints and the result; without it nothing is written.
        resume: Go on from what lies in `out`, or start if nothing was saved yet.
        overwrite: Replace the run that lies in `out`.
        device: "auto", "cpu" or "cuda".
        progress: Whether to show it.
    """
    facts = graph if isinstance(graph, Graph) else load(graph, progress=progress)
    chosen = [*settings, *([f"seed={seed}"] if seed is not None else [])]
    folder = None if out is None else RunFolder(Path(out)) if resume else prepare_folder(out, overwrite)
    goes_on = resume and folder is not None and folder.has_checkpoint
    stored = folder.read_config(MODEL_CONFIGS) if folder is not None and goes_on else None
    resolved = resolve_config(facts, preset, config, chosen, device, stored)
    if folder is not None and stored is not None:
        folder.check_same(facts, resolved, stored)
        folder.write_config(resolved)
        folder.remove("model.safetensors")  # until training ends again, the checkpoint knows better
    elif folder is not None:
        start_folder(folder, facts, resolved)
    fit = Fit(facts, resolved, choose_device(device), folder, progress)
    names = folder.read_concept_names() if folder is not None else None
    run = Run(facts, resolved, fit.run(resume), fit.history, names)
    if folder is not None:
        run._finish(folder)
    return run


def open_run(path: str | Path, device: str = "auto") -> Run:
    """Open a saved run; one whose training was cut short has its best weights so far, and `unfinished` says so."""
    folder = RunFolder(Path(path))
    folder.read_summary()
    config, graph = folder.read_config(MODEL_CONFIGS), folder.read_graph()
    model = build_model(graph, config, choose_device(device))
    name = "model.safetensors"
    stored: dict[str, torch.Tensor]
    epoch = None
    if (folder.path / name).is_file() or not folder.has_checkpoint:
        stored, _ = folder.read_tensors(name)
    else:
        stored, epoch = unfinished_weights(folder)
    try:
        load_weights(model, stored)
    except (KeyError, RuntimeError) as error:
        raise CheckpointError(f"{folder.path}: its weights do not fit its config: {error}") from None
    return Run(graph, config, model, folder.read_history(), folder.read_concept_names(), epoch)


def unfinished_weights(folder: RunFolder) -> tuple[dict[str, torch.Tensor], int]:
    """Return the best weights of a checkpoint, or its last ones where nothing was validated yet, and their epoch."""
    tensors, facts = folder.read_tensors(CHECKPOINT)
    if facts["phase"] != "training":
        raise RunError(f"{folder.path}: is still in its warm start; go on with 'itransf train ... --resume'")
    for prefix, key in (("best.", "best_epoch"), ("model.", "epoch")):
        found = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
        if found:
            return found, int(facts["progress"][key])
    raise CheckpointError(f"{folder.path}: its checkpoint holds no weights; train again")


def prepare_folder(path: str | Path, overwrite: bool) -> RunFolder:
    """Return the folder for a new run, refusing one that is in use."""
    folder = RunFolder(Path(path))
    if folder.is_occupied and not overwrite:
        raise folder.refuse()
    folder.clear()
    return folder


def start_folder(folder: RunFolder, graph: Graph, config: Config) -> None:
    """Write the beginning of a run, unless that would replace something."""
    if not folder.is_barely_begun:
        raise folder.refuse()
    folder.create(graph, config, VERSION)


def choose_device(name: str) -> torch.device:
    """Turn "auto", "cpu" or "cuda" into a device."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name not in ("cpu", "cuda"):
        raise ConfigError(f"there is no device {name!r}; use auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("cuda was asked for, but torch sees no GPU here; use --device cpu")
    return torch.device(name)
