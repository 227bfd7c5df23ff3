"""What is told of use: right, of now, and for whom it was asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.utils import timezone

from config.lib.errors import InvalidInput
from registry.usage.histogram import BOUNDS, empty, percentile
from registry.usage.periods import NAMES, period_between, period_of
from registry.usage.rolling import usage_roll_up
from registry.usage.selectors import (
    FAILING,
    MOST,
    SITE,
    SLOWEST,
    Scope,
    by_tool,
    errors,
    ranked,
    series,
    total,
)
from tests.factories import make_tool
from tests.registry.usage.calls import record

pytestmark = pytest.mark.django_db
MONTH = period_of("30d")


def test_what_waits_is_told_with_what_is_summed_up(alice):
    tool, agent = make_tool(), uuid4()
    scopes = (
        SITE,
        Scope(tool_id=tool.pk),
        Scope(agent_ids=[agent]),
        Scope(tool_id=tool.pk, user_id=alice.pk),
    )
    record(tool, count=3, user=alice, agent_id=agent)
    for name in NAMES:
        assert [total(scope, period_of(name)).calls for scope in scopes] == [3] * 4
    usage_roll_up()
    record(tool, count=2, user=alice, agent_id=agent, error_code="tool_failed")
    for name in NAMES:
        told = [total(scope, period_of(name)) for scope in scopes]
        assert [(sums.calls, sums.failed) for sums in told] == [(5, 2)] * 4
        assert {sum(sums.durations) for sums in told} == {5}
        assert [sum(part.calls for _, part in series(scope, period_of(name))) for scope in scopes]


def test_each_sees_the_calls_that_were_asked_for(alice, bob):
    tool, other, agent = make_tool(), make_tool(), uuid4()
    record(tool, count=2, user=alice, agent_id=agent)
    record(tool, count=3, user=bob)
    record(other, count=4, user=bob)
    assert total(Scope(tool_id=tool.pk), MONTH).calls == 5
    assert total(Scope(tool_id=tool.pk, user_id=alice.pk), MONTH).calls == 2
    assert total(Scope(agent_ids=[agent]), MONTH).calls == 2
    assert total(Scope(agent_ids=[]), MONTH).calls == 0
    assert total(Scope(tool_id=other.pk, agent_ids=[agent]), MONTH).calls == 0
    assert [(row.name, row.sums.calls) for row in by_tool(Scope(agent_ids=[agent]), MONTH)] == [
        (tool.wire_name, 2)
    ]


def test_a_series_has_every_bucket_in_order(alice):
    tool = make_tool()
    today = timezone.now().astimezone(UTC)
    record(tool, at=today - timedelta(days=2), count=2)
    record(tool)
    usage_roll_up()
    week = series(Scope(tool_id=tool.pk), period_of("7d"))
    assert [part.calls for _, part in week] == [0, 0, 0, 0, 2, 0, 1]
    assert [start.date() for start, _ in week][-1] == today.date()
    hours = series(Scope(tool_id=tool.pk), period_of("24h"))
    assert len(hours) == 24
    assert hours[-1][1].calls == 1


def test_shares_costs_and_percentiles(alice):
    tool = make_tool()
    record(tool, count=90, duration_ms=20, cost=Decimal("0.01"))
    record(tool, count=8, duration_ms=900)
    record(tool, count=2, duration_ms=9_000, error_code="tool_failed")
    record(tool, count=5, error_code="permission_refused", phase="permission", duration_ms=0)
    sums = total(Scope(tool_id=tool.pk), MONTH)
    assert (sums.calls, sums.refused, sums.success_rate) == (105, 5, 0.98)
    assert sums.cost == Decimal("0.90")
    assert 16 <= sums.p50 <= 23
    assert 724 <= sums.p95 <= 1024
    assert 8192 <= sums.p99 <= 11585
    assert total(Scope(tool_id=uuid4()), MONTH).as_json() == {
        "calls": 0,
        "succeeded": 0,
        "failed": 0,
        "refused": 0,
        "faults": 0,
        "success_rate": None,
        "p50_ms": None,
        "p95_ms": None,
        "p99_ms": None,
        "cost_usd": None,
        "last_at": None,
    }


def test_ranks_and_errors(alice):
    busy, slow, failing, rare = (make_tool(wire_name=name) for name in ("a1", "b2", "c3", "d4"))
    record(busy, count=20)
    record(slow, count=6, duration_ms=5_000)
    record(failing, count=4)
    record(failing, count=6, error_code="tool_crashed")
    usage_roll_up()
    record(rare, count=2, duration_ms=60_000, error_code="tool_timeout")

    def names(order, scope=SITE):
        return [row.name for row in ranked(scope, MONTH, order)]

    assert names(MOST) == ["a1", "c3", "b2", "d4"]
    assert names(SLOWEST) == ["b2", "a1", "c3"] or names(SLOWEST)[0] == "b2"
    assert names(FAILING) == ["c3"], "two calls are too few to be ranked"
    assert names(MOST, Scope(agent_ids=[])) == []
    told = [(error.code, error.calls) for error in errors(SITE, MONTH)]
    assert told == [("tool_crashed", 6), ("tool_timeout", 2)]
    assert [error.code for error in errors(Scope(tool_id=rare.pk), MONTH)] == ["tool_timeout"]
    assert errors(Scope(agent_ids=[uuid4()]), MONTH) == []


@pytest.mark.parametrize("duration", [0, 1, 7, 80, 999, 45_000, 10**7])
def test_a_percentile_is_wrong_by_a_fifth_at_most(alice, duration):
    tool = make_tool()
    record(tool, count=10, duration_ms=duration)
    told = total(Scope(tool_id=tool.pk), MONTH).p50
    assert abs(told - min(duration, BOUNDS[-1])) <= max(1, 0.2 * duration)


def test_nothing_has_no_percentile():
    assert percentile(empty(), 0.5) is None


def test_a_period_is_made_of_whole_buckets():
    moment = datetime(2026, 3, 4, 15, 30, tzinfo=UTC)
    day = period_between(moment, moment + timedelta(days=10))
    assert (day.since, day.until) == (
        datetime(2026, 3, 4, tzinfo=UTC),
        datetime(2026, 3, 15, tzinfo=UTC),
    )
    assert len(day.starts) == 11
    hours = period_between(moment, moment + timedelta(hours=2))
    assert (hours.grain, len(hours.starts)) == ("hour", 3)
    assert period_of("nonsense").name == "30d"
    with pytest.raises(InvalidInput, match="must be later"):
        period_between(moment, moment)
    with pytest.raises(InvalidInput, match="366 days"):
        period_between(moment, moment + timedelta(days=400))
