"""What is told of the tools, and to whom."""

import pytest
from django.test import Client
from django.utils import timezone

from agents.bearer import Bearer
from agents.discovery.audience import audience_of, toolset_audience
from agents.discovery.listing import page_of, stats_of
from agents.models.agent_tool import Approval
from agents.services import tool_link
from agents.tokens import token_create
from config.lib.errors import NotAllowed
from registry.models import Tool
from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from registry.services import tool_review
from tests.factories import (
    make_agent,
    make_builtin,
    make_package,
    make_run_code,
    make_sequence,
    make_tool,
    make_user,
)

pytestmark = pytest.mark.django_db

PLACE = "/api/v1/discovery/"


def token(user, *scopes):
    return {"Authorization": f"Bearer {token_create(user, name='x', scopes=scopes)[1]}"}


def discover(path=PLACE, headers=None):
    answer = Client().get(path, headers=headers or {})
    assert answer.status_code == 200, answer.content
    return answer.json()


def names(path=PLACE, headers=None):
    return [tool["name"] for tool in discover(path, headers)["tools"]]


def told(audience):
    return [entry.name for entry, _ in page_of(audience).found]


def test_a_stranger_is_told_of_public_tools_as_the_seed_has_them():
    tool = make_builtin("calculator", required_scopes=["calculator:use"])
    answer = discover()

    assert answer["protocol"] == "MCP"
    assert answer["next"] is None
    [only] = answer["tools"]
    assert only["name"] == "calculator"
    assert only["endpoint"] == "/api/v1/discovery/tools/calculator/"
    assert only["scopes"] == ["calculator:use"]
    assert only["parameters"] == tool.input_schema["properties"]
    assert only["inputSchema"] == tool.input_schema
    assert (only["id"], only["version"], only["kind"]) == (str(tool.pk), 1, "builtin")
    assert set(only) == {
        *("name", "endpoint", "scopes", "description", "returns", "parameters", "id", "title"),
        *("version", "kind", "health", "inputSchema", "outputSchema"),
    }


def test_a_stranger_is_told_of_nothing_that_is_not_public_approved_and_running(alice, governor):
    make_tool(
        wire_name="mine",
        owner=alice,
        visibility=Visibility.PRIVATE,
        package=None,
        kind="api",
        definition={},
    )
    make_tool(wire_name="waits", review_status=ReviewStatus.CANDIDATE)
    make_tool(wire_name="unsafe", review_status=ReviewStatus.QUARANTINED)
    make_tool(wire_name="of_unread", package=make_package(review_status=ReviewStatus.CANDIDATE))
    make_tool(wire_name="retired", deprecated_on=timezone.localdate())
    make_tool(wire_name="gone", deleted_at=timezone.now())
    make_tool(
        wire_name="halted", stopped_at=timezone.now(), stopped_by=governor, stopped_reason="x"
    )
    make_run_code()
    make_tool(wire_name="public")

    assert names() == ["public"]


def test_the_list_says_nothing_of_owners_and_secrets(alice):
    make_tool(
        wire_name="fetch",
        kind="api",
        package=None,
        owner=alice,
        definition={
            "url": "https://internal.example/",
            "auth": {"type": "bearer", "env": "MY_KEY"},
        },
    )
    text = Client().get(PLACE).content.decode()

    assert "fetch" in text
    for secret in ("alice", "internal.example", "MY_KEY", "definition"):
        assert secret not in text


def test_a_token_is_told_just_what_all_its_scopes_allow(alice):
    make_tool(wire_name="calculator", required_scopes=["calculator:use"])
    make_tool(wire_name="database", required_scopes=["database:read"])
    make_tool(wire_name="both", required_scopes=["calculator:use", "database:read"])
    make_tool(wire_name="free")

    assert names(headers=token(alice, "calculator:use")) == ["calculator", "free"]
    both = token(alice, "calculator:use", "database:read")
    assert names(headers=both) == ["both", "calculator", "database", "free"]
    assert names(headers=token(alice)) == ["both", "calculator", "database", "free"]


