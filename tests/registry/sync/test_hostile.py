"""Registries that are slow, broken or hostile: told clearly, waited for, never an error storm."""

import asyncio
import json
import threading
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.utils import timezone

from registry import errors
from registry.importing.sync.feeds import feed_ask, feed_named
from registry.importing.sync.running import due_sync
from registry.models import SyncRun
from registry.sandbox.client import LocalSandbox
from registry.sandbox.service import npm_asking
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.npm import failure
from registry.sandbox.service.npm_asking import NpmRegistry
from registry.sandbox.service.npmrc import read_npmrc


@contextmanager
def answering(status=200, body=b"{}", **headers):
    """Serve one answer to everything; yields the address and the headers that were sent."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, dict(self.headers)))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
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
        server.shutdown()
        thread.join()
        server.server_close()


def search(address, npmrc=""):
    asked = NpmRegistry(f"registry={address}\n{npmrc}".encode(), b"", {})
    return asyncio.run(asked.search("keywords:tpmjs", 0, 20))


def refusal(address):
    with pytest.raises(ServiceError) as caught:
        search(address)
    return caught.value


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ({"status": 404}, "registry_no_search", "offers no search"),
        ({"status": 401}, "registry_refused", "refused to answer"),
        ({"status": 500}, "registry_unreachable", "HTTP 500"),
        ({"status": 302, "Location": "http://10.0.0.1/"}, "registry_unreachable", "another addr"),
        ({"body": b"<html>"}, "registry_odd", "not JSON"),
        ({"body": b"[]"}, "registry_odd", "not a JSON object"),
        ({"body": b'{"objects": 3}'}, "registry_odd", "no list of objects"),
        ({"body": b"[" * 100_000}, "registry_odd", "not JSON"),
    ],
)
def test_what_a_registry_answers_amiss_is_told(answer, code, said):
    with answering(**answer) as (address, _):
        error = refusal(address)

    assert error.code == code
    assert said in error.message


@pytest.mark.parametrize(("said", "seconds"), [("120", 120), ("9" * 30, 86_400), ("soon", None)])
def test_a_registry_that_wants_to_be_left_alone_says_for_how_long(said, seconds):
    with answering(429, Retry_After=said) as (address, _):
        error = refusal(address)

    assert (error.code, error.extra["retry_after"]) == ("registry_limited", seconds)


def test_a_huge_answer_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(npm_asking, "MAX_ANSWER_BYTES", 1000)
    with answering(body=b"x" * 5000) as (address, _):
        assert "is larger than" in refusal(address).message


def test_a_registry_that_does_not_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(npm_asking, "ASK_SECONDS", 0.2)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as silent:
        error = refusal(f"http://127.0.0.1:{silent.server_port}/")
    assert error.code == "registry_unreachable"


def test_odd_entries_of_a_search_are_left_out():
    objects = [1, {"package": {"name": 3}}, {"package": {"name": "a", "keywords": "tpmjs"}}]
    with answering(body=json.dumps({"objects": objects, "total": True}).encode()) as (address, _):
        found = search(address)

    assert [package["name"] for package in found["packages"]] == ["a"]
    assert found["packages"][0]["keywords"] == []
    assert found["total"] is None


@pytest.mark.parametrize(
    ("setting", "sent"),
    [
        ("{at}:_authToken=abc", "Bearer abc"),
        ("{at}:_auth=eDp5", "Basic eDp5"),
        ("{at}:username=x\n{at}:_password=eQ==", "Basic eDp5"),
        ("//elsewhere/:_authToken=abc", None),
    ],
)
def test_the_clients_credentials_open_its_own_registry_and_no_other(setting, sent):
    with answering(body=b'{"objects": []}') as (address, seen):
        place = address.removeprefix("http:").rstrip("/") + "/"
        search(address, setting.format(at=place))

    assert seen[0][1].get("Authorization") == sent


def test_a_scope_has_its_own_registry_and_the_environment_wins():
    npmrc = read_npmrc(b"registry=http://a/\n@x:registry=http://b\n# c=d\n", {})

    assert (npmrc.registry_of("y"), npmrc.registry_of("@x/y")) == ("http://a/", "http://b/")
    assert "http" not in repr(npmrc)
    other = read_npmrc(b"registry=http://a/", {"NPM_CONFIG_REGISTRY": "http://c"})
    assert other.registry_of("y") == "http://c/"


def test_a_version_that_is_too_new_is_told_as_such():
    said = (
        "error: Could not find npm package 'a' matching '1.0.0'.\n\nA newer matching version was "
        "found, but it was not used because it was newer than the specified minimum dependency "
        "date of 2026-11-21."
    )
    error = failure(said, "a", "1.0.0")
    assert error.code == "version_too_new"
    assert "min-release-age" in error.hint


@pytest.mark.django_db
class TestFeed:
    @pytest.fixture
    def refusing(self, monkeypatch):
        """Let the registry answer with an error of the test's choice."""

        def refuse(error):
            def search(*_args, **_more):
                raise error

            monkeypatch.setattr(LocalSandbox, "search", search)

        return refuse

    def test_a_registry_that_is_away_holds_the_look_up_and_is_asked_again_later(self, refusing):
        feed = feed_named("held-k")
        refusing(errors.RegistryUnreachable("The npm registry could not be asked: x."))
        feed_ask(feed, user=None)

        (run,) = due_sync()

        feed.refresh_from_db()
        assert (run.finished_at, feed.last_error["code"]) == (None, "registry_unreachable")
        assert feed.next_at > timezone.now() + timedelta(minutes=4)
        assert due_sync() == []

    def test_the_time_that_a_registry_names_is_waited_for(self, refusing):
        feed = feed_named("limited-k")
        refusing(errors.RegistryLimited("Later.", retry_after=3600))
        feed_ask(feed, user=None)
        due_sync()

        feed.refresh_from_db()
        assert feed.next_at > timezone.now() + timedelta(minutes=59)

    @pytest.mark.parametrize("error", [errors.RegistryNoSearch, errors.RegistryRefused])
    def test_what_does_not_pass_ends_the_run_until_the_next(self, refusing, error):
        feed = feed_named("no-search-k")
        refusing(error("The npm registry offers no search."))
        feed_ask(feed, user=None)
        due_sync()

        feed.refresh_from_db()
        assert SyncRun.objects.get().finished_at
        assert (feed.checkpoint, feed.asked) == ({}, False)
        assert feed.next_at > timezone.now() + timedelta(minutes=59)
