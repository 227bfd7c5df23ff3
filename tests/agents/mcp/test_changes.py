"""Clients hear at once that the list of their tools has changed, and only when it has."""

import asyncio
import itertools
import queue
from contextlib import ExitStack, contextmanager, suppress

import pytest
from django.contrib.auth.models import User
from django.db import connection
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ToolsListChanged

from agents.mcp import changes
from agents.models import Agent, AgentTool, ApprovalRule
from config.lib.threads import in_thread
from registry.changes import feed
from registry.models import Tool
from registry.models.triggers import AUDIT_CHANNEL
from registry.services import tool_publish
from registry.stopping import tool_stop
from tests.agents.mcp.site import MODERN, token_for, using
from tests.factories import make_agent, make_builtin, make_team, make_tool, make_user
from tests.live import eventually

HANDSHAKE = "2025-06-18"
BOTH = (MODERN, HANDSHAKE)
WAIT = 60


@pytest.fixture
def alice(site):
    make_builtin("calculator")
    return make_user("alice")


@contextmanager
def feed_at_rest():
    """Keep the change feed connected; go on once it has told of all that was written before.

    A stream that opens while it connects, or tells of something, is told once without a change: it
    may have come after the list was read.
    """
    told = queue.SimpleQueue()
    follower = feed.follow(AUDIT_CHANNEL, told.put)

    def has_told(word):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [AUDIT_CHANNEL, word])
        with suppress(queue.Empty):
            while told.get(timeout=1) != word:
                pass
            return True

    words = map(str, itertools.count())
    eventually(lambda: has_told(next(words)), what="the feed's rest")
    try:
        yield
    finally:
        feed.leave(follower)


def hears(site, user, path, act, *, version=MODERN, scopes=(), times=1):
    """Do `act` while a client listens; return how often it was told, and the list it reads then.

    A harmless change of another list is made at the end: who hears nothing else was told nothing.
    """
    heard = []
    stream_open = asyncio.Event()

    async def answered(response):
        if response.request.method == "GET" and response.is_success:
            stream_open.set()

    async def take(message):
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            heard.append(message)

    async def until(count):
        for _ in range(WAIT * 20):
            if len(heard) >= count:
                return
            await asyncio.sleep(0.05)
        pytest.fail(f"heard {len(heard)} of {count}")

    async def listened(client):
        async with client.listen(tools_list_changed=True) as stream:

            async def follow():
                async for event in stream:
                    assert event == ToolsListChanged()
                    heard.append(event)

            following = asyncio.create_task(follow())
            await in_thread(act)
            await until(times)
            following.cancel()
            await asyncio.wait({following})

    async def use(client):
        before = await client.list_tools()
        if version == MODERN:
            with ExitStack() as stack:
                await in_thread(stack.enter_context, feed_at_rest())
                await listened(client)
        else:
            await asyncio.wait_for(stream_open.wait(), WAIT)
            await in_thread(act)
            await until(times)
        after = await client.list_tools()
        return [tool.name for tool in before.tools], [tool.name for tool in after.tools]

    url, token = f"{site}{path}", token_for(user, *scopes)
    hearing = {} if version == MODERN else {"message_handler": take}
    before, after = using(url, token, use, version=version, on_response=answered, **hearing)
    return len(heard), before, after


@pytest.mark.parametrize("version", BOTH)
def test_a_tool_that_comes_and_one_that_is_stopped_are_heard_of(site, alice, version):
    def add():
        make_builtin("count_text")

    _, before, after = hears(site, alice, "/mcp", add, version=version)
    assert set(after) - set(before) == {"count_text"}

    def stop():
        governor = User.objects.create_superuser("governor")
        tool_stop(Tool.objects.get(wire_name="calculator"), by=governor, reason="It is wrong.")

    _, before, after = hears(site, alice, "/mcp", stop, version=version)
    assert set(before) - set(after) == {"calculator"}


def publish():
    tool = Tool.objects.get(wire_name="calculator")
    tool.description = "It does sums, differently."
    tool_publish(tool, author=User.objects.get(username="alice"))


def require_scope():
    Tool.objects.update(required_scopes=["sums:do"])


@pytest.mark.parametrize("act", [publish, require_scope])
def test_what_is_listed_of_a_tool_is_heard_of_when_it_changes(site, alice, act):
    hears(site, alice, "/mcp", act, scopes=("tools:read", "tools:run"))