def test_a_sequence_takes_the_scopes_of_its_steps_too(alice):
    inner = make_tool(wire_name="mailer", required_scopes=["mail:send"])
    steps = [{"stepNumber": 1, "toolToRunId": str(inner.pk), "inputMapping": {}}]
    middle = make_sequence(alice, wire_name="middle", definition={"format": 1, "steps": steps})
    outer = [{"stepNumber": 1, "toolToRunId": str(middle.pk), "inputMapping": {}}]
    make_sequence(alice, wire_name="outer", definition={"format": 1, "steps": outer})

    assert names(headers=token(alice, "tools:read")) == []
    allowed = discover(headers=token(alice, "tools:read", "mail:send"))["tools"]
    assert {tool["name"]: tool["scopes"] for tool in allowed} == {
        name: ["mail:send"] for name in ("mailer", "middle", "outer")
    }
    Tool.objects.filter(pk=inner.pk).update(required_scopes=["mail:other"])
    assert names(headers=token(alice, "tools:read", "mail:send")) == []


def test_a_step_that_is_switched_off_takes_no_scope(alice):
    inner = make_tool(wire_name="mailer", required_scopes=["mail:send"])
    steps = [{"stepNumber": 1, "toolToRunId": str(inner.pk), "inputMapping": {}, "disabled": True}]
    make_sequence(alice, wire_name="quiet", definition={"format": 1, "steps": steps})

    assert names(headers=token(alice, "tools:read")) == ["quiet"]


def test_without_the_scope_to_read_a_token_is_told_of_public_tools_only(alice):
    make_tool(wire_name="own", owner=alice, visibility=Visibility.PRIVATE)
    make_tool(wire_name="public")

    assert names(headers=token(alice, "tools:run")) == ["public"]
    assert names(headers=token(alice, "tools:read")) == ["own", "public"]


def test_a_person_in_the_browser_is_told_of_all_they_may_use(alice, charlie, client_for):
    make_tool(wire_name="own", owner=alice, visibility=Visibility.PRIVATE, required_scopes=["x:y"])

    assert [tool["name"] for tool in client_for(alice).get(PLACE).json()["tools"]] == ["own"]
    assert client_for(charlie).get(PLACE).json()["tools"] == []


def test_an_unknown_token_is_refused_and_not_taken_for_a_stranger():
    answer = Client().get(PLACE, headers={"Authorization": "Bearer oft_wrong"})

    assert (answer.status_code, answer.json()["code"]) == (401, "authentication_failed")


def test_two_agents_have_two_toolsets(alice):
    calculator, weather = make_tool(wire_name="calculator"), make_tool(wire_name="weather")
    make_agent(alice, calculator, slug="team-a")
    experimental = make_agent(alice, calculator, weather, slug="team-b")
    tool_link(experimental, weather.pk, name="forecast", description="Looks up.")
    mine = token(alice)

    assert names(f"{PLACE}?agent=team-a", mine) == ["calculator"]
    [_, forecast] = discover(f"{PLACE}?agent=team-b", mine)["tools"]
    assert (forecast["name"], forecast["description"]) == ("forecast", "Looks up.")
    assert forecast["endpoint"] == "/api/v1/discovery/tools/forecast/?agent=team-b"


def test_an_agents_toolset_takes_the_scopes_of_the_agent_and_of_the_token(alice):
    mailer = make_tool(wire_name="mailer", required_scopes=["mail:send"])
    agent = make_agent(alice, mailer, slug="planner")

    assert names(f"{PLACE}?agent=planner", token(alice)) == []
    agent.scopes = ["mail:send"]
    agent.save()
    assert names(f"{PLACE}?agent=planner", token(alice)) == ["mailer"]
    assert names(f"{PLACE}?agent=planner", token(alice, "tools:read")) == []
    assert names(f"{PLACE}?agent=planner", token(alice, "tools:read", "mail:send")) == ["mailer"]


