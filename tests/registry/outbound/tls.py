"""An HTTPS server on loopback that tells which name a client asked for."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from cryptography import x509

from tests.certificates import certificate_for

NAME = "pinned.example"


@dataclass(frozen=True)
class TlsServer:
    """Where it listens and whom a client must trust."""

    port: int
    certificate: Path


@contextmanager
def serving_tls(folder: Path) -> Iterator[TlsServer]:
    """Run a server whose one certificate is for `pinned.example`."""
    certificate, key = certificate_for(folder, x509.DNSName(NAME), common_name=NAME)
    names: list[str] = []

    class Http(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = names[-1].encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Quiet(HTTPServer):
        def handle_error(self, *_: object) -> None:
            """A refused handshake is what some tests are about."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.sni_callback = lambda sock, name, ctx: names.append(name or "")
    server = Quiet(("127.0.0.1", 0), Http)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield TlsServer(server.server_address[1], certificate)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
