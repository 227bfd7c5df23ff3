"""How many runs of a sequence may be at work at the same time, and which of them is next."""

from uuid import UUID

from django.db import connection

from sequences.models import Run
from sequences.models.run import RunStatus
from sequences.sending import enqueue_on_commit


def limit_of(run: Run) -> int | None:
    """Return how many runs of its sequence may be at work when this one is; None for any number.

    A test of a draft never waits, and a run inside of a step belongs to the run around it.
    """
    if run.tool_version is None or run.parent_step_id is not None:
        return None
    definition = run.tool_version.snapshot.get("definition") or {}
    most: int | None = definition.get("maxConcurrentRuns")
    return most


def places_free(tool_id: UUID | None, most: int, *, before: Run | None = None) -> int:
    """Return how many more runs of a sequence may begin; those queued `before` a run go first."""
    roots = Run.objects.filter(tool=tool_id, parent_step=None, tool_version__isnull=False)
    taken = roots.filter(status=RunStatus.RUNNING).count()
    if before is not None:
        older = roots.filter(status=RunStatus.QUEUED, created_at__lt=before.created_at)
        taken += older.count()
    return max(0, most - taken)


def one_at_a_time(tool_id: UUID | None) -> None:
    """Let one claim of a limited sequence count at a time, until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", [str(tool_id)])


def send_next(run: Run) -> None:
    """Send the run that waited longest for the place which this one leaves, if there is one."""
    most = limit_of(run)
    if most is None:
        return
    waiting = Run.objects.filter(tool=run.tool_id, status=RunStatus.QUEUED, parent_step=None)
    free = places_free(run.tool_id, most)
    oldest = waiting.exclude(pk=run.pk).order_by("created_at", "pk")
    for run_id in oldest.values_list("pk", flat=True)[:free]:
        enqueue_on_commit(run_id)
