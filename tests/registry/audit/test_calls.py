"""Reading and exporting recorded calls: one's own, and everybody's for governance."""

import csv
import io
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from config.lib.masking import MASK
from registry.audit import paging
from registry.calling import call_directly, direct_context
from registry.models import Invocation, Tool
from registry.models.invocation import Caller
from registry.roles import Role
from tests import factories
from tests.registry.audit.records import call, person
from tests.registry.audit.test_audit_pages import text_of

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]


def ids(answer: Any) -> list[str]:
    """Return the ids of the calls that an answer of the API lists."""
    return [found["id"] for found in answer.json()["results"]]


@pytest.fixture
def tool(db: None) -> Tool:
    """A tool to have been called."""
    return factories.make_tool(wire_name="shout")


@pytest.fixture
def watcher(db: None) -> User:
    """Sees that calls were made, and not what they were given."""
    user = factories.make_user("watcher")
    user.user_permissions.add(Permission.objects.get(codename="view_invocation"))
    return User.objects.get(pk=user.pk)


def test_a_person_sees_their_own_calls_and_no_others(
    tool: Tool, alice: User, bob: User, client_for: SignIn
) -> None:
    own, other = call(tool, alice), call(tool, bob)
    client = client_for(alice)
    assert ids(client.get("/api/v1/invocations/")) == [str(own.pk)]
    assert ids(client.get("/api/v1/invocations/?user=bob")) == []
    assert str(other.pk) not in client.get("/invocations/").content.decode()
    assert str(other.pk) not in text_of(client.get("/invocations/export/?format=json"))
    assert client.get(f"/invocations/{other.pk}/").status_code == 404
    assert client.get(f"/api/v1/invocations/{other.pk}/").status_code == 404


def test_being_staff_alone_shows_no_calls_of_others(
    tool: Tool, bob: User, client_for: SignIn
) -> None:
    other, staff = call(tool, bob), factories.make_user("warden", is_staff=True)
    assert client_for(staff).get(f"/invocations/{other.pk}/").status_code == 404


@pytest.mark.parametrize("role", [Role.GOVERNOR, Role.AUDITOR])
def test_governance_sees_all_calls_with_what_they_were_given(
    role: Role, tool: Tool, alice: User, client_for: SignIn
) -> None:
    other, client = call(tool, alice), client_for(person(role))
    (found,) = client.get("/api/v1/invocations/").json()["results"]
    assert (found["arguments"], found["output"]) == ({"text": "whisper"}, "loud answer")
    assert "whisper" in client.get(f"/invocations/{other.pk}/").content.decode()
    assert "whisper" in text_of(client.get("/invocations/export/"))
    assert (
        "whisper" in client.get(f"/admin/registry/invocation/{other.pk}/change/").content.decode()
    )


def test_who_may_see_calls_but_not_their_content_sees_none_of_it(
    tool: Tool, alice: User, watcher: User, client_for: SignIn
) -> None:
    error = {"code": "tool_failed", "message": "whisper failed", "hint": "", "extra": {}}
    fine = call(tool, alice)
    failed = call(tool, alice, outcome="failed", error_code="tool_failed", error=error)
    watcher.is_staff = True
    watcher.save()
    client = client_for(watcher)
    for address in (
        "/invocations/",
        f"/invocations/{fine.pk}/",
        f"/invocations/{failed.pk}/",
        "/api/v1/invocations/",
        f"/api/v1/invocations/{fine.pk}/",
        f"/api/v1/invocations/{failed.pk}/",
        f"/admin/registry/invocation/{failed.pk}/change/",
    ):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "whisper" not in answer.content.decode() and "loud" not in answer.content.decode()
    for form in ("csv", "json"):
        exported = text_of(client.get(f"/invocations/export/?format={form}"))
        assert "whisper" not in exported and "tool_failed" in exported