@pytest.mark.parametrize(
    ("path", "scopes", "status"),
    [
        ("?agent=hers", ("tools:read",), 404),
        ("?agent=nobody", (), 404),
        ("?agent=own", ("tools:run",), 403),
        ("?arm=A", (), 400),
        ("?agent=own&arm=A", (), 404),
        ("?agent=own&arm=C", (), 400),
        ("?limit=0", (), 400),
        ("?cursor=%21", (), 400),
        ("?cursor=AA", (), 400),
        ("?format=xml", (), 400),
    ],
)
def test_what_cannot_be_answered_is_refused(alice, charlie, path, scopes, status):
    make_agent(charlie, slug="hers")
    make_agent(alice, slug="own")
    answer = Client().get(PLACE + path, headers=token(alice, *scopes))

    assert answer.status_code == status
    assert answer.json()["message"]


def test_a_stranger_is_asked_for_a_token_when_they_ask_for_an_agent(alice):
    make_agent(alice, slug="planner")

    assert Client().get(f"{PLACE}?agent=planner").status_code == 401


def test_the_token_of_an_agent_is_told_what_the_agent_may_call(alice):
    free, mailer = (
        make_tool(wire_name="free"),
        make_tool(wire_name="mailer", required_scopes=["m:s"]),
    )
    renamed, denied = make_tool(wire_name="plain"), make_tool(wire_name="denied")
    agent = make_agent(alice, free, renamed, slug="planner", scopes=["m:s"])
    tool_link(agent, renamed.pk, name="zebra")
    tool_link(agent, denied.pk, approval=Approval.DENY)
    bearer = Bearer(user=alice, scopes=frozenset({"tools:read", "m:s"}), key="k", agent_id=agent.pk)

    assert told(audience_of(alice, bearer)) == ["free", "mailer", "zebra"]
    agent.approval_rules.create(effect="deny", pattern="mailer")
    assert told(audience_of(alice, bearer)) == ["free", "zebra"]
    agent.scopes = []
    agent.save()
    agent.approval_rules.all().delete()
    assert told(audience_of(alice, bearer)) == ["free", "zebra"]
    assert mailer.required_scopes == ["m:s"]


def test_the_token_of_an_agent_is_refused_another_agents_toolset(alice):
    one, other = make_agent(alice, slug="one"), make_agent(alice, slug="other")
    bearer = Bearer(user=alice, scopes=frozenset({"tools:read"}), key="k", agent_id=one.pk)

    assert told(toolset_audience(alice, bearer, slug="one")) == []
    with pytest.raises(NotAllowed, match="is the agent “one” and not “other”"):
        toolset_audience(alice, bearer, slug=other.slug)


def test_what_has_changed_is_told_by_the_very_next_request(alice, governor):
    tool = make_tool(wire_name="weather", description="Old.")
    before = discover()
    tool.description = "New."
    tool.save()
    after = discover()
    assert after["tools"][0]["description"] == "New."
    assert after["version"] != before["version"]

    tool.required_scopes = ["weather:read"]
    tool.save()
    assert names(headers=token(alice, "tools:read")) == []
    tool_review(tool, status=ReviewStatus.QUARANTINED, by=governor, reason="unsafe")
    assert names() == []
    tool_review(tool, status=ReviewStatus.APPROVED, by=governor, reason="safe")
    assert names() == ["weather"]
    Tool.objects.filter(pk=tool.pk).update(execution_health="broken")
    assert discover()["tools"][0]["health"] == "execution_broken"


