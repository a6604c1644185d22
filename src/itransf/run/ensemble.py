"""An ensemble: runs of the same settings that differ by their seed, as one run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from itransf import interpret
from itransf.errors import ConfigError, RunError
from itransf.fitting import Fit
from itransf.models import Ensemble
from itransf.records import Manifest, RunRecord, hash_graph, name_member, write_manifest
from itransf.run.run import Run
from itransf.storage import RunFolder
from itransf.teaching import Growth


class EnsembleRun(Run):
    """Runs of several seeds as one run, which ranks by the mean of their normalised scores.

    Concepts and explanations are those of the member whose concepts are most similar to those of the others; without
    concepts, of the first. What changes a model is done with a member.

    Args:
        members: Runs on the same graph with consecutive seeds; they share the graph of the first.
        path: Folder of the ensemble, if it has one.
        record: Identity and results; by default those of a new run.

    Raises:
        RunError: The members have different graphs, or their seeds are not consecutive.
    """

    def __init__(self, members: Sequence[Run], path: Path | None = None, record: RunRecord | None = None) -> None:
        first, self.members, self.path = members[0], tuple(members), path
        triples, seed = hash_graph(first.graph), first.config.seed
        for number, member in enumerate(members):
            if hash_graph(member.graph) != triples or member.config.seed != seed + number:
                raise RunError(
                    f"{self.locate(member)}: has other triples than {self.locate(first)}, or seeds leave a gap"
                )
            member.graph = first.graph
        aligned = interpret.align_concepts([run.concepts() for run in members]) if first.has_concepts else (0, ())
        self._chosen, self._found = aligned
        history = [line for member in members for line in member.history]
        unfinished = next((member.unfinished for member in members if member.unfinished is not None), None)
        model, names = Ensemble([run.model for run in members]), self.chosen.concept_names
        super().__init__(first.graph, first.config, model, history, names, unfinished)
        ids = tuple(member.record.id for member in members)
        self.record = record or replace(self.record, members=ids, metrics=self._validate())
        self.is_stored = record is not None

    def __repr__(self) -> str:
        return f"EnsembleRun({len(self.members)} seeds of {self.config.name} on {self.graph.name})"

    def _validate(self) -> dict[str, Any]:
        """Return the validation metric of the ensemble, as part of a record."""
        validate = Fit(self.graph, self.config, next(self.model.parameters()).device).make_validate()
        return {} if validate is None else {"valid": {self.config.validation.metric: validate(self.model)}}

    @property
    def chosen(self) -> Run:
        """The member whose concepts and explanations are shown."""
        return self.members[self._chosen]

    def locate(self, member: Run) -> Path:
        """Return the folder of a member; that of the ensemble is left out if there is none."""
        return (self.path or Path()) / name_member(member.config.seed)

    def concepts(self) -> interpret.Attention:
        """Return the concepts of the chosen member, and in how many members each is found."""
        return replace(super().concepts(), found=self._found, seeds=len(self.members))

    def relation(self, *args: Any, **kwargs: Any) -> interpret.RelationProfile:
        """Return the profile of a relation in the chosen member; see `Run.relation`."""
        return self.chosen.relation(*args, **kwargs)

    def info(self) -> dict[str, Any]:
        """Return a description of the run for JSON; epochs are the most of any member."""
        members, each = [str(self.locate(member)) for member in self.members], [run.info() for run in self.members]
        epochs = {key: max(info[key] for info in each) for key in each[0] if key.endswith("epochs")}
        return {**super().info(), **epochs, "members": members, "shown": members[self._chosen]}

    def label(self, labels: str | Path | Mapping[str, str], path: str | Path | None = None) -> None:
        """Give entities and relations readable labels; see `Run.label`."""
        for member in self.members:
            member.label(labels, None if path is None else Path(path) / self.locate(member).name)
            self.graph = member.graph

    def _refuse(self, *_: Any, **__: Any) -> Any:
        """Refuse what is done with one model.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            f"{self.path or 'this'} is an ensemble of {len(self.members)} seeds; learn, edit, refit, export and "
            f"name concepts in one of its members, such as {self.locate(self.chosen)} "
            f"(run.members[{self._chosen}] in Python)"
        )

    def _update(self, growth: Growth, epochs: int | None, progress: bool) -> Run:
        """Return the ensemble of the updated members."""
        updated = EnsembleRun([member._update(growth, epochs, progress) for member in self.members])
        updated.calibrate()
        parent = self.record.id if self.is_stored else self.record.parent
        updated.record = self._trace(replace(updated.record, parent=parent), growth)
        return updated

    learn_relation = learn_entity = edit = refit = export = name_concepts = _refuse

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the members and the ensemble into a folder that `itransf.open` reads."""
        folder = RunFolder(Path(path))
        with folder.locked(), folder.replaced(overwrite):
            begin_members(folder, self.record, len(self.members))
            for member in self.members:
                member.save(folder.path / self.locate(member).name, overwrite)
            self.write_result(folder)

    def write_result(self, folder: RunFolder) -> None:
        """Make a folder that holds the members an ensemble."""
        write_manifest(folder.path, Manifest(self.record))
        folder.stage_calibration(self.calibration)
        folder.commit()
        self.path, self.is_stored = folder.path, True


def begin_members(folder: RunFolder, record: RunRecord, count: int) -> None:
    """Make a folder that of an ensemble whose members are still to be written; what it held is removed."""
    folder.clear()
    write_manifest(folder.path, Manifest(replace(record, members=("",) * count)))
