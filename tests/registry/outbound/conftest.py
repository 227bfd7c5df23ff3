"""Two web servers on loopback, and a guard that reaches them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from config.lib.addresses import parse_allowed
from registry.outbound import Guard
from tests.fakes.web_server import WebServer, serving
from tests.registry.outbound.tls import TlsServer, serving_tls


@pytest.fixture
def web() -> Iterator[WebServer]:
    with serving() as server:
        yield server


@pytest.fixture
def other() -> Iterator[WebServer]:
    with serving() as server:
        yield server


@pytest.fixture
def guard() -> Guard:
    """Lets requests reach this machine."""
    return Guard(allow=parse_allowed("127.0.0.1"))


@pytest.fixture
def tls(tmp_path: Path) -> Iterator[TlsServer]:
    with serving_tls(tmp_path) as server:
        yield server