def test_whoever_has_the_present_list_is_sent_nothing(alice):
    tool = make_tool(wire_name="weather")
    answer = Client().get(PLACE)
    etag = answer["ETag"]

    same = Client().get(PLACE, headers={"If-None-Match": f'W/{etag}, "other"'})
    assert (same.status_code, same.content, same["ETag"]) == (304, b"", etag)
    version = answer.json()["version"]
    brief = discover(f"{PLACE}?since={version}")
    assert (brief["changed"], brief["tools"], brief["version"]) == (False, [], version)
    tool.description = "New."
    tool.save()
    assert Client().get(PLACE, headers={"If-None-Match": etag}).status_code == 200
    assert discover(f"{PLACE}?since={version}")["changed"] is True


def test_pages_follow_each_other_to_the_end(alice):
    for number in range(7):
        make_tool(wire_name=f"tool_{'ABab_yz'[number]}")
    agent = make_agent(alice, slug="planner")
    link = make_tool(wire_name="plain")
    tool_link(agent, link.pk, name="tool_b2")
    seen, cursor = [], ""
    bearer = Bearer(user=alice, scopes=None, key="k", agent_id=agent.pk)
    while True:
        page = page_of(audience_of(alice, bearer), limit=3, cursor=cursor)
        seen += [entry.name for entry, _ in page.found]
        cursor = page.next
        if not cursor:
            break
    assert seen == ["tool_A", "tool_B", "tool__", "tool_a", "tool_b", "tool_b2", "tool_y", "tool_z"]
    first = discover(f"{PLACE}?limit=2")
    assert [tool["name"] for tool in first["tools"]] == ["plain", "tool_A"]
    rest = names(f"{PLACE}?limit=50&cursor={first['next']}")
    assert rest[0] == "tool_B"
    assert len(rest) == 6


def test_the_list_as_a_model_reads_it():
    make_builtin("calculator", description="Perform mathematical\n calculations")
    expected = "Available tools:\n- calculator(expression): Perform mathematical calculations\n"

    for answer in (
        Client().get(f"{PLACE}?format=text"),
        Client().get(PLACE, headers={"Accept": "text/plain"}),
    ):
        assert answer["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.content.decode() == expected
    Tool.objects.update(deleted_at=timezone.now())
    assert Client().get(f"{PLACE}?format=text").content == b"No tools are available.\n"


def test_the_statistics_are_those_of_the_same_list(alice):
    make_tool(wire_name="calculator", required_scopes=["calculator:use"])
    make_tool(wire_name="both", required_scopes=["calculator:use", "file_reader:use"])
    make_tool(wire_name="own", owner=alice, visibility=Visibility.PRIVATE)

    assert discover(f"{PLACE}stats/") == {
        "total_tools": 2,
        "tools_by_name": ["both", "calculator"],
        "scope_usage": {"calculator:use": 2, "file_reader:use": 1},
        "unique_scopes": 2,
    }
    mine = discover(f"{PLACE}stats/", token(alice, "tools:read", "calculator:use"))
    assert mine["tools_by_name"] == ["calculator", "own"]
    agent = make_agent(alice, Tool.objects.get(wire_name="own"), slug="planner")
    assert discover(f"{PLACE}stats/?agent={agent.slug}", token(alice))["total_tools"] == 1
    assert stats_of(audience_of(make_user(), None))["total_tools"] == 2


def test_a_tool_with_a_taken_name_is_called_by_its_id():
    tool = make_tool(wire_name="register")

    assert discover()["tools"][0]["endpoint"] == f"/api/v1/discovery/tools/{tool.pk}/"


def test_the_list_takes_as_many_queries_for_many_tools_as_for_few(
    alice, django_assert_max_num_queries
):
    inner = make_tool(required_scopes=["a:b"])
    steps = [{"stepNumber": 1, "toolToRunId": str(inner.pk), "inputMapping": {}}]
    for number in range(12):
        make_tool(required_scopes=[f"s:{number}"])
        make_sequence(alice, definition={"format": 1, "steps": steps})
    with django_assert_max_num_queries(5):
        page_of(audience_of(alice, None))
