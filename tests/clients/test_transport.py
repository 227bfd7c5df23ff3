"""Repeating, signing in, paging and erring, at a server that answers as told."""

from __future__ import annotations

import inspect
import json
import logging
import traceback
from typing import Any

import pytest

import outfitter_client as oc
from outfitter_client import AsyncOutfitter, Outfitter, Retry
from outfitter_client.errors import error_of
from tests.clients.conftest import Open
from tests.fakes.web_server import Exchange, WebServer

DISCOVERY = "/api/v1/discovery/"
CALL = "/api/v1/discovery/tools/add/"
SECRET = "oft_a-secret-of-the-test"
TOOL = {"name": "add", "description": "Adds.", "scopes": [], "parameters": {"a": {}}, "id": "1"}


def answers(server: WebServer, path: str, *said: tuple[int, Any, dict[str, str]]) -> None:
    """Answer a path so, one after the other, the last again and again; None breaks off."""
    left = list(said)

    def handle(it: Exchange) -> None:
        status, body, headers = left.pop(0) if len(left) > 1 else left[0]
        if status:
            told = {"Content-Type": "application/json", **headers}
            it.answer(json.dumps(body), status=status, headers=told)
        else:
            it.http.close_connection = True  # and says nothing

    server.on(path, handle)


def test_the_two_clients_have_the_same_methods_with_the_same_arguments() -> None:
    for ours, theirs in [
        (Outfitter, AsyncOutfitter),
        (oc.Run, oc.AsyncRun),
        (oc.Chat, oc.AsyncChat),
        (oc.Turn, oc.AsyncTurn),
    ]:
        seen = [
            {
                name: list(inspect.signature(member).parameters)
                for name, member in inspect.getmembers(kind, callable)
                if not name.startswith("_")
            }
            for kind in (ours, theirs)
        ]
        assert seen[0] == seen[1]


def test_a_busy_server_is_asked_again_after_the_time_that_it_names(
    open_client: Open, server: WebServer
) -> None:
    busy = (503, {}, {"Retry-After": "0"})
    answers(server, DISCOVERY, busy, busy, (200, {"tools": [TOOL]}, {}))
    assert open_client(server.url).do("discover").names == ["add"]
    assert len(server.asked) == 3


def test_a_wait_that_is_longer_than_the_callers_patience_is_the_callers_to_decide(
    open_client: Open, server: WebServer
) -> None:
    told = {"code": "rate_limited", "message": "Too many.", "hint": "", "extra": {}}
    answers(server, CALL, (429, told, {"Retry-After": "40"}))
    with pytest.raises(oc.RateLimited) as caught:
        open_client(server.url).do("call", "add", a=1)
    assert (caught.value.retry_after, len(server.asked)) == (40, 1)


def test_a_call_whose_answer_was_lost_is_repeated_under_the_same_key(
    open_client: Open, server: WebServer
) -> None:
    running = {"code": "idempotency_conflict", "message": "Still running.", "extra": {}}
    answers(server, CALL, (0, None, {}), (409, running, {}), (200, 3, {}))
    assert open_client(server.url).do("call", "add", a=1) == 3
    keys = [asked.headers["idempotency-key"] for asked in server.asked]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_a_change_whose_answer_was_lost_is_not_made_twice(
    open_client: Open, server: WebServer
) -> None:
    answers(server, "/api/v1/agents/a/", (0, None, {}))
    with pytest.raises(oc.ConnectionFailed, match="does not answer"):
        open_client(server.url).do("request", "PATCH", "agents/a/", json={"name": "B"})
    assert len(server.asked) == 1


def test_a_server_that_is_not_there_is_named(open_client: Open) -> None:
    with pytest.raises(oc.ConnectionFailed, match=r"http://127\.0\.0\.1:9 does not answer"):
        open_client("http://127.0.0.1:9").do("discover")


def test_an_unchanged_list_is_not_sent_again(open_client: Open, server: WebServer) -> None:
    first = (200, {"tools": [TOOL], "next": None}, {"ETag": '"one"'})
    more = {"tools": [{**TOOL, "description": "Adds two."}, {**TOOL, "name": "sub"}]}
    answers(server, DISCOVERY, first, (304, None, {}), (200, more, {"ETag": '"two"'}))
    both = open_client(server.url)
    tools = both.do("discover")
    again = both.do("rediscover")
    assert server.asked[1].headers["if-none-match"] == '"one"'
    assert (list(again), again.added, again.changed) == (list(tools), (), ())
    third = both.do("rediscover")
    assert (third.added, third.changed, third.removed) == (("sub",), ("add",), ())


def test_a_long_list_is_read_page_by_page(open_client: Open, server: WebServer) -> None:
    pages = [{"tools": [TOOL], "next": "abc"}, {"tools": [{**TOOL, "name": "sub"}], "next": None}]
    answers(server, DISCOVERY, *((200, page, {"ETag": '"x"'}) for page in pages))
    both = open_client(server.url)
    assert both.do("discover").names == ["add", "sub"]
    assert server.asked[1].path == f"{DISCOVERY}?cursor=abc"
    both.do("discover")
    assert "if-none-match" not in server.asked[2].headers


def test_a_page_of_another_server_is_not_asked_for_with_the_token(
    open_client: Open, server: WebServer
) -> None:
    first = {"results": [{"id": 1}], "next": "https://evil.example/api/v1/runs/?cursor=c2"}
    answers(server, "/api/v1/runs/", (200, first, {}), (200, {"results": [], "next": None}, {}))
    rows = open_client(server.url, token=SECRET).do("pages", "runs/", limit=1)
    assert (rows, server.asked[1].path) == ([{"id": 1}], "/api/v1/runs/?limit=1&cursor=c2")


