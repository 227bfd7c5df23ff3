"""What an agent's settings say of calls."""

from typing import Any

import pytest

from agents.access import agent_context, linked_toolset
from agents.approval_patterns import PatternRefused, checked_pattern
from agents.approvals import policy_of
from agents.models import Agent, ApprovalRule
from agents.models.agent_tool import Approval
from agents.services import tool_link
from registry.approval import Effect
from registry.context import CallContext
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Invocation, Tool
from registry.models.invocation import Caller, Decision
from registry.results import Failed
from sequences.context import context_of
from sequences.models import Run
from tests.factories import make_agent, make_builtin, make_package, make_sequence, make_tool

pytestmark = pytest.mark.django_db


def rule(agent: Agent, effect: str, pattern: str) -> None:
    ApprovalRule.objects.create(agent=agent, effect=effect, pattern=pattern)


def judged(agent: Agent, tool: Tool) -> tuple[str, str]:
    verdict = policy_of(agent)(load_spec(tool))
    return verdict.effect.value, verdict.reason


def context(agent: Agent, **changes: Any) -> CallContext:
    return agent_context(agent, agent.owner, caller=Caller.CHAT).derive(**changes)


def failure(result: Any) -> Any:
    assert isinstance(result, Failed)
    return result.error


@pytest.mark.parametrize(
    ("default", "of_reader", "of_writer"),
    [("allow", "allow", "allow"), ("ask_writes", "allow", "ask"), ("ask", "ask", "ask")],
)
def test_where_nothing_else_fits_the_default_holds(alice, default, of_reader, of_writer) -> None:
    agent = make_agent(alice, approval_default=default)

    assert judged(agent, make_builtin())[0] == of_reader
    assert judged(agent, make_tool())[0] == of_writer


def test_deny_wins_over_ask_and_ask_over_allow_whether_a_link_or_a_rule_says_so(alice) -> None:
    agent, tool = make_agent(alice, approval_default="ask"), make_tool(wire_name="post_it")

    tool_link(agent, tool.pk, approval=Approval.ALLOW)
    assert judged(agent, tool) == ("allow", "This agent's link allows post_it.")
    rule(agent, "ask", "post_*")
    because = "The rule “ask before post_*” of this agent catches post_it."
    assert judged(agent, tool) == ("ask", because)
    rule(agent, "deny", "@writes")
    because = "The rule “deny @writes” of this agent catches post_it: it is not known to only read."
    assert judged(agent, tool) == ("deny", because)
    ApprovalRule.objects.all().delete()
    rule(agent, "allow", "*")
    tool_link(agent, tool.pk, approval=Approval.ASK)
    assert judged(agent, tool) == ("ask", "This agent's link asks before post_it.")
    tool_link(agent, tool.pk, approval=Approval.DENY)
    assert judged(agent, tool) == ("deny", "This agent's link denies post_it.")


@pytest.mark.parametrize(
    ("pattern", "is_caught"),
    [
        ("acme_mail-send", True),
        ("acme_*", True),
        ("Acme_*", False),
        ("*send", True),
        ("mailer", True),
        ("npm:@acme/mail/send", True),
        ("npm:@acme/*", True),
        ("pypi:*", False),
        ("acme", False),
        ("acme_mail-sen[dt]", True),
        ("@read_only", False),
        ("@writes", True),
        ("@destructive", False),
        ("@open_world", False),
    ],
)
def test_a_pattern_catches_names_paths_and_annotations(alice, pattern, is_caught) -> None:
    package = make_package(name="@acme/mail")
    tool = make_tool(package=package, wire_name="acme_mail-send", export_name="send")
    agent = make_agent(alice)
    tool_link(agent, tool.pk, name="mailer")
    rule(agent, "ask", pattern)

    assert judged(agent, tool)[0] == ("ask" if is_caught else "allow")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "The pattern is empty."),
        ("   ", "The pattern is empty."),
        ("x" * 201, "The pattern has 201 signs; at most 200 are taken."),
        ("@harmless", "There is no annotation “@harmless”."),
        ("two words", "A pattern has no blanks and no unseen signs; no tool's name has."),
        ("nul\x00", "A pattern has no blanks and no unseen signs; no tool's name has."),
        (7, "A pattern is a text."),
    ],
)
def test_a_bad_pattern_is_refused_with_words(pattern, message) -> None:
    with pytest.raises(PatternRefused) as refused:
        checked_pattern(pattern)
    assert refused.value.message == message
    assert "@read_only" in refused.value.hint


def test_a_call_that_is_asked_about_waits_without_a_row_and_runs_once_approved(alice) -> None:
    calculator = make_builtin()
    agent = make_agent(alice, calculator, approval_default="ask")
    arguments = {"expression": "6 * 7"}

    error = failure(invoke(load_spec(calculator), arguments, context(agent)))
    assert (error.code, error.message) == (
        "approval_required",
        "A person has to approve calculator first.",
    )
    assert error.extra["reason"] == "This agent asks before every tool."
    assert not Invocation.objects.exists()

    assert invoke(load_spec(calculator), arguments, context(agent, approved=True)).output
    assert Invocation.objects.get().decision == Decision.APPROVED


