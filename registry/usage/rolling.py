"""Add the calls that wait to the sums, each exactly once.

A waiting row is taken away and added to every sum in one statement, so a crash leaves both or
neither. Rows of transactions that are still open are not seen and simply wait for the next time:
there is no clock and no watermark that a late commit could slip under.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction

from registry.usage import sums

BATCH = 2_000
"""Calls that are added in one transaction, which takes less than a tenth of a second."""

LOCK = 0x07F17
"""Advisory lock of whoever adds to the sums: two at once would wait for each other's rows."""

_DUE = """
    INSERT INTO registry_qualitydue (tool_id, due_at) SELECT DISTINCT tool_id, now() FROM calls
    ON CONFLICT (tool_id) DO UPDATE
    SET due_at = least(registry_qualitydue.due_at, excluded.due_at)"""


def usage_roll_up(*, batch: int = BATCH, most: int | None = None) -> int:
    """Add all calls that wait now, or `most` of them; return how many were added.

    Does nothing while somebody else is at it.
    """
    added = 0
    while most is None or added < most:
        taken = _batch(batch if most is None else min(batch, most - added))
        added += taken
        if taken < batch:
            break
    return added


@transaction.atomic
def _batch(size: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        if not cursor.fetchone()[0]:
            return 0
        calls = """
            DELETE FROM registry_usagepending WHERE id IN (
                SELECT id FROM registry_usagepending ORDER BY id LIMIT %(size)s
            ) RETURNING *"""
        cursor.execute(_statement(calls), {"size": size, "faults": list(sums.fault_codes())})
        return int(cursor.fetchone()[0])


def _statement(calls: str) -> str:
    """Return the statement that adds what the query `calls` returns, and counts it."""
    tables = [sums.inserted(table) for table in sums.KEYS]
    return sums.steps(calls, *tables, sums.errors_inserted(), _DUE)


def usage_rebuild(*, told: Callable[[datetime, int], None] | None = None) -> int:
    """Work out the sums anew from the recorded calls; return how many calls those are.

    Sums of hours whose calls are no longer kept stay as they are. Everything is read in one
    snapshot, so calls that are made meanwhile are left waiting and lost to nobody. `told` is given
    each day and its number of calls. Must not run inside a transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        try:
            return _rebuilt(told)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def _rebuilt(told: Callable[[datetime, int], None] | None) -> int:
    total = 0
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        since = _kept_since()
        if since is None:
            return 0
        # those that wait are among the recorded calls; older ones, if any, still have to be added
        cursor.execute("DELETE FROM registry_usagepending WHERE created_at >= %s", [since])
        for table, key in (
            *((f"registry_{name}", keys[0]) for name, keys in sums.KEYS.items()),
            ("registry_errorusage", "hour"),
        ):
            cursor.execute(f"DELETE FROM {table} WHERE {key} >= %s", [since])  # noqa: S608
        cursor.execute("SELECT max(created_at) FROM registry_invocation")
        last = cursor.fetchone()[0]
        where = "call.created_at >= %(since)s AND call.created_at < %(until)s"
        statement = _statement(sums.recorded(where))
        faults = list(sums.fault_codes())
        while since <= last:
            until = since + timedelta(days=1)
            cursor.execute(statement, {"since": since, "until": until, "faults": faults})
            count = int(cursor.fetchone()[0])
            total += count
            if told:
                told(since, count)
            since = until
    return total


def _kept_since() -> datetime | None:
    """Return the day from which on all calls are kept, or None when there is none at all."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(created_at) FROM registry_invocation")
        first: datetime | None = cursor.fetchone()[0]
        if first is None:
            return None
        cursor.execute("SELECT min(hour) FROM registry_siteusage")
        oldest: datetime | None = cursor.fetchone()[0]
    day = first.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    hour = first.replace(minute=0, second=0, microsecond=0)
    # older sums mean that calls were deleted since, perhaps in the middle of this day
    return day + timedelta(days=1) if oldest is not None and oldest < hour else day
