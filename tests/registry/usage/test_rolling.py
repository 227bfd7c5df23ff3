"""Sums of use: every call is in them once, whoever writes when."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from threading import Event
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import Sum
from django.utils import timezone

from registry.models import (
    ErrorUsage,
    Invocation,
    PersonUsageDay,
    SiteUsage,
    ToolUsage,
    ToolUsageDay,
    UsagePending,
)
from registry.models.invocation import Caller, Decision
from registry.usage.rolling import usage_rebuild, usage_roll_up
from tests.factories import make_tool
from tests.registry.usage.calls import record

SUMS = (ToolUsage, ToolUsageDay, PersonUsageDay, SiteUsage)


def counted():
    """Return the calls that each table of sums holds."""
    return [table.objects.aggregate(n=Sum("calls"))["n"] or 0 for table in SUMS]


def contents():
    """Return all that the tables of sums hold, in an order of its own."""
    return [
        sorted(str(row) for row in table.objects.values_list(*columns_of(table)))
        for table in (*SUMS, ErrorUsage)
    ]


def columns_of(table):
    return [field.attname for field in table._meta.fields if field.name != "id"]


@pytest.mark.django_db
def test_calls_are_summed_up_once_however_often_it_is_done(alice):
    tool = make_tool()
    record(tool, count=7, user=alice)
    assert usage_roll_up(batch=3) == 7
    assert usage_roll_up() == 0
    assert counted() == [7, 7, 7, 7]
    record(tool, count=2, user=alice)
    assert usage_roll_up() == 2
    assert counted() == [9, 9, 9, 9]
    assert ToolUsage.objects.count() in {1, 2}  # two only when the hour has just turned


@pytest.mark.django_db
def test_each_call_is_what_its_error_says_it_is(alice):
    tool = make_tool()
    record(tool, user=alice)
    record(tool, user=alice, error_code="tool_crashed")
    record(tool, user=alice, error_code="input_rejected")
    record(tool, user=alice, error_code="upstream_auth")
    record(tool, user=alice, error_code="permission_refused", phase="permission", duration_ms=0)
    record(tool, error_code="limited", phase="execute", decision=Decision.LIMITED)
    record(tool, error_code="missing_credential", phase="load")
    undeclared = {"extra": {"undeclared": ["KEY"]}}
    record(tool, error_code="missing_credential", phase="load", error=undeclared)
    usage_roll_up()
    row = ToolUsageDay.objects.aggregate(
        *(Sum(name) for name in ("calls", "succeeded", "failed", "refused", "faults"))
    )
    assert row == {
        "calls__sum": 8,
        "succeeded__sum": 1,
        "failed__sum": 5,
        "refused__sum": 2,
        "faults__sum": 2,
    }
    assert sum(sum(row.durations) for row in ToolUsageDay.objects.all()) == 5
    codes = dict(ErrorUsage.objects.filter(tool=tool).values_list("code").annotate(Sum("calls")))
    assert codes["missing_credential"] == 2
    everything = ErrorUsage.objects.filter(tool=None).values_list("code").annotate(Sum("calls"))
    assert dict(everything) == codes


@pytest.mark.django_db
def test_a_health_check_is_no_use(alice):
    record(make_tool(), caller=Caller.HEALTH)
    assert not UsagePending.objects.exists()
    assert usage_roll_up() == 0


@pytest.mark.django_db
def test_a_cost_is_added_up_and_an_unknown_one_stays_unknown(alice):
    priced, free = make_tool(), make_tool()
    record(priced, cost=Decimal("0.25"))
    record(priced)
    usage_roll_up()
    record(priced, cost=Decimal("0.50"))
    record(free)
    usage_roll_up()
    costs = dict(ToolUsageDay.objects.values_list("tool").annotate(Sum("cost")))
    assert costs == {priced.pk: Decimal("0.75"), free.pk: None}


@pytest.mark.django_db
def test_calls_fall_into_the_hour_and_the_day_of_utc(alice):
    tool, agent = make_tool(), uuid4()
    late = timezone.now().replace(hour=23, minute=59, second=59) - timedelta(days=3)
    record(tool, at=late, agent_id=agent, caller=Caller.CHAT)
    record(tool, at=late + timedelta(seconds=1), agent_id=agent, caller=Caller.CHAT)
    usage_roll_up()
    hours = list(ToolUsage.objects.order_by("hour").values_list("hour", "agent_id", "caller"))
    assert [hour for hour, *_ in hours] == [
        late.replace(minute=0, second=0, microsecond=0),
        (late + timedelta(seconds=1)).replace(microsecond=0),
    ]
    assert {tuple(key) for _, *key in hours} == {(agent, "chat")}
    days = list(ToolUsageDay.objects.order_by("day").values_list("day", flat=True))
    assert days == [late.date(), late.date() + timedelta(days=1)]


@pytest.mark.django_db(transaction=True)
def test_a_call_whose_transaction_ends_late_is_not_lost(alice):
    tool = make_tool()
    begun, go = Event(), Event()

    def slowly():
        try:
            with transaction.atomic():
                record(tool)
                begun.set()
                go.wait(60)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(slowly)
        assert begun.wait(60)
        record(tool)  # a later call that is committed before the earlier one
        assert usage_roll_up() == 1
        go.set()
        slow.result(60)
    assert usage_roll_up() == 1
    assert counted() == [2, 2, 2, 2]


@pytest.mark.django_db(transaction=True)
def test_many_writers_and_many_who_roll_up_lose_and_double_nothing(alice):
    tools = [make_tool() for _ in range(3)]

    def write(place):
        try:
            for turn in range(20):
                record(tools[(place + turn) % 3], count=3, user=alice)
        finally:
            connection.close()

    def roll(_):
        try:
            return sum(usage_roll_up(batch=7) for _ in range(40))
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        writers = [pool.submit(write, place) for place in range(4)]
        rollers = [pool.submit(roll, place) for place in range(2)]
        for writer in writers:
            writer.result(180)
        rolled = sum(roller.result(180) for roller in rollers)
    rolled += usage_roll_up()
    assert rolled == Invocation.objects.count() == 240
    assert counted() == [240] * 4
    assert not UsagePending.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_rebuilding_gives_the_same_sums(alice, bob, capsys):
    tool, other = make_tool(), make_tool()
    now = timezone.now()
    for days in (0, 1, 1, 5):
        at = now - timedelta(days=days)
        record(tool, at=at, user=alice, agent_id=uuid4(), duration_ms=days * 700)
        record(other, at=at, user=bob, error_code="tool_timeout", cost=Decimal("0.1"))
    usage_roll_up()
    before = contents()
    assert usage_rebuild() == 8
    assert contents() == before
    record(tool, user=bob)  # waits, and is counted by the rebuilding
    call_command("roll_up_usage", "--rebuild", verbosity=2)
    assert "9 calls added" in capsys.readouterr().out
    assert usage_roll_up() == 0
    assert counted() == [9] * 4


@pytest.mark.django_db(transaction=True)
def test_rebuilding_keeps_the_sums_of_calls_that_are_gone(alice):
    tool = make_tool()
    now = timezone.now()
    record(tool, at=now - timedelta(days=40))
    record(tool, at=now - timedelta(days=3))
    record(tool)
    usage_roll_up()
    with connection.cursor() as cursor:  # as retention does
        cursor.execute("SET session_replication_role = replica")
        try:
            cursor.execute(
                "DELETE FROM registry_invocation WHERE created_at < now() - interval '30 days'"
            )
        finally:
            cursor.execute("SET session_replication_role = DEFAULT")
    assert usage_rebuild() == 1  # the first kept day may have lost calls: its sums stay
    assert counted() == [3] * 4
