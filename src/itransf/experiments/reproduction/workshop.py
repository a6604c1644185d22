"""Where jobs are done: the graphs, and the folders of the trainings behind them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from itransf.data import Graph, load
from itransf.experiments.reproduction.jobs import Job
from itransf.experiments.reproduction.results import list_differences
from itransf.run import Run, train
from itransf.storage import RunFolder


@dataclass(frozen=True)
class Workshop:
    """Where and how jobs are done.

    Attributes:
        runs: The folder of run folders.
        device: "auto", "cpu" or "cuda".
        progress: Whether each training shows its own.
    """

    runs: Path
    device: str = "auto"
    progress: bool = False

    def folder(self, job: Job) -> RunFolder:
        """Return where the training behind a job lies, or will."""
        return RunFolder(self.runs / job.training.key)

    def load(self, job: Job) -> Graph:
        """Return a job's graph."""
        return load_once(job.dataset)

    def obtain_run(self, job: Job) -> Run:
        """Return the finished training behind a job: opened, gone on with, or begun.

        A folder whose training had other settings than the job has now is begun again.
        """
        folder, config = self.folder(job), job.resolve()
        if folder.has_checkpoint and list_differences(folder.read_config().to_dict(), config):
            folder.clear()
        options: dict[str, Any] = {"preset": job.preset, "settings": job.all_settings, "seed": job.seed}
        options |= {"out": folder.path, "resume": True, "device": self.device, "progress": self.progress}
        return train(self.load(job), **options)


@lru_cache(maxsize=4)
def load_once(dataset: str) -> Graph:
    """Load a graph, and keep it for the next job."""
    return load(dataset)
