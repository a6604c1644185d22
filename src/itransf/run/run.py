"""A run: graph, settings and trained model together, to be evaluated, asked, read, changed and saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from itransf import __version__
from itransf.config import Config
from itransf.data.graph import Graph
from itransf.errors import RunError
from itransf.interpret import check_names, export, write_report
from itransf.interpret.tables import Format
from itransf.models import ITransF, Model
from itransf.prediction.given import GivenTriple
from itransf.run.answering import Answering
from itransf.run.settings import MODEL_CONFIGS
from itransf.storage import WEIGHTS, RunFolder
from itransf.teaching import REFIT_EPOCHS, Effort, Place, change_run, learn_entity, learn_relation, refit
from itransf.teaching.entities import ENTITY_EFFORT
from itransf.teaching.refitting import PHASE as REFIT
from itransf.teaching.relations import RELATION_EFFORT
from itransf.training.trainer import weights


class Run(Answering):
    """A trained model with the graph it knows and the settings it had.

    Attributes:
        graph: The triples it was trained on, with their names.
        config: Its settings.
        model: The weights; answers are computed where they lie, and `run.model.to("cuda")` moves them.
        history: What was measured in each epoch.
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

    def name_concepts(self, names: Mapping[int, str], path: str | Path | None = None) -> None:
        """Give concepts names that people read; an empty name takes one back.

        Args:
            names: By the concept's number.
            path: The run's folder, to keep the names in; without it they are kept when the run is saved.

        Raises:
            ConfigError: There is no such concept, or a name is too long.
            RunError: The folder holds another run.
        """
        count = self.concepts().weights.shape[2]
        checked = check_names(names, count)
        folder = None if path is None else self._find_folder(path)
        kept = {**self.concept_names, **checked}
        self.concept_names = {concept: name for concept, name in kept.items() if name}
        if folder is not None:
            folder.write_concept_names(self.concept_names)

    def label(self, labels: str | Path | Mapping[str, str], path: str | Path | None = None) -> None:
        """Give entities and relations labels that people read instead of their names.

        Args:
            labels: A two-column file (name, label), or a mapping; labels given before stay unless given anew.
            path: The run's folder, to keep the labels in; without it they are kept when the run is saved.

        Raises:
            DataError: The file cannot be read, or none of its names is in the graph.
            RunError: The folder holds another run.
        """
        labelled = self.graph.labelled(labels)
        folder = None if path is None else self._find_folder(path)
        self.graph = labelled
        if folder is not None:
            folder.write_names(self.graph)

    def _find_folder(self, path: str | Path) -> RunFolder:
        """Return the folder this run lies in, if it does: of another, names would say what is not so."""
        folder = RunFolder(Path(path))
        folder.read_summary()
        kept, config = folder.read_graph(), folder.read_config(MODEL_CONFIGS)
        of_run, of_folder = (
            (graph.entities.names, graph.relations.names, settings.name, settings.model)
            for graph, settings in ((self.graph, self.config), (kept, config))
        )
        if of_run != of_folder:
            raise RunError(f"{folder.path}: holds another run than this; give this one's folder, or save it first")
        return folder

    def learn_relation(
        self,
        name: str,
        triples: Iterable[GivenTriple],
        locate: Callable[[int], str] | None = None,
        effort: Effort = RELATION_EFFORT,
    ) -> Run:
        """Return a run that knows one more relation, learned from a handful of triples; all else keeps its bits.

        Args:
            name: What to call the relation; blanks around it are dropped.
            triples: (head, tail) or (head, relation, tail), names or labels, in this order or by these words.
            locate: Names the place of a triple (numbered from 0) in messages.
            effort: How long to fit.

        Raises:
            ConfigError: A relation of this model has matrices of its own.
            DataError: The name is taken, or a triple names an unknown entity.
        """
        model, graph = learn_relation(self.model, self.graph, self.config, name, triples, locate, effort)
        return self._follow(model, graph=graph)

    def learn_entity(
        self,
        name: str,
        triples: Iterable[GivenTriple],
        locate: Callable[[int], str] | None = None,
        effort: Effort = ENTITY_EFFORT,
    ) -> Run:
        """Return a run that knows one more entity, learned from triples that mention it; all else keeps its bits.

        Args:
            name: What to call the entity; blanks around it are dropped.
            triples: (head, relation, tail), names or labels, in this order or by these words; each mentions the entity.
            locate: Names the place of a triple (numbered from 0) in messages.
            effort: How long to fit.

        Raises:
            DataError: The name is taken, a triple does not mention the entity, or names something unknown.
        """
        model, graph = learn_entity(self.model, self.graph, self.config, name, triples, locate, effort)
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
        # What was validated is no longer there: no epoch is the best one of what is.
        history = [{key: value for key, value in line.items() if key != "best"} for line in self.history]
        names = changed.names
        return self._follow(changed.model, graph=changed.graph, config=config, concept_names=names, history=history)

    def refit(self, epochs: int = REFIT_EPOCHS, progress: bool = False) -> Run:
        """Return a run trained for some more epochs from its weights; pinned stays pinned, forbidden forbidden."""
        model, history = refit(self.model, self.graph, self.config, epochs, progress)
        return self._follow(model, history=[*self.history, *history])

    def _follow(self, model: Model, **changes: Any) -> Run:
        """Return a run with this model, and with all else that is not changed."""
        kept = {"graph": self.graph, "config": self.config, "history": list(self.history)}
        return Run(model=model, **{**kept, "concept_names": self.concept_names, **changes})

    def report(
        self,
        path: str | Path = "report.html",
        split: str | None = None,
        *,
        most_triples: int = 1000,
        progress: bool = False,
    ) -> Path:
        """Write everything worth seeing as one HTML page that needs nothing else, and return where it lies.

        Args:
            path: Ends in .html.
            split: The triples that are ranked; test, or valid where there are no test triples, if not given.
            most_triples: The most validation triples ranked again for one concept card; zero takes all.
            progress: Whether to show it.

        Raises:
            ConfigError: The path does not end in .html.
            DataError: The split has no triples.
            WriteError: The path cannot be written.
        """
        return write_report(
            path,
            self.model,
            self.graph,
            self.info(),
            self.history,
            names=self.concept_names,
            split=split,
            most_triples=most_triples,
            progress=progress,
        )

    def export(self, folder: str | Path, format: Format = "parquet", *, overwrite: bool = False) -> list[Path]:
        """Write vectors, concepts and attention as tables, and return where they lie.

        Args:
            folder: Where the tables go.
            format: "parquet" or "csv".
            overwrite: Whether tables that lie there make way.

        Raises:
            ConfigError: There is no such format, or tables lie there already.
            WriteError: The folder cannot be written.
        """
        return export(self.model, self.graph, folder, format, overwrite=overwrite)

    def info(self) -> dict[str, Any]:
        """Return what the run is, ready for JSON."""
        looks = [line for line in self.history if line.get("best")]
        phases = Counter(line["phase"] for line in self.history)
        return {
            "model": self.config.name,
            "graph": self.graph.name,
            "entities": len(self.graph.entities),
            "relations": len(self.graph.relations),
            "triples": {split: len(self.graph.split(split)) for split in ("train", "valid", "test")},
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "epochs": phases["training"],
            "refit_epochs": phases[REFIT],
            "seconds": sum(line["seconds"] for line in self.history),
            "unfinished": self.unfinished,
            "best": describe_look(looks[-1], self.config.validation.metric) if looks else None,
            "config": self.config.to_dict(),
            "notes": list(self.graph.notes),
        }

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the run into a folder that `itransf.open` reads."""
        folder = RunFolder(Path(path))
        with folder.held(), folder.making_way(overwrite):
            folder.create(self.graph, self.config, __version__)
            write_result(self, folder)


def describe_look(line: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """Return which epoch was the best on validation, and how good it was."""
    return {"phase": line["phase"], "epoch": line["epoch"], metric: line["metric"]}


def write_result(run: Run, folder: RunFolder) -> None:
    """Write what training brought into the folder that its beginning lies in."""
    folder.write_tensors(WEIGHTS, weights(run.model), {})
    folder.write_history(run.history)
    folder.write_concept_names(run.concept_names)
