"""Train in a process that is killed again and again; run by test_killing.py.

    python killing.py FOLDER

FOLDER/unbroken holds a run nobody disturbed, FOLDER/broken one that was killed at random moments and resumed
each time. Children are forked, so that libraries are imported only once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import torch

from itransf.config import Layer, build_config
from itransf.data.graph import Graph
from itransf.fitting import Fit, deterministic
from itransf.storage import RunFolder
from itransf.training import trainer
from itransf.training.trainer import weights

MOST_KILLS = 10
SETTINGS = {
    "model": {"name": "itransf", "dim": 8, "concepts": 6, "support_size": 2},
    "training": {"epochs": 12, "batch_size": 50, "optimizer": "adam", "learning_rate": 0.01},
    "assignment": {"every": 3, "start": 2, "stop": 1.0},
    "warm_start": {"epochs": 6},
    "validation": {"every": 5, "metric": "mrr", "patience": 0},
    "checkpoint": {"epochs": 1, "minutes": 0.0},
}


def make_graph() -> Graph:
    triples = np.random.default_rng(0).permutation(40 * 5 * 40)[:340]
    triples = [(f"e{cell // 200}", f"r{cell // 40 % 5}", f"e{cell % 40}") for cell in triples.tolist()]
    return Graph.from_names("random", triples[:300], triples[300:320], triples[320:])


def fit(path: Path) -> None:
    """Start, or go on from what a killed process left."""
    graph, folder = make_graph(), RunFolder(path)
    config = build_config([Layer("test", SETTINGS)])
    if not folder.checkpoints:
        folder.create(graph, config)
    model = Fit(graph, config, torch.device("cpu"), folder, progress=False).run(resume=True)
    folder.stage_tensors("model.safetensors", weights(model), {})
    folder.commit()


def start(path: Path) -> int:
    """Return the number of a child process that trains."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        fit(path)
        status = 0
    finally:
        os._exit(status)


def wait(child: int, seconds: float) -> int | None:
    """Return the child's exit status, or None when it still runs after so long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def main(root: Path) -> None:
    began = time.monotonic()
    assert wait(start(root / "unbroken"), 60.0) == 0
    whole = time.monotonic() - began
    chance, kills, found = random.Random(0), 0, []
    while True:
        child = start(root / "broken")
        status = wait(child, 60.0 if kills == MOST_KILLS else chance.uniform(0.0, 0.25 * whole))
        if status is not None:
            break
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
        folder = RunFolder(root / "broken")
        if folder.checkpoints:  # at any moment, what can be read is whole
            progress = folder.read_checkpoint()[1]
            found.append([progress["phase"], progress["progress"]["epoch"]])
    print(json.dumps({"status": status, "kills": kills, "found": found}))


if __name__ == "__main__":
    torch.set_num_threads(1)
    trainer.make_engine = lambda *_: None  # compiled steps take longer to load than these trainings take
    with deterministic(False):  # what its first call may import is then there before any child is forked
        main(Path(sys.argv[1]))
