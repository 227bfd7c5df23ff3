"""Packages that behave badly, built once; and a service of the company that some may reach."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from registry.sandbox.client import Artifact, Description, LocalSandbox
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import RunningService, running_service

ELSEWHERE = "http://elsewhere.example/"


class Service(BaseHTTPRequestHandler):
    """The company's own service: greets, echoes, redirects, and sends a great deal."""

    def do_GET(self) -> None:
        """Answer one request."""
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", ELSEWHERE)
            self.end_headers()
            return
        body = b"x" * (60 << 20) if self.path == "/big" else f"hello from {self.path}".encode()
        self.reply(body)

    def do_POST(self) -> None:
        """Send back what came."""
        self.reply(self.rfile.read(int(self.headers["Content-Length"])))

    def reply(self, body: bytes) -> None:
        """Send a body."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Keep the test output quiet."""


@pytest.fixture
def sandbox(sandbox_service: RunningService) -> LocalSandbox:
    """A client of the service."""
    return sandbox_service.client


@pytest.fixture(scope="session")
def hostile(sandbox_service: RunningService) -> Artifact:
    """The built package of tools that misbehave."""
    return sandbox_service.client.build(ecosystem="npm", name=f"{SCOPE}/hostile")


@pytest.fixture(scope="session")
def shapes(sandbox_service: RunningService) -> Artifact:
    """The built package that exports tools in every way there is."""
    return sandbox_service.client.build(ecosystem="npm", name=f"{SCOPE}/shapes")


@pytest.fixture(scope="session")
def shapes_description(sandbox_service: RunningService, shapes: Artifact) -> Description:
    """What the service says of `shapes`."""
    return sandbox_service.client.describe(artifact=shapes.artifact)


@pytest.fixture(scope="session")
def company() -> Iterator[int]:
    """The port of a service on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def networked_service(
    npm_settings: dict[str, str], python_tools: Path, company: int
) -> Iterator[RunningService]:
    """A sandbox service whose operator lets tools reach that one service of the company."""
    allow = {"SANDBOX_NET_ALLOW": f"127.0.0.1:{company}, [::1]:{company}"}
    settings = {**npm_settings, **allow, "PYTHON_TOOLS_DIR": str(python_tools)}
    with running_service(settings) as running:
        yield running
        assert "Traceback" not in running.log
