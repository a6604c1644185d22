"""How many threads there are, and how they wait."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from itransf import threads
from itransf.errors import ConfigError

VARIABLES = (*threads.PASSIVE, *threads.COUNTS)


def read_environment(*code: str, **given: str) -> dict[str, str]:
    """Return what the variables are after some code in a process of its own."""
    told = f"import json, os\n{chr(10).join(code)}\nprint(json.dumps(dict(os.environ)))"
    clean = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", told], env={**clean, **given}, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    return {key: found[key] for key in VARIABLES if key in found}


def test_idle_threads_sleep_unless_the_user_wants_otherwise() -> None:
    assert read_environment("import itransf").items() >= threads.PASSIVE.items()
    for name, value in (("OMP_WAIT_POLICY", "ACTIVE"), ("GOMP_SPINCOUNT", "1000")):
        found = read_environment("import itransf", **{name: value})
        assert {key: found[key] for key in threads.PASSIVE if key in found} == {name: value}


def test_a_quota_limits_threads_unless_the_user_chose_a_number() -> None:
    patch = ("import itransf", "itransf.threads.read_quota = lambda: 0.5", "itransf.threads.configure_threads()")
    assert read_environment(*patch)["OMP_NUM_THREADS"] == "1"
    assert read_environment(*patch, OMP_NUM_THREADS="7")["OMP_NUM_THREADS"] == "7"


def test_the_number_reaches_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in threads.COUNTS:
        monkeypatch.setenv(name, "1")
    before = torch.get_num_threads()
    try:
        threads.set_threads(2)
        assert torch.get_num_threads() == 2
        threads.set_threads(None)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    with pytest.raises(ConfigError, match=r"threads .*at least 1"):
        threads.set_threads(0)


@pytest.mark.parametrize(
    ("own", "files", "quota"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, math.inf),
        ("0::/a/b\n", {"a/cpu.max": "200000 100000\n", "a/b/cpu.max": "max 100000\n"}, 2.0),
        (
            "4:memory:/x\n3:cpu,cpuacct:/x\n",
            {"cpu,cpuacct/x/cpu.cfs_quota_us": "50000\n", "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"},
            0.5,
        ),
        (
            "3:cpu,cpuacct:/\n",
            {"cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"},
            math.inf,
        ),
        ("", {}, math.inf),
    ],
)
def test_the_quota_of_a_container_is_read(own: str, files: dict[str, str], quota: float, tmp_path: Path) -> None:
    (tmp_path / "own").write_text(own)
    for name, content in files.items():
        (tmp_path / "cgroup" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cgroup" / name).write_text(content)
    assert threads.read_quota(tmp_path / "cgroup", tmp_path / "own") == quota


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert threads.read_quota(tmp_path, tmp_path / "none") == math.inf
