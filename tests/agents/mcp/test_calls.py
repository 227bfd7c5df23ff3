"""Calls through the MCP server: what comes back, and what is kept of them."""

import asyncio
import threading

import pytest
from django.test import override_settings

from agents.models import AgentTool
from config.lib.addresses import parse_allowed
from config.lib.changes import current_change
from registry.errors import CallCancelled, ToolFailed
from registry.executors.base import Output
from registry.executors.builtin import BuiltinExecutor
from registry.models import Invocation, Package, Tool
from registry.models.package import ReviewStatus
from tests.agents.mcp.site import ALL, HANDSHAKE, MODERN, post, token_for, using
from tests.factories import make_agent, make_builtin, make_user
from tests.fakes.mcp_server import PIXEL, running_mcp_server
from tests.live import eventually
from tests.registry.test_mcp_remote import package_of

SOON = 60
"""Seconds for what happens within milliseconds on a machine that is not busy."""


def call(name, **arguments):
    async def use(client):
        return await client.call_tool(name, arguments)

    return use


@pytest.fixture
def answering(monkeypatch):
    """Have the built-in tools answer with what the test sets."""
    given = {}

    def execute(self, spec, arguments, context):
        return given["answer"](context)

    monkeypatch.setattr(BuiltinExecutor, "execute", execute)
    return given


def test_a_call_is_kept_with_its_caller_and_its_request(site, answering):
    alice = make_user("alice")
    make_builtin("calculator")
    changes = []

    def answer(context):
        changes.append(current_change())
        return Output(value={"result": 1, "expression": "1"})

    answering["answer"] = answer
    params = {"name": "calculator", "arguments": {"expression": "1"}}
    told = post(f"{site}/mcp", token_for(alice), "tools/call", params)

    row = Invocation.objects.get()
    assert (row.caller, row.user, row.outcome) == ("mcp", alice, "succeeded")
    assert told.json()["result"]["_meta"]["outfitter/invocation"] == str(row.pk)
    (change,) = changes
    assert (change.source, change.actor()) == ("mcp", (alice.pk, "alice"))
    assert (change.request_id, change.path) == (told.headers["x-request-id"], "/mcp")


@pytest.mark.parametrize("version", ALL)
def test_an_error_of_a_tool_is_a_result_that_a_model_can_read(site, version):
    make_builtin("calculator")
    use = call("calculator", expression="1/0")
    answer = using(f"{site}/mcp", token_for(make_user()), use, version=version)
    assert answer.is_error
    assert "zero" in answer.content[0].text
    error = answer.meta["outfitter/error"]
    assert (error["code"], error["extra"]["tool"]) == ("input_rejected", "calculator")
    assert error["hint"] in answer.content[0].text


def test_arguments_that_do_not_fit_are_told_by_field(site):
    make_builtin("calculator")
    answer = using(f"{site}/mcp", token_for(make_user()), call("calculator"))
    assert answer.is_error
    assert "expression" in answer.content[0].text
    assert answer.meta["outfitter/error"]["code"] == "invalid_arguments"


def test_a_bug_of_ours_gives_nothing_away(site, answering):
    make_builtin("calculator")

    def answer(context):
        raise RuntimeError("password=hunter2")

    answering["answer"] = answer
    told = using(f"{site}/mcp", token_for(make_user()), call("calculator", expression="1"))
    assert told.is_error
    assert "hunter2" not in told.model_dump_json()


