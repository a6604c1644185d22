from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "count_code.py"
count_folders = runpy.run_path(str(SCRIPT))["count_folders"]
SOURCES = {
    "src/itransf/models/base.py": '"""Doc."""\n\n\nclass Model:  # a comment\n    pass\n',
    "src/itransf/models/concepts.py": "from x import Model\n\n\nclass ConceptModel(Model):\n    pass\n",
    "src/itransf/models/one.py": "from x import ConceptModel\n\n\nclass One(ConceptModel):\n    pass\n",
    "src/itransf/run.py": (
        "import os\nfrom x import (\n    One,\n)\n\n# a comment\n"
        'def f(x: object) -> bool:\n    """Doc\n    of two lines."""\n    text = """two\n\n    lines"""\n'
        "    return isinstance(x, (One, str)) or isinstance(x, ConceptModel) or isinstance(x, str)\n"
    ),
    "benchmarks/peers.py": "x = 1\n",
}


def test_comments_blank_lines_and_docstrings_are_not_code() -> None:
    counts = count_folders(SOURCES)
    assert counts["src/itransf/models"] == {"files": 3, "code": 8, "imports": 2, "isinstance": 0}
    assert counts["src/itransf"] == {"files": 1, "code": 9, "imports": 4, "isinstance": 1}
    assert counts["src/itransf, total"] == {"files": 4, "code": 17, "imports": 6, "isinstance": 1}
    assert counts["benchmarks"]["code"] == 1
    assert counts["reproduction"]["files"] == 0


def test_the_script_counts_this_repository() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--json"], capture_output=True, text=True, check=True)
    counts = json.loads(done.stdout)["working tree"]
    assert counts["src/itransf, total"]["code"] > sum(
        counts[f"src/itransf/{part}"]["code"] for part in ("ops", "models")
    )
