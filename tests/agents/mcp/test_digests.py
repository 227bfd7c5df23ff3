"""The digest of a list is another whenever the list is, and only then."""

import pytest

from agents.bearer import Bearer
from agents.mcp.digests import GONE, digest_of
from agents.mcp.endpoint import Endpoint
from agents.models import Agent, AgentTool
from registry.models import Package
from tests.factories import make_agent, make_builtin, make_run_code, make_tool, make_user

pytestmark = pytest.mark.django_db


def at(user, agent=None, scopes=None, **fields):
    return digest_of(
        Endpoint(bearer=Bearer(user=user, scopes=scopes, key="k"), agent=agent, **fields)
    )


def test_it_stays_while_nothing_that_is_listed_changes():
    alice, tool = make_user("alice"), make_tool()
    before = at(alice)
    tool.quality, tool.calls_per_minute = 0.5, 7
    tool.save()
    make_tool(owner=make_user("bob"), visibility="private")
    assert at(alice) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda tool: type(tool).objects.update(version=9),
        lambda tool: type(tool).objects.update(wire_name="other"),
        lambda tool: type(tool).objects.update(deprecated_on="2030-01-01"),
        lambda tool: type(tool).objects.update(required_scopes=["a:b"]),
        lambda tool: Package.objects.update(allowed_hosts=["example.com:443"]),
        lambda tool: make_tool(),
        lambda tool: make_run_code(),
    ],
)
def test_it_is_another_when_what_is_listed_changes(change):
    alice, tool = make_user("alice"), make_tool()
    before = at(alice)
    change(tool)
    assert at(alice) != before


def test_a_token_that_has_not_the_scopes_of_a_tool_does_not_see_it_change():
    alice, scopes = make_user("alice"), frozenset({"tools:read"})
    tool = make_tool(required_scopes=["a:b"])
    before = at(alice, scopes=scopes)
    type(tool).objects.update(version=9)
    assert at(alice, scopes=scopes) == before


def test_of_a_progressive_list_only_the_running_of_code_counts():
    alice = make_user("alice")
    agent = make_agent(alice, make_builtin("calculator"))
    before = at(alice, agent, progressive=True)
    AgentTool.objects.all().delete()
    assert at(alice, agent, progressive=True) == before
    make_run_code()
    assert at(alice, agent, progressive=True) == before
    Agent.objects.update(code_execution=True)
    assert at(alice, agent, progressive=True) != before


def test_an_agent_or_a_person_who_is_gone_lists_nothing():
    alice = make_user("alice")
    agent = make_agent(alice)
    Agent.objects.all().delete()
    assert at(alice, agent) == GONE
    type(alice).objects.update(is_active=False)
    assert at(alice) == GONE
