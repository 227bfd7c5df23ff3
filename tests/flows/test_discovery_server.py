"""Seed 3's agents, nearly word for word, with the running product as their discovery server."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest

from agents.models import Agent
from agents.tokens import token_create
from registry.models import Proposal, Tool
from registry.models.invocation import Invocation
from registry.review.deciding import proposal_approve
from registry.services import tool_publish
from tests.factories import make_agent, make_builtin, make_tool, make_user
from tests.fakes.web_server import serving
from tests.live import START_SECONDS, eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("live")]

# longer than the five seconds that httpx waits: a busy machine may take them for an answer
get, post, delete = (partial(ask, timeout=60) for ask in (httpx.get, httpx.post, httpx.delete))


@dataclass
class DiscoveredTool:
    """What the seed keeps of a tool."""

    name: str
    endpoint: str
    scopes: list[str]
    description: str
    parameters: dict[str, Any]
    returns: str

    @classmethod
    def of(cls, data: dict[str, Any]) -> DiscoveredTool:
        return cls(**{name: data[name] for name in cls.__annotations__})


class DynamicToolAgent:
    """The agent of the seed: it knows an address and a token, and finds out the rest."""

    def __init__(self, name: str, oauth_token: str, discovery_url: str) -> None:
        self.name = name
        self.oauth_token = oauth_token
        self.discovery_url = discovery_url
        self.available_tools: list[DiscoveredTool] = []
        self.tool_usage_count: Counter[str] = Counter()
        self._discover_tools()

    def _discover_tools(self) -> None:
        response = get(self.discovery_url, headers=self.headers)
        if response.status_code == 200:
            self.available_tools = [DiscoveredTool.of(data) for data in response.json()["tools"]]

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.oauth_token}"}

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self.available_tools]

    def rediscover_tools(self) -> None:
        self._discover_tools()

    def get_tool(self, tool_name: str) -> DiscoveredTool:
        return next(tool for tool in self.available_tools if tool.name == tool_name)

    def generate_tool_prompt_context(self) -> str:
        lines = [
            f"- {tool.name}({', '.join(tool.parameters)}): {tool.description}"
            for tool in self.available_tools
        ]
        return "\n".join(["Available tools:", *lines])

    def use_tool(self, tool_name: str, **kwargs: Any) -> Any:
        endpoint = urljoin(self.discovery_url, self.get_tool(tool_name).endpoint)
        response = post(endpoint, json=kwargs, headers=self.headers)
        response.raise_for_status()
        self.tool_usage_count[tool_name] += 1
        return response.json()

    def get_tool_usage_stats(self) -> dict[str, Any]:
        most = self.tool_usage_count.most_common(1)
        return {
            "agent": self.name,
            "total_tools_available": len(self.available_tools),
            "total_tool_calls": self.tool_usage_count.total(),
            "usage_by_tool": dict(self.tool_usage_count),
            "most_used_tool": most[0][0] if most else None,
        }


@pytest.fixture
def heist(live):
    """The seed's tools and people; returns the address of discovery."""
    make_builtin("calculator", required_scopes=["calculator:use"])
    make_tool(wire_name="file_reader", required_scopes=["file_reader:use"])
    make_tool(wire_name="database_query", required_scopes=["database:read"])
    make_tool(wire_name="simulation_data", required_scopes=["simulation:read"])
    return f"{live.url}/api/v1/discovery/"


def token(user, *scopes):
    return token_create(user, name="agent", scopes=["tools:run", *scopes])[1]


def test_each_agent_finds_just_its_tools_and_uses_them(heist):
    crew = make_user()
    hacker = DynamicToolAgent("hacker", token(crew, "simulation:read", "file_reader:use"), heist)
    safecracker = DynamicToolAgent("safecracker", token(crew, "calculator:use"), heist)

    assert hacker.names == ["file_reader", "simulation_data"]
    assert safecracker.names == ["calculator"]
    assert DynamicToolAgent("planner", token(crew), heist).names == []
    assert len(get(heist).json()["tools"]) == 4

    for _ in range(2):
        assert safecracker.use_tool("calculator", expression="2 + 2 * 20")["result"] == 42
    refused = post(f"{heist}tools/calculator/", json={"expression": "1"}, headers=hacker.headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "permission_refused")
    assert safecracker.get_tool_usage_stats() == {
        "agent": "safecracker",
        "total_tools_available": 1,
        "total_tool_calls": 2,
        "usage_by_tool": {"calculator": 2},
        "most_used_tool": "calculator",
    }
    text = get(f"{heist}?format=text", headers=safecracker.headers).text
    assert text.strip() == safecracker.generate_tool_prompt_context()
    assert Invocation.objects.filter(caller="rest", outcome="succeeded").count() == 2


