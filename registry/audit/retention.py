"""Delete records whose time is over, under a policy that governors set.

Batches are small and each is a transaction of its own: nobody waits for the clearing, and what it
has done stays done when it is broken off. What is append-only lets go of its rows only in a
transaction that says it is this one, and of audit events never before their floor of 30 days.
The sums of use are counted when a call is recorded, so they keep what is deleted here.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from config.lib.changes import current_change, decided
from config.lib.errors import InvalidInput, NotAllowed
from registry.models import AuditEvent, RetentionPolicy
from registry.models.audit_event import AUDIT_FLOOR_DAYS, Operation, Source
from registry.models.audit_triggers import RETENTION
from registry.models.retention_policy import LONGEST_DAYS, Records

logger = logging.getLogger(__name__)

TASK = "registry.clear_records"
ROWS_A_BATCH = 5_000
LONGEST_SECONDS = 600
"""How long one round may take; the next goes on where it ended."""


@dataclass(frozen=True, kw_only=True)
class _Table:
    """Where records are kept: the table, its time, its model, and what may be deleted at all."""

    name: str
    time: str
    model: str
    only: str = ""


_TABLES: Mapping[Records, _Table] = {
    Records.INVOCATIONS: _Table(
        name="registry_invocation", time="created_at", model="registry.invocation"
    ),
    Records.AUDIT_EVENTS: _Table(
        name="registry_auditevent", time="at", model="registry.auditevent"
    ),
    Records.IMPORT_JOBS: _Table(
        name="registry_importjob",
        time="created_at",
        model="registry.importjob",
        only="status IN ('succeeded', 'failed')",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Cleared:
    """What one round did."""

    records: Records
    deleted: int
    before: datetime


def policy_set(
    policy: RetentionPolicy, *, keep_days: int | None, reason: str, by: User
) -> RetentionPolicy:
    """Say how long records are kept; `None` is for good. Raise NotAllowed or InvalidInput."""
    if not by.has_perm("registry.change_retentionpolicy"):
        raise NotAllowed(
            "Only a governor says how long records are kept.", "Ask one of them to change it."
        )
    require_days(Records(policy.records), keep_days)
    if not reason.strip():
        raise InvalidInput("A change of retention needs a reason.", "Say why; it is audited.")
    with decided(by, reason):
        policy.keep_days, policy.reason = keep_days, reason.strip()[:500]
        policy.save(update_fields=["keep_days", "reason"])
    return policy


def require_days(records: Records, keep_days: int | None) -> None:
    """Raise InvalidInput for a number of days that cannot be."""
    floor = AUDIT_FLOOR_DAYS if records == Records.AUDIT_EVENTS else 1
    if keep_days is not None and not floor <= keep_days <= LONGEST_DAYS:
        raise InvalidInput(
            f"{records.label} can be kept from {floor} to {LONGEST_DAYS} days, or for good.",
            "Choose a number of days in between, or leave it empty.",
        )


def clear_records() -> list[Cleared]:
    """Delete what the policies no longer keep; return what was deleted of each kind."""
    due = RetentionPolicy.objects.filter(keep_days__isnull=False).order_by("pk")
    return [cleared for policy in due if (cleared := _clear(policy))]


def _clear(policy: RetentionPolicy) -> Cleared | None:
    records, ends = Records(policy.records), time.monotonic() + LONGEST_SECONDS
    started = timezone.now()
    before = started - timedelta(days=policy.keep_days or LONGEST_DAYS)
    deleted = 0
    while time.monotonic() < ends and (count := _delete_batch(_TABLES[records], before)):
        deleted += count
    RetentionPolicy.objects.filter(pk=policy.pk).update(last_run_at=started, last_deleted=deleted)
    if not deleted:
        return None
    logger.info("Retention: %s of %s deleted, older than %s.", deleted, records.value, before)
    _tell(policy, records, deleted, before)
    return Cleared(records=records, deleted=deleted, before=before)


def _delete_batch(table: _Table, before: datetime) -> int:
    """Delete the oldest records of one batch; two workers at once delete different ones."""
    only = f"AND {table.only}" if table.only else ""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, 'on', true)", [RETENTION])
        cursor.execute(
            f"DELETE FROM {table.name} WHERE ctid = ANY(ARRAY("  # noqa: S608 - our own names
            f"SELECT ctid FROM {table.name} WHERE {table.time} < %s {only} "
            f"ORDER BY {table.time} LIMIT %s FOR UPDATE SKIP LOCKED))",
            [before, ROWS_A_BATCH],
        )
        deleted: int = cursor.rowcount
        cursor.execute("SELECT set_config(%s, '', true)", [RETENTION])
    return deleted


def _tell(policy: RetentionPolicy, records: Records, deleted: int, before: datetime) -> None:
    """Write one event for a whole round: one for each row would be what was to be cleared away."""
    change = current_change()
    AuditEvent.objects.create(
        at=timezone.now(),
        source=change.source if change and change.source else Source.WORKER,
        request_id=change.request_id if change else "",
        path=TASK,
        model=_TABLES[records].model,
        object_id=policy.pk,
        object_label=f"{deleted:,} {records.label.lower()} older than {before:%Y-%m-%d %H:%M} UTC",
        subject_model=policy._meta.label_lower,
        subject_id=policy.pk,
        operation=Operation.DELETE,
        before={"deleted": deleted, "older_than": before.isoformat()},
        reason=f"Kept for {policy.keep_days} days. {policy.reason}".strip()[:500],
    )
