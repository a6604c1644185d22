"""How much memory is free, by the machine and by the control groups of the process."""

from __future__ import annotations

from pathlib import Path

import pytest

from itransf import threads
from itransf.data import memory


@pytest.mark.parametrize(
    ("own", "files", "free"),
    [
        ("0::/\n", {"memory.max": "900\n", "memory.current": "300\n", "memory.stat": "file 200\n"}, 600),
        ("0::/\n", {"memory.max": "900\n", "memory.current": "850\n", "memory.stat": "inactive_file 200\n"}, 250),
        ("0::/\n", {"memory.max": "900\n", "memory.current": "950\n", "memory.stat": ""}, 0),
        ("0::/\n", {"memory.max": "max\n", "memory.current": "300\n", "memory.stat": ""}, 1000 * 1024),
        (
            "0::/job/step\n",
            {"job/memory.max": "500\n", "job/memory.current": "100\n", "job/memory.stat": "", "job/step/x": ""},
            400,
        ),
        (
            "4:memory:/x\n3:cpu:/y\n",
            {
                "memory/x/memory.limit_in_bytes": "700\n",
                "memory/x/memory.usage_in_bytes": "400\n",
                "memory/x/memory.stat": "cache 90\ninactive_file 10\ntotal_inactive_file 20\n",
            },
            320,
        ),
        ("", {}, 1000 * 1024),
    ],
)
def test_free_memory_is_that_of_the_smallest_limit(
    own: str, files: dict[str, str], free: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").write_text(own)
    (tmp_path / "meminfo").write_text("MemTotal: 4000 kB\nMemAvailable: 1000 kB\n")
    for name, content in files.items():
        (tmp_path / "cgroup" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cgroup" / name).write_text(content)
    groups = threads.list_groups("memory", tmp_path / "cgroup", tmp_path / "own")
    monkeypatch.setattr(memory, "list_groups", lambda controller: groups)
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    assert memory.find_free() == free
