"""What agents used: their page, the overview, the CSV and the API."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from agents import usage
from agents.models import ModelUsage
from registry.usage.periods import period_of
from registry.usage.rolling import usage_roll_up
from tests.factories import make_agent, make_tool
from tests.registry.usage.calls import record

pytestmark = pytest.mark.django_db


@pytest.fixture
def auditor(charlie):
    """May see all calls."""
    charlie.user_permissions.add(Permission.objects.get(codename="view_invocation"))
    return charlie


@pytest.fixture
def agent(alice):
    """Alice's agent with two tools, one of which it called; it used 1 100 tokens."""
    used, unused = make_tool(wire_name="used_tool"), make_tool(wire_name="unused_tool")
    agent = make_agent(alice, used, unused, name="Helper")
    record(used, count=3, user=alice, agent_id=agent.pk, caller="chat")
    usage_roll_up()
    record(used, user=alice, agent_id=agent.pk, caller="chat", error_code="tool_failed")
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    for agent_id in (agent.pk, None):
        ModelUsage.objects.create(
            hour=hour,
            agent_id=agent_id,
            model="openai/gpt-4o-mini",
            turns=2,
            completed=2,
            failed=0,
            stopped=0,
            input_tokens=1_000,
            output_tokens=100,
            cached_tokens=400,
            cost=Decimal("0.0125"),
            unpriced=0,
        )
    return agent


def test_the_api_keeps_its_keys_and_tells_more(client_for, alice, agent):
    body = client_for(alice).get(f"/api/v1/agents/{agent.slug}/usage/").json()
    assert body["total_tools_available"] == 2
    assert body["total_tool_calls"] == 4
    assert body["usage_by_tool"] == {"used_tool": 4}
    assert body["most_used_tool"] == "used_tool"
    assert body["total"]["success_rate"] == 0.75
    assert body["models"]["cost_usd"] == 0.0125
    assert body["never_called"] == ["unused_tool"]
    assert [tool["name"] for tool in body["tools"]] == ["used_tool"]
    assert sum(turn["input_tokens"] for turn in body["turns"]) == 1_000
    old = (
        client_for(alice)
        .get(f"/api/v1/agents/{agent.slug}/usage/?from=2026-01-01&to=2026-01-05")
        .json()
    )
    assert (old["total_tool_calls"], old["usage_by_tool"], old["most_used_tool"]) == (0, {}, None)


def test_the_page_shows_calls_tokens_costs_and_what_is_never_called(client_for, alice, agent):
    page = client_for(alice).get(f"/agents/{agent.slug}/usage/").content.decode()
    for words in (
        "used_tool",
        "unused_tool",
        "tool_failed",
        "75\u00a0%",
        "1,100",
        "$0.013",
        "<svg",
    ):
        assert words in page
    assert 'style="' not in page


def test_the_use_of_an_agent_is_for_those_who_see_it_and_for_auditors(
    client_for, bob, auditor, agent
):
    for path in (f"/agents/{agent.slug}/usage/", f"/api/v1/agents/{agent.slug}/usage/"):
        assert client_for(bob).get(path).status_code == 404
        assert client_for(auditor).get(path).status_code == 200


def test_the_overview_lists_an_agent_that_was_never_used_too(client_for, alice, agent):
    make_agent(alice, name="Idle")
    page = client_for(alice).get("/usage/")
    assert page.status_code == 200
    assert "Idle" in page.content.decode()


def test_the_overview_is_of_own_agents_and_of_everything_for_auditors(
    client_for, alice, bob, auditor, agent
):
    record(make_tool(wire_name="elsewhere"), user=bob)
    mine = client_for(alice).get("/usage/").content.decode()
    assert "used_tool" in mine and "elsewhere" not in mine and "Everybody" not in mine
    assert "Nothing was used in this time" in client_for(bob).get("/usage/").content.decode()
    every = client_for(auditor).get("/usage/").content.decode()
    assert "used_tool" in every and "elsewhere" in every
    assert "Nothing was used" in client_for(auditor).get("/usage/?of=mine").content.decode()
    assert (
        "elsewhere" not in client_for(alice).get("/usage/?format=csv&part=calls").content.decode()
    )


@pytest.mark.parametrize("part", ["calls", "tokens", "tools", "errors", "never"])
def test_every_table_of_an_agent_is_downloaded(client_for, alice, agent, part):
    answer = client_for(alice).get(f"/agents/{agent.slug}/usage/?format=csv&part={part}")
    assert answer["Content-Disposition"].endswith(f'{part}-30d.csv"')
    assert len(answer.content.decode().splitlines()) > 1


@pytest.mark.parametrize("part", ["calls", "tokens", "models", "errors", "failing", "slowest"])
def test_every_table_of_the_overview_is_downloaded(client_for, alice, agent, part):
    answer = client_for(alice).get(f"/usage/?format=csv&part={part}")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/csv")


def test_an_agent_that_was_not_used_says_what_to_do(client_for, alice):
    agent = make_agent(alice)
    page = client_for(alice).get(f"/agents/{agent.slug}/usage/").content.decode()
    assert "Not used in this time" in page
    assert "Go to the agent" in page


def test_the_page_asks_the_same_for_few_tools_and_for_many(
    client_for, alice, agent, django_assert_max_num_queries
):
    for _ in range(12):
        record(make_tool(), agent_id=agent.pk, user=alice)
    client = client_for(alice)
    with django_assert_max_num_queries(14):
        client.get(f"/agents/{agent.slug}/usage/")


def test_costs_that_nobody_knows_stay_unknown(alice):
    agent = make_agent(alice)
    assert usage.model_total([agent.pk], period_of("30d")).cost is None
    assert usage.model_total([agent.pk], period_of("30d")).as_json()["cost_usd"] is None
