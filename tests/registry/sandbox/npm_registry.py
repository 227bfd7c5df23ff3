"""A loopback npm registry that serves the packages of `packages/`.

The sandbox installs from it exactly as from any other: through a scope in the operator's npmrc.
"""

import base64
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

PACKAGES = Path(__file__).parent / "packages"
SCOPE = "@outfitter-test"
TAMPERED = "tampered"
"""The package whose tarball is not the one its integrity was made from."""


PUBLISHED: dict[str, dict[str, object]] = {}
"""The package.json, as the registry has it, of each package that a test has published."""


def publish(name: str, packed: bytes, **manifest: object) -> None:
    """Offer a tarball as the version 1.0.0 of `@outfitter-test/NAME`, whatever is in it."""
    PUBLISHED[name] = {"name": f"{SCOPE}/{name}", "version": "1.0.0", **manifest}
    Handler.tarballs[name] = packed


def tarball(folder: Path) -> bytes:
    """Return a package folder as npm packs it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(folder, arcname="package")
    return packed.getvalue()


class Handler(BaseHTTPRequestHandler):
    """Answers `/@scope/name` with the package's versions and `/name.tgz` with its files."""

    tarballs = {folder.name: tarball(folder) for folder in PACKAGES.iterdir()}
    requests: list[str] = []

    def do_GET(self) -> None:
        """Answer one request."""
        path = unquote(self.path)
        self.requests.append(path)
        name = path.rpartition("/")[2].removesuffix(".tgz")
        if name not in self.tarballs:
            self.send_error(404)
        elif path.endswith(".tgz"):
            self.reply(self.tarballs[name], "application/octet-stream")
        else:
            self.reply(json.dumps(self.packument(name)).encode(), "application/json")

    def packument(self, name: str) -> dict[str, object]:
        """Describe a package with its one version."""
        own = PACKAGES / name / "package.json"
        manifest = PUBLISHED.get(name) or json.loads(own.read_text())
        digest = hashlib.sha512(self.tarballs[name] + b"!" * (name == TAMPERED)).digest()
        address = f"http://{self.headers['Host']}/{name}.tgz"
        integrity = f"sha512-{base64.b64encode(digest).decode()}"
        version = {**manifest, "dist": {"tarball": address, "integrity": integrity}}
        latest = str(manifest["version"])
        return {
            "name": f"{SCOPE}/{name}",
            "dist-tags": {"latest": latest},
            "versions": {latest: version},
        }

    def reply(self, body: bytes, kind: str) -> None:
        """Send a body."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the test output quiet."""


@contextmanager
def running_registry() -> Iterator[str]:
    """Serve on a free port of loopback; yields the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
