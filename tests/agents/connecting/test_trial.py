"""A connection that is really made, and settings that really work."""

import json
import os
import re
import socket
import subprocess
import sys
import tomllib

import pytest

from agents.connecting import trial, trying
from agents.connecting.clients import clients_for
from agents.connecting.offered import Offered
from agents.connecting.place import Place
from agents.connecting.programs import programs_for
from agents.connecting.trial import Target, tried
from agents.connecting.trying import connection_tried
from agents.models import ApiToken
from config.lib.errors import Conflict, InvalidInput
from tests.agents.mcp.site import token_for, using
from tests.factories import make_agent, make_builtin, make_tool, make_user
from tests.live import free_port


def told(steps):
    return [(step.name, step.is_ok) for step in steps]


def test_each_step_of_a_connection_in_both_eras_is_told(site):
    alice = make_user("alice")
    make_agent(alice, make_builtin(), slug="desk")
    target = Target(own=f"{site}/mcp/agents/desk")

    steps = tried(target, token_for(alice), call=("calculator", {"expression": "6*7"}))

    assert told(steps) == [
        ("Without a token", True),
        ("Connect, newest", True),
        ("List the tools", True),
        ("Call calculator", True),
        ("Connect, handshake", True),
        ("List the tools", True),
    ]
    assert "2026-07-28" in steps[1].told and "2025-11-25" in steps[4].told
    assert steps[2].told == "1 tool: calculator."
    assert "42" in steps[3].told
    assert all(step.ms >= 0 for step in steps)


def test_the_token_of_a_test_has_the_scopes_that_are_needed_and_is_gone_afterwards(site):
    alice = make_user("alice")
    tool = make_tool(wire_name="send_mail", required_scopes=["mail:send"])
    agent = make_agent(alice, tool, slug="desk", scopes=["mail:send"])

    target = Target(own=f"{site}/mcp/agents/desk")
    steps = connection_tried(alice, target, Offered(alice, agent))

    assert all(step.is_ok for step in steps), steps
    assert steps[2].told == "1 tool: send_mail."
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    ("scopes", "step", "said", "hint"),
    [
        (("tools:run",), "List the tools", "403: This needs the scope tools:read.", "scopes"),
        (None, "Connect, newest", "401:", "Make a new one"),
    ],
)
def test_a_refusal_says_what_to_do(site, scopes, step, said, hint):
    alice = make_user("alice")
    make_builtin()
    token = "oft_unknown" if scopes is None else token_for(alice, *scopes)

    steps = tried(Target(own=f"{site}/mcp"), token)

    assert (steps[-1].name, steps[-1].is_ok) == (step, False)
    assert said in steps[-1].told and hint in steps[-1].hint
    assert token not in repr(steps)


def test_an_agent_that_the_person_may_not_see_is_not_found(site):
    make_agent(make_user("alice"), slug="desk")
    steps = tried(Target(own=f"{site}/mcp/agents/desk"), token_for(make_user("eve")))
    assert steps[-1].told.startswith("404:") and not steps[-1].is_ok


def test_a_list_without_tools_is_a_failure(site):
    steps = tried(Target(own=f"{site}/mcp"), token_for(make_user("alice")))
    assert told(steps)[-1] == ("List the tools", False)
    assert steps[-1].told == "The list is empty." and "Link a tool" in steps[-1].hint


def test_a_tool_that_fails_is_told_apart_from_the_connection(site):
    alice = make_user("alice")
    make_builtin()
    steps = tried(
        Target(own=f"{site}/mcp"), token_for(alice), call=("calculator", {"expression": "1/0"})
    )
    assert told(steps)[-1] == ("Call calculator", False)
    assert "The connection works" in steps[-1].hint


def test_a_server_that_is_not_there_is_told():
    (step,) = tried(Target(own=f"http://127.0.0.1:{free_port()}/mcp"), "oft_x")
    assert step.told.startswith("Nobody answers at http://127.0.0.1:") and not step.is_ok


