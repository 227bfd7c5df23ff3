"""How many sessions of the handshake revisions one person holds, and which of them end."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import pytest

from agents.mcp import server, sessions
from registry.executors.base import Output
from tests.agents.mcp.site import token_for
from tests.factories import make_tool, make_user

VERSION = "2025-06-18"


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(sessions, "MOST_OF_ONE", 2)
    monkeypatch.setattr(server, "MOST_SESSIONS", 5)


@pytest.fixture
def alice(site):
    return make_user("alice")


@pytest.fixture
def begin(site):
    """Return a function that begins a session with a token; its client keeps the id."""
    with ExitStack() as opened:

        def begun(token):
            headers = {
                "Authorization": f"Bearer {token}",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": VERSION,
            }
            http = opened.enter_context(httpx.Client(base_url=site, timeout=30, headers=headers))
            answer = asked(http, "initialize", HELLO)
            assert answer.status_code == 200, answer.text
            http.headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
            told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert http.post("/mcp", json=told).status_code == 202
            return http

        yield begun


HELLO = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def asked(http, method, params=None):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    return http.post("/mcp", json=message)


def lives(http):
    answer = asked(http, "ping")
    assert answer.status_code in (200, 404), answer.text
    return answer.status_code == 200


def test_one_more_session_ends_the_one_that_was_not_used_for_longest(begin, alice):
    first, second = begin(token_for(alice)), begin(token_for(alice))
    assert lives(first)  # so that the second is idle for longer
    third = begin(token_for(alice))
    assert [lives(http) for http in (first, second, third)] == [True, False, True]


def test_the_client_of_a_session_that_was_ended_begins_anew(begin, alice):
    token = token_for(alice)
    ended, *_ = [begin(token) for _ in range(3)]
    answer = asked(ended, "tools/list")
    assert (answer.status_code, answer.json()["error"]["message"]) == (404, "Session not found")
    del ended.headers["Mcp-Session-Id"]
    assert asked(ended, "initialize", HELLO).status_code == 200


def test_many_sessions_of_one_person_leave_room_for_others(begin, alice):
    others = begin(token_for(make_user("bob")))
    for _ in range(6):
        begin(token_for(alice))
    assert lives(others)
    assert lives(begin(token_for(make_user("charlie"))))


def test_what_opens_no_session_ends_none(site, begin, alice):
    held = [begin(token_for(alice)) for _ in range(2)]
    with httpx.Client(base_url=site, headers=held[0].headers) as http:
        del http.headers["Mcp-Session-Id"]
        assert asked(http, "tools/list").status_code == 400
    assert all(map(lives, held))


def test_a_session_with_an_open_stream_is_idle_where_nothing_is_asked(begin, alice):
    first, second = begin(token_for(alice)), begin(token_for(alice))
    with first.stream("GET", "/mcp") as stream:
        assert stream.status_code == 200
        assert lives(second)
        third = begin(token_for(alice))
        for _ in stream.iter_bytes():  # the end of the session ends this
            pass
    assert [lives(http) for http in (first, second, third)] == [False, True, True]


def test_a_session_in_which_a_call_is_at_work_is_ended_last(begin, alice, monkeypatch):
    working, go_on = threading.Event(), threading.Event()

    class Slow:
        def execute(self, spec, arguments, context):
            working.set()
            go_on.wait(30)
            return Output(value="done")

    monkeypatch.setattr("registry.execution.executor_for", lambda kind: Slow())
    make_tool(wire_name="slow")
    first, second = begin(token_for(alice)), begin(token_for(alice))
    call = {"name": "slow", "arguments": {"text": "x"}}
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(asked, first, "tools/call", call)
        try:
            assert working.wait(20)
            assert lives(second)  # the call began before, so that only it speaks for the first
            third = begin(token_for(alice))
        finally:
            go_on.set()
        assert "done" in answer.result().text
    assert [lives(http) for http in (first, second, third)] == [True, False, True]


def test_a_session_that_its_client_ended_is_not_counted(begin, alice):
    first, second = begin(token_for(alice)), begin(token_for(alice))
    assert second.delete("/mcp").status_code == 200
    third = begin(token_for(alice))
    assert [lives(http) for http in (first, third)] == [True, True]


def close(alice):
    alice.is_active = False
    alice.save()


def delete(alice):
    alice.delete()


@pytest.mark.parametrize("act", [close, delete])
def test_a_session_is_of_no_use_to_somebody_who_left(begin, alice, act):
    token = token_for(alice)
    http = begin(token)
    act(alice)
    assert asked(http, "ping").status_code == 401
