"""A package that may reach one host tries to reach others, and to wear out the proxy.

The one host is a listener of the test's own; beside it on the same machine listens one that must
never hear anything.
"""

import base64
import shutil
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from registry.errors import NetworkDenied, ToolError
from registry.sandbox.client import Artifact
from tests.hostile import attacks
from tests.hostile.witness import Witness, running_witness
from tests.registry.sandbox.service import RunningService, running_service

pytestmark = pytest.mark.sandbox

MODULE = Path(attacks.__file__).parent / "reaching.py"


@dataclass
class Heard:
    """What the allowed host has heard."""

    requests: list[tuple[str, str, str]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)


HEARD = Heard()


class Host(BaseHTTPRequestHandler):
    """The host that may be reached."""

    forbidden = 0

    def do_GET(self) -> None:
        """Answer, or send elsewhere."""
        HEARD.requests.append((self.command, self.path, ",".join(self.headers.get_all("Host", []))))
        places = {
            "/to-host": f"http://127.0.0.1:{self.forbidden}/",
            "/to-name": "http://elsewhere.example/",
            "/to-metadata": "http://169.254.169.254/latest/",
            "/to-file": "file:///etc/passwd",
        }
        self.send_response(302 if self.path in places else 200)
        if self.path in places:
            self.send_header("Location", places[self.path])
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def do_POST(self) -> None:
        """Take a body."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Keep the test output quiet."""


