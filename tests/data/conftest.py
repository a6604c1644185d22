from __future__ import annotations

from collections.abc import Iterator

import pytest
from index_server import IndexServer, serve_index


@pytest.fixture
def index_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[IndexServer]:
    """A package index on this machine, whatever proxy is configured."""
    monkeypatch.setenv("no_proxy", "*")
    with serve_index() as server:
        yield server