def test_nobody_is_asked_about_a_call_that_could_not_be_made(alice) -> None:
    calculator = make_builtin()
    agent = make_agent(alice, calculator, approval_default="ask")

    assert failure(invoke(load_spec(calculator), {}, context(agent))).code == "invalid_arguments"


def test_a_new_rule_holds_at_the_next_call_of_a_turn_that_goes_on(alice) -> None:
    calculator = make_builtin()
    agent = make_agent(alice, calculator)
    turn = context(agent)
    assert invoke(load_spec(calculator), {"expression": "1"}, turn).output

    rule(agent, "deny", "calc*")
    error = failure(invoke(load_spec(calculator), {"expression": "1"}, turn))
    assert (error.code, error.message) == (
        "approval_denied",
        "The rule “deny calc*” of this agent catches calculator.",
    )


def test_a_scope_taken_away_or_granted_between_two_calls_of_a_turn_counts_at_once(alice) -> None:
    tool = make_builtin(required_scopes=["sums:do"])
    agent = make_agent(alice, tool, scopes=["sums:do"])
    turn = context(agent)
    arguments = {"expression": "1"}
    assert invoke(load_spec(tool), arguments, turn).output

    Agent.objects.update(scopes=[])
    error = failure(invoke(load_spec(tool), arguments, turn))
    assert (error.code, error.extra["missing_scopes"]) == ("permission_refused", ["sums:do"])

    Agent.objects.update(scopes=["sums:do"])
    assert invoke(load_spec(tool), arguments, turn).output


def test_a_call_with_fewer_scopes_than_its_agent_gets_no_more_of_them(alice) -> None:
    tool = make_builtin(required_scopes=["sums:do"])
    agent = make_agent(alice, tool, scopes=["sums:do", "mail:read"])
    narrow = context(agent, scopes=frozenset({"mail:read"}))

    error = failure(invoke(load_spec(tool), {"expression": "1"}, narrow))
    assert error.code == "permission_refused"


def test_what_a_rule_denies_is_not_offered(alice) -> None:
    calculator, post = make_builtin(), make_tool()
    agent = make_agent(alice, calculator, post)
    rule(agent, "deny", "@writes")

    assert list(linked_toolset(agent, alice)) == ["calculator"]
    denied = context(agent).denied
    assert [denied(calculator.pk), denied(post.pk)] == [False, True]


def test_an_agent_that_was_deleted_in_the_meantime_calls_nothing(alice) -> None:
    calculator = make_builtin()
    agent = make_agent(alice)
    policy, denied = policy_of(agent), context(agent).denied
    agent.delete()

    verdict = policy(load_spec(calculator))
    assert verdict.effect == Effect.DENY
    assert verdict.reason == "The agent of this call was deleted."
    assert denied(calculator.pk)


def test_a_sequence_is_asked_about_when_its_steps_are_and_names_them(alice) -> None:
    post = make_tool(wire_name="post_it")
    steps = [{"stepNumber": 1, "toolToRunId": str(post.pk), "inputMapping": {}}]
    sequence = make_sequence(alice, definition={"format": 1, "steps": steps}, wire_name="daily")
    agent = make_agent(alice, sequence)
    rule(agent, "ask", "post_it")

    error = failure(invoke(load_spec(sequence), {"text": "x"}, context(agent)))
    assert (error.code, error.message) == (
        "approval_required",
        "A person has to approve daily first: it calls post_it.",
    )
    assert error.extra["tools"] == ["post_it"]
    assert "post_it" in error.extra["reason"]
    assert not Run.objects.exists()


def test_the_steps_of_an_approved_run_are_approved_and_what_is_denied_stays_denied(alice) -> None:
    calculator, hashing = make_builtin(), make_builtin("hash_text")
    agent = make_agent(alice, calculator, approval_default="ask")
    rule(agent, "deny", "hash_*")
    sequence = make_sequence(alice)
    run = Run.objects.create(
        tool=sequence,
        tool_version=sequence.versions.get(),
        user=alice,
        agent=agent,
        caller="chat",
        input={"text": "1"},
    )
    step = context_of(run).derive(depth=1)

    assert invoke(load_spec(calculator), {"expression": "1"}, step).output
    assert Invocation.objects.get().decision == Decision.APPROVED
    assert failure(invoke(load_spec(hashing), {"text": "x"}, step)).code == "approval_denied"

    Agent.objects.update(approval_default="allow")
    assert invoke(load_spec(calculator), {"expression": "1"}, step).output
    assert Invocation.objects.filter(decision=Decision.ALLOWED).count() == 1