def test_a_tool_that_is_registered_while_all_runs_is_rediscovered_and_used(heist):
    governor = make_user(is_superuser=True, is_staff=True)
    registrar, crew = make_user(), make_user()
    agent = DynamicToolAgent("planner", token(crew, "weather:read"), heist)
    assert agent.names == []
    key = token(registrar, "discovery:register", "weather:read")
    with serving() as service:
        service.on("/tools/weather", lambda it: it.json('{"sky": "blue"}'))
        body = {
            "name": "weather_forecast",
            "endpoint": "/tools/weather",
            "scopes": ["weather:read"],
            "description": "Get weather data",
            "host": "127.0.0.1",
            "port": service.port,
        }
        headers = {"Authorization": f"Bearer {key}"}
        made = post(f"{heist}tools/register/", json=body, headers=headers)
        assert (made.status_code, made.json()["state"]) == (201, "waiting")
        agent.rediscover_tools()
        assert agent.names == []

        proposal_approve(Proposal.objects.get(), by=governor, reason="fine")
        agent.rediscover_tools()
        assert agent.names == ["weather_forecast"]
        assert agent.use_tool("weather_forecast") == {"sky": "blue"}
        searching = partial(
            get,
            urljoin(heist, "/api/v1/tools/search/"),
            params={"q": "weather"},
            headers={"Authorization": f"Bearer {token_create(crew, name='s')[1]}"},
        )
        # the index hears of the tool a moment later
        found = eventually(lambda: searching().json()["results"], what="the tool in the search")
        assert [each["tool"]["name"] for each in found] == ["weather_forecast"]

    gone = delete(f"{heist}tools/weather_forecast/", headers=headers)
    assert gone.status_code == 200
    agent.rediscover_tools()
    assert agent.names == []


def test_rights_change_without_a_restart(heist):
    crew = make_user()
    agent = DynamicToolAgent("analyst", token(crew, "calculator:use"), heist)
    assert agent.names == ["calculator"]
    agent.oauth_token = token(crew, "calculator:use", "database:read")
    agent.rediscover_tools()
    assert agent.names == ["calculator", "database_query"]

    tool = Tool.objects.get(wire_name="calculator")
    tool.required_scopes = ["calculator:root"]
    tool_publish(tool, author=None)
    agent.rediscover_tools()
    assert agent.names == ["database_query"]


def test_two_teams_have_two_toolsets_behind_two_addresses(heist):
    crew = make_user()
    standard = Tool.objects.get(wire_name="calculator")
    experimental = Tool.objects.get(wire_name="simulation_data")
    scopes = ["calculator:use", "simulation:read"]
    make_agent(crew, standard, slug="team-a", scopes=scopes)
    make_agent(crew, standard, experimental, slug="team-b", scopes=scopes)
    key = token(crew, "tools:read", "agents:read", *scopes)
    team_a = DynamicToolAgent("a", key, f"{heist}?agent=team-a")
    team_b = DynamicToolAgent("b", key, f"{heist}?agent=team-b")

    assert team_a.names == ["calculator"]
    assert team_b.names == ["calculator", "simulation_data"]
    assert team_a.use_tool("calculator", expression="6 * 7")["result"] == 42
    call = Invocation.objects.get()
    assert call.agent_id == Agent.objects.get(slug="team-a").pk
    usage = get(urljoin(heist, "/api/v1/agents/team-a/usage/"), headers=team_a.headers).json()
    assert {name: usage[name] for name in team_a.get_tool_usage_stats()} == {
        "agent": "team-a",
        "total_tools_available": 1,
        "total_tool_calls": 1,
        "usage_by_tool": {"calculator": 1},
        "most_used_tool": "calculator",
    }


def test_the_inventory_is_one_request_away(heist):
    assert get(f"{heist}stats/").json() == {
        "total_tools": 4,
        "tools_by_name": ["calculator", "database_query", "file_reader", "simulation_data"],
        "scope_usage": {
            "calculator:use": 1,
            "database:read": 1,
            "file_reader:use": 1,
            "simulation:read": 1,
        },
        "unique_scopes": 4,
    }


def test_a_checker_sees_each_service_and_one_that_was_stopped(live):
    def told():
        answer = get(f"{live.url}/readyz")
        return answer.status_code, {check["name"]: check for check in answer.json()["checks"]}

    eventually(lambda: told()[1]["worker"]["ok"], seconds=START_SECONDS)
    worker = live.processes["worker"]
    worker.stop()
    try:
        eventually(lambda: not told()[1]["worker"]["ok"], seconds=START_SECONDS)
        assert told()[0] == 503
        assert told()[1]["database"]["ok"]
    finally:
        worker.start()
    eventually(lambda: told()[1]["worker"]["ok"], seconds=START_SECONDS)
