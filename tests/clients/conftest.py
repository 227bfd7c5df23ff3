"""The Python client, sync and async, at a server on loopback and at the running product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from outfitter_client import AsyncOutfitter, Outfitter, Retry
from tests.clients.both import Both
from tests.fakes.web_server import WebServer, serving
from tests.live import live, live_processes

__all__ = ["live", "live_processes"]

Open = Callable[..., Both]


@pytest.fixture
def server() -> Iterator[WebServer]:
    """A server that answers as the test says."""
    with serving() as running:
        yield running


@pytest.fixture(params=[Outfitter, AsyncOutfitter], ids=["sync", "async"])
def open_client(request: pytest.FixtureRequest) -> Iterator[Open]:
    """Return a function that opens a client of each kind, patient for milliseconds."""
    with ExitStack() as stack:

        def act(url: str, **settings: Any) -> Both:
            settings.setdefault("retry", Retry(times=2, first=0.001, longest=1))
            return stack.enter_context(Both(request.param, url, **settings))

        yield act
