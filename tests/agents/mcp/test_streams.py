"""Streams of what the server has to say end soon after their token; a new one opens them again."""

import json

import httpx
import pytest
from oauth2_provider.models import AccessToken

from agents import lifelines
from agents.models import ApiToken
from agents.oauth.clients import end_tokens
from tests.agents.mcp.site import MODERN, token_for
from tests.agents.oauth.flows import Person, make_client
from tests.factories import make_user

ACCEPTS = "application/json, text/event-stream"


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(lifelines, "LOOK_SECONDS", 0.1)


@pytest.fixture
def alice(site):
    return make_user("alice")


def ends(site, open_stream, act):
    """Open a stream, do `act`, and return the status that the same client is answered then."""
    with httpx.Client(base_url=site, timeout=30) as http:
        ask = open_stream(http)
        with http.stream(**ask) as stream:
            assert stream.status_code == 200
            assert stream.headers["content-type"].startswith("text/event-stream")
            act()
            for _ in stream.iter_bytes():  # the end of the stream ends this
                pass
        return http.request(**ask).status_code


def in_a_session(token):
    def opened(http):
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": ACCEPTS,
            "MCP-Protocol-Version": "2025-06-18",
        }
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        answer = http.post("/mcp", json=message, headers=headers)
        headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert http.post("/mcp", json=told, headers=headers).status_code == 202
        return {"method": "GET", "url": "/mcp", "headers": headers}

    return opened


def by_listening(token):
    method = "subscriptions/listen"
    params = {
        "notifications": {"toolsListChanged": True},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": ACCEPTS,
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": method,
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    ask = {"method": "POST", "url": "/mcp", "content": json.dumps(message), "headers": headers}
    return lambda http: ask


BOTH = pytest.mark.parametrize("opening", [in_a_session, by_listening])


@BOTH
def test_a_stream_ends_when_its_token_is_revoked(site, alice, opening):
    assert ends(site, opening(token_for(alice)), ApiToken.objects.all().delete) == 401


def close(alice):
    alice.is_active = False
    alice.save()


def delete(alice):
    alice.delete()


@BOTH
@pytest.mark.parametrize("act", [close, delete])
def test_a_stream_ends_when_its_person_leaves(site, alice, opening, act):
    assert ends(site, opening(token_for(alice)), lambda: act(alice)) == 401


@BOTH
def test_a_stream_ends_when_a_program_is_taken_back(site, alice, opening, client_for):
    client = make_client()
    person = Person(client_for(alice))
    token = person.token(client)
    AccessToken.objects.update(resource=[f"{site}/mcp"])  # the test client came to another host

    assert ends(site, opening(token["access_token"]), lambda: end_tokens(client, alice)) == 401
