"""A run: graph, settings and trained model, to be evaluated, queried, interpreted, extended and saved."""

from __future__ import annotations

import functools
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np

from itransf import evaluation, interpret, prediction, teaching
from itransf.config import Config
from itransf.data import SPLITS, TRIPLE, Graph
from itransf.data.search import FoundName
from itransf.errors import ConfigError, ITransFError, RunError, name_count
from itransf.interpret.attention import check_concepts
from itransf.interpret.paths import give_reason
from itransf.models import ConceptModel, Model
from itransf.prediction import GivenTriple, Search, resolve_triples
from itransf.records import WEIGHTS, RunRecord, read_manifest
from itransf.run.report import write_report
from itransf.run.views import compare_runs, show_entity
from itransf.storage import RunFolder
from itransf.training.trainer import weights

P = ParamSpec("P")
T = TypeVar("T")


def _method(function: Callable[Concatenate[Model, Graph, P], T]) -> Callable[Concatenate[Run, P], T]:
    """Return a method of `Run` that calls the function with the model and the graph of the run."""

    @functools.wraps(function)
    def method(self: Run, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if "calibration" in parameters:
            kwargs.setdefault("calibration", self.calibration)
        if "split" in parameters and self.record.final:
            self._refuse_seen(str(args[0] if args else kwargs.get("split", parameters["split"].default)))
        return function(self.model, self.graph, *args, **kwargs)

    parameters = inspect.signature(function).parameters
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    _, _, *others = parameters.values()
    method.__signature__ = inspect.signature(function).replace(parameters=[own, *others])  # type: ignore[attr-defined]
    method.__doc__ = re.sub(r"\n {8}(model|graph): .*(\n {12}.*)*", "", function.__doc__ or "")
    return method


class Run:
    """A trained model with its graph and its settings.

    Attributes:
        graph: Triples that the model was trained on, with their names.
        config: Settings.
        model: Trained model; `run.model.to("cuda")` moves it, and answers are computed where it is.
        history: Loss, time and validation of each epoch.
        concept_names: Names that a person gave to concepts, by number.
        unfinished: Epoch of the weights if training has not ended and they come from a checkpoint, else None.
        calibration: Function from scores to probabilities, fitted on validation triples; None without enough of them.
        record: Identity and results of the run.
        is_stored: Whether the run was opened from a folder or written to one.
        members: Runs of an ensemble, one per seed; empty for other runs.
        is_interrupted: Whether the user interrupted its training after the last batch; the run is complete.
    """

    members: tuple[Run, ...] = ()
    is_interrupted: bool = False

    def __init__(
        self,
        graph: Graph,
        config: Config,
        model: Model,
        history: list[dict[str, Any]],
        concept_names: Mapping[int, str] | None = None,
        unfinished: int | None = None,
        record: RunRecord | None = None,
        calibration: prediction.Calibration | None = None,
    ) -> None:
        self.graph, self.config, self.model, self.history = graph, config, model.eval(), history
        self.concept_names = dict(concept_names or {})
        self.unfinished, self.calibration = unfinished, calibration
        self.record = (record or RunRecord.new(graph, config)).with_history(history, config.validation.metric)
        self.is_stored = False

    def __repr__(self) -> str:
        state = "" if self.unfinished is None else ", unfinished"
        return f"Run({self.config.name} on {self.graph.name}: {name_count(len(self.history), 'epoch')}{state})"

    evaluate = _method(evaluation.evaluate)
    predict = _method(prediction.complete)
    doubt = _method(prediction.doubt_triples)
    score = _method(prediction.score_triples)
    classify = _method(prediction.classify_triples)
    assess_calibration = _method(prediction.assess_calibration)
    relation = _method(interpret.profile_relation)
    export = _method(interpret.export)
    report = write_report
    show = show_entity
    diff = compare_runs

    def find(self, text: str, top: int = 10) -> list[FoundName]:
        """Find entities and relations by name or label; see `Graph.find`."""
        return self.graph.find(text, top)

    def missing(
        self, entity: str | None = None, relation: str | None = None, *, explain: bool = False, **options: Any
    ) -> list[prediction.MissingTriple]:
        """Return the most probable triples that are not in the graph; see `itransf.prediction.find_missing`.

        Args:
            entity: Name or label of an entity that the triples have; by default any.
            relation: Name or label of their relation; by default any.
            explain: Whether to give a reason for each.
            options: `top` (1000), `progress` and `state`, a file to continue from.
        """
        options["calibration"] = self.calibration
        found = prediction.find_missing(self.model, self.graph, entity, relation, **options)
        reasons = self.give_reasons(found) if explain else [None] * len(found)
        return [replace(each, reason=reason) for each, reason in zip(found, reasons, strict=True)]

    def give_reasons(self, triples: Iterable[GivenTriple]) -> list[str]:
        """Return for each triple, known or not, the pattern in train that supports it most, in words.

        Args:
            triples: Names or labels of head, relation and tail: sequences, mappings or predictions.

        Raises:
            DataError: A name is not known.
        """
        return [give_reason(self.graph, (h, r, t)) for h, r, t in resolve_triples(self.graph, triples).tolist()]

    def explain(
        self,
        head: str,
        relation: str,
        tail: str,
        *,
        side: str = "tail",
        evidence: int = 3,
        removals: bool = True,
    ) -> interpret.Explanation:
        """Explain the score of a triple, known or not.

        Args:
            head: Name or label of the head.
            relation: Name or label of the relation.
            tail: Name or label of the tail.
            side: Side of the answer, which is compared with its closest competitor.
            evidence: Number of training triples of each kind to name.
            removals: Whether to rank the answer again without each concept, which takes most of the time.

        Raises:
            DataError: A name is unknown.
            ConfigError: There is no such side, or the score of the model cannot be decomposed.
        """
        options: dict[str, Any] = {"side": side, "evidence": evidence, "removals": removals}
        options |= {"names": self.concept_names, "attention": self.concepts() if self.has_concepts else None}
        found = interpret.explain(self.chosen.model, self.graph, head, relation, tail, **options)
        rows = resolve_triples(self.graph, [(head, relation, tail)])
        asked = np.array([[part == side for part in TRIPLE]])
        search = Search(self.model, self.graph)
        (mean,) = prediction.find_probabilities(self.calibration, search, rows)
        (own,) = prediction.find_probabilities(self.calibration, search, rows, asked)
        (agreement,) = prediction.find_agreement(search, rows, asked)
        seed = self.chosen.config.seed if self.members else None
        return replace(found, probability=mean, answer_probability=own, seed=seed, agreement=agreement)

    @property
    def chosen(self) -> Run:
        """The run whose concepts and explanations are shown: this one or, of an ensemble, a member."""
        return self

    @property
    def has_concepts(self) -> bool:
        """Whether the relations of the model share concepts."""
        return isinstance(self.chosen.model, ConceptModel)

    def concepts(self) -> interpret.Attention:
        """Return the concepts that each relation, or each of its sides, uses, with their weights."""
        return interpret.read_attention(self.chosen.model, self.graph)

    def cards(
        self, concepts: Iterable[int | str] | None = None, most_triples: int = 1000, progress: bool = False
    ) -> list[interpret.ConceptCard]:
        """Return a description of concepts: their users, what they do to entities or scores, and the loss without them.

        Args:
            concepts: Numbers or names of concepts; by default all that are used, the most important first.
            most_triples: Maximum number of validation triples to rank again for one card; 0 takes all.
            progress: Whether to show progress.

        Raises:
            ConfigError: There is no such concept, or the model has no concepts.
        """
        model, attention, names = self.chosen.model, self.concepts(), self.concept_names
        return interpret.make_cards(model, self.graph, attention, concepts, names, most_triples, progress)

    def sharing(self) -> interpret.SharingGraph:
        """Return which relations share concepts, and which relations the rare ones learn from."""
        rare = self.graph.statistics.frequency_buckets() == interpret.RARE
        return interpret.build_sharing_graph(self.concepts(), rare)

    def name_concepts(self, names: Mapping[int, str], path: str | Path | None = None) -> None:
        """Name concepts; an empty name removes one.

        Args:
            names: Names by the number of the concept.
            path: Folder of this run, to store the names there; otherwise `save` stores them.

        Raises:
            ConfigError: There is no such concept, or a name is too long.
            RunError: The folder holds another run.
        """
        checked = interpret.check_names(names, self.concepts().weights.shape[2])
        with self._changing(path) as folder:
            self.concept_names = {key: name for key, name in {**self.concept_names, **checked}.items() if name}
            if folder is not None:
                folder.stage_concept_names(self.concept_names)

    def label(self, labels: str | Path | Mapping[str, str], path: str | Path | None = None) -> None:
        """Give entities and relations readable labels.

        Args:
            labels: Two-column file (name, label) or mapping; earlier labels of other names are kept.
            path: Folder of this run, to store the labels there; otherwise `save` stores them.

        Raises:
            DataError: The file cannot be read, or none of its names is in the graph.
            RunError: The folder holds another run.
        """
        labelled = self.graph.labelled(labels)
        with self._changing(path) as folder:
            self.graph = labelled
            if folder is not None:
                folder.stage_names(self.graph)

    def record_metrics(self, found: evaluation.Evaluation, path: str | Path | None = None) -> None:
        """Add the filtered metrics of an evaluation to the record of the run.

        Args:
            found: Result of `evaluate`.
            path: Folder of this run, to store the record there; otherwise `save` stores it.

        Raises:
            ConfigError: The evaluation is not of test: on valid, the record has the metric that chose the weights.
            RunError: The folder holds another run.
        """
        if found.split != "test":
            raise ConfigError(f"the record of a run holds metrics of test, not of {found.split}; evaluate test")
        with self._changing(path):
            metrics = {**self.record.metrics, found.split: found.to_dict()["filtered"]["both"]}
            self.record = replace(self.record, metrics=metrics)

    def _refuse_seen(self, split: str) -> None:
        """Refuse to evaluate a run that was trained on all triples on a split that it has seen."""
        if split != "train":
            test = f" (test MRR {found['mrr']:.3f})" if (found := self.record.metrics.get("test")) else ""
            raise RunError(
                f"this run was trained on all triples: no {split} triples are left to evaluate it on. Its metrics"
                f"{test} are those of run {self.record.parent}, whose settings it has; evaluate that one"
            )

    @contextmanager
    def _changing(self, path: str | Path | None) -> Iterator[RunFolder | None]:
        """Yield the folder of this run, if it is given; what the block stages is committed, with the record."""
        if path is None:
            yield None
            return
        folder = RunFolder(Path(path))
        read_manifest(folder.path)  # raises before anything is created
        with folder.locked():
            if folder.read_record().id != self.record.id:
                raise RunError(f"{folder.path}: holds another run; give the folder of this one, or save it first")
            yield folder
            folder.commit(self.record)

    def learn_relation(
        self,
        name: str,
        triples: Iterable[GivenTriple],
        locate: Callable[[int], str] | None = None,
        effort: teaching.Effort = teaching.RELATION_EFFORT,
    ) -> Run:
        """Return a run with one more relation, learned from a few triples; all other parameters stay as they are.

        Args:
            name: Name of the new relation.
            triples: (head, tail) or (head, relation, tail), by names or labels.
            locate: Function from a triple's index to its place in messages.
            effort: Length of the training.

        Raises:
            ConfigError: The model cannot learn relations.
            DataError: The name exists already, or a triple has an unknown entity.
        """
        model, graph = teaching.learn_relation(self.model, self.graph, self.config, name, triples, locate, effort)
        return self._derive(model, graph=graph)

    def learn_entity(
        self,
        name: str,
        triples: Iterable[GivenTriple],
        locate: Callable[[int], str] | None = None,
        effort: teaching.Effort = teaching.ENTITY_EFFORT,
    ) -> Run:
        """Return a run with one more entity, learned from triples with it; all other parameters stay as they are.

        Args:
            name: Name of the new entity.
            triples: (head, relation, tail), by names or labels; each contains the new entity.
            locate: Function from a triple's index to its place in messages.
            effort: Length of the training.

        Raises:
            ConfigError: The model cannot learn entities.
            DataError: The name exists already, or a triple lacks the entity or has an unknown name.
        """
        model, graph = teaching.learn_entity(self.model, self.graph, self.config, name, triples, locate, effort)
        return self._derive(model, graph=graph)

    def edit(
        self,
        *,
        forbid: Iterable[teaching.Place] = (),
        pin: Iterable[teaching.Place] = (),
        merge: Iterable[tuple[int | str, int | str]] = (),
        prune: int = 0,
    ) -> Run:
        """Return a run with edited concepts, without training; `refit` trains it.

        Merging and pruning need a model with the settings `concepts` and `support_size`.

        Args:
            forbid: (relation, side, concept): the side may not use the concept, given by its present number or name.
                Where relations have no sides (icomplex), (relation, concept).
            pin: (relation, side, concept): the side always has the concept in its support.
            merge: Pairs of concepts to merge into the first, which keeps its name; numbers above the second fall by 1.
            prune: Number of concepts to keep, the most important on validation; 0 keeps all.

        Raises:
            ConfigError: The model has no concepts, or an edit is not possible.
        """
        model, graph, names = teaching.edit_concepts(
            check_concepts(self.chosen.model),
            self.graph,
            self.config,
            self.concept_names,
            forbid=forbid,
            pin=pin,
            merge=merge,
            prune=prune,
        )
        config = replace(self.config, model=model.config)
        # The weights that were validated are gone, so no epoch is the best one.
        history = [{key: value for key, value in line.items() if key != "best"} for line in self.history]
        return self._derive(model, graph=graph, config=config, history=history, concept_names=names).calibrate()

    def refit(self, epochs: int = teaching.REFIT_EPOCHS, progress: bool = False) -> Run:
        """Return a run trained for some more epochs from its weights; pinned and forbidden concepts stay so."""
        model, history = teaching.refit(self.model, self.graph, self.config, epochs, progress)
        return self._derive(model, history=[*self.history, *history]).calibrate()

    def update(
        self,
        new: teaching.Given | teaching.Growth,
        remove: teaching.Given | None = None,
        *,
        out: str | Path | None = None,
        overwrite: bool = False,
        epochs: int | None = None,
        progress: bool = False,
    ) -> Run:
        """Return a run with new triples and without some others, trained briefly from this one, which stays as it is.

        Args:
            new: Triples by names or labels, in a file, rows or a data frame; unknown names become new entities and
                relations, known triples are skipped. Or the result of `itransf.teaching.grow_graph`.
            remove: Triples to remove, likewise; those that are not there are skipped. A result of `grow_graph` has
                taken them out already.
            out: Folder for the new run; by default it is not written.
            overwrite: Whether to replace the run in `out`.
            epochs: Epochs of training on the new triples and on old ones; by default chosen by the size of the graph.
            progress: Whether to show progress.

        Raises:
            ConfigError: The model cannot grow, or triples are to be removed from a result of `grow_graph`.
            DataError: Triples cannot be read, or none would be left.
            RunError: A run is in `out` and may not be overwritten.
        """
        folder = None if out is None else RunFolder(Path(out))
        if folder is not None:
            folder.check_free(overwrite)
        if not isinstance(new, teaching.Growth):
            new = teaching.grow_graph(self.graph, new, () if remove is None else remove)
        elif remove is not None:
            raise ConfigError("remove is for new triples; give what to remove to grow_graph")
        updated = self._update(new, epochs, progress)
        if folder is not None:
            updated.save(folder.path, overwrite)
        return updated

    def _update(self, growth: teaching.Growth, epochs: int | None, progress: bool) -> Run:
        """Return the run for a grown graph."""
        model, history = teaching.update_model(self.model, growth, self.config, epochs, progress)
        updated = self._derive(model, graph=growth.graph, history=[*self.history, *history])
        updated.record = self._trace(updated.record, growth)
        return updated.calibrate()

    def _trace(self, record: RunRecord, growth: teaching.Growth) -> RunRecord:
        """Return the record of an updated run with its lineage."""
        step = {"run": self.record.id, "date": record.created, **growth.counts}
        return replace(record, lineage=(*self.record.lineage, step))

    def calibrate(self) -> Self:
        """Fit probabilities on validation triples, as training does at its end, and return the run.

        A run trained on all triples has none left and keeps its calibration.
        """
        if self.record.final:
            return self
        self.calibration = None
        with suppress(ITransFError):  # the training has diverged, which evaluation reports
            self.calibration = prediction.fit_calibration(self.model, self.graph)
        return self

    def _derive(self, model: Model, **changes: Any) -> Run:
        """Return a run with this model and these changes."""
        kept = {"graph": self.graph, "config": self.config, "history": list(self.history)}
        made = {**kept, "concept_names": self.concept_names, "calibration": self.calibration, **changes}
        parent = self.record.id if self.is_stored else self.record.parent
        record = replace(RunRecord.new(made["graph"], made["config"], parent), lineage=self.record.lineage)
        if self.record.final:  # there is nothing to judge it by either
            record = replace(record, final=True, metrics=self.record.metrics)
        return Run(model=model, **made, record=record)

    def info(self) -> dict[str, Any]:
        """Return a description of the run for JSON."""
        phases = Counter(line["phase"] for line in self.history)
        record = self.record.to_dict()
        return {
            **{key: record[key] for key in ("id", "created", "version", "parent", "data_hash", "seed")},
            "model": self.config.name,
            "graph": self.graph.name,
            "entities": len(self.graph.entities),
            "relations": len(self.graph.relations),
            "triples": {split: len(self.graph.split(split)) for split in SPLITS},
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "epochs": phases["training"],
            "warm_start_epochs": phases["warm start"],
            "refit_epochs": phases[teaching.REFIT],
            "update_epochs": phases[teaching.UPDATE],
            "lineage": record.get("lineage", []),
            "seconds": record["seconds"],
            "unfinished": self.unfinished,
            "best": record["metrics"].get("valid"),
            "metrics": record["metrics"],
            "config": self.config.to_dict(),
            "notes": list(self.graph.notes),
            **({"final": True} if self.record.final else {}),
        }

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the run into a folder that `itransf.open` reads."""
        folder = RunFolder(Path(path))
        with folder.locked(), folder.replaced(overwrite):
            folder.create(self.graph, self.config, self.record)
            self.write_result(folder)

    def write_result(self, folder: RunFolder) -> None:
        """Commit what training changes to a folder that `RunFolder.create` or a checkpoint began."""
        folder.stage_tensors(WEIGHTS, weights(self.model), {})
        folder.stage_history(self.history)
        folder.stage_concept_names(self.concept_names)
        folder.stage_calibration(self.calibration)
        folder.commit(self.record, drop=folder.checkpoints[1:])  # the last one is kept
        self.is_stored = True
