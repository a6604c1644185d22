"""Converts stored results to the present names of settings, and says "unknown" where a record does not know.

    python -m scripts.convert_results [FOLDER]

Every JSON file below FOLDER (default: results) is rewritten in place and renamed where its name holds an old setting.
Files that are converted already stay as they are, byte by byte. Names of entities and relations are never touched.
A setting that no longer exists, with a value that no other setting expresses, is kept and listed, and the exit status
is 1: such a result cannot be measured again and should be deleted.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from reproduction.jobs import Job
from reproduction.results import write_parts

RENAMED = {
    "model": {
        "norm": "p_norm",
        "entities": "entity_constraint",
        "projected": "projected_constraint",
        "matrix_rate": "matrix_lr_factor",
        "concept_start": "concept_init",
    },
    "training": {"decay": "lr_decay", "average": "weight_averaging"},
    "loss": {"kind": "name", "temperature": "adversarial_temperature"},
    "negatives": {"per_fact": "per_triple", "corrupt": "sampler", "avoid_known": "filtered"},
    "assignment": {"first": "init", "facts": "triples"},
    "validation": {"facts": "triples"},
    "warm_start": {"negatives": "sampler"},
}
"""Old and new names of settings, by section."""
LOSSES = {"adversarial": "self_adversarial", "softmax": "cross_entropy"}
REMOVED = {
    ("assignment", "sides"): "together",
    ("warm_start", "model"): "transe",
    ("warm_start", "batch_size"): 0,
}
"""Settings that are gone, with the value that describes what is always done now."""
UNCHANGED = ("assignment.sides=together", "warm_start.model=transe", "warm_start.batch_size=0")
SETTING = re.compile(r"\b(" + "|".join(RENAMED) + r")\.([a-z_0-9]+)")
IDENTIFIER = re.compile(r"[a-z0-9_]+")


def convert(value: Any) -> Any:
    """Return a JSON value with the present names."""
    if isinstance(value, dict):
        if is_config(value):
            value = convert_config(value)
        if value.get("dirty", "") is None:
            value = {**value, "dirty": "unknown"}
        return {convert_key(key): convert(part) for key, part in value.items()}
    if isinstance(value, list):
        return [convert(part) for part in value if part not in UNCHANGED]
    return convert_text(value) if isinstance(value, str) else value


def is_config(value: dict[str, Any]) -> bool:
    """Return whether a dictionary holds all settings of a training."""
    return isinstance(value.get("model"), dict) and isinstance(value.get("loss"), dict)


def convert_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a training with the present sections and names."""
    found: dict[str, Any] = {}
    for section, settings in config.items():
        if not isinstance(settings, dict):
            found[section] = settings
            continue
        found[section] = {}
        for name, value in settings.items():
            if value == REMOVED.get((section, name), ()):
                continue
            if (section, name) == ("model", "n3"):
                found["regularizer"] = {"name": "n3", "weight": value}
                continue
            new = RENAMED.get(section, {}).get(name, name)
            found[section][new] = LOSSES.get(value, value) if (section, new) == ("loss", "name") else value
    return found


def convert_key(key: str) -> str:
    """Return the present name of a part of a record, or of a setting."""
    return convert_text(key) if "." in key or IDENTIFIER.fullmatch(key) else key


def convert_text(text: str) -> str:
    """Return text with the present names of settings, and "triple" for "fact"."""
    text = text.replace("model.n3", "regularizer.weight").replace("itransf reproduce ", "python -m reproduction ")
    text = SETTING.sub(lambda found: f"{found[1]}.{RENAMED[found[1]].get(found[2], found[2])}", text)
    text = re.sub(r"\bloss\.name=(\w+)", lambda found: f"loss.name={LOSSES.get(found[1], found[1])}", text)
    if IDENTIFIER.fullmatch(text):  # such as train_facts
        return re.sub(r"(?<![a-z])fact(?=s?(_|$))", "triple", text)
    # Relations such as /food/nutrition_fact/nutrient keep their names.
    return re.sub(r"(?<![\w/])(named_)?([Ff])act(?=s?\b(?!/))", _replace_word, text)


def _replace_word(found: re.Match[str]) -> str:
    return f"{found[1] or ''}{'T' if found[2] == 'F' else 't'}riple"


def list_gone(value: Any) -> set[str]:
    """Return the settings of a converted record that no longer exist."""
    if isinstance(value, list):
        return set().union(*map(list_gone, value))
    if not isinstance(value, dict):
        return set()
    found = set().union(*map(list_gone, value.values()))
    if is_config(value):
        given = {(section, name): value[section].get(name) for section, name in REMOVED if section in value}
        found |= {f"{section}.{name}={kept}" for (section, name), kept in given.items() if kept is not None}
        if value["model"].get("concept_init") == "half":
            found.add("model.concept_init=half")
    return found


def convert_file(path: Path) -> tuple[Path, set[str]]:
    """Convert a file; return its path, which may have changed, and its settings that no longer exist."""
    before = path.read_text(encoding="utf-8")
    record = convert(json.loads(before))
    if "job" not in record:
        after, new = json.dumps(record, indent=2, allow_nan=False) + "\n", path.with_name(convert_text(path.name))
    else:
        job = Job.read(record["job"])
        for setting in UNCHANGED:
            record["command"] = record["command"].replace(f" --set {setting}", "")
        record |= {"key": job.key, "row_key": job.row_key}
        after, new = write_parts(record), path.with_name(f"{job.key}.json")
    if (new, after) != (path, before):
        path.unlink()
        new.write_text(after, encoding="utf-8", newline="\n")
    return new, list_gone(record)


def main(folder: Path) -> int:
    """Convert all files and return the exit status."""
    status = 0
    for path in sorted(folder.rglob("*.json")):
        new, gone = convert_file(path)
        if new != path:
            print(f"{path.name} -> {new.name}")
        if gone:
            print(f"{new}: {', '.join(sorted(gone))} no longer exists")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results")))
