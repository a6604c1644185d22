"""Count the code of the package by folder, and of `reproduction/` and `benchmarks/`.

    python scripts/count_code.py                    # the working tree
    python scripts/count_code.py --rev COMMIT       # a revision, and the working tree next to it
    python scripts/count_code.py --json

A code line is neither blank nor part of a comment or docstring; `make lint` keeps the sources formatted by ruff.
"imports" is the share of code lines that belong to import statements. "isinstance" counts checks on subclasses of
`Model`, without those that stand for a capability (models/base.py and models/concepts.py).
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE, TOTAL, OUTSIDE = "src/itransf", "src/itransf, total", ("reproduction", "benchmarks")
CAPABILITIES = ("base.py", "concepts.py")
KEYS = ("files", "code", "imports", "isinstance")
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def read_sources(revision: str | None) -> dict[str, str]:
    """Return the Python sources of the working tree or of a revision, by path."""
    folders = (PACKAGE, *OUTSIDE)
    if revision is None:
        paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
        return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout

    names = git("ls-tree", "-r", "--name-only", revision, *(f"{folder}/" for folder in folders)).splitlines()
    return {name: git("show", f"{revision}:{name}") for name in names if name.endswith(".py")}


def list_models(sources: Mapping[str, str]) -> set[str]:
    """Return the names of model classes that do not stand for a capability."""
    bases, capabilities = dict[str, list[str]](), set[str]()
    for path, text in sources.items():
        if path.startswith(f"{PACKAGE}/models/"):
            found = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
            bases |= {node.name: [ast.unparse(base) for base in node.bases] for node in found}
            capabilities |= {node.name for node in found if path.endswith(CAPABILITIES)}

    def is_model(name: str) -> bool:
        return name == "Model" or any(is_model(base) for base in bases.get(name, []))

    return {name for name in bases if is_model(name)} - capabilities


def count_source(text: str, models: set[str]) -> Counter[str]:
    """Count one file."""
    tree = ast.parse(text)
    tokens = tokenize.generate_tokens(StringIO(text).readline)
    lines = {n for token in tokens if token.type not in NO_CODE for n in range(token.start[0], token.end[0] + 1)}
    imports, checks = set[int](), 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            named = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
            checks += bool(named & models)
    return Counter(dict(zip(KEYS, (1, len(lines), len(imports & lines), checks), strict=True)))


def count_folders(sources: Mapping[str, str]) -> dict[str, Counter[str]]:
    """Return the count of each folder of the package, its total, and the totals of the folders outside."""
    models = list_models(sources)
    found: defaultdict[str, Counter[str]] = defaultdict(lambda: Counter(dict.fromkeys(KEYS, 0)))
    for path, text in sources.items():
        count = count_source(text, models)
        outside = next((name for name in OUTSIDE if path.startswith(f"{name}/")), None)
        for folder in [outside] if outside else [path.rpartition("/")[0], TOTAL]:
            found[folder].update(count)
    return {folder: found[folder] for folder in sorted({*found, *OUTSIDE}, key=order_folder)}


def order_folder(name: str) -> tuple[bool, bool, str]:
    """Sort folders of the package first, its total after them, then what is outside."""
    return name in OUTSIDE, name == TOTAL, name


def write_table(counts: Sequence[tuple[str, Mapping[str, Counter[str]]]]) -> Iterable[str]:
    """Yield the lines of a table with four columns for each tree."""
    yield f"{'':44}" + "".join(f"{name[:30]:>36}" for name, _ in counts)
    yield f"{'folder':44}" + "".join(f"{'files':>8}{'code':>8}{'imports':>9}{'isinstance':>11}" for _ in counts)
    for folder in sorted({folder for _, found in counts for folder in found}, key=order_folder):
        cells = [found.get(folder, Counter[str]()) for _, found in counts]
        columns = (
            f"{c['files']:8}{c['code']:8,}{c['imports'] / (c['code'] or 1):9.1%}{c['isinstance']:11}" for c in cells
        )
        yield f"{folder:44}" + "".join(columns)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rev", metavar="COMMIT", action="append", default=[], help="count this revision as well")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    counts = [(name or "working tree", count_folders(read_sources(name))) for name in (*options.rev, None)]
    if options.json:
        print(json.dumps(dict(counts), indent=2))
    else:
        print("\n".join(write_table(counts)))


if __name__ == "__main__":
    main()
