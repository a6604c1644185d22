"""Pages for a browser: HTML templates filled with data; each page is one file that needs no network."""

import html
import json
import re
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

METRICS = {"MRR": "mrr", "Hits@1": "hits@1", "Hits@3": "hits@3", "Hits@10": "hits@10", "MR": "mr"}
_SEAM = re.compile(r"([/_.])(?=\w)")


def render(template: str, **data: Any) -> str:
    """Return the page of a template; all text is escaped."""
    return _ENVIRONMENT.get_template(template).render(METRICS=METRICS, **data)


def read_asset(name: str) -> Markup:
    """Return a style sheet or script of this package."""
    return Markup(resources.files(__name__).joinpath("templates", name).read_text(encoding="utf-8"))


def embed(content: Any, name: str) -> Markup:
    """Return data for a script, found by its id; nothing in it can end the element."""
    plain = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    safe = plain.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Markup(f'<script type="application/json" id="{html.escape(name)}">{safe}</script>')


def soften(name: str) -> Markup:
    """Return a name that a browser may break after the separators between its words."""
    return Markup(_SEAM.sub(r"\1<wbr>", html.escape(name)))


def format_metric(value: float | None, name: str) -> str:
    """Return a metric as it is usually written: Hits in percent, MR with one decimal, MRR with three."""
    if value is None:
        return "–"
    return f"{value:.1%}" if name.startswith("Hits") else f"{value:,.1f}" if name == "MR" else f"{value:.3f}"


_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader(__name__),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
_ENVIRONMENT.globals["asset"] = read_asset
_ENVIRONMENT.filters.update(
    count=lambda value: "" if value is None else f"{value:,}",
    percent=lambda value: f"{value:.0%}",
    embed=embed,
    metric=format_metric,
    soft=soften,
)
