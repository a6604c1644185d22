"""Write docs/settings.md from the settings of the package: python scripts/write_settings.py."""

from __future__ import annotations

import json
from pathlib import Path

from itransf.config import describe_settings

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
INTRODUCTION = """# Settings

Hyperparameters and other settings, with their defaults. Set them with `--set key=value`, in a TOML file for `--config`,
or with `settings=` and `config=` in Python. A preset has values of its own, and without one some values are [chosen by
the graph and the model](defaults.md), as said under "auto". `itransf info RUN` shows the settings of a run. The section
`model` lists those of ITransF; `itransf models` lists the other models.

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
        auto = f" Auto: {setting.auto}." if setting.auto else ""
        line = f"- `{setting.key} = {json.dumps(setting.default)}` ({setting.values}): {setting.description}{auto}"
        lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
