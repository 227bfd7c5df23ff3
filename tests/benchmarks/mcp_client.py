"""An MCP client that costs next to nothing, in either era, on a connection that it keeps."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from tests.benchmarks.kept import Kept

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Talk(Kept):
    """A conversation with one server."""

    def __init__(self, port: int, version: str = MODERN, token: str = "") -> None:
        super().__init__(port)
        self._ids = count(1)
        self._modern = version == MODERN
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": version,
            **({"Authorization": f"Bearer {token}"} if token else {}),
        }
        if not self._modern:
            hello = {"protocolVersion": version, "capabilities": {}}
            self.ask("initialize", {**hello, "clientInfo": {"name": "bench", "version": "1"}})
            self._posted({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; the answer has to be a result without an error."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        assert not result.get("isError"), result
        return result

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its result."""
        headers: dict[str, str] = {}
        if self._modern:
            params = {**params, "_meta": _META}
            headers = {"Mcp-Method": method}
            if "name" in params:
                headers["Mcp-Name"] = params["name"]
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        answer = json.loads(self._posted(message, headers))
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _posted(self, message: dict[str, Any], headers: dict[str, str] | None = None) -> bytes:
        response, body = self.send("/mcp", message, {**self._headers, **(headers or {})})
        if session := response.getheader("Mcp-Session-Id"):
            self._headers["Mcp-Session-Id"] = session
        if response.getheader("content-type", "").startswith("text/event-stream"):
            lines = [line for line in body.splitlines() if line.startswith(b"data: {")]
            return lines[-1].removeprefix(b"data: ")
        return body
