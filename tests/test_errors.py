from __future__ import annotations

import pytest

from itransf import errors
from itransf.errors import ITransFError, MissingExtraError, did_you_mean


@pytest.mark.parametrize(
    "name", ["DataError", "ConfigError", "CheckpointError", "RunError", "WriteError", "FetchError", "MissingExtraError"]
)
def test_all_errors_have_one_root(name: str) -> None:
    assert issubclass(getattr(errors, name), ITransFError)


def test_misuse_is_told_from_failure() -> None:
    misuse = {errors.DataError, errors.ConfigError, errors.RunError}
    failures = {errors.CheckpointError, errors.WriteError, errors.FetchError, MissingExtraError}
    assert all(issubclass(kind, errors.UsageError) for kind in misuse)
    assert not any(issubclass(kind, errors.UsageError) for kind in failures)


def test_a_missing_extra_names_the_cure() -> None:
    message = str(MissingExtraError("a heat map", "plots"))
    assert message == "a heat map needs an optional dependency: pip install 'itransf[plots]'"


def test_near_misses_are_suggested_nearest_first() -> None:
    assert did_you_mean("epoch", ["epochs", "seed"]) == " Did you mean 'epochs'?"
    assert did_you_mean("valit", ["valid", "valids", "test"]) == " Did you mean 'valid' or 'valids'?"
    assert did_you_mean("dimm", ["dim"], "model.") == " Did you mean 'model.dim'?"
    assert did_you_mean("aaaa", ["aaab", "aaac", "aaad", "aaae"], count=2).count(" or ") == 1


def test_nothing_near_gives_nothing() -> None:
    assert did_you_mean("zzz", ["epochs"]) == ""
    assert did_you_mean("epochs", []) == ""
