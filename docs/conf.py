"""Settings of the documentation site; `make docs` builds it into docs/_build/html, without a network."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import itransf
from itransf.models import MODELS

project, author, copyright = "itransf", "The itransf authors", "The itransf authors"
release = version = itransf.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme, html_title, html_static_path = "furo", f"itransf {release}", []
html_show_copyright = False

myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
default_role = "code"  # docstrings write code in single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_class_signature = "separated"
autodoc_default_options = {"exclude-members": "__init__, __new__"}

MODELS_HERE = "<!-- one section per model -->"


def describe_model(name: str) -> str:
    """Return the section of a model: its paper, and its docstring with the formula first."""
    model = MODELS[name]
    paper = model.paper
    place = f"{model.__module__}.{model.__name__}"
    source = f"{paper.authors}: [{paper.title}]({paper.link}), {paper.venue}." if paper else "From this package."
    return (
        f'### {model.__name__}\n\n`model.name = "{name}"`. {source}'
        f"\n\n```{{eval-rst}}\n.. autoclass:: {place}\n   :no-undoc-members:\n```\n"
    )


def write_models(app: Any, page: str, source: list[str]) -> None:
    """Fill in the sections of the models, so that a new model needs no edit here."""
    if MODELS_HERE in source[0]:
        source[0] = source[0].replace(MODELS_HERE, "\n".join(map(describe_model, MODELS.names)))


def tidy_docstring(app: Any, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Set the formula that opens a model's docstring as code, and keep bars elsewhere from being markup."""
    if kind == "class" and thing in [MODELS[model] for model in MODELS.names]:
        formula, *cited = re.split(r" {3}", lines[0], maxsplit=1)
        lines[0] = f"``{formula.strip()}`` {' '.join(cited).strip().rstrip('.')}"
    for number, line in enumerate(lines):
        parts = re.split(r"(`+[^`]*`+)", line)
        parts[::2] = [re.sub(r"(?<!\\)([|*])(?!\*)", r"\\\1", part) for part in parts[::2]]
        lines[number] = "".join(parts)


def setup(app: Any) -> None:
    """Connect the two hooks."""
    app.connect("source-read", write_models)
    app.connect("autodoc-process-docstring", tidy_docstring, priority=400)  # before napoleon
