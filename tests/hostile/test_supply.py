"""Packages that attack while they are installed, or by what they install.

Nothing of them runs during a build, nothing gets out of the artifact, and what they put beside
their modules (links, shadows of the standard library, start-up files) has no effect.
"""

import functools
import os
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from registry.errors import ToolError
from registry.sandbox.client import Artifact, LocalSandbox
from tests.hostile.tarballs import npm_tarball, source_distribution, wheel
from tests.hostile.witness import Witness, running_witness
from tests.registry.sandbox.npm_registry import SCOPE, publish
from tests.registry.sandbox.service import RunningService, running_service

pytestmark = pytest.mark.sandbox

TOOL = """
import fs from "node:fs";
export const read = {
  description: "", inputSchema: { type: "object" },
  execute: ({ path }) => fs.readFileSync(path, "utf8"),
};
"""
PYTHON_TOOL = '''
def read(path: str) -> str:
    """Read a file."""
    with open(path) as file:
        return file.read()


def shadows() -> dict:
    """Tell which modules came from the package though Python has them, and what has run."""
    import json, os, sys
    import asyncio, socket, ssl, sqlite3, zoneinfo
    own = [m.__name__ for m in (json, asyncio, socket, ssl, sqlite3, zoneinfo)
           if "/pkg/" in (m.__file__ or "")]
    return {"own": own, "ran": os.environ.get("RAN", ""), "evil": "evil" in sys.modules}
'''
RUNS = "import os; os.environ['RAN'] = os.environ.get('RAN', '') + __name__ + ' '"
MARK = "/tmp/outfitter-evil"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a Python package index."""
    return tmp_path_factory.mktemp("index")


class Pages(SimpleHTTPRequestHandler):
    """Serves the index."""

    def log_message(self, *_: object) -> None:
        """Keep the test output quiet."""


@pytest.fixture(scope="module")
def service(npm_settings: dict[str, str], index: Path) -> Iterator[RunningService]:
    """A sandbox service of an operator whose Python packages come from that index alone."""
    pages = functools.partial(Pages, directory=str(index))
    with ThreadingHTTPServer(("127.0.0.1", 0), pages) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/"
        settings = {
            **{"UV_INDEX_URL": address, "PIP_CONFIG_FILE": os.devnull},
            **{"PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": ""},
        }
        with running_service({**npm_settings, **settings}) as running:
            yield running
            assert "Traceback" not in running.log
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def witness(service: RunningService) -> Iterator[Witness]:
    """Somebody on the host who sees whether an attack got through."""
    with running_witness(service) as witness:
        yield witness


@pytest.fixture
def client(service: RunningService, witness: Witness, honest: Artifact) -> Iterator[LocalSandbox]:
    """The service; afterwards nothing has got out, and an honest package works as ever."""
    yield service.client
    witness.check()
    assert not list(Path("/tmp").glob("outfitter-evil*"))
    own = f"/pkg/node_modules/{SCOPE}/honest/package.json"
    assert call(service.client, honest, "read", path=own) == MANIFEST


@pytest.fixture(scope="module")
def honest(service: RunningService) -> Artifact:
    """A built package that does no harm."""
    publish("honest", npm_tarball({"package/package.json": MANIFEST, "package/index.js": TOOL}))
    return service.client.build(ecosystem="npm", name=f"{SCOPE}/honest")


MANIFEST = (
    '{"name": "@outfitter-test/x", "version": "1.0.0", "type": "module", "exports": "./index.js"}'
)


def require_closed(store: Path, artifact: Artifact) -> None:
    """Fail when an artifact can be changed, leads out of itself, or has left something beside."""
    assert sorted(path.name for path in store.iterdir()) == ["artifacts", "builds", "runtime"]
    assert not list((store / "builds").iterdir())
    folder = store / "artifacts" / artifact.artifact
    for path in folder.rglob("*"):
        assert path.is_symlink() or not path.stat().st_mode & 0o7222, "writable or set-uid"
        assert path.name != "ran"


def call(client: LocalSandbox, artifact: Artifact, export: str, **arguments: Any) -> Any:
    """Call a tool; None when it fails."""
    try:
        return client.call(
            artifact=artifact.artifact, export=export, arguments=arguments, env={}
        ).output
    except ToolError as error:
        if error.code != "tool_failed":
            raise
        return None


def built(client: LocalSandbox, ecosystem: str, name: str) -> Artifact | None:
    """Build a package; None when it is refused in words."""
    try:
        return client.build(ecosystem=ecosystem, name=name)
    except ToolError as error:
        assert error.code in {"build_failed", "integrity_mismatch", "package_not_found"}, error
        assert error.message
        return None


# npm

REFUSED_TARBALLS = {
    *("traversal", "traversal-up", "traversal-absolute", "traversal-lock", "traversal-entry"),
    *("no-manifest", "deep-manifest", "link-manifest", "not-a-tarball"),
    *("git-dependency", "address-dependency", "alias-dependency"),
}
REFUSED_WHEELS = {"commands", "data_scripts", "other_name", "bomb"}
WRITES = f'touch {MARK} /build/ran; node -e \'require("fs").writeFileSync("{MARK}", "")\''
SCRIPTS = dict.fromkeys(
    ("preinstall", "install", "postinstall", "prepare", "prepack", "prepublish"), WRITES
)
UP = "../" * 12
NPM: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "scripts": ({"scripts": SCRIPTS, "hasInstallScript": True}, {}),
    "gyp": ({"scripts": {"install": "node-gyp rebuild"}}, {"files": {"package/binding.gyp": "{}"}}),
    "bin": (
        {"bin": {"deno": "./index.js", "../../../../evil": "./index.js", "ls": f"{UP}bin/sh"}},
        {},
    ),
    "bin-absolute": ({"bin": {"x": "/etc/passwd"}, "directories": {"bin": UP}}, {}),
    "link-absolute": ({}, {"links": [("package/data", "CANARY")]}),
    "link-up": ({}, {"links": [("package/data", f"{UP}CANARY")]}),
    "link-root": ({}, {"links": [("package/data", "/")]}),
    "link-store": ({}, {"links": [("package/data", "../../../../artifacts")]}),
    "link-then-write": (
        {},
        {"links": [("package/out", "/tmp")], "files": {"package/out/outfitter-evil": "x"}},
    ),
    "hard-link": ({}, {"links": [("package/data", "CANARY")], "hard": True}),
    "traversal": ({}, {"files": {f"package/{UP}tmp/outfitter-evil": "x"}}),
    "traversal-up": ({}, {"files": {f"{UP}tmp/outfitter-evil": "x"}}),
    "traversal-absolute": ({}, {"files": {MARK: "x"}}),
    "traversal-lock": ({}, {"files": {"package/../../../../deno.lock": "{}"}}),
    "traversal-entry": (
        {},
        {"files": {"package/../../../../entry.mjs": "export const load = () => ({});"}},
    ),
    "npmrc": ({}, {"files": {"package/.npmrc": "registry=http://127.0.0.1:9/", "package/x": ""}}),
    "deno-config": (
        {},
        {"files": {"package/deno.json": '{"imports": {"node:fs": "./index.js"}}'}},
    ),
    "many-files": ({}, {"files": {f"package/many/{n}.js": "" for n in range(600)}}),
    "other-name": ({}, {"manifest": MANIFEST.replace("/x", "/honest").replace("1.0.0", "9.9.9")}),
    "no-manifest": ({}, {"files": {"package/package.json": ""}}),
    "deep-manifest": ({}, {"files": {"package/package.json": "[" * 50_000}}),
    "link-manifest": ({}, {"links": [("package/package.json", "CANARY")], "manifest": None}),
    "not-a-tarball": ({}, {"raw": b"\x1f\x8b not really"}),
    "git-dependency": ({"dependencies": {"evil": "git+file:///etc"}}, {}),
    "file-dependency": ({"dependencies": {"evil": "file:../../../../../etc"}}, {}),
    "address-dependency": ({"dependencies": {"evil": "http://127.0.0.1:9/evil.tgz"}}, {}),
    "alias-dependency": ({"dependencies": {"node:fs": "npm:@outfitter-test/honest@1.0.0"}}, {}),
}


@pytest.mark.parametrize("case", NPM)
def test_a_hostile_npm_package_runs_nothing_and_reaches_nothing(
    client: LocalSandbox, witness: Witness, case: str
) -> None:
    manifest, packed = NPM[case]
    place = str(witness.canary)
    own = MANIFEST.replace("/x", f"/evil-{case}")
    files = {"package/package.json": packed.get("manifest", own), "package/index.js": TOOL}
    files |= packed.get("files", {})
    links = [(name, target.replace("CANARY", place)) for name, target in packed.get("links", [])]
    tarball = packed.get("raw") or npm_tarball(
        {name: content for name, content in files.items() if content is not None},
        links,
        hard=packed.get("hard", False),
    )
    publish(f"evil-{case}", tarball, **manifest)
    artifact = built(client, "npm", f"{SCOPE}/evil-{case}")
    assert (artifact is None) == (case in REFUSED_TARBALLS)
    if artifact is None:
        return
    require_closed(witness.service.folder / "store", artifact)
    assert witness.secret not in str(artifact.manifest)
    root = f"/pkg/node_modules/{SCOPE}/evil-{case}"
    try:
        for path in ("data", "data/canary", "package.json", "out/outfitter-evil"):
            assert witness.secret not in str(call(client, artifact, "read", path=f"{root}/{path}"))
    except ToolError as error:
        assert error.code == "import_broken", error


# Python

INFO = "evil-1.0.dist-info"
WHEELS: dict[str, dict[str, Any]] = {
    "record_up": {"files": {f"{UP}tmp/outfitter-evil": "x"}},
    "record_absolute": {"files": {MARK: "x"}},
    "record_only": {"record": f"evil.py,,\n{UP}etc/passwd,,\n/etc/shadow,,\n"},
    "record_out_of_site": {"files": {"../entry.json": '{"entries": []}'}},
    "start_up": {
        "files": {
            "evil.pth": f"{RUNS}\n",
            "zzz.pth": "/etc\nimport evil\n",
            "sitecustomize.py": RUNS,
            "usercustomize.py": RUNS,
        }
    },
    "shadow": {
        "files": {
            **{
                f"{name}.py": RUNS
                for name in ("json", "socket", "asyncio", "ssl", "os", "re", "typing", "zoneinfo")
            },
            "sqlite3/__init__.py": RUNS,
            "encodings/__init__.py": RUNS,
        }
    },
    "shadow_guest": {
        "files": {
            "outfitter_guest/__init__.py": RUNS,
            "outfitter_guest/channel.py": RUNS,
            "worker.py": RUNS,
            "__main__.py": RUNS,
            "pip.py": RUNS,
        }
    },
    "data_up": {"files": {f"evil-1.0.data/data/{UP}tmp/outfitter-evil": "x"}},
    "data_scripts": {"files": {"evil-1.0.data/scripts/python3": f"#!python\n{RUNS}"}},
    "headers": {"files": {f"evil-1.0.data/headers/{UP}tmp/outfitter-evil.h": "x"}},
    "commands": {
        "files": {f"{INFO}/entry_points.txt": f"[console_scripts]\n{UP}tmp/evil = os:abort\n"}
    },
    "link": {"links": [("data", "CANARY"), ("folder", "/"), ("up", f"{UP}etc")]},
    "link_own": {"links": [("outfitter.json", "CANARY"), (f"{INFO}/top_level.txt", "CANARY")]},
    "other_name": {"metadata_name": "humanize"},
    "many_files": {"files": {f"many/{n}.txt": "" for n in range(600)}},
    "bomb": {"files": {f"zeros{n}.bin": bytes(260 << 20) for n in range(1)}},
    "bad_source": {
        "files": {"deep.py": "(" * 5_000, "null.py": "\0", "coded.py": "# coding: evil"}
    },
    "entry": {"files": {f"{INFO}/entry_points.txt": "[outfitter.tools]\nx = os:system\n"}},
    "entry_up": {"files": {f"{INFO}/entry_points.txt": "[outfitter.tools]\nx = ../../etc:x\n"}},
}


@pytest.mark.parametrize("case", WHEELS)
def test_a_hostile_wheel_runs_nothing_and_reaches_nothing(
    client: LocalSandbox, witness: Witness, index: Path, case: str
) -> None:
    packed = dict(WHEELS[case])
    name = f"evil_{case}"
    files = {f"{name}.py": PYTHON_TOOL} | {
        path.replace("evil-1.0", f"{name}-1.0"): content
        for path, content in packed.pop("files", {}).items()
    }
    links = [
        (path.replace("evil-1.0", f"{name}-1.0"), target.replace("CANARY", str(witness.canary)))
        for path, target in packed.pop("links", [])
    ]
    wheel(index, name, files, links=links, **packed)
    artifact = built(client, "pypi", name.replace("_", "-"))
    assert (artifact is None) == (case in REFUSED_WHEELS)
    if artifact is None:
        return
    require_closed(witness.service.folder / "store", artifact)
    assert witness.secret not in str(artifact.manifest)
    try:
        told = call(client, artifact, "shadows")
        for path in ("data", "folder/etc/shadow", "outfitter.json", "up/shadow"):
            said = str(call(client, artifact, "read", path=f"/pkg/site/{path}"))
            assert witness.secret not in said
            assert "root:" not in said
    except ToolError as error:
        assert error.code in {"import_broken", "unknown_export"}, error
    else:
        assert told == {"own": [], "ran": "", "evil": False}


def test_a_source_distribution_is_refused_and_never_run(client: LocalSandbox, index: Path) -> None:
    setup = f"open('{MARK}', 'w').close()\nraise SystemExit(1)\n"
    source_distribution(index, "evil_source", setup)
    with pytest.raises(ToolError, match="no wheel") as caught:
        client.build(ecosystem="pypi", name="evil-source")
    assert caught.value.code == "build_failed"


@pytest.mark.parametrize("language", ["npm", "pypi"])
def test_a_package_that_is_not_what_the_index_promised_is_refused(
    client: LocalSandbox, index: Path, language: str
) -> None:
    if language == "npm":
        name = f"{SCOPE}/tampered"
    else:
        name = "evil-changed"
        wheel(index, "evil_changed", {"evil_changed.py": PYTHON_TOOL})
        page = index / name / "index.html"
        page.write_text(page.read_text().partition("#sha256=")[0] + f'#sha256={"0" * 64}">x</a>')
        page.write_text(
            f'<a href="evil_changed-1.0-py3-none-any.whl#sha256={"0" * 64}">'
            "evil_changed-1.0-py3-none-any.whl</a>"
        )
    with pytest.raises(ToolError) as caught:
        client.build(ecosystem=language, name=name)
    assert caught.value.code == "integrity_mismatch"


def test_packages_can_be_built_as_ever(client: LocalSandbox, honest: Artifact) -> None:
    assert client.build(ecosystem="npm", name=f"{SCOPE}/honest") == honest


def test_there_are_enough_attacks() -> None:
    assert len(NPM) + len(WHEELS) + 3 >= 45
