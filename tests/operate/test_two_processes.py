"""MCP clients behind a proxy: what one web process began, another one goes on with."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from mcp import Client

from agents.models import AgentTool
from registry.models import Invocation
from tests.agents.mcp.site import HANDSHAKE, post, token_for, using
from tests.factories import make_agent, make_builtin
from tests.web_process import web_process

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("live")]

CALL = {"name": "calculator", "arguments": {"expression": "6*7"}}
YES = {"inputResponses": {"answer": {"action": "accept", "content": {}}}}
ABLE = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    }
}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Start two web processes on this test's database; yields their addresses."""
    with web_process(tmp_path) as (_, one), web_process(tmp_path) as (_, other):
        yield f"http://127.0.0.1:{one}", f"http://127.0.0.1:{other}"


def test_an_answer_that_comes_to_another_process_lets_the_same_call_through(
    alice: User, pair: tuple[str, str]
) -> None:
    agent = make_agent(alice, make_builtin("calculator"), slug="careful")
    AgentTool.objects.filter(agent=agent).update(approval="ask")
    token = token_for(alice)
    a, b = (f"{url}/mcp/agents/careful" for url in pair)
    asked = post(a, token, "tools/call", {**CALL, **ABLE}).json()["result"]
    assert asked["resultType"] == "input_required"
    again = {**CALL, **ABLE, **YES, "requestState": asked["requestState"]}
    assert "42" in post(b, token, "tools/call", again).json()["result"]["content"][0]["text"]
    refused = post(a, token, "tools/call", again).json()["error"]
    assert refused["data"] == {"reason": "invalid_request_state"}
    assert Invocation.objects.get().decision == "approved"


def test_a_client_of_one_process_hears_of_a_change_made_at_another(
    alice: User, pair: tuple[str, str]
) -> None:
    tool = make_builtin("calculator")
    agent = make_agent(alice, slug="desk")
    token = token_for(alice)

    def link() -> None:
        answer = httpx.post(
            f"{pair[1]}/api/v1/agents/{agent.slug}/tools/",
            json={"toolId": str(tool.pk)},
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
        )
        assert answer.status_code == 201, answer.text

    async def use(client: Client) -> list[str]:
        assert (await client.list_tools()).tools == []
        async with client.listen(tools_list_changed=True) as stream:
            await asyncio.to_thread(link)
            await asyncio.wait_for(anext(aiter(stream)), 30)
        return [tool.name for tool in (await client.list_tools()).tools]

    assert using(f"{pair[0]}/mcp/agents/desk", token, use) == ["calculator"]


def test_a_session_of_another_process_is_unknown_and_says_so(
    alice: User, pair: tuple[str, str]
) -> None:
    token = token_for(alice)
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
    }
    known: dict[str, Any] = {
        "protocolVersion": HANDSHAKE[0],
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": known}
    begun = httpx.post(f"{pair[0]}/mcp", json=begin, headers=headers, timeout=30)
    session = begun.headers["Mcp-Session-Id"]
    told = {**headers, "Mcp-Session-Id": session, "MCP-Protocol-Version": HANDSHAKE[0]}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    assert httpx.post(f"{pair[0]}/mcp", json=ping, headers=told, timeout=30).status_code == 200
    assert httpx.post(f"{pair[1]}/mcp", json=ping, headers=told, timeout=30).status_code == 404
