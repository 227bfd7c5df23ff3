"""Turn what was noticed into imports, a few at a time."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from config.lib.errors import DomainError
from registry.importing.jobs import import_request
from registry.models import ImportJob, SyncEntry
from registry.models.job import OPEN, JobCause
from registry.models.sync import EntryState

AT_ONCE = 2
"""Imports for a sync that wait or run; the queue is for people first."""

FORGOTTEN = timedelta(hours=1)
"""An import that has been open for longer was lost, and keeps no place."""


def entries_import() -> int:
    """Ask for the imports there is room for; return how many."""
    since = timezone.now() - FORGOTTEN
    running = ImportJob.objects.filter(
        cause=JobCause.SYNC, status__in=OPEN, created_at__gt=since
    ).count()
    count = 0
    for _ in range(AT_ONCE - running):
        count += _import_next()
    return count


@transaction.atomic
def _import_next() -> bool:
    entry = (
        SyncEntry.objects.select_for_update(skip_locked=True)
        .filter(state=EntryState.WAITING)
        .order_by("created_at", "pk")
        .first()
    )
    if entry is None:
        return False
    entry_import(entry)
    return True


def entry_import(entry: SyncEntry, *, queued: bool = True) -> ImportJob | None:
    """Ask for the import of what an entry names; None where that is refused, which it then says."""
    try:
        with transaction.atomic():
            job = import_request(
                ecosystem=entry.ecosystem,
                name=entry.name,
                version=entry.version,
                user=None,
                cause=JobCause.SYNC,
                queued=queued,
            )
    except DomainError as error:
        entry.state, entry.message = EntryState.SKIPPED, error.message[:600]
        entry.save(update_fields=["state", "message"])
        return None
    entry.state, entry.job = EntryState.IMPORTING, job
    entry.save(update_fields=["state", "job"])
    return job
