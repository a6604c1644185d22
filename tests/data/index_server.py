"""A package index on this machine, for tests that fetch."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class IndexServer:
    """What the index serves, and what it was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    as_json: bool = False
    ranges: bool = True
    cut_after: int | None = None
    password: str | None = None
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/simple"

    @property
    def asked_for_files(self) -> list[dict[str, str]]:
        return [headers for path, headers in self.requests if path.startswith("/files/")]


class Handler(BaseHTTPRequestHandler):
    state: IndexServer

    def do_GET(self) -> None:
        state = self.state
        state.requests.append((self.path, dict(self.headers.items())))
        if state.password and self.headers.get("Authorization") != state.password:
            self._answer(401, b"")
        elif self.path.startswith("/files/"):
            self._answer_file(state.files[self.path.rpartition("/")[2]])
        elif self.path == "/simple/some-project/":
            self._answer_page()
        else:
            self._answer(404, b"")

    def _answer_page(self) -> None:
        names = list(self.state.files)
        if self.state.as_json:
            page = {"files": [{"filename": name, "url": f"../../files/{name}", "hashes": {}} for name in names]}
            self._answer(200, json.dumps(page).encode(), "application/vnd.pypi.simple.v1+json")
        else:
            links = "".join(f'<a href="../../files/{name}#sha256=0">{name}</a><br/>' for name in names)
            self._answer(200, f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "text/html")

    def _answer_file(self, content: bytes) -> None:
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.state.ranges else 0
        if start and start >= len(content):
            self._answer(416, b"")
            return
        part = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        cut, self.state.cut_after = self.state.cut_after, None  # the connection breaks once
        self.wfile.write(part if cut is None else part[:cut])

    def _answer(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@contextmanager
def serve_index() -> Iterator[IndexServer]:
    """Serve an index while the block runs."""
    state = IndexServer()
    handler = type("OneHandler", (Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
