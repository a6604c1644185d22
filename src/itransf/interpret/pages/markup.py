"""HTML as strings: text is escaped unless it says that it is markup."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from importlib import resources
from typing import Any

_SEAM = re.compile(r"([/_.])(?=\w)")
_VOID = frozenset({"meta", "input", "br", "hr", "link"})


class Markup(str):
    """HTML that may be put into a page as it is."""

    __slots__ = ()


Content = str | None
"""What an element may hold: markup, or text that is escaped; nothing for None."""


def element(tag: str, *children: Content, **attributes: str | int | float | bool | None) -> Markup:
    """Return an element.

    Args:
        tag: Its name.
        children: What it holds.
        attributes: `class_` and `for_` stand for class and for, `data_value` for data-value; None and False leave
            one out, True writes its name alone.
    """
    told = "".join(_write_attribute(key, value) for key, value in attributes.items())
    if tag in _VOID:
        return Markup(f"<{tag}{told}>")
    return Markup(f"<{tag}{told}>{join(children)}</{tag}>")


def _write_attribute(key: str, value: str | int | float | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


def join(children: Iterable[Content], between: str = "") -> Markup:
    """Return markup and escaped text, one after the other."""
    parts = (child if isinstance(child, Markup) else html.escape(child) for child in children if child is not None)
    return Markup(html.escape(between).join(parts))


def soften(name: str) -> Markup:
    """Return a name that may be broken after the signs that part its words."""
    return Markup(_SEAM.sub(r"\1<wbr>", html.escape(name)))


def embed(name: str, content: Any) -> Markup:
    """Return data for a script, found by its id; nothing in it can end the element."""
    plain = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    safe = plain.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Markup(f'<script type="application/json" id="{html.escape(name)}">{safe}</script>')


def read_asset(name: str) -> Markup:
    """Return a style sheet or script of this package."""
    return Markup(resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8"))


def make_page(title: str, body: Content, scripts: Iterable[str]) -> str:
    """Return a whole page with everything it needs inside.

    Args:
        title: Of the browser's tab.
        body: What is shown.
        scripts: Names of the scripts that bring it to life.
    """
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Markup(f"<style>\n{read_asset('page.css')}</style>"),
    )
    run = Markup("".join(f"<script>\n{read_asset(name)}</script>\n" for name in scripts))
    return f"<!doctype html>\n{element('html', head, element('body', body, run), lang='en')}\n"
