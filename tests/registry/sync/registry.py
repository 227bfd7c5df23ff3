"""A real npm registry (verdaccio) on loopback, to which tests publish with the ordinary client."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.live import free_port
from tests.registry.publishing import TOOL

PROGRAM = Path(__file__).parent / "verdaccio"
START_SECONDS = 120
CONFIG = """
storage: ./storage
web: {enable: false}
auth: {htpasswd: {file: ./htpasswd, max_users: -1}}
uplinks: {}
packages:
  '**': {access: $all, publish: $anonymous, unpublish: $anonymous}
middlewares: {}
log: {type: stdout, format: pretty, level: warn}
"""


def installed() -> Path:
    """Return the folder with verdaccio in it, installed once a machine from its lock file."""
    npm = shutil.which("npm")
    if npm is None:
        if os.environ.get("CI"):
            pytest.fail("npm is not installed; .ci/run installs it")
        pytest.skip("npm is not installed")
    lock = (PROGRAM / "package-lock.json").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "outfitter-tests" / f"verdaccio-{hashlib.sha256(lock).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(PROGRAM / name, folder)
            command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
            (folder / "installed").touch()
    return folder


@dataclass
class Verdaccio:
    """The running registry; `npmrc` is the configuration that leads the client to it."""

    address: str
    folder: Path

    @property
    def npmrc(self) -> Path:
        """The client's configuration."""
        return self.folder / "npmrc"

    def npm(self, *arguments: str, cwd: Path | None = None) -> str:
        """Run the ordinary client and return what it said."""
        command = ["npm", "--userconfig", str(self.npmrc), "--cache", str(self.folder / "cache")]
        done = subprocess.run(
            [*command, *arguments],
            check=False,
            cwd=cwd or self.folder,
            env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            capture_output=True,
            text=True,
            timeout=180,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def publish(self, name: str, version: str, code: str = "", **manifest: Any) -> str:
        """Publish a version with `npm publish` and return the package's name.

        `code` is JavaScript after `tool(description)`; the keyword is `tpmjs` unless said.
        """
        folder = self.folder / "packages" / f"{name.replace('/', '_')}-{version}"
        folder.mkdir(parents=True)
        described = {
            "name": name,
            "version": version,
            "type": "module",
            "exports": "./index.js",
            "keywords": ["tpmjs"],
            **manifest,
        }
        (folder / "package.json").write_text(json.dumps(described))
        (folder / "index.js").write_text(TOOL + (code or "export const shout = tool('Shouts');"))
        self.npm("publish", "--ignore-scripts", cwd=folder)
        return name


@contextmanager
def running_verdaccio(folder: Path) -> Iterator[Verdaccio]:
    """Start verdaccio on a free port with an empty storage in `folder`; stop it at the end."""
    program = installed() / "node_modules" / "verdaccio" / "bin" / "verdaccio"
    (folder / "config.yaml").write_text(CONFIG)
    port = free_port()
    address = f"http://127.0.0.1:{port}/"
    (folder / "npmrc").write_text(f"registry={address}\n//127.0.0.1:{port}/:_authToken=anybody\n")
    command = ["node", str(program), "--config", str(folder / "config.yaml")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--listen", f"127.0.0.1:{port}"], cwd=folder, stdout=log, stderr=log
        )
    try:
        _await(address, process, folder / "log")
        yield Verdaccio(address, folder)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            httpx.get(f"{address}-/ping", timeout=20)
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"verdaccio did not start:\n{log.read_text()}")
