"""Write docs/settings.md from the settings of the package: python scripts/write_settings.py."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import itransf
from itransf.config import CHOOSE, DEFAULT_MODEL, Setting, build_config, describe_settings
from itransf.run.settings import default_layer, flatten

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
INTRODUCTION = """# Settings

Hyperparameters and other settings. Set them with `--set key=value`, in a TOML file for `--config`, or with
`settings=` and `config=` in Python. `itransf info RUN` shows the settings of a run, `itransf settings --model NAME`
those of another model.

Without a preset, settings are chosen by the model, the number of training triples and the device. With a preset, a
setting that the preset does not name has the value in the lists below.

Written by `python scripts/write_settings.py`.

## IComplEx without a preset

What `itransf train` uses on these graphs; "Auto" in the lists says how values depend on the graph. Settings that are
not in the table have the values in the lists.

"""
NOTES = """
A regularizer weight of -1 is chosen on validation triples before training. IComplEx is validated after every third
of the epochs that follow the warm start; there is no early stopping.

## General
"""
SCOPES = {
    "negatives": "For `hinge`, `self_adversarial` and the assignment step of ITransF. `cross_entropy`, the default "
    "loss, uses only `filtered`.",
    "assignment": 'For ITransF and `pitransf` with `model.attention = "sparse"`.',
    "validation": "Early stopping is off; `validation.patience = 3` turns it on.",
}
"""What a section holds for, by its name."""


@dataclass(frozen=True)
class Counts:
    """Counts of a graph, from which a model chooses its settings."""

    entities: range
    relations: range
    train: range


def list_examples() -> dict[str, dict[str, Any]]:
    """Return the settings of the default model for a small and a larger graph, by the title of their column."""
    world = itransf.load("world")
    counts = itransf.data.DATASETS["fb15k-237"].counts
    larger = Counts(*(range(counts[key]) for key in ("entities", "relations", "train")))
    chosen = {
        f"world ({len(world.train):,} triples)": default_layer(world, DEFAULT_MODEL),
        f"fb15k-237 ({len(larger.train):,}), CPU": default_layer(cast(Any, larger), DEFAULT_MODEL),
        f"fb15k-237 ({len(larger.train):,}), GPU": default_layer(cast(Any, larger), DEFAULT_MODEL, "cuda"),
    }
    return {title: flatten(build_config([layer]).to_dict()) for title, layer in chosen.items()}


def write_examples() -> str:
    """Return a table of the settings that depend on the graph or differ from the listed defaults."""
    listed = {setting.key: setting.default for setting in describe_settings()}
    examples = list_examples()
    shown = {"loss.name", "validation.patience"}
    keys = [key for key in listed if key in shown or any(each[key] != listed[key] for each in examples.values())]
    rows = [["Setting", *examples], ["---"] + ["---:"] * len(examples)]
    rows += [[f"`{key}`", *(write_value(key, each[key]) for each in examples.values())] for key in keys]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def write_value(key: str, value: Any) -> str:
    """Return a value for people."""
    if key == "regularizer.weight" and value == CHOOSE:
        return "-1"
    if key == "loss.candidates" and not value:
        return "0 (all)"
    return f"{value:,}" if isinstance(value, int) else str(value)


def write_page() -> str:
    """Return the text of the page."""
    lines, section = [INTRODUCTION + write_examples() + NOTES], ""
    for setting in describe_settings():
        before, dot, _ = setting.key.rpartition(".")
        if dot and before != section:
            section = before
            lines.append(f"\n## {section}\n")
            lines += [f"{SCOPES[section]}\n"] if section in SCOPES else []
        lines.append(write_line(setting))
    lines.append("\n## model, of ITransF\n")
    lines += [write_line(setting) for setting in describe_settings("itransf") if setting.key.startswith("model.")]
    return "\n".join(lines) + "\n"


def write_line(setting: Setting) -> str:
    """Return one setting as an item of a list."""
    auto = f" Auto: {setting.auto}." if setting.auto else ""
    values = "a name in [models.md](models.md)" if setting.key == "model.name" else setting.values
    return f"- `{setting.key} = {json.dumps(setting.default)}` ({values}): {setting.description}{auto}"


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