def test_the_token_does_not_follow_a_redirect(open_client: Open, server: WebServer) -> None:
    server.redirect(DISCOVERY, f"{server.url}/elsewhere")
    with pytest.raises(oc.OutfitterError):
        open_client(server.url, token=SECRET).do("discover")
    assert len(server.asked) == 1


def test_an_agents_client_fetches_its_token_and_renews_it(
    open_client: Open, server: WebServer
) -> None:
    answers(
        server,
        "/o/token",
        (200, {"access_token": "first", "expires_in": 600}, {}),
        (200, {"access_token": "second", "expires_in": 0}, {}),
        (200, {"access_token": "third", "expires_in": 600}, {}),
    )
    answers(server, DISCOVERY, (200, {"tools": []}, {}), (401, {}, {}), (200, {"tools": []}, {}))
    both = open_client(server.url, client_id="cl ient", secret="s:cret", scopes=["tools:read"])
    for _ in range(3):
        both.do("discover")
    used = [it.headers.get("authorization") for it in server.asked if it.path == DISCOVERY]
    assert used == ["Bearer first", "Bearer first", "Bearer second", "Bearer third"]
    fetched = [it for it in server.asked if it.path == "/o/token"]
    assert fetched[0].body == b"grant_type=client_credentials&scope=tools%3Aread"
    assert fetched[0].headers["authorization"] == "Basic Y2wraWVudDpzJTNBY3JldA=="


def test_a_client_that_is_refused_is_told_so_without_its_secret(
    open_client: Open, server: WebServer
) -> None:
    answers(server, "/o/token", (401, {"error": "invalid_client"}, {}))
    with pytest.raises(oc.AuthenticationFailed, match="invalid_client") as caught:
        open_client(server.url, client_id="me", secret=SECRET).do("discover")
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_secrets_are_not_shown(
    open_client: Open, server: WebServer, caplog: pytest.LogCaptureFixture
) -> None:
    answers(server, CALL, (400, {"code": "tool_failed", "message": "No.", "extra": {}}, {}))
    both = open_client(server.url, token=SECRET)
    with caplog.at_level(logging.DEBUG), pytest.raises(oc.OutfitterError) as caught:
        both.do("call", "add", key="argument-secret")
    shown = [
        repr(both.client),
        repr(vars(both.client._core)),
        repr(caught.value),
        *traceback.format_exception(caught.value),
    ]
    assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in "".join(shown)
    assert not [line for line in caplog.messages if "argument-secret" in line]


@pytest.mark.parametrize(
    ("status", "extra", "family"),
    [
        (400, {}, oc.InvalidRequest),
        (400, {"phase": "validate"}, oc.InvalidRequest),
        (400, {"phase": "execute"}, oc.ToolFailed),
        (409, {"phase": "load"}, oc.ToolFailed),
        (409, {"phase": "approval"}, oc.InputNeeded),
        (401, {}, oc.AuthenticationFailed),
        (403, {"phase": "permission"}, oc.NotAllowed),
        (404, {"phase": "search"}, oc.NotFound),
        (409, {}, oc.Conflict),
        (413, {}, oc.InvalidRequest),
        (424, {}, oc.ModelFailed),
        (429, {"phase": "permission"}, oc.RateLimited),
        (500, {}, oc.ServerFault),
    ],
)
def test_each_family_of_errors_has_its_class(
    status: int, extra: dict[str, Any], family: type[Exception]
) -> None:
    body = {"code": "some_code", "message": "What.", "hint": "Do this.", "extra": extra}
    error = error_of(status, body, {})
    assert type(error) is family
    assert (error.code, str(error)) == ("some_code", "What. Do this. [some_code]")


def test_a_refusal_names_the_scopes_to_ask_for() -> None:
    challenge = 'Bearer error="insufficient_scope", scope="tools:run mail:send"'
    error = error_of(403, {}, {"www-authenticate": challenge})
    assert isinstance(error, oc.NotAllowed)
    assert error.needed_scopes == ("tools:run", "mail:send")


def test_a_page_of_a_proxy_is_an_error_too() -> None:
    error = error_of(502, "<html>Bad gateway</html>", {})
    assert isinstance(error, oc.ServerFault)
    assert "502" in str(error)


@pytest.mark.parametrize("url", ["outfitter.example", "ftp://x", "http://me:pw@x", ""])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        Outfitter(url)


@pytest.mark.parametrize(
    "given", [{"token": "a", "client_id": "b", "secret": "c"}, {"client_id": "b"}, {"secret": "c"}]
)
def test_half_a_credential_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"secret"):
        Outfitter("http://x", **given)


def test_pauses_grow_and_are_bounded() -> None:
    patient = Retry(times=9, first=1, longest=8)
    assert all(0.5 * 2**n <= patient.backoff(n + 1) <= 2**n for n in range(4))
    assert patient.backoff(9) <= 8


def test_a_server_that_is_no_outfitter_is_told_apart(open_client: Open, server: WebServer) -> None:
    server.on(DISCOVERY, lambda it: it.answer("<html>Hello</html>"))
    server.on("/api/v1/runs/r/", lambda it: it.answer("<html>Hello</html>"))
    both = open_client(server.url)
    with pytest.raises(oc.ServerFault, match="no JSON"):
        both.do("discover")
    with pytest.raises(oc.ServerFault, match="no JSON"):
        both.do("refresh", of=both.do("get_run", "r"))
