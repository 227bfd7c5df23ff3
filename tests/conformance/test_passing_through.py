"""What another MCP server says and answers reaches a client as it was sent."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, Tool

from tests.agents.mcp.site import ALL, MODERN, using
from tests.conformance import upstream
from tests.conformance.conftest import Site

pytestmark = [pytest.mark.sandbox, pytest.mark.xdist_group("live")]

Seen = tuple[dict[str, Tool], dict[str, CallToolResult], list[tuple[float, float | None, Any]]]


async def used(client: Client) -> Seen:
    """List the tools and call those that answer with content."""
    told: list[tuple[float, float | None, Any]] = []

    async def noted(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    contact = {"name": "Ann", "contactMethod": "phone", "phone": "1"}
    given: dict[str, dict[str, Any]] = {
        "json_schema_2020_12_tool": contact,
        "test_headers": {"region": "Ürö — ≠"},
    }
    asked = [*upstream.ANSWERS, *upstream.WITH_CODE, upstream.ASKING]
    answers = {name: await client.call_tool(name, given.get(name, {})) for name in asked}
    await client.call_tool("test_tool_with_progress", {}, progress_callback=noted)
    return listed, answers, told


def test_tools_and_answers_are_those_of_the_server(site: Site) -> None:
    for version in ALL:
        listed, answers, told = using(site.url, site.token, used, version=version)
        for offered in upstream.tools():
            seen = listed[offered.name]
            assert seen.title == offered.title, version
            assert seen.description is not None
            assert seen.input_schema == offered.input_schema
            assert seen.output_schema == offered.output_schema
            assert seen.annotations is not None
            assert offered.annotations is not None
            said = offered.annotations.model_dump(exclude_none=True)
            assert said.items() <= seen.annotations.model_dump(exclude_none=True).items()
        for name, content in upstream.ANSWERS.items():
            assert answers[name].content == content, (version, name)
            assert not answers[name].is_error
        failed = answers["test_error_handling"]
        assert failed.is_error
        assert failed.content[0].text == upstream.FAILS
        measured = answers["test_structured"]
        assert measured.structured_content == {"celsius": 21.5}
        assert measured.meta is not None
        assert measured.meta["example.com/sensor"] == "attic"
        assert answers["test_headers"].content[0].text == "Region: Ürö — ≠"
        assert told == [(0, 100, "0 of it"), (50, 100, "50 of it"), (100, 100, "100 of it")]
        refused = answers[upstream.ASKING]
        assert refused.is_error
        assert "Elicitation not supported" in refused.content[0].text
    assert ALL[0] == MODERN
