"""An MCP server in plain Python, planted into an artifact; what `mcp-network` is in JavaScript."""

# ruff: noqa: S310
import json
import os
import sys
import time
import urllib.request
from typing import Any

how, url = [*sys.argv[1:], "", ""][:2]


def read() -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        found: str = answer.read().decode()
    return found


def said(text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def tried() -> dict[str, Any]:
    try:
        return said(read())
    except OSError as error:
        return said(str(error), is_error=True)


early = tried() if how == "early" else None
if how == "exits":
    read()
if how == "aside":
    tried()
if how == "needs-key" and not os.getenv("DEMO_API_KEY"):
    sys.exit(1)
seen_at_start = os.environ.get("SOME_TOKEN", "nothing")


def act() -> dict[str, Any]:
    if how == "early" and early is not None:
        return early
    if how == "fetches":
        return tried()
    if how == "looks":
        found = "DEMO_API_KEY" in os.environ
        return said("has it" if found else "Set the key first.", is_error=not found)
    if how == "hangs":
        time.sleep(600)
    if how == "fails":
        return said("It is broken.", is_error=True)
    if how == "aside":
        return said("done")
    return said(f"{seen_at_start} {os.environ['PATH']} {len(sys.argv)}")


def answered(message: dict[str, Any]) -> dict[str, Any] | None:
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "probe", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if message["method"] == "tools/call":
        return act()
    return None


def main() -> None:
    """Serve until the line closes."""
    for line in sys.stdin:
        message = json.loads(line)
        result = answered(message)
        if result is not None:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
