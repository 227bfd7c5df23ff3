"""A place on loopback where programs keep the documents about them, over https."""

from __future__ import annotations

import ipaddress
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509

from tests.certificates import certificate_for


@dataclass
class Documents:
    """What is answered at each path: a document, or a status with headers and a body."""

    url: str
    certificate: Path
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def put(self, path: str, **metadata: Any) -> str:
        """Keep a document about a program, and return its address, which is the program's id."""
        client_id = self.url + path
        self.answers[path] = {
            "client_id": client_id,
            "client_name": "Desk helper",
            "redirect_uris": ["http://127.0.0.1:49152/callback"],
            "token_endpoint_auth_method": "none",
            **metadata,
        }
        return client_id


@contextmanager
def serving_documents(folder: Path) -> Iterator[Documents]:
    """Serve documents until the block ends."""
    certificate, key = certificate_for(
        folder, x509.IPAddress(ipaddress.ip_address("127.0.0.1")), common_name="documents"
    )
    documents = Documents("", certificate)

    class Http(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            documents.asked.append(self.path)
            answer = documents.answers.get(self.path, (404, {}, b""))
            if isinstance(answer, dict):
                answer = (200, {"Content-Type": "application/json"}, json.dumps(answer).encode())
            status, headers, body = answer
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Quiet(ThreadingHTTPServer):
        block_on_close = True

        def handle_error(self, *_: object) -> None:
            """A client that goes away in the middle is no news."""

    server = Quiet(("127.0.0.1", 0), Http)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    documents.url = f"https://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield documents
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
