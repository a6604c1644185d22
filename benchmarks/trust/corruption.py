"""Single flipped bits and truncations of the files of a run: all are noticed, and a checkpoint has one before it."""

from __future__ import annotations

import logging
import random
import shutil
from collections.abc import Mapping
from pathlib import Path

import itransf
from benchmarks.trust.trials import LONGER, Count, make_graph
from itransf.errors import ITransFError
from itransf.storage import RunFolder


class _Heard(logging.Handler):
    """Remembers whether anything was logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def corrupt(runs: Mapping[str, Path], flips: int, truncations: int, seed: int) -> dict[str, Count]:
    """Damage random files of runs in random places, one at a time, and open the run.

    Args:
        runs: Run folders by name; they are restored after each trial.
        flips: Number of flipped bits.
        truncations: Number of truncations.
        seed: Random seed.
    """
    chance, counts = random.Random(seed), {"flipped bits": Count(), "truncations": Count()}
    files = [path for folder in runs.values() for path in sorted(folder.iterdir())]
    contents = {path: path.read_bytes() for path in files}
    for trial in range(flips + truncations):
        path = chance.choice(files)
        content = bytearray(contents[path])
        kind = "flipped bits" if trial < flips else "truncations"
        if kind == "flipped bits":
            place = chance.randrange(len(content))
            content[place] ^= 1 << chance.randrange(8)
        else:
            place = chance.randrange(len(content))
            del content[place:]
        path.write_bytes(content)
        outcome, is_failure = judge(path)
        counts[kind].add(outcome, is_failure, f"{path.parent.name}/{path.name} at {place}")
        path.write_bytes(contents[path])
    return counts


def judge(path: Path) -> tuple[str, bool]:
    """Return what happens to a run with a damaged file, and whether that was not promised."""
    heard = _Heard()
    logger = logging.getLogger("itransf.storage")
    logger.addHandler(heard)
    try:
        if not _is_noticed(path):
            return "not noticed", True
        run = itransf.open(path.parent, device="cpu")
    except ITransFError as error:
        return ("refused", False) if path.name in str(error) else (f"another file is named: {error}", True)
    except Exception as error:
        return f"traceback: {type(error).__name__}: {error}", True
    finally:
        logger.removeHandler(heard)
    if heard.messages:
        return ("the checkpoint before it is used", path.name not in heard.messages[0])
    is_needed = "checkpoint" not in path.name or (run.unfinished and path.name == RunFolder(path.parent).checkpoints[0])
    return "not needed to open the run, refused when resumed or checked", bool(is_needed)


def _is_noticed(path: Path) -> bool:
    """Return whether a comparison of all checksums notices the damage."""
    try:
        RunFolder(path.parent).verify()
    except ITransFError:
        return True
    return False


def resume_damaged(run: Path, root: Path, seed: int, trials: int) -> Count:
    """Damage the last checkpoint of an interrupted run, resume it, and compare the weights with undamaged ones.

    Args:
        run: Interrupted run with two checkpoints.
        root: Folder for copies.
        seed: Random seed.
        trials: Number of damaged checkpoints.
    """
    chance, count, graph = random.Random(seed), Count(), make_graph()
    expected = None
    for trial in range(trials + 1):
        copy = root / f"resumed-{trial}"
        shutil.copytree(run, copy)
        if trial:
            path = copy / RunFolder(copy).checkpoints[0]
            content = bytearray(path.read_bytes())
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            path.write_bytes(content)
        itransf.train(graph, settings=LONGER, out=copy, resume=True, device="cpu", progress=False)
        found = (copy / "model.safetensors").read_bytes()
        expected = expected or found
        if trial:
            count.add("same weights" if found == expected else "other weights", found != expected, copy.name)
        shutil.rmtree(copy)
    return count
