"""Advisories of a registry: asked as the npm client asks, bounded, and never in the way."""

import asyncio
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from registry.importing.npm import npm_import
from registry.review.deciding import blocking_codes
from registry.sandbox.client import sandbox
from registry.sandbox.service import npm_advisories
from registry.sandbox.service.npm_advisories import advisories, locked_packages
from registry.sandbox.service.npm_asking import NpmRegistry

ADVISORY = {
    "id": 1097677,
    "url": "https://example.org/GHSA-xvch-5gv4-984h",
    "title": "Prototype\npollution",
    "severity": "critical",
    "vulnerable_versions": "<0.2.1",
    "cvss": {"score": 9.8},
}
LOCKED = {"minimist": ["0.0.8"], "@acme/own": ["1.0.0"]}


@contextmanager
def registry(answer=None, *, status=200, holds=None):
    """Serve a registry's endpoint for advisories; yields its address and what it was sent."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            content = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, json.loads(content), self.headers.get("Authorization")))
            if holds is not None:
                holds.wait(60)
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Keep the test output quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/npm/", seen
    finally:
        if holds is not None:
            holds.set()
        server.shutdown()
        thread.join()
        server.server_close()


def ask(address, npmrc="", locked=LOCKED):
    asked = NpmRegistry(f"registry={address}\n{npmrc}".encode(), b"", {})
    return asyncio.run(advisories(asked, locked))


def test_what_the_registry_knows_is_told_with_the_version_that_is_installed():
    with registry({"minimist": [ADVISORY], "another": [ADVISORY]}) as (address, seen):
        told = ask(address)

    assert told == {
        "offered": True,
        "advisories": [
            {
                "package": "minimist",
                "versions": ["0.0.8"],
                "severity": "critical",
                "title": "Prototype pollution",
                "range": "<0.2.1",
                "id": "1097677",
                "url": "https://example.org/GHSA-xvch-5gv4-984h",
            }
        ],
    }
    assert seen == [("/npm/-/npm/v1/security/advisories/bulk", LOCKED, None)]


def test_each_registry_is_told_of_its_own_packages_alone():
    with registry({}) as (public, seen), registry({}) as (own, seen_by_own):
        host = own.removeprefix("http:")
        told = ask(public, f"@acme:registry={own}\n{host}:_authToken=s3cret\n")

    assert told == {"offered": True, "advisories": []}
    assert [(sent, auth) for _, sent, auth in seen] == [({"minimist": ["0.0.8"]}, None)]
    assert [(sent, auth) for _, sent, auth in seen_by_own] == [
        ({"@acme/own": ["1.0.0"]}, "Bearer s3cret")
    ]


@pytest.mark.parametrize("status", [400, 401, 404, 405, 429, 500, 503])
def test_a_registry_that_has_none_is_no_error(status):
    with registry({}, status=status) as (address, _):
        assert ask(address) == {"offered": False, "advisories": []}


@pytest.mark.parametrize("answer", [b"", b"<html>", b"[]", b"null", b"[" * 5000])
def test_an_answer_that_is_none_is_no_error(answer):
    with registry(answer) as (address, _):
        assert ask(address) == {"offered": False, "advisories": []}


def test_odd_advisories_are_told_as_far_as_they_can_be():
    odd = [None, 7, {"severity": "terrible"}, {"title": ["no text"], "severity": "low"}]
    with registry({"minimist": odd, "@acme/own": "none"}) as (address, _):
        told = ask(address)["advisories"]
    assert [(item["severity"], item["title"]) for item in told] == [("moderate", ""), ("low", "")]


def test_no_more_are_kept_than_anybody_reads():
    with registry({"minimist": [ADVISORY | {"title": "t" * 900}] * 500}) as (address, _):
        told = ask(address)["advisories"]
    assert len(told) == npm_advisories.MOST and len(told[0]["title"]) == 200


def test_a_huge_answer_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(npm_advisories, "MAX_BYTES", 1000)
    with registry({"minimist": [ADVISORY] * 50}) as (address, _):
        assert ask(address) == {"offered": False, "advisories": []}


def test_a_registry_that_does_not_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(npm_advisories, "SECONDS", 0.3)
    held = threading.Event()
    with registry({}, holds=held) as (address, _):
        assert ask(address) == {"offered": False, "advisories": []}
        assert not held.is_set(), "the registry has not answered yet"


def test_a_registry_that_is_not_there_is_no_error():
    assert ask("http://127.0.0.1:1/") == {"offered": False, "advisories": []}


def test_a_lock_names_each_package_with_its_versions(tmp_path):
    keys = [
        "@ai-sdk/gateway@2.0.0-beta.68_zod@4.6.7",
        "zod@4.6.7",
        "zod@3.1.0",
        "zod@3.1.0_x@1.0.0",
    ]
    (tmp_path / "deno.lock").write_text(json.dumps({"npm": {key: {} for key in keys}}))
    assert locked_packages(tmp_path / "deno.lock") == {
        "@ai-sdk/gateway": ["2.0.0-beta.68"],
        "zod": ["4.6.7", "3.1.0"],
    }


@pytest.mark.sandbox
@pytest.mark.django_db
def test_an_import_from_a_registry_without_advisories_says_so_and_goes_on(npm, alice):
    name = npm.publish("advised-kit", "1.0.0")

    imported = npm_import(name=name, version="", user=alice, stage=lambda _: None)

    told = sandbox().advisories(artifact=imported.package.artifact)
    assert (told.offered, told.known) == (False, ())
    proposal = imported.package.proposals.get()
    assert [item["code"] for item in proposal.findings] == ["advisories_unknown"]
    assert blocking_codes(proposal) == []
