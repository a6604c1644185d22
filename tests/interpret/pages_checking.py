"""Reading a page back: is it well-formed, and does it stand alone?"""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "hr", "link", "wbr"}
NAMESPACE = "http://www.w3.org/2000/svg"


class PageReader(HTMLParser):
    """Collects ids, links and text, and refuses tags that do not match."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        found = dict(attrs)
        assert len(found) == len(attrs), f"an attribute twice in {tag}"
        if found.get("id"):
            self.ids.append(str(found["id"]))
        for key in ("href", "src", "srcset", "action"):
            if key in found:
                self.links.append(str(found[key]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" not in self.open and "style" not in self.open:
            self.text.append(data)


def check_page(page: str) -> PageReader:
    """Return the page, read, if it is well-formed, asks for nothing from outside and has every id once."""
    reader = PageReader(page)
    assert len(set(reader.ids)) == len(reader.ids)
    assert all(link.startswith("#") for link in reader.links), reader.links
    assert {link[1:] for link in reader.links} <= set(reader.ids)
    assert not re.findall(r"(?:https?:)?//[\w.]+\.\w+", page.replace(NAMESPACE, ""))
    assert "@import" not in page
    assert "url(" not in page
    return reader
