"""Messages of MCP clients are counted by method, era and outcome."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from agents.mcp.metering import Metered
from config.lib.meters import REGISTRY


def count(method: str, era: str, outcome: str) -> float:
    labels = {"method": method, "era": era, "outcome": outcome}
    return REGISTRY.get_sample_value("outfitter_mcp_requests_total", labels) or 0


async def answer(method: str, version: str, result: Any) -> Any:
    async def call_next(_: Any) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    context: Any = SimpleNamespace(method=method, protocol_version=version)
    return await Metered()(context, call_next)


@pytest.mark.parametrize(
    ("method", "version", "result", "told"),
    [
        ("tools/list", "2026-07-28", {"tools": []}, ("tools/list", "stateless", "succeeded")),
        ("tools/list", "2025-11-25", {"tools": []}, ("tools/list", "handshake", "succeeded")),
        (
            "tools/call",
            "2025-06-18",
            CallToolResult(content=[], is_error=True),
            ("tools/call", "handshake", "tool_error"),
        ),
        ("tools/call", "2026-07-28", {"isError": True}, ("tools/call", "stateless", "tool_error")),
        ("x" * 9000, "2026-07-28", {}, ("other", "stateless", "succeeded")),
    ],
)
async def test_a_message_is_counted(
    method: str, version: str, result: Any, told: tuple[str, str, str]
) -> None:
    before = count(*told)
    assert await answer(method, version, result) is result
    assert count(*told) == before + 1


@pytest.mark.parametrize(
    ("error", "outcome"), [(MCPError(-32602, "Unknown tool"), "-32602"), (KeyError(), "failed")]
)
async def test_an_error_is_counted_by_its_code_and_passed_on(
    error: Exception, outcome: str
) -> None:
    before = count("tools/call", "stateless", outcome)
    with pytest.raises(type(error)):
        await answer("tools/call", "2026-07-28", error)
    assert count("tools/call", "stateless", outcome) == before + 1
