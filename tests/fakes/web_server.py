"""A web server on loopback that answers as a test tells it to, kindly or not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Asked:
    """One request as it came in; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Handler = Callable[["Exchange"], None]


@dataclass
class Exchange:
    """A request, and the means to answer it."""

    asked: Asked
    http: BaseHTTPRequestHandler

    def answer(
        self, body: bytes | str = b"", *, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        """Send a whole answer."""
        sent = body.encode() if isinstance(body, str) else body
        self.http.send_response(status)
        shown = {"Content-Length": str(len(sent)), **(headers or {})}
        for name, value in shown.items():
            self.http.send_header(name, value)
        self.http.end_headers()
        self.http.wfile.write(sent)

    def json(self, text: str, **more: int) -> None:
        """Send JSON."""
        self.answer(text, headers={"Content-Type": "application/json"}, **more)

    def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.http.wfile.write(data)
        self.http.wfile.flush()


@dataclass
class WebServer:
    """Where the server is, what it was asked, and how it answers."""

    port: int
    asked: list[Asked] = field(default_factory=list)
    routes: dict[str, Handler] = field(default_factory=dict)
    closing: threading.Event = field(default_factory=threading.Event)
    """Set at the end of the test: whoever dawdles in a handler waits for this."""

    @property
    def url(self) -> str:
        """Return its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def on(self, path: str, handler: Handler) -> None:
        """Answer this path (without its query) so."""
        self.routes[path] = handler

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        """Answer this path with a redirect."""
        self.on(path, lambda it: it.answer(status=status, headers={"Location": to}))


@contextmanager
def serving() -> Iterator[WebServer]:
    """Run a server for as long as the block lasts."""
    server = WebServer(0)

    class Http(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, self.rfile.read(size))
            server.asked.append(asked)
            handler = server.routes.get(self.path.partition("?")[0])
            exchange = Exchange(asked, self)
            try:
                if handler:
                    handler(exchange)
                else:
                    exchange.answer("not here", status=404)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
        setattr(Http, f"do_{method}", Http.handle_any)
    http = ThreadingHTTPServer(("127.0.0.1", 0), Http)
    http.daemon_threads = True
    server.port = http.server_address[1]
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        http.shutdown()
        http.server_close()
        thread.join()
