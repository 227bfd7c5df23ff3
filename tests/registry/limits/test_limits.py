"""How often one caller may call one tool: refused with when to try again, whoever asks how."""

import logging

import pytest
from redis.exceptions import ConnectionError as RedisAway

from agents.access import agent_context
from registry import limits, metrics
from registry.calling import call_directly, direct_context
from registry.errors import PermissionRefused, RateLimited, ToolStopped
from registry.limits import CallLimits, allowance_of, caller_of
from registry.models import Invocation, Tool
from registry.models.invocation import Caller, Decision
from registry.models.tool import Health
from registry.stopping import tool_stop
from sequences.models import Run
from sequences.runs import run_start
from tests.factories import make_agent, make_builtin, make_sequence, make_tool

pytestmark = pytest.mark.django_db


@pytest.fixture
def calculator():
    return make_builtin("calculator", calls_per_minute=2)


def call(tool, context, expression="6 * 7"):
    return call_directly(tool, {"expression": expression}, context)


def person(user, **fields):
    return direct_context(user, caller=Caller.REST).derive(**fields)


def codes(results):
    return [getattr(getattr(result, "error", None), "code", "") for result in results]


def test_one_call_too_many_is_refused_and_told_when_to_try_again(alice, calculator):
    results = [call(calculator, person(alice)) for _ in range(3)]

    assert codes(results) == ["", "", "rate_limited"]
    error = results[-1].error
    wait = error.extra["retry_after_seconds"]
    assert (error.status, error.phase, error.extra["calls_per_minute"]) == (429, "permission", 2)
    assert 1 <= wait <= 60
    assert error.headers == {
        "Retry-After": str(wait),
        "RateLimit": f'"tool";r=0;t={wait}',
        "RateLimit-Policy": '"tool";q=2;w=60',
    }
    assert error.message == "You may call calculator 2 times a minute, and did."
    assert error.hint == f"Try again in {wait} seconds."


def test_each_caller_has_a_limit_of_their_own_and_an_agent_is_a_caller(alice, bob, calculator):
    agent = make_agent(alice, calculator)
    contexts = [person(alice), person(bob), agent_context(agent, alice, caller=Caller.CHAT)]

    for context in contexts:
        assert codes(call(calculator, context) for _ in range(3)) == ["", "", "rate_limited"]
    assert call(calculator, contexts[-1]).error.message.startswith("This agent may call")


def test_what_a_program_or_a_sequence_calls_counts_as_a_call_of_who_started_it(alice, calculator):
    inside = [person(alice, caller=caller, depth=1) for caller in (Caller.CODE, Caller.SEQUENCE)]
    results = [call(calculator, context) for context in [*inside, person(alice)]]

    assert codes(results) == ["", "", "rate_limited"]


def test_each_tool_is_counted_apart(alice, calculator):
    other = make_builtin("count_text", calls_per_minute=1)
    [call(calculator, person(alice)) for _ in range(2)]

    assert codes([call_directly(other, {"text": "a"}, person(alice))]) == [""]


def test_calls_that_never_reach_the_tool_do_not_count(alice, calculator):
    for _ in range(3):
        assert call(calculator, person(alice), expression=7).error.code == "invalid_arguments"

    assert codes([call(calculator, person(alice))]) == [""]


def test_the_sites_default_holds_where_a_tool_has_no_limit_but_for_built_ins(alice, settings):
    settings.TOOL_CALLS_PER_MINUTE = 1
    context = person(alice)
    tool = make_tool(kind="python")
    plain = make_builtin("calculator")

    assert codes(call_directly(tool, {"text": "a"}, context) for _ in range(2)) == [
        "tool_unavailable",
        "rate_limited",
    ]
    assert codes(call(plain, context) for _ in range(3)) == ["", "", ""]
    settings.TOOL_CALLS_PER_MINUTE = 0
    other = make_tool(kind="python")
    assert set(codes(call_directly(other, {"text": "a"}, context) for _ in range(3))) == {
        "tool_unavailable"
    }


def test_a_flood_of_refused_calls_leaves_one_row_a_minute_and_the_rest_is_counted(
    alice, bob, calculator
):
    def counted(recorded):
        return metrics.REFUSED.labels("builtin", "rate_limited", recorded)._value.get()

    before = counted("no")
    results = [call(calculator, person(alice)) for _ in range(10)]

    rows = Invocation.objects.filter(decision=Decision.LIMITED)
    assert rows.count() == 1
    assert rows.get().error_code == "rate_limited"
    assert [result.invocation_id for result in results[3:]] == [None] * 7
    assert counted("no") - before == 7
    [call(calculator, person(bob)) for _ in range(3)]
    assert rows.count() == 2  # each caller has a row of their own


