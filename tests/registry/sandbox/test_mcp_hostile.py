"""MCP servers that misbehave: each is stopped, told as what it is, and harms no other call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_types as types
import pytest

from registry.errors import ToolError
from registry.importing.mcp_tools import offered_tools
from registry.mcp import client, door
from registry.mcp.settings import StdioServer
from registry.sandbox.client import sandbox
from tests.registry.sandbox.npm_registry import SCOPE

if TYPE_CHECKING:
    from registry.sandbox.contract import Artifact
    from tests.registry.sandbox.service import RunningService

NAME = f"{SCOPE}/mcp-hostile"
SECONDS = 20.0
SHORT_SECONDS = 2.0
"""For a server that is to run out of time."""

TOOL = types.Tool(name="act", input_schema={"type": "object"})


class Never:
    """A caller that does not give up."""

    def is_set(self) -> bool:
        return False


@pytest.fixture(scope="module")
def artifact(sandbox_service: RunningService) -> Artifact:
    return sandbox().build(ecosystem="npm", name=NAME)


def target(artifact: Artifact, when: str, how: str = "", **server: str) -> client.Target:
    stdio = StdioServer(
        transport="stdio",
        ecosystem="npm",
        package=NAME,
        command=server.get("command", "mcp-hostile"),
        args=[when, how],
        protocol="2025-11-25",
    )
    return client.Target(server=stdio, name=NAME, artifact=artifact.artifact)


def called(
    artifact: Artifact, how: str, seconds: float = SECONDS
) -> tuple[types.CallToolResult, client.Notes]:
    notes = client.Notes(progress=lambda _: None)

    async def work(_: door.Note) -> types.CallToolResult:
        where = target(artifact, "call", how)
        return await client.call(where, TOOL, {}, seconds=seconds, notes=notes)

    return door.run(work, cancel=Never(), note=lambda _: None), notes


def listed(where: client.Target) -> client.Listing:
    async def work(_: door.Note) -> client.Listing:
        return await client.listing(where, notes=client.Notes(progress=lambda _: None))

    return door.run(work, cancel=Never(), note=lambda _: None)


def text_of(result: types.CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize(
    ("how", "codes"),
    [
        ("silent", {"tool_timeout"}),
        ("noise", {"protocol_violation"}),
        ("flood", {"protocol_violation"}),
        ("progress", {"protocol_violation"}),
        ("longline", {"output_too_large"}),
        ("bytes", {"output_too_large"}),
        ("shape", {"protocol_violation"}),
        ("deep", {"tool_timeout"}),
        ("exit", {"tool_crashed"}),
        ("memory", {"out_of_memory", "tool_timeout"}),
        ("spin", {"tool_timeout"}),
        ("stderr", {"tool_crashed"}),
    ],
)
def test_a_server_that_breaks_a_rule_is_stopped_and_the_next_call_works(
    artifact: Artifact, how: str, codes: set[str]
) -> None:
    with pytest.raises(ToolError) as caught:
        called(artifact, how, SHORT_SECONDS if "tool_timeout" in codes else SECONDS)
    assert caught.value.code in codes, caught.value.message
    result, _ = called(artifact, "twice")
    assert text_of(result) == "first"


def test_answers_to_questions_nobody_asked_are_dropped(artifact: Artifact) -> None:
    assert text_of(called(artifact, "forged")[0]) == "the real one"


def test_what_a_server_prints_besides_becomes_a_log(artifact: Artifact) -> None:
    result, notes = called(artifact, "banner")
    assert text_of(result) == "after the banner"
    assert [line["text"] for line in notes.logs] == ["Welcome to the server", "{ not: json }"]


def test_a_server_that_asks_for_a_model_or_folders_is_told_no(artifact: Artifact) -> None:
    assert text_of(called(artifact, "asks")[0]) == "asked"


def test_a_server_sees_no_file_of_the_machine(artifact: Artifact) -> None:
    assert text_of(called(artifact, "files")[0]) == "[]"


@pytest.mark.parametrize(
    ("how", "code"), [("exit", "tool_crashed"), ("flood", "protocol_violation")]
)
def test_a_server_that_fails_while_it_is_imported_is_told_as_such(
    artifact: Artifact, how: str, code: str
) -> None:
    with pytest.raises(ToolError) as caught:
        listed(target(artifact, "list", how))
    assert caught.value.code == code, caught.value.message


def test_a_command_that_the_package_lacks_is_told_with_those_it_has(artifact: Artifact) -> None:
    for wanted in ("nothing", "other"):  # “other” leads out of the package
        with pytest.raises(ToolError) as caught:
            listed(target(artifact, "never", command=wanted))
        assert caught.value.code == "unknown_export"
        assert f"no command “{wanted}”; its commands: mcp-hostile" in caught.value.message


def test_odd_tools_are_told_as_findings(artifact: Artifact) -> None:
    tools, findings = offered_tools(listed(target(artifact, "never")))
    assert [tool.name for tool in tools] == ["act", "broken"]
    assert {(found["code"], found["path"].rstrip("\ufffd")) for found in findings} == {
        ("name", "act"),
        ("name", "bad name"),
        ("description", "broken"),
        ("schema", "broken"),
    }
    assert tools[1].problem.startswith("Its input schema cannot be used")


def test_only_so_much_progress_is_passed_on() -> None:
    told: list[object] = []
    notes = client.Notes(progress=told.append)
    for step in range(1000):
        notes.tell(step, None, None)
        notes.log("info", "again")
    assert (len(told), len(notes.logs)) == (client.MOST_PROGRESS, client.MOST_LOGS)
    assert told[1] == {"message": "1", "progress": 1, "total": None}