@pytest.fixture
def agent(alice):
    return make_agent(alice, Tool.objects.get(), slug="helper", scopes=["mail:send"])


def link():
    AgentTool.objects.create(agent=Agent.objects.get(), tool=make_builtin("count_text"))


def rename():
    AgentTool.objects.update(name_override="sums")


def deny():
    ApprovalRule.objects.create(agent=Agent.objects.get(), effect="deny", pattern="calculator")


def unlink():
    AgentTool.objects.all().delete()


@pytest.mark.parametrize("act", [link, rename, deny, unlink])
@pytest.mark.parametrize("version", BOTH)
def test_links_and_rules_of_an_agent_are_heard_of(site, agent, act, version):
    _, before, after = hears(site, agent.owner, "/mcp/agents/helper", act, version=version)
    assert before != after


def test_scopes_that_an_agent_loses_are_heard_of(site, agent):
    mail = make_tool(wire_name="mail", required_scopes=["mail:send"])
    AgentTool.objects.create(agent=agent, tool=mail)

    def lose():
        Agent.objects.update(scopes=[])

    _, before, after = hears(site, agent.owner, "/mcp/agents/helper", lose)
    assert (before, after) == (["calculator", "mail"], ["calculator"])


def test_a_person_who_joins_a_team_hears_of_its_tools(site, alice):
    team = make_team("crew")
    make_tool(wire_name="shared", owner=make_user("bob"), visibility="team", team=team)
    _, before, after = hears(site, alice, "/mcp", lambda: alice.groups.add(team))
    assert set(after) - set(before) == {"shared"}


def test_what_others_do_among_themselves_is_not_heard_of(site, alice):
    bob = make_user("bob")

    def act():
        make_tool(wire_name="secret_plan", owner=bob, visibility="private")
        make_agent(bob, Tool.objects.get(wire_name="calculator"))
        Tool.objects.filter(wire_name="calculator").update(quality=0.3, calls_per_minute=5)
        make_builtin("count_text")

    told, *_ = hears(site, alice, "/mcp", act)
    assert told == 1


def test_many_changes_at_once_are_told_once(site, alice, monkeypatch):
    monkeypatch.setattr(changes, "GATHER_SECONDS", 2.0)

    def act():
        for name in ("count_text", "calculator_2", "calculator_3", "calculator_4"):
            make_tool(wire_name=name) if name.startswith("calc") else make_builtin(name)

    told, _, after = hears(site, alice, "/mcp", act)
    assert told == 1
    assert len(after) == 5


def test_a_stream_that_ends_is_forgotten(site, alice):
    hears(site, alice, "/mcp", lambda: make_builtin("count_text"))
    eventually(
        lambda: not any(watch._streams for watch in changes._watches.values()),
        what="the stream's end",
    )


def test_nothing_but_tools_is_promised(site, alice):
    async def use(client):
        listening = client.listen(
            tools_list_changed=True, prompts_list_changed=True, resource_subscriptions=["a:b"]
        )
        async with listening as stream:
            return stream.honored

    honored = using(f"{site}/mcp", token_for(alice), use)
    assert honored.tools_list_changed is True
    assert not honored.prompts_list_changed
    assert not honored.resource_subscriptions


@pytest.mark.parametrize("version", BOTH)
def test_the_server_says_that_it_tells_of_changes(site, alice, version):
    async def use(client):
        return client.server_capabilities

    able = using(f"{site}/mcp", token_for(alice), use, version=version)
    assert able.tools.list_changed is True
    assert able.prompts is None


def test_one_person_does_not_take_the_streams_of_all(site, alice, monkeypatch):
    monkeypatch.setattr(changes, "MOST_OF_ONE", 1)
    bob = make_user("bob")

    async def second(client):
        async with client.listen(tools_list_changed=True):
            others = await in_thread(opened, bob)
            with pytest.raises(MCPError, match="Too many streams"):
                async with client.listen(tools_list_changed=True):
                    pass
            return others

    def opened(user):
        async def use(client):
            async with client.listen(tools_list_changed=True) as stream:
                return stream.honored.tools_list_changed

        return using(f"{site}/mcp", token_for(user), use)

    assert using(f"{site}/mcp", token_for(alice), second) is True