def test_a_flood_of_calls_of_a_stopped_tool_leaves_one_row_too(alice, governor, calculator):
    tool_stop(calculator, by=governor, reason="Not now")

    assert set(codes(call(calculator, person(alice)) for _ in range(5))) == {"tool_stopped"}
    assert Invocation.objects.filter(decision=Decision.STOPPED).count() == 1


def test_a_limit_says_nothing_of_the_tools_health(alice):
    tool = make_builtin("calculator", calls_per_minute=1, execution_health=Health.HEALTHY)
    [call(tool, person(alice)) for _ in range(5)]

    assert Tool.objects.get(pk=tool.pk).execution_health == Health.HEALTHY


def test_what_is_left_is_told_without_counting(alice, calculator):
    def left():
        caller = caller_of(person(alice))
        return allowance_of(calculator.kind, 2, calculator.pk, caller).left

    assert (left(), left()) == (2, 2)
    call(calculator, person(alice))
    assert left() == 1


class Away:
    """A Redis that does not answer."""

    asked = 0

    def __getattr__(self, name):
        def ask(*args, **kwargs):
            Away.asked += 1
            raise RedisAway("no answer")

        return ask


def test_without_redis_calls_go_on_are_counted_and_the_log_says_so_once(
    alice, calculator, monkeypatch, caplog
):
    away = CallLimits()
    away.__dict__.update(_storage=Away(), _limiter=Away())
    monkeypatch.setattr(limits, "call_limits", away)
    before = metrics.UNLIMITED._value.get()

    with caplog.at_level(logging.ERROR, logger="registry.limits"):
        assert codes(call(calculator, person(alice)) for _ in range(5)) == [""] * 5

    assert metrics.UNLIMITED._value.get() - before == 5
    assert [record.getMessage() for record in caplog.records] == [
        "Calls are not limited, for Redis does not answer: no answer"
    ]
    assert Away.asked == 1  # it is left alone for a while
    assert allowance_of("builtin", 2, calculator.pk, "user:1").left is None


def test_rest_answers_429_with_retry_after(alice, calculator, client_for):
    client = client_for(alice)
    path = f"/api/v1/tools/{calculator.pk}/run/"
    body = {"arguments": {"expression": "1"}}
    for _ in range(2):
        assert client.post(path, body, content_type="application/json").status_code == 200

    refused = client.post(path, body, content_type="application/json")
    again = client.post(path, body, content_type="application/json")

    assert refused.status_code == again.status_code == 429
    assert refused.headers["Retry-After"] == str(refused.json()["extra"]["retry_after_seconds"])
    assert refused.json()["code"] == "rate_limited"
    assert "invocation" in refused.json()["extra"]
    assert "invocation" not in again.json()["extra"]  # it has no row


def test_a_background_run_that_a_limit_refuses_is_recorded_and_counted(alice):
    sequence = make_sequence(alice, calls_per_minute=1)
    context = person(alice)
    run_start(sequence, {"text": "1 + 1"}, context=context)
    before = metrics.REFUSED.labels("sequence", "rate_limited", "no")._value.get()

    for _ in range(2):
        with pytest.raises(RateLimited) as refused:
            run_start(sequence, {"text": "1 + 1"}, context=context)

    assert refused.value.headers["Retry-After"]
    row = Invocation.objects.get(tool=sequence)  # of each minute the first
    assert (row.decision, row.error_code, row.user) == (Decision.LIMITED, "rate_limited", alice)
    assert row.arguments == {"text": "1 + 1"} and row.outcome == "failed"
    assert metrics.REFUSED.labels("sequence", "rate_limited", "no")._value.get() == before + 1


def test_a_background_run_of_what_one_may_not_use_is_recorded(alice, bob):
    sequence = make_sequence(alice)

    with pytest.raises(PermissionRefused):
        run_start(sequence, {"text": "1"}, context=person(bob))

    row = Invocation.objects.get(tool=sequence)
    assert (row.decision, row.user, row.phase) == (Decision.REFUSED, bob, "permission")
    assert not Run.objects.exists()


def test_a_background_run_of_a_stopped_tool_is_recorded(alice, governor):
    sequence = tool_stop(make_sequence(alice), by=governor, reason="It loops.")

    with pytest.raises(ToolStopped):
        run_start(sequence, {"text": "1"}, context=person(alice))

    assert Invocation.objects.get(tool=sequence).decision == Decision.STOPPED


def test_secrets_that_were_given_to_a_refused_run_are_not_recorded(alice, bob):
    sequence = make_sequence(alice)

    with pytest.raises(PermissionRefused):
        run_start(
            sequence, {"text": "say hunter22"}, context=person(bob, given={"PASSWORD": "hunter22"})
        )

    assert "hunter22" not in str(Invocation.objects.get(tool=sequence).arguments)