def test_a_server_that_does_not_answer_is_waited_for_only_so_long(monkeypatch):
    monkeypatch.setattr(trial, "EACH_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        (step,) = tried(Target(own=address), "oft_x")
    assert step.told == "No answer in 0.2 seconds." and not step.is_ok


def test_a_test_as_a_whole_ends(monkeypatch):
    monkeypatch.setattr(trial, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        (step,) = tried(Target(own=address), "oft_x")
    assert (step.name, step.told) == ("All of it", "No answer in 0.2 seconds.")


def test_an_address_without_an_mcp_server_is_told(site):
    (step,) = tried(Target(own=f"{site}/elsewhere"), "oft_x")
    assert "No MCP server" in step.told and "404" in step.told
    assert "config.asgi:application" in step.hint


@pytest.mark.django_db
def test_only_a_tool_that_reads_is_called():
    alice = make_user("alice")
    make_tool(wire_name="send_mail")
    with pytest.raises(InvalidInput, match="Only a tool that reads"):
        connection_tried(alice, Target(own=""), Offered(alice, None), tool="send_mail")


@pytest.mark.django_db
def test_not_more_tests_than_the_process_has_room_for_run_at_once(monkeypatch):
    alice = make_user("alice")
    monkeypatch.setattr(trying, "_free", trying.BoundedSemaphore(1))
    trying._free.acquire()
    with pytest.raises(Conflict, match="Others are testing"):
        connection_tried(alice, Target(own=""), Offered(alice, None))


def test_the_settings_of_every_client_connect(site):
    alice = make_user("alice")
    make_agent(alice, make_builtin(), slug="desk")
    token = token_for(alice, "tools:read", "tools:run")
    connected = []

    async def use(client):
        return [tool.name for tool in (await client.list_tools()).tools]

    for client in clients_for(Place(site=site, slug="desk"), token):
        for snippet in client.snippets:
            url, sent = _settings_in(snippet, token)
            if url:
                assert using(url, sent, use) == ["calculator"], client.key
                connected.append(client.key)
    assert len(set(connected)) == 9


def _settings_in(snippet, token):
    """Return the address and the token that a client reads from its settings."""
    if snippet.language == "json":
        settings = json.loads(snippet.text)
        (server,) = (settings.get("mcpServers") or settings.get("servers")).values()
        if "command" in server:
            url = next(each for each in server["args"] if each.startswith("http"))
            header = server["args"][server["args"].index("--header") + 1]
            header = header.replace("${AUTH_HEADER}", server["env"]["AUTH_HEADER"])
            return url, header.removeprefix("Authorization:Bearer ")
        url = server.get("url") or server.get("httpUrl") or server.get("serverUrl")
        return url, server["headers"]["Authorization"].removeprefix("Bearer ")
    if snippet.language == "toml":
        (server,) = tomllib.loads(snippet.text)["mcp_servers"].values()
        assert server["bearer_token_env_var"] == "OUTFITTER_TOKEN"
        return server["url"], token
    if snippet.text.startswith("claude mcp add"):
        url = re.search(r"http\S+/desk", snippet.text)[0]
        return url, re.search(r"Bearer ([\w-]+)", snippet.text)[1]
    return "", ""


def test_the_lines_for_curl_and_the_sdk_run_as_they_stand(site):
    alice = make_user("alice")
    make_agent(alice, make_builtin(), slug="desk")
    token = token_for(alice, "tools:read", "tools:run")
    place = Place(site=site, slug="desk")
    programs = {
        each.key: each.snippets
        for each in programs_for(place, token, ("calculator", {"expression": "6*7"}))
    }
    environment = {**os.environ, "OUTFITTER_TOKEN": token, "NO_PROXY": "127.0.0.1"}

    def ran(*command):
        done = subprocess.run(
            command, capture_output=True, check=False, text=True, env=environment, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    first, listing, calling = (each.text for each in programs["curl"])
    assert "calculator" in ran("bash", "-c", f"{first}\n{listing}")
    assert "42" in ran("bash", "-c", f"{first}\n{calling}")
    sdk = next(each for each in programs["python"] if "official" in each.where)
    assert "42" in ran(sys.executable, "-c", sdk.text)
