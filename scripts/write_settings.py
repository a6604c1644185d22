"""Write docs/settings.md from the settings of the package: python scripts/write_settings.py."""

from __future__ import annotations

import json
from pathlib import Path

from itransf.config import Setting, describe_settings

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
INTRODUCTION = """# Settings

Hyperparameters and other settings, with their defaults. Set them with `--set key=value`, in a TOML file for `--config`,
or with `settings=` and `config=` in Python. A preset has values of its own, and without one some values are [chosen by
the graph and the model](defaults.md), as said under "auto". `itransf info RUN` shows the settings of a run, and
`itransf settings --model NAME` those of another model than IComplEx (the default) and ITransF.

Written by `python scripts/write_settings.py`.
"""


def write_page() -> str:
    """Return the text of the page."""
    lines, section = [INTRODUCTION], ""
    for setting in describe_settings():
        before, dot, _ = setting.key.rpartition(".")
        if dot and before != section:
            section = before
            lines.append(f"\n## {section}\n")
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
