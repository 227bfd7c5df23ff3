"""Write the rows of a run's steps, each under the lease by which a worker has the run.

Every write is one statement that does nothing unless the run still is this worker's. It locks the
run's row meanwhile, so that nobody takes the run between the question and the write. While
PostgreSQL restarts a write is tried again: the result of a call that was made must not be lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction

from config.lib.patience import patiently
from config.lib.types import JsonObject
from registry.models import Invocation
from sequences.metrics import STEPS
from sequences.models import Run, RunStep
from sequences.models.run import RunStatus
from sequences.models.run_step import StepStatus
from sequences.news import tell
from sequences.places import send_next
from sequences.row_sql import Statement, changed, inserted, synchronous, updated
from sequences.states import Ending, LeaseLost, how_it_ends, run_lock, run_wake

__all__ = ["Journal", "LeaseLost", "step_begin", "step_end", "step_failed"]

BEGUN = (
    "key",
    "title",
    "tool",
    "tool_name",
    "tool_version",
    "status",
    "input",
    "error",
    "attempts",
    "lease",
    "started_at",
)
MOST_WAITING = 50
"""Ends that wait at most, such as those of steps that are skipped one after the other."""

ENDED = ("status", "input", "output", "error", "message", "attempts", "duration_ms")


def step_begin(run: Run, row: RunStep) -> None:
    """Write that a step begins, as a new row or, when it begins again, in its own.

    `row` then is `running` under the run's lease; the error of the attempt before stays until its
    end. Raises LeaseLost.
    """
    Journal(run).begin(row)


def step_failed(run: Run, row: RunStep, calls: Sequence[Invocation] = ()) -> None:
    """Write that an attempt failed with `row.error`, and that the next has not begun.

    `step_begin` begins the next attempt, with one more in `row.attempts`. A worker that dies in
    between leaves no doubt. Raises LeaseLost.
    """
    row.lease = None
    _write(run, [_Write(row, BEGUN, tuple(calls))])


def step_end(run: Run, row: RunStep, calls: Sequence[Invocation] = ()) -> None:
    """Write how a step ended (or that it waits), with the calls that it made, in one transaction.

    A row that never began, such as that of a skipped step, is written as it is. Raises LeaseLost;
    the result is kept all the same where nobody has begun the step again.
    """
    _write(run, [_Write(row, ENDED, tuple(calls))])


class Journal:
    """The writes of one thread of a run, two of them in one commit where they follow one another.

    The end of a step waits for the begin of the next. `flush` writes it at the latest; it has to be
    called before the run is finished, paused or given back, before the rows are read from the
    database, and at the end of the thread.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._waiting: list[_Write] = []

    def begin(self, row: RunStep) -> None:
        """Write that a step begins, and what waited; see `step_begin`."""
        row.status, row.lease = StepStatus.RUNNING, self._run.lease
        self._waiting.append(_Write(row, BEGUN, ()))
        self.flush()

    def end(self, row: RunStep, calls: Sequence[Invocation] = ()) -> None:
        """Keep how a step ended until the next begin or `flush`; see `step_end`."""
        STEPS.labels(row.status).inc()
        self._waiting.append(_Write(row, ENDED, tuple(calls)))
        if len(self._waiting) >= MOST_WAITING:
            self.flush()

    def finish(self, ending: Ending) -> None:
        """Write what waits and the end of the run in one commit. Raises LeaseLost."""
        patiently(partial(self._finish, ending))

    def _finish(self, ending: Ending) -> None:
        _write(self._run, self._waiting, how_it_ends(ending))
        self._waiting = []
        send_next(self._run)

    def flush(self) -> None:
        """Write what waits. Raises LeaseLost."""
        if self._waiting:
            _write(self._run, self._waiting)
            self._waiting = []


@dataclass(frozen=True)
class _Write:
    row: RunStep
    fields: tuple[str, ...]
    """Which of them are written to a row that stands already."""
    calls: tuple[Invocation, ...]


def _write(run: Run, writes: list[_Write], values: JsonObject | None = None) -> None:
    """Write the rows of steps and calls, and last what becomes of the run, if anything does."""
    statement = Statement()
    statement.add(
        f"SELECT id, {synchronous()} FROM sequences_run "  # noqa: S608 -- words of this module
        "WHERE id = %s AND lease = %s AND status = %s FOR SHARE",
        [run.pk, run.lease, RunStatus.RUNNING],
        "held",
    )
    for write in writes:
        if write.row._state.adding:
            statement.add(*inserted(write.row, "FROM held"))
        else:
            statement.add(*updated(write.row, write.fields, "EXISTS (SELECT FROM held)"))
        for call in write.calls:
            statement.add(*inserted(call, "FROM held"))
    if values:
        statement.add(*changed(run, values, "EXISTS (SELECT FROM held)"))
    if not patiently(lambda: statement.run("SELECT count(*) FROM held")):
        patiently(lambda: _deliver_late(run, writes))
        raise LeaseLost(str(run))
    tell(run.pk)
    for name, value in (values or {}).items():
        setattr(run, name, value)
    for write in writes:
        write.row._state.adding = False
        for call in write.calls:
            call._state.adding = False


@transaction.atomic
def _deliver_late(run: Run, writes: list[_Write]) -> None:
    """Keep what became known under a lost lease: the calls, and steps that nobody began again.

    A step that was put in doubt in the meantime is so no longer, and its run goes on.
    """
    run_lock(run)  # of two that come at the same time, the second sees what the first has settled
    open_ = (StepStatus.RUNNING, StepStatus.IN_DOUBT)
    settled = False
    for write in writes:
        row = write.row
        if write.fields == ENDED and not row._state.adding:
            mine = RunStep.objects.filter(pk=row.pk, lease=row.lease, status__in=open_)
            settled |= bool(mine.update(**{name: getattr(row, name) for name in ENDED}))
        Invocation.objects.bulk_create(write.calls, ignore_conflicts=True)
    doubtful = run.steps.filter(status=StepStatus.IN_DOUBT)
    needs_attention = Run.objects.filter(pk=run.pk, status=RunStatus.ATTENTION)
    if settled and needs_attention.exists() and not doubtful.exists():
        run_wake(run)
