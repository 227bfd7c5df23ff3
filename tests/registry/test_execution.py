"""The one door: every check, and what is recorded."""

import pytest
from django.contrib.auth.models import User

from registry.approval import Effect, Verdict
from registry.context import CallContext
from registry.errors import ToolCrashed, ToolFailed, ToolInputRejected
from registry.execution import LARGEST_OUTPUT, LARGEST_RECORD, invoke
from registry.executors import base
from registry.executors.base import Output
from registry.loading import load_spec
from registry.models import Invocation
from registry.models.invocation import Caller, Outcome
from registry.models.package import ReviewStatus
from registry.models.tool import Health, Visibility
from registry.results import Failed, Succeeded
from registry.services import package_review, tool_publish
from registry.specs import ToolSpec
from tests.factories import make_builtin, make_package, make_tool

pytestmark = pytest.mark.django_db


def context(user: User, **fields) -> CallContext:
    return CallContext(user=user, caller=Caller.REST, **fields)


def call(tool, arguments, ctx):
    return invoke(load_spec(tool), arguments, ctx)


@pytest.fixture
def scripted(monkeypatch):
    """Let tools of kind npm do what the test says."""

    class Scripted:
        def __init__(self):
            self.does = lambda arguments, context: arguments

        def execute(self, spec, arguments, context):
            return Output(value=self.does(arguments, context))

    executor = Scripted()
    real = base.executor_for
    monkeypatch.setattr(
        "registry.execution.executor_for",
        lambda kind: executor if kind == "npm" else real(kind),
    )
    return executor


def raising(error):
    def act(arguments, context):
        raise error

    return act


def test_a_built_in_tool_answers_and_its_call_is_recorded(alice):
    tool = make_builtin("calculator")

    result = call(tool, {"expression": "17 * 23"}, context(alice))

    assert isinstance(result, Succeeded)
    assert result.output["result"] == 391
    row = Invocation.objects.get(pk=result.invocation_id)
    assert (row.outcome, row.user, row.caller) == (Outcome.SUCCEEDED, alice, Caller.REST)
    assert row.arguments == {"expression": "17 * 23"}


def test_arguments_that_miss_the_schema_name_the_field(alice):
    result = call(make_builtin("calculator"), {"expr": "1"}, context(alice))

    assert isinstance(result, Failed)
    assert result.error.code == "invalid_arguments"
    assert "expression" in result.error.message
    assert result.error.as_dict()["extra"]["phase"] == "validate"


def test_arguments_that_are_no_object_are_refused(alice):
    result = call(make_builtin("calculator"), ["1+1"], context(alice))

    assert result.error.code == "invalid_arguments"
    assert "JSON object" in result.error.message


def test_the_schemas_defaults_are_applied(alice, scripted):
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}
    tool = make_tool(input_schema=schema)

    assert call(tool, {}, context(alice)).output == {"n": 3}


def test_presets_of_the_agent_win_over_what_the_model_sent(alice, scripted):
    ctx = context(alice, presets=lambda tool_id: {"text": "fixed"})

    assert call(make_tool(), {"text": "sent"}, ctx).output == {"text": "fixed"}


def test_a_tool_of_somebody_else_is_refused(alice, charlie):
    tool = make_tool(owner=alice, visibility=Visibility.PRIVATE)

    result = call(tool, {"text": "x"}, context(charlie))

    assert result.error.code == "permission_refused"


@pytest.mark.parametrize("status", [ReviewStatus.QUARANTINED, ReviewStatus.REJECTED])
def test_a_tool_that_review_stopped_is_refused_even_to_its_owner(alice, status):
    tool = make_tool(owner=alice, review_status=status)

    assert call(tool, {"text": "x"}, context(alice)).error.code == "permission_refused"


def test_a_quarantined_package_stops_all_of_its_tools(alice):
    tool = make_tool(package=make_package(review_status=ReviewStatus.QUARANTINED))

    assert call(tool, {"text": "x"}, context(alice)).error.code == "permission_refused"


def test_a_missing_scope_is_named(alice, scripted):
    tool = make_tool(required_scopes=["mail:send", "mail:read"])

    result = call(tool, {"text": "x"}, context(alice, scopes=frozenset({"mail:read"})))

    assert result.error.code == "permission_refused"
    assert result.error.extra["missing_scopes"] == ["mail:send"]


def test_a_caller_without_scope_limits_needs_no_scope(alice, scripted):
    tool = make_tool(required_scopes=["mail:send"])

    assert isinstance(call(tool, {"text": "x"}, context(alice, scopes=None)), Succeeded)


def denying(spec: ToolSpec) -> Verdict:
    return Verdict(effect=Effect.DENY)


def test_a_tool_that_the_agent_denies_is_refused(alice, scripted):
    result = call(make_tool(), {"text": "x"}, context(alice, policy=denying))

    assert result.error.code == "approval_denied"
    assert result.error.as_dict()["extra"]["phase"] == "approval"


def test_a_missing_credential_is_named(alice, scripted):
    tool = make_tool(package=make_package(env=[{"name": "EXA_API_KEY"}]))

    result = call(tool, {"text": "x"}, context(alice))

    assert result.error.code == "missing_credential"
    assert "EXA_API_KEY" in result.error.message
    assert result.error.extra["missing"] == ["EXA_API_KEY"]