def test_what_is_called_a_secret_is_masked_for_others_and_in_every_export(
    tool: Tool, alice: User, client_for: SignIn
) -> None:
    own = call(tool, alice, arguments={"api_key": "typed-in", "deep": [{"password": 1234567}]})
    auditor = client_for(person(Role.AUDITOR))
    for answer in (auditor.get(f"/api/v1/invocations/{own.pk}/").json(),):
        assert answer["arguments"] == {"api_key": MASK, "deep": [{"password": MASK}]}
    for client in (auditor, client_for(alice)):
        assert "typed-in" not in text_of(client.get("/invocations/export/"))
    assert "typed-in" in client_for(alice).get(f"/invocations/{own.pk}/").content.decode()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("tool=shout", 2),
        ("tool={tool}", 2),
        ("tool=unknown", 0),
        ("tool=shout&version=7", 1),
        ("tool=shout&version=x", 0),
        ("user=alice", 1),
        ("user=nobody", 0),
        ("user=me", 0),
        ("agent=helper", 1),
        ("agent={agent}", 1),
        ("agent=none", 0),
        ("caller=chat", 1),
        ("outcome=failed", 1),
        ("outcome=succeeded", 1),
        ("error=permission_refused", 1),
        ("decision=refused", 1),
        ("decision=allowed", 1),
        ("since=2020-01-01", 2),
        ("until=2020-01-01", 0),
    ],
)
def test_each_filter_narrows_in_every_place(
    query: str, found: int, tool: Tool, alice: User, bob: User, client_for: SignIn
) -> None:
    agent = factories.make_agent(alice, tool, slug="helper")
    call(tool, alice, agent_id=agent.pk, caller="chat", tool_version=7)
    refused = {"outcome": "failed", "error_code": "permission_refused", "decision": "refused"}
    call(tool, bob, error={"code": "permission_refused"}, **refused)
    client = client_for(person(Role.AUDITOR))
    query = query.format(tool=tool.pk, agent=agent.pk)
    assert len(ids(client.get(f"/api/v1/invocations/?{query}"))) == found
    page = client.get(f"/invocations/?{query}")
    assert len(page.context["rows"]) == found
    assert (
        len(json.loads(text_of(client.get(f"/invocations/export/?format=json&{query}")))) == found
    )


@pytest.mark.parametrize("place", ["/invocations/", "/invocations/export/", "/api/v1/invocations/"])
def test_a_version_without_its_tool_is_refused(place: str, alice: User, client_for: SignIn) -> None:
    answer = client_for(alice).get(f"{place}?version=1")
    assert answer.status_code == 400
    assert "Name the tool as well." in answer.content.decode()


def test_every_call_stands_on_exactly_one_page_and_nothing_is_counted(
    tool: Tool,
    alice: User,
    client_for: SignIn,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: Any,
) -> None:
    monkeypatch.setattr(paging, "ROWS_A_PAGE", 4)
    expected = {call(tool, alice).pk for _ in range(10)}
    client, seen, query = client_for(alice), [], "?"
    while query:
        with django_assert_max_num_queries(8) as captured:
            page = client.get(f"/invocations/{query}").context
        assert not any("COUNT(" in asked["sql"] for asked in captured.captured_queries)
        seen += [row[0].pk for row in page["rows"]]
        query = page["older"] and f"?cursor={page['older']}"
    assert len(seen) == 10 and set(seen) == expected


def test_the_export_names_tool_agent_person_decision_and_cost(
    tool: Tool, alice: User, client_for: SignIn
) -> None:
    agent = factories.make_agent(alice, tool, name="Helper")
    call(tool, alice, agent_id=agent.pk, cost=Decimal("0.0025"))
    (row,) = csv.DictReader(io.StringIO(text_of(client_for(alice).get("/invocations/export/"))))
    assert (row["tool"], row["agent"], row["user"]) == ("shout", "Helper", "alice")
    assert (row["decision"], row["duration_ms"], Decimal(row["cost_usd"])) == (
        *("allowed", "12", Decimal("0.0025")),
    )


def test_a_call_that_ran_records_its_price_and_that_it_was_allowed(alice: User) -> None:
    tool = factories.make_builtin("calculator", cost_per_call=Decimal("0.01"))
    call_directly(tool, {"expression": "1+1"}, direct_context(alice, caller=Caller.REST))
    call_directly(tool, {"expression": "1/0"}, direct_context(alice, caller=Caller.REST))
    told = Invocation.objects.values_list("decision", "cost")
    assert set(told) == {("allowed", Decimal("0.01"))}


def test_a_call_that_did_not_run_costs_nothing(alice: User) -> None:
    tool = factories.make_builtin("calculator", cost_per_call=Decimal("0.01"))
    call_directly(tool, {"wrong": 1}, direct_context(alice, caller=Caller.REST))
    call = Invocation.objects.get()
    assert (call.error_code, call.decision, call.cost) == ("invalid_arguments", "allowed", None)


def test_a_refused_call_is_recorded_as_refused(alice: User, bob: User) -> None:
    tool = factories.make_builtin("calculator", visibility="private", owner=bob)
    call_directly(tool, {"expression": "1"}, direct_context(alice, caller=Caller.REST))
    assert Invocation.objects.get().decision == "refused"


def test_a_call_that_the_agent_denies_is_recorded_as_denied(alice: User) -> None:
    from agents.access import context_for

    tool = factories.make_builtin("calculator")
    agent = factories.make_agent(alice, tool)
    agent.links.update(approval="deny")
    context = context_for(alice, agent.slug, caller=Caller.REST)
    call_directly(tool, {"expression": "1"}, context)
    assert Invocation.objects.get().decision == "denied"
