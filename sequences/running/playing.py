"""Take a run up, play it, and write how it stands afterwards."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from config.lib import traces
from config.lib.errors import DomainError
from config.lib.jsontext import storable
from config.lib.logs import noted
from config.lib.patience import AWAY, patiently
from config.lib.prepared import Worded
from config.lib.types import JsonObject
from registry.running import Signal, running, stop_in
from registry.standing import standing_of
from sequences.context import OwnerInactive, context_of
from sequences.definition import parse
from sequences.metrics import run_ended
from sequences.models import Run, RunStep
from sequences.models.run import RunStatus
from sequences.recovery import settle
from sequences.run_tools import RunTools
from sequences.running.journey import Journey, Rows, Stop, Why
from sequences.running.pauses import hand_over, pause
from sequences.running.walk import walk
from sequences.states import Ending, LeaseLost, run_claim, run_end_all, run_finish
from sequences.step_rows import Journal
from sequences.tested_outputs import outputs_keep
from sequences.watch import Watch, watching

logger = logging.getLogger(__name__)

UNEXPECTED: JsonObject = {
    "code": "run_stopped",
    "message": "The run stopped because of a fault in Outfitter, not in the sequence.",
    "hint": "Retry it; if it stops again, ask the operator to read the worker's log.",
    "extra": {},
}


def execute(run_id: UUID) -> Run | None:
    """Play a queued run and return it; do nothing when another worker has it or had it."""
    run = patiently(partial(run_claim, run_id))
    if run is not None:
        play(run, cancel=Event(), depth=0)
    return run


def play(run: Run, *, cancel: Event, depth: int) -> None:
    """Play a claimed run in this thread to its end, or until it rests, and write how it stands.

    `cancel` is its caller's, `depth` counts the sequences around it. It raises nothing: whatever
    happens is told in the run's row. A worker that lost the run, or for long the database, leaves
    the run as it is, and another goes on with it.
    """
    with (
        noted(run_id=run.pk, user_id=run.user_id),
        traces.span(f"run {run.name}", outfitter__run__id=str(run.pk)) as span,
    ):
        _play_observed(run, cancel, depth)
        if run.is_finished:
            run_ended(run.status, run.started_at)
        span.set(outfitter__run__status=str(run.status))
        if run.status == RunStatus.FAILED and run.error:
            span.failed(str(run.error.get("code")))


def _play_observed(run: Run, cancel: Event, depth: int) -> None:
    journal = Journal(run)
    try:
        try:
            _play(run, journal, cancel, depth)
        except AWAY as problem:
            logger.warning("Run %s is left to another worker: %s", run.pk, problem)
            journal.flush()  # what is known is kept once the database is back
    except LeaseLost:
        logger.warning("Run %s went to another worker", run.pk)
        run.refresh_from_db(fields=["status", "output", "error", "finished_at"])
    except AWAY:
        logger.exception("The last that was known of run %s is lost", run.pk)


def _play(run: Run, journal: Journal, cancel: Event, depth: int) -> None:
    rows = Rows()
    rest = _ending(run, journal, rows, cancel, depth)
    if run.draft_id is not None:  # before the end is told: who hears of it looks for the outputs
        journal.flush()
        outputs_keep(run.pk)
    match rest:
        case Ending() as ending:
            _finish(run, journal, ending)
        case Stop() as stop:
            journal.flush()
            if stop.why == Why.HANDED_OVER:
                hand_over(run)
            else:
                pause(run, rows.values())


def _ending(
    run: Run, journal: Journal, rows: Rows, cancel: Event, depth: int
) -> Ending | Stop | None:
    """Play a run; return how it ends or why it rests. None: it was put to attention already.

    `rows` is filled with the rows of its steps.
    """
    with _signal(run, cancel) as signal, watching(run, signal) as watch:
        try:
            _require_not_stopped(run)
            definition = parse(run.plan)
            rows.update(_rows_of(run))
            if rows:
                if not settle(run, definition):
                    return None
                rows.update(_rows_of(run))
            context = context_of(run).derive(cancel=signal, depth=depth)
            journey = Journey(run, definition, context, watch, journal, RunTools(definition), rows)
            return _why_ended(run, walk(journey), signal, watch)
        except DomainError as error:
            return Ending(status=RunStatus.FAILED, error=storable(error.as_dict()))
        except (LeaseLost, *AWAY):
            raise  # this worker has the run no more, or cannot say anything about it
        except Exception:  # the boundary: a run must not stay "running" for ever
            logger.exception("Run %s stopped unexpectedly", run.pk)
            return Ending(status=RunStatus.FAILED, error=UNEXPECTED)


_STEPS = Worded(lambda: RunStep.objects.filter(run=UUID(int=0)).order_by())


def _rows_of(run: Run) -> Rows:
    return Rows({(row.number, row.iteration): row for row in _STEPS.all(run.pk)})


def _finish(run: Run, journal: Journal, ending: Ending) -> None:
    """Write the end of a run, and close what else of it is open: questions, and runs inside."""
    if ending.status == RunStatus.SUCCEEDED:
        journal.finish(ending)
    else:
        journal.flush()
        patiently(partial(_close, run, ending))


@transaction.atomic
def _close(run: Run, ending: Ending) -> None:
    run_finish(run, ending)
    run_end_all(run, ending, timezone.now())


@contextmanager
def _signal(run: Run, cancel: Event) -> Iterator[Signal]:
    """Yield the signal on which the run ends; a draft that is tested cannot be stopped."""
    if run.tool_id is None:
        yield Signal(cancel)
    else:
        with running.call(run.tool_id, cancel) as signal:
            yield signal


def _require_not_stopped(run: Run) -> None:
    """Raise ToolStopped for a run that waited in the queue while its sequence was stopped."""
    standing = standing_of(run.tool_id) if run.tool_id else None
    if standing is not None and (stop := stop_in(standing)):
        raise stop.error(run.name)


def _why_ended(run: Run, rest: Ending | Stop, signal: Signal, watch: Watch) -> Ending | Stop:
    """Return how a run ended; one that did not get to its end before it was stopped says so."""
    if isinstance(rest, Ending) and rest.status == RunStatus.SUCCEEDED:
        return rest
    if signal.stop is not None:
        error: DomainError = signal.stop.error(run.name, running=True)
    elif watch.is_orphaned():
        error = OwnerInactive()
    else:
        return rest
    return Ending(status=RunStatus.FAILED, error=storable(error.as_dict()))
