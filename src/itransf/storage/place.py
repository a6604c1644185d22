"""The place of a run: whether one lies there already, who is at work on it, and how one makes way for another."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from itransf.errors import RunError, WriteError
from itransf.files import lock, make_folder
from itransf.storage.names import ASIDE, BEGINNING, CHECKPOINT, HALF_WRITTEN, LOCK, OWN, WEIGHTS


class RunPlace:
    """A folder in which a run lies, or could."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def is_occupied(self) -> bool:
        """Whether anything lies here already."""
        if not self.path.is_dir():
            return self.path.exists()
        return any(entry.name != LOCK for entry in self.path.iterdir())

    @property
    def has_checkpoint(self) -> bool:
        """Whether training can be continued from here."""
        return (self.path / "run.json").is_file() and (self.path / CHECKPOINT).is_file()

    @property
    def is_barely_begun(self) -> bool:
        """Whether nothing is lost by starting here: nothing lies here, or only what is written before training."""
        if not self.is_occupied:
            return True
        if not self.path.is_dir():
            return False
        names = {entry.name for entry in self.path.iterdir()} - {LOCK}
        written = {name for name in names if not name.startswith(HALF_WRITTEN)}
        # Names come first: a config.toml alone is somebody's own.
        return written <= {*BEGINNING} and (not written or BEGINNING[0] in written)

    @property
    def is_replaceable(self) -> bool:
        """Whether what lies here, if anything, is a run, or what is left of one."""
        return (self.path / "run.json").is_file() or (self.path / ASIDE).is_dir() or self.is_barely_begun

    def refuse(self) -> RunError:
        """Return why no run is begun here, and what can be done, whichever way it was asked for."""
        if not self.is_replaceable:
            return RunError(
                f"{self.path}: does not look like a run, so it is left alone; "
                "choose another folder, or remove it yourself"
            )
        can_go_on = self.has_checkpoint or self.is_barely_begun
        found = (
            "a run; resume it (--resume, resume=True)," if can_go_on else "a run, without a checkpoint to go on from;"
        )
        return RunError(
            f"{self.path}: already holds {found} overwrite it (--overwrite, overwrite=True) or choose another folder"
        )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other trainings out of the folder while the block runs.

        Raises:
            RunError: One is at work here already.
        """
        if self.path.exists() and not self.path.is_dir():
            raise self.refuse()
        make_folder(self.path)
        try:
            with lock(self.path / LOCK) as is_ours:
                if not is_ours:
                    raise RunError(f"{self.path}: another training is at work here; wait, or choose another folder")
                yield
        finally:
            self._remove_empty()

    @contextmanager
    def making_way(self, overwrite: bool) -> Iterator[None]:
        """Make room for a new run, which the block writes.

        A run that lies here is refused unless it may be overwritten, and comes back if the block fails before the new
        one has weights or a checkpoint.
        """
        if self.is_occupied and (not overwrite or not self.is_replaceable):
            raise self.refuse()
        self._set_aside()
        try:
            yield
        except BaseException:
            if not self._is_usable:
                self._bring_back()
            raise
        finally:
            shutil.rmtree(self.path / ASIDE, ignore_errors=True)

    @property
    def _is_usable(self) -> bool:
        """Whether a run lies here that can be opened or gone on with."""
        return self.has_checkpoint or (self.path / WEIGHTS).is_file()

    def _list_own(self) -> list[Path]:
        """Return the run's own files, half written ones among them."""
        entries = self.path.iterdir() if self.path.is_dir() else ()
        return [entry for entry in entries if entry.name in OWN or entry.name.startswith(HALF_WRITTEN)]

    def _set_aside(self) -> None:
        """Put away a run that can be used; one that was put away before and never replaced stays there."""
        aside, is_usable = self.path / ASIDE, self._is_usable
        try:
            if is_usable:
                shutil.rmtree(aside, ignore_errors=True)
                aside.mkdir()
            for file in self._list_own():
                if is_usable:
                    file.replace(aside / file.name)
                else:
                    file.unlink()
        except OSError as error:
            raise WriteError(f"{self.path} cannot be replaced: {error.strerror}; choose another folder") from None

    def _bring_back(self) -> None:
        """Have the run that was put away lie here again."""
        for file in self._list_own():
            file.unlink()
        if (self.path / ASIDE).is_dir():
            for file in (self.path / ASIDE).iterdir():
                file.replace(self.path / file.name)

    def clear(self) -> None:
        """Remove a run; anything that does not look like one is refused."""
        if not self.is_occupied:
            return
        if not self.is_replaceable:
            raise self.refuse()
        try:
            for file in self._list_own():
                file.unlink()
            shutil.rmtree(self.path / ASIDE, ignore_errors=True)
        except OSError as error:
            raise WriteError(f"{self.path} cannot be replaced: {error.strerror}; choose another folder") from None
        self._remove_empty()

    def _remove_empty(self) -> None:
        """Remove the folder if nothing lies in it."""
        with suppress(OSError):
            self.path.rmdir()

    def remove(self, name: str) -> None:
        """Remove one file, if it is there."""
        (self.path / name).unlink(missing_ok=True)