def test_a_tool_receives_only_the_variables_it_declares(alice, scripted):
    tool = make_tool(package=make_package(env=[{"name": "MINE"}]))
    scripted.does = lambda arguments, ctx: sorted(ctx.env(["MINE", "OTHER"]))
    stored = {"MINE": "mine-secret", "OTHER": "other-secret"}
    ctx = context(alice, env=lambda names: {n: stored[n] for n in names})

    assert call(tool, {"text": "x"}, ctx).output == ["MINE"]


def test_a_secret_in_the_output_the_error_or_the_arguments_is_masked(alice, scripted):
    tool = make_tool(package=make_package(env=[{"name": "KEY"}]))
    ctx = context(alice, env=lambda names: {"KEY": "canary-123456"})

    scripted.does = lambda arguments, c: {"echo": c.env(["KEY"])["KEY"]}
    told = call(tool, {"text": "canary-123456"}, ctx)
    scripted.does = raising(ToolFailed("bad key canary-123456", seen="canary-123456"))
    failed = call(tool, {"text": "x"}, ctx)

    assert told.output == {"echo": "••••••"}
    assert "canary" not in failed.error.message
    assert "canary" not in str(list(Invocation.objects.values("arguments", "output", "error")))


def test_an_unexpected_exception_becomes_an_error_that_tells_nothing_secret(alice, scripted):
    scripted.does = raising(RuntimeError("internal detail"))

    result = call(make_tool(wire_name="odd"), {"text": "x"}, context(alice))

    assert result.error.code == "tool_failed"
    assert result.error.message == "odd failed: RuntimeError."


def test_an_output_over_the_limit_is_an_error_with_advice(alice, scripted):
    scripted.does = lambda arguments, c: "x" * (LARGEST_OUTPUT + 1)

    result = call(make_tool(), {"text": "x"}, context(alice))

    assert result.error.code == "output_rejected"
    assert "Ask the tool for less" in result.error.hint


def test_a_large_output_is_given_whole_and_recorded_as_a_preview(alice, scripted):
    scripted.does = lambda arguments, c: "y" * (LARGEST_RECORD + 1)

    result = call(make_tool(), {"text": "x"}, context(alice))

    assert len(result.output) == LARGEST_RECORD + 1
    row = Invocation.objects.get(pk=result.invocation_id)
    assert row.output["truncated"] is True


def test_what_postgresql_cannot_store_is_replaced(alice, scripted):
    scripted.does = lambda arguments, c: {"a\x00b": "\ud800", "n": float("nan")}

    result = call(make_tool(), {"text": "\x00"}, context(alice))

    assert result.output == {"a\ufffdb": "?", "n": None}


def test_a_tool_that_crashes_becomes_broken_and_heals_on_success(alice, scripted):
    tool = make_tool()
    scripted.does = raising(ToolCrashed("It died."))
    call(tool, {"text": "x"}, context(alice))
    tool.refresh_from_db()
    assert tool.execution_health == Health.BROKEN
    assert tool.health_error["code"] == "tool_crashed"

    scripted.does = lambda arguments, c: "ok"
    call(tool, {"text": "x"}, context(alice))
    tool.refresh_from_db()
    assert tool.execution_health == Health.HEALTHY
    assert tool.health_error is None


def test_a_tool_that_rejects_its_input_stays_healthy(alice, scripted):
    tool = make_tool(execution_health=Health.HEALTHY)
    scripted.does = raising(ToolInputRejected("Not a date."))

    call(tool, {"text": "x"}, context(alice))

    tool.refresh_from_db()
    assert tool.execution_health == Health.HEALTHY


def test_a_tool_is_broken_when_it_keeps_failing_but_not_before(alice, scripted):
    tool = make_tool()
    scripted.does = raising(ToolFailed("No."))
    healths = []
    for _ in range(3):
        call(tool, {"text": "x"}, context(alice))
        tool.refresh_from_db()
        healths.append(tool.execution_health)

    assert healths == [Health.UNKNOWN, Health.UNKNOWN, Health.BROKEN]


def test_a_pinned_version_runs_as_it_was(alice, scripted):
    from registry.services import tool_publish

    tool = make_tool(description="first")
    tool.description = "second"
    tool_publish(tool, author=alice, reason="reworded")

    assert load_spec(tool, 1).description == "first"
    assert load_spec(tool).description == "second"


def test_a_pin_to_a_version_that_never_was_is_a_clear_error(alice):
    from registry.errors import ToolUnavailable

    tool = make_tool(wire_name="pinned")
    with pytest.raises(ToolUnavailable, match="pinned has no version 9"):
        load_spec(tool, 9)


def test_a_kind_without_executor_is_a_clear_error(alice, settings):
    settings.TOOL_EXECUTORS = {}

    result = call(make_tool(), {"text": "x"}, context(alice))

    assert result.error.code == "tool_unavailable"


def test_a_version_that_was_never_approved_is_for_its_maker_alone(alice, bob, scripted):
    """A sequence or an agent may pin any version: that must not lead round the review."""
    package = make_package(review_status=ReviewStatus.CANDIDATE, added_by=alice)
    tool = make_tool(package=package)
    tool.description = "Harmless by now."
    tool_publish(tool, author=alice)
    package_review(package, status=ReviewStatus.APPROVED)
    first = load_spec(tool, 1)

    refused = invoke(first, {"text": "a"}, context(bob))

    assert refused.error.code == "permission_refused"
    assert "Version 1" in refused.error.message
    assert isinstance(invoke(load_spec(tool, 2), {"text": "a"}, context(bob)), Succeeded)
    assert isinstance(invoke(first, {"text": "a"}, context(alice)), Succeeded)
