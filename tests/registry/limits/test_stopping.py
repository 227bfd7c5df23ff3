"""What is stopped is refused, not found and not offered; a governor decides, with a reason."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db import IntegrityError, transaction

from agents.access import agent_context, linked_toolset
from config.lib.errors import Conflict, InvalidInput, NotAllowed
from registry.calling import call_directly, direct_context
from registry.models import Invocation, Package, Tool
from registry.models.invocation import Caller, Decision
from registry.models.tool import Health
from registry.search.service import search
from registry.selectors import tools_usable_by, tools_visible_to
from registry.services import tool_publish
from registry.standing import standing_of
from registry.stopping import package_resume, package_stop, tool_resume, tool_stop
from tests.factories import make_agent, make_builtin, make_package, make_sequence, make_tool

pytestmark = pytest.mark.django_db


def call(tool, user, **arguments):
    return call_directly(tool, arguments, direct_context(user, caller=Caller.BROWSER))


@pytest.fixture
def calculator():
    return make_builtin("calculator")


def test_a_stopped_tool_is_refused_with_the_reason_and_the_call_is_recorded(
    alice, governor, calculator
):
    tool_stop(calculator, by=governor, reason="It answers 43")

    result = call(calculator, alice, expression="6 * 7")

    error = result.error
    assert (error.code, error.status, error.phase) == ("tool_stopped", 403, "permission")
    assert error.message == "calculator was stopped: It answers 43"
    assert "governor" in error.hint
    assert Invocation.objects.get(pk=result.invocation_id).decision == Decision.STOPPED


def test_a_stopped_package_stops_each_of_its_tools_and_is_named(alice, governor):
    tool = make_tool(package=make_package(name="@acme/mail"), wire_name="send_mail")
    package_stop(tool.package, by=governor, reason="Leaks addresses")

    error = call(tool, alice, text="x").error

    told = "@acme/mail was stopped, and send_mail with it: Leaks addresses"
    assert (error.code, error.message) == ("tool_stopped", told)


def test_a_tool_that_runs_again_answers(alice, governor, calculator):
    tool_stop(calculator, by=governor, reason="It answers 43")
    tool_resume(calculator, by=governor, reason="Mended")

    assert call(calculator, alice, expression="6 * 7").output["result"] == 42


def test_a_resumed_package_leaves_the_tools_stopped_that_were_stopped_one_by_one(alice, governor):
    tool = make_tool()
    package_stop(tool.package, by=governor, reason="All of it")
    tool_stop(tool, by=governor, reason="This one")
    package_resume(tool.package, by=governor, reason="Mended")

    assert call(tool, alice, text="x").error.message == f"{tool.wire_name} was stopped: This one"


def test_a_stop_says_nothing_of_health_and_nothing_to_whom_the_tool_is_hidden(
    alice, charlie, governor
):
    mine = make_tool(owner=alice, visibility="private", execution_health=Health.HEALTHY)
    tool_stop(mine, by=governor, reason="A secret reason")

    error = call(mine, charlie, text="x").error

    assert error.code == "permission_refused"
    assert "secret" not in error.message
    assert call(mine, alice, text="x").error.code == "tool_stopped"
    mine.refresh_from_db()
    assert mine.execution_health == Health.HEALTHY


def test_what_is_stopped_can_be_seen_but_neither_used_found_nor_offered(
    alice, governor, calculator
):
    agent = make_agent(alice, calculator)
    found = search("calculate 6 * 7", user=alice)
    assert [hit.wire_name for hit in found.hits] == ["calculator"]
    package_stop(calculator.package, by=governor, reason="All of it")

    assert calculator in tools_visible_to(alice)
    assert calculator not in tools_usable_by(alice)
    assert not standing_of(calculator.pk).usable_by(alice)
    assert not search("calculate 6 * 7", user=alice).hits
    assert not linked_toolset(agent, alice)
    result = call_directly(
        calculator, {"expression": "1"}, agent_context(agent, alice, caller=Caller.CHAT)
    )
    assert result.error.code == "tool_stopped"


def test_a_sequence_whose_tool_is_stopped_cannot_be_started_when_it_is_stopped_itself(
    alice, governor
):
    sequence = make_sequence(alice)
    tool_stop(sequence, by=governor, reason="Sends twice")

    from registry.errors import ToolStopped
    from sequences.runs import run_start

    with pytest.raises(ToolStopped, match="Sends twice"):
        run_start(sequence, {"text": "1"}, context=direct_context(alice, caller=Caller.BROWSER))


@pytest.mark.parametrize("change", [tool_stop, tool_resume])
def test_only_who_governs_tools_stops_them(alice, calculator, change):
    alice.user_permissions.add(Permission.objects.get(codename="change_package"))
    with pytest.raises(NotAllowed, match="Only a governor"):
        change(calculator, by=alice, reason="I want to")
    calculator.refresh_from_db()
    assert calculator.stopped_at is None


@pytest.mark.parametrize("change", [package_stop, package_resume])
def test_only_who_governs_packages_stops_them(alice, calculator, change):
    alice.user_permissions.add(Permission.objects.get(codename="change_tool"))
    with pytest.raises(NotAllowed, match="Only a governor"):
        change(calculator.package, by=alice, reason="I want to")


@pytest.mark.parametrize("reason", ["", " \n", "x" * 501])
def test_a_stop_needs_a_reason_that_fits(governor, calculator, reason):
    with pytest.raises(InvalidInput) as refused:
        tool_stop(calculator, by=governor, reason=reason)
    assert refused.value.extra["problems"][0]["path"] == "$.reason"


def test_a_second_stop_changes_nothing_and_tells_the_first(governor, calculator):
    tool_stop(calculator, by=governor, reason="The first")
    with pytest.raises(Conflict, match=r"stopped already.*The first"):
        tool_stop(calculator, by=governor, reason="The second")
    tool_resume(calculator, by=governor, reason="Mended")
    with pytest.raises(Conflict, match="is not stopped"):
        tool_resume(calculator, by=governor, reason="Mended")


def test_who_stopped_and_resumed_and_why_is_in_the_history_of_the_admin(governor, calculator):
    tool_stop(calculator, by=governor, reason="It answers 43")
    tool_resume(calculator, by=governor, reason="Mended")

    told = LogEntry.objects.filter(object_id=str(calculator.pk)).order_by("pk")
    assert [(entry.user, entry.change_message) for entry in told] == [
        (governor, "Stopped: It answers 43"),
        (governor, "Resumed: Mended"),
    ]


def test_a_row_that_was_read_before_the_stop_and_saved_after_it_does_not_undo_it(governor):
    tool = make_tool()
    read_before, package = Tool.objects.get(pk=tool.pk), Package.objects.get(pk=tool.package_id)
    tool_stop(tool, by=governor, reason="Now")
    package_stop(tool.package, by=governor, reason="Now")

    read_before.description = "What an import found."
    tool_publish(read_before, author=None)
    package.save()

    standing = standing_of(tool.pk)
    assert (standing.stopped_reason, standing.package_stopped_reason) == ("Now", "Now")


def test_the_database_keeps_no_stop_without_a_reason(calculator):
    with pytest.raises(IntegrityError, match="tool_stop_has_reason"), transaction.atomic():
        Tool.objects.filter(pk=calculator.pk).update(stopped_at="2026-01-01T00:00Z")
    with pytest.raises(IntegrityError, match="package_stop_has_reason"), transaction.atomic():
        Package.objects.update(stopped_reason="Because")
