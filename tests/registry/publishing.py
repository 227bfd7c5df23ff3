"""A loopback npm registry to which a test publishes packages, version by version."""

import base64
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

SCOPE = "@outfitter-import"

TOOL = """
const tool = (description) => ({
  description,
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  execute: ({ text }) => `${description}: ${text}`,
});
"""


class Registry:
    """What is published: name → version → (manifest, tarball)."""

    def __init__(self) -> None:
        self.versions: dict[str, dict[str, tuple[dict[str, Any], bytes]]] = {}

    def publish(self, name: str, version: str, code: str, **manifest: Any) -> str:
        """Publish a version and return the package's full name."""
        full = f"{SCOPE}/{name}"
        package_json = {"name": full, "version": version, "type": "module", **manifest}
        package_json["exports"] = "./index.js"
        files = {"package.json": json.dumps(package_json), "index.js": TOOL + code}
        self.versions.setdefault(full, {})[version] = (package_json, _packed(files))
        return full

    def packument(self, name: str, host: str) -> dict[str, Any]:
        """Describe a package with all of its versions; the last one published is the newest."""
        described = {}
        for version, (manifest, packed) in self.versions[name].items():
            digest = base64.b64encode(hashlib.sha512(packed).digest()).decode()
            address = f"http://{host}/{name}/-/{version}.tgz"
            dist = {"tarball": address, "integrity": f"sha512-{digest}"}
            described[version] = {**manifest, "dist": dist}
        newest = list(described)[-1]
        return {"name": name, "dist-tags": {"latest": newest}, "versions": described}


@contextmanager
def running_registry() -> Iterator[tuple[Registry, str]]:
    """Serve on a free port of loopback; yields the registry and its address."""
    registry = Registry()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(registry))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield registry, f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(registry: Registry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, _, file = unquote(self.path).strip("/").partition("/-/")
            if name not in registry.versions:
                self.send_error(404)
            elif file:
                self.reply(registry.versions[name][file.removesuffix(".tgz")][1])
            else:
                told = registry.packument(name, self.headers["Host"])
                self.reply(json.dumps(told).encode())

        def reply(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep the test output quiet."""

    return Handler


def _packed(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()