@pytest.fixture(scope="module")
def host() -> Iterator[int]:
    """The port of the host that may be reached."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Host) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def service(
    npm_settings: dict[str, str], python_tools: Path, host: int
) -> Iterator[RunningService]:
    """A service whose operator lets that one host be reached, though it is on this machine."""
    shutil.copyfile(MODULE, python_tools / "reaching.py")
    settings = {"PYTHON_TOOLS_DIR": str(python_tools), "SANDBOX_NET_ALLOW": f"127.0.0.1:{host}"}
    with running_service({**npm_settings, **settings}) as running:
        yield running
        assert "Traceback" not in running.log


@pytest.fixture(scope="module")
def witness(service: RunningService) -> Iterator[Witness]:
    """Somebody on the host who sees whether an attack got through."""
    with running_witness(service) as witness:
        Host.forbidden = witness.told["port"]
        yield witness


@pytest.fixture(scope="module")
def package(service: RunningService) -> Artifact:
    """The built module."""
    return service.client.build(ecosystem="local", name="reaching")


@pytest.fixture
def call(service: RunningService, witness: Witness, package: Artifact, host: int) -> Iterator[Any]:
    """Call with the one host allowed; afterwards nobody else has heard anything, and it works."""

    def call(export: str, **arguments: Any) -> Any:
        return service.client.call(
            artifact=package.artifact,
            export=export,
            arguments=arguments,
            env={},
            network=[f"localhost:{host}"],
            tenant="attacker",
        ).output

    HEARD.requests.clear()
    yield call
    witness.check()
    assert call("fetch", url=f"http://localhost:{host}/honest") == {"answer": "hello"}


def coded(text: str | bytes) -> str:
    """Return bytes as the tools take them."""
    return base64.b64encode(text.encode("latin-1") if isinstance(text, str) else text).decode()


# H stands for the port of the host that may be reached, W for the one of the witness.
TARGETS = [
    *("127.0.0.1:W", "localhost:W", "127.1:W", "0x7f000001:W", "2130706433:W", "017700000001:W"),
    *("0.0.0.0:W", "[::1]:W", "[::ffff:127.0.0.1]:W", "[::127.0.0.1]:W", "[fe80::1%lo]:W"),
    *("LOCALHOST:W", "localhost.:W", "localhost.localdomain:W", "127.0.0.1.nip.example:W"),
    *("localhost:H@127.0.0.1:W", "localhost:H#@127.0.0.1:W", "localhost:H/../127.0.0.1:W"),
    *("localhost:H,127.0.0.1:W", "localhost:H 127.0.0.1:W", "localhost:H:W", "localhost:HW"),
    *("localhost:0", "localhost:65536", "localhost:-1", "localhost:+W", "localhost:0xW"),
    *("localhost:", "100.100.100.200:80"),
    *("169.254.169.254:80", "metadata.google.internal:80", "[fd00:ec2::254]:80"),
    *("10.0.0.1:80", "192.168.0.1:80", "[64:ff9b::7f00:1]:W", "[2002:7f00:1::]:W", "224.0.0.1:53"),
    *("8.8.8.8:53", "127.0.0.53:53", "c2VjcmV0.attacker.example:53", "sub.localhost:H"),
    "localhost%00:W",
    *("127.0.0.1:H", "[::1]:H", "0:H", "*:H", "\\xef\\xbc\\x91:W", "localhost\\t:W", ":W", "W", ""),
]  # fmt: skip


def aimed(text: str, host: int, witness: Witness) -> str:
    """Fill in the ports."""
    return text.replace("H", str(host)).replace("W", str(witness.told["port"]))


@pytest.mark.parametrize("target", TARGETS)
def test_a_tunnel_leads_nowhere_but_to_the_allowed_host(
    call: Any, witness: Witness, host: int, target: str
) -> None:
    # The names that are spelled with an H or a W stay as they are.
    target = target if target in ("", "W") else target.replace("LOCALHOST", "localhost".upper())
    place = aimed(target, host, witness)
    head = f"CONNECT {place} HTTP/1.1\r\nHost: localhost:{host}\r\n\r\n"
    try:
        answer = call("say", text=coded(head), then=coded("GET / HTTP/1.0\r\n\r\n"))["answer"]
    except ToolError as error:
        answer = error.code
    assert " 200 " not in answer.partition("\r\n")[0], answer
    assert "hello" not in answer
    assert HEARD.requests == []


REQUESTS = [
    "GET http://127.0.0.1:W/ HTTP/1.1\r\nHost: localhost:H\r\n\r\n",
    "GET http://localhost:W/ HTTP/1.1\r\nHost: localhost:H\r\n\r\n",
    "GET http://localhost:H@127.0.0.1:W/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET http://127.0.0.1:W#@localhost:H/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET http://127.0.0.1:W\\@localhost:H/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1:W\r\n\r\n",
    "GET //127.0.0.1:W/ HTTP/1.1\r\nHost: 127.0.0.1:W\r\n\r\n",
    "GET https://127.0.0.1:W/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET ftp://127.0.0.1:W/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET file:///etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET gopher://127.0.0.1:W/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:W\r\n\r\n",
    "TRACE http://127.0.0.1:W/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET http://127.0.0.1:W/\r\n\r\n",
    "GET http://localhost:H/ HTTP/0.9\r\n\r\n",
    "GET http://localhost:H/ HTTP/2.0\r\nHost: x\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "\x05\x01\x00",
    "\x04\x01\x00\x50\x7f\x00\x00\x01\x00",
    "\x00" * 100,
    "CONNECT\r\n\r\n",
    "CONNECT localhost:H HTTP/1.1\nHost: x\n\nX" + "y" * 70_000,
    "GET http://localhost:H/ HTTP/1.1\r\nHost: x\r\nA: " + "y" * 70_000 + "\r\n\r\n",
    "GET http://localhost:H/ HTTP/1.1\r\nHost: x\r\nHost: 127.0.0.1:W\r\n\r\n",
    "GET http://localhost:H/ HTTP/1.1\r\nHost : 127.0.0.1:W\r\nX: y\r\n\r\n",
    "GET http://localhost:H/ HTTP/1.1\r\nHost: 127.0.0.1:W\r\n\r\n",
    "GET http://localhost:H/ HTTP/1.1\r\nHost: x\r\n\r\n"
    "GET http://127.0.0.1:W/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "POST http://localhost:H/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
    "Transfer-Encoding: chunked\r\n\r\n"
    "0\r\n\r\nGET http://127.0.0.1:W/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "POST http://localhost:H/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
    "Content-Length: 6\r\n\r\nhelloX",
    "POST http://localhost:H/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "GET http://localhost:H/ HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
    "GET http://localhost:H//127.0.0.1:W/ HTTP/1.1\r\nHost: x\r\n"
    "X-Forwarded-Host: 127.0.0.1:W\r\n\r\n",
    "GET http://localhost:H/ HTTP/1.1\r\nHost: x\r\nConnection: upgrade, host\r\n"
    "Upgrade: h2c\r\n\r\n",
    "GET http://localhost:H HTTP/1.1\r\nHost: x\r\nProxy-Connection: keep-alive\r\n\r\n",
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REQUESTS)))
def test_no_request_reaches_another_host_or_names_another(
    call: Any, witness: Witness, host: int, number: int
) -> None:
    head, _, tail = REQUESTS[number].partition(" ")
    text = f"{head} {aimed(tail.replace('Host', '~').replace('HTTP', '^'), host, witness)}"
    text = text.replace("~", "Host").replace("^", "HTTP")
    try:
        call("say", text=coded(text), half=True)
    except ToolError:
        assert HEARD.requests == []
    # One request of the tool is at most one request of the host, and names that host.
    assert len(HEARD.requests) <= 1
    assert all(named == f"localhost:{host}" for _, _, named in HEARD.requests), HEARD.requests
    assert not any(path.startswith("http") for _, path, _ in HEARD.requests)


@pytest.mark.parametrize("path", ["/to-host", "/to-name", "/to-metadata", "/to-file"])
def test_a_redirect_leads_nowhere_else(call: Any, host: int, path: str) -> None:
    try:
        answer = call("fetch", url=f"http://localhost:{host}{path}")
    except NetworkDenied:
        return
    assert answer == {"answer": "302"}, "it was not followed"


@pytest.mark.parametrize("datagram", [False, True])
@pytest.mark.parametrize(
    "place",
    ["127.0.0.1", "::1", "169.254.169.254", "8.8.8.8", "10.0.0.1", "255.255.255.255", "127.0.0.53"],
)
def test_there_is_no_way_past_the_proxy(
    call: Any, witness: Witness, place: str, datagram: bool
) -> None:
    port = witness.told["udp" if datagram else "port"]
    for number in (port, 53):
        with pytest.raises(ToolError):
            call("dial", host=place, port=number, datagram=datagram)


def test_the_bytes_of_a_tunnel_go_to_the_allowed_address_whatever_name_they_carry(
    call: Any, service: RunningService, package: Artifact
) -> None:
    """A greeting of TLS may carry another name (SNI): it is sent to the allowed address alone."""
    with socket.create_server(("localhost", 0)) as listener:
        listener.settimeout(5)
        port = listener.getsockname()[1]
        head = f"CONNECT localhost:{port} HTTP/1.1\r\nHost: other.example\r\n\r\n"
        try:
            service.client.call(
                artifact=package.artifact,
                export="say",
                arguments={"text": coded(head), "then": coded(b"\x16\x03\x01other.example")},
                env={},
                network=[f"localhost:{port}"],
            )
        except ToolError as error:
            assert "this machine" in str(error.as_dict())
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_no_more_connections_than_allowed_are_served_and_another_call_has_its_own(
    call: Any, host: int
) -> None:
    head = f"CONNECT localhost:{host} HTTP/1.1\r\nHost: x\r\n\r\n"
    answers = call("hold_connections", count=40, text=coded(head), seconds=20)["answers"]
    assert sum(" 200 " in answer for answer in answers) <= 32
    assert sum(" 429 " in answer for answer in answers) >= 8


def test_a_call_that_says_nothing_to_its_proxy_holds_up_nobody(call: Any, host: int) -> None:
    slow = threading.Thread(
        target=call,
        args=["hold_connections"],
        kwargs={"count": 32, "text": coded("GET http://localhost"), "seconds": 1.5},
    )
    slow.start()
    for _ in range(5):
        assert call("fetch", url=f"http://localhost:{host}/") == {"answer": "hello"}
    slow.join()


def test_a_call_sends_no_more_than_it_may(call: Any, host: int) -> None:
    head = f"POST http://localhost:{host}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n"
    assert call("upload", text=coded(head), megabytes=80)["sent"] < 60


def test_there_are_enough_attacks() -> None:
    assert len(TARGETS) + len(REQUESTS) + 4 + 14 + 4 >= 60
