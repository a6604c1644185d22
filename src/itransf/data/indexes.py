"""The package indexes this machine is set up to use, and where a file lies on one of them."""

from __future__ import annotations

import ast
import base64
import json
import os
import re
import ssl
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http import HTTPStatus
from typing import IO
from urllib.error import HTTPError
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from itransf.errors import FetchError

TIMEOUT = 30.0  # seconds without an answer

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_DEFAULT_INDEX = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"


@dataclass(frozen=True)
class Index:
    """A package index with the simple interface (PEP 503, PEP 691).

    Attributes:
        url: Its address without credentials, fit to be shown.
        authorization: The header that carries the credentials, if the address had any.
        certificates: A file of trusted certificates, if one is configured.
    """

    url: str
    authorization: str | None = field(default=None, repr=False)
    certificates: str | None = None

    def find_file(self, project: str, filename: str) -> str | None:
        """Return the address of a project's file, None if the index does not list it."""
        page = f"{self.url}/{re.sub(r'[-_.]+', '-', project).lower()}/"
        if page.startswith("file:"):
            page += "index.html"
        try:
            answer = self.open(page, {"Accept": _ACCEPT})
        except HTTPError as error:
            if error.code == HTTPStatus.NOT_FOUND:
                return None  # this index does not know the project; another may
            raise
        with answer:
            is_json = "json" in (answer.headers.get("Content-Type") or "")  # type: ignore[attr-defined]
            text = answer.read().decode("utf-8", "replace")
            page = answer.geturl()  # type: ignore[attr-defined]
        links = _read_json_links(text) if is_json else _read_html_links(text)
        address = links.get(filename)
        return None if address is None else self._resolve(page, address)

    def open(self, url: str, headers: Mapping[str, str] | None = None) -> IO[bytes]:
        """Open an address; the credentials go to the index's own host only."""
        sent = dict(headers or {})
        if self.authorization and urlsplit(url).netloc == urlsplit(self.url).netloc:
            sent["Authorization"] = self.authorization
        context = ssl.create_default_context(cafile=self.certificates) if url.startswith("https:") else None
        answer: IO[bytes] = urlopen(Request(url, headers=sent), timeout=TIMEOUT, context=context)
        return answer

    def _resolve(self, page: str, address: str) -> str:
        """Return a link's full address, refusing links from the web to local files."""
        full = urljoin(page, address.partition("#")[0])
        allowed = ("file",) if page.startswith("file:") else ("http", "https")
        if urlsplit(full).scheme not in allowed:
            raise FetchError(f"{self.url} links to {full}, which is no web address")
        return full


def find_indexes() -> list[Index]:
    """Return the package indexes pip is configured to use, best first."""
    settings = _read_pip_settings()
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        raise FetchError("pip is configured to use no package index (no-index).")
    main = settings.get("index-url") or _read_default_index()
    urls = [*main.split(), *settings.get("extra-index-url", "").split()]
    if not urls:
        raise FetchError("no package index is configured: set PIP_INDEX_URL to the address of one.")
    return [make_index(url, settings.get("cert")) for url in urls]


def make_index(url: str, certificates: str | None = None) -> Index:
    """Build an index from its address, taking the credentials out of it."""
    parts = urlsplit(url)
    authorization = None
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    host = parts.netloc.rpartition("@")[2]
    plain = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    return Index(plain, authorization, certificates)


def _read_pip_settings() -> dict[str, str]:
    """Return pip's settings by name; the environment wins over files, as it does for pip."""
    listed = _ask_python("-m", "pip", "config", "list")
    found: dict[str, dict[str, str]] = {}
    for line in listed.splitlines():
        key, equals, value = line.partition("=")
        section, dot, name = key.rpartition(".")
        if equals and dot and value[:1] in "'\"":
            found.setdefault(section, {})[name] = str(ast.literal_eval(value))
    # Where pip itself is missing, its environment variables still say what the user wants.
    environment = {
        name: os.environ[variable]
        for name in ("index-url", "extra-index-url", "cert", "no-index")
        if (variable := f"PIP_{name.upper().replace('-', '_')}") in os.environ
    }
    return {**found.get("global", {}), **found.get("install", {}), **found.get(":env:", {}), **environment}


def _read_default_index() -> str:
    """Return the index pip uses when none is configured, an empty string if pip is not there to ask."""
    return _ask_python("-c", _DEFAULT_INDEX).strip()


def _ask_python(*arguments: str) -> str:
    """Return what another Python process prints, an empty string if it fails."""
    try:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _read_json_links(text: str) -> dict[str, str]:
    """Return the address of each file on a PEP 691 page."""
    return {file["filename"]: file["url"] for file in json.loads(text)["files"]}


def _read_html_links(text: str) -> dict[str, str]:
    """Return the address of each file on a PEP 503 page."""
    parser = _LinkParser()
    parser.feed(text)
    parser.close()
    return parser.links


class _LinkParser(HTMLParser):
    """Collects the links of a page by the last part of their path."""

    def __init__(self) -> None:
        super().__init__()
        self.links: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in a link."""
        address = dict(attrs).get("href")
        if tag == "a" and address:
            self.links[unquote(urlsplit(address).path.rpartition("/")[2])] = address