@pytest.mark.parametrize("version", ALL)
def test_pictures_and_sounds_come_beside_the_text(site, answering, version):
    make_builtin("calculator", output_schema=None)
    blocks = [
        {"type": "image", "mimeType": "image/png", "data": PIXEL},
        {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="},
    ]
    answering["answer"] = lambda context: Output(value={"chart": {"content": blocks}, "n": 1})
    use = call("calculator", expression="1")
    answer = using(f"{site}/mcp", token_for(make_user()), use, version=version)
    text, image, sound = answer.content
    assert PIXEL not in text.text
    assert '"n": 1' in text.text
    assert (image.type, image.data, image.mime_type) == ("image", PIXEL, "image/png")
    assert (sound.type, sound.data, sound.mime_type) == ("audio", "UklGRg==", "audio/wav")


def test_a_file_that_a_tool_saved_comes_along(site, answering):
    make_builtin("calculator", output_schema=None)
    files = [
        {"name": "a.txt", "media_type": "text/plain", "size": 2, "data": "aGk="},
        {"name": "dot.png", "media_type": "image/png", "size": 70, "data": PIXEL},
        {"name": "a.zip", "media_type": "application/zip", "size": 2, "data": "UEs="},
    ]
    answering["answer"] = lambda context: Output(value="saved", details={"artifacts": files})
    told = using(f"{site}/mcp", token_for(make_user()), call("calculator", expression="1"))
    words, text, image, archive = told.content
    assert words.text == "saved"
    assert (text.resource.text, text.resource.mime_type) == ("hi", "text/plain")
    assert text.resource.uri.endswith("/a.txt")
    assert image.data == PIXEL
    assert archive.resource.blob == "UEs="


def test_an_answer_that_does_not_fit_its_schema_is_not_passed_off_as_one(site, answering):
    make_builtin("calculator")
    answering["answer"] = lambda context: Output(value={"result": "many"})
    told = using(f"{site}/mcp", token_for(make_user()), call("calculator", expression="1"))
    assert told.is_error
    assert "otherwise than its output schema says: $" in told.content[0].text
    assert '"many"' in told.content[1].text


def test_any_value_is_structured_since_the_newest_revision_alone(site, answering):
    make_builtin("calculator", output_schema={"type": "array"})
    answering["answer"] = lambda context: Output(value=[1, 2])
    token = token_for(make_user())
    for version in ALL:
        told = using(f"{site}/mcp", token, call("calculator", expression="1"), version=version)
        assert told.structured_content == ([1, 2] if version == MODERN else None)
        assert told.content[0].text == "[1, 2]"


@pytest.mark.parametrize("version", [MODERN, "2025-06-18"])
def test_what_another_server_answers_comes_through_as_it_was_sent(site, version):
    alice = make_user("alice")
    allowed = override_settings(OUTBOUND_ALLOW=parse_allowed("127.0.0.1"))
    with allowed, running_mcp_server() as upstream:
        package_of(alice, upstream.url)
        Package.objects.update(review_status=ReviewStatus.APPROVED)
        names = dict(Tool.objects.values_list("export_name", "wire_name"))

        async def use(client):
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            mixed = await client.call_tool(names["mixed"], {})
            added = await client.call_tool(names["add"], {"a": 1, "b": 2})
            failed = await client.call_tool(names["fail"], {})
            return listed, mixed, added, failed

        listed, mixed, added, failed = using(f"{site}/mcp", token_for(alice), use, version=version)

    kinds = [block.type for block in mixed.content]
    assert kinds == ["text", "image", "audio", "resource", "resource_link"]
    assert mixed.content[3].resource.blob == "aGk="
    assert added.structured_content == {"result": 3}
    assert added.content[0].text == "3"
    assert (failed.is_error, failed.content[0].text) == (True, "The printer is out of paper.")
    assert listed[names["add"]].title == "Add two numbers"
    assert listed[names["add"]].annotations.read_only_hint is True
    assert listed[names["mixed"]].annotations.destructive_hint is True


@pytest.mark.parametrize("version", [MODERN, HANDSHAKE[0]])
def test_a_call_that_its_client_gives_up_is_stopped(site, answering, version):
    make_builtin("calculator")
    began, stopped = threading.Event(), threading.Event()

    def answer(context):
        began.set()
        if context.cancel.wait(SOON):
            stopped.set()
            raise CallCancelled()
        raise ToolFailed("Nobody cancelled it.")

    answering["answer"] = answer

    async def use(client):
        calling = asyncio.create_task(client.call_tool("calculator", {"expression": "1"}))
        await asyncio.to_thread(began.wait, SOON)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        assert await asyncio.to_thread(stopped.wait, SOON)
        return (await client.list_tools()).tools

    assert using(f"{site}/mcp", token_for(make_user()), use, version=version)
    row = eventually(Invocation.objects.first, what="the row of the call")
    assert row.error_code == "cancelled"


def test_a_call_through_an_agent_is_the_agents(site):
    alice = make_user("alice")
    tool = make_builtin("calculator")
    agent = make_agent(alice, tool, slug="helper")
    link = AgentTool.objects.filter(tool=tool)
    link.update(config={"expression": "2+3"}, name_override="add_up")
    token, address = token_for(alice), f"{site}/mcp/agents/helper"

    answer = using(address, token, call("add_up"))
    assert answer.structured_content["result"] == 5
    assert Invocation.objects.get().agent_id == agent.pk

    link.update(approval="deny")
    told = post(address, token, "tools/call", {"name": "add_up", "arguments": {}})
    assert told.json()["error"]["message"] == "Unknown tool: add_up"


def test_a_call_that_waits_for_a_person_says_so(site):
    alice = make_user("alice")
    make_agent(alice, make_builtin("calculator"), slug="helper", approval_default="ask")
    params = {"name": "calculator", "arguments": {"expression": "1"}}
    told = post(f"{site}/mcp/agents/helper", token_for(alice), "tools/call", params)
    result = told.json()["result"]
    assert result["isError"] is True
    assert result["_meta"]["outfitter/error"]["code"] == "approval_required"
    assert not Invocation.objects.exists()
