"""Start a run in the worker, and follow it."""

import json
import logging
import time

from django.db.models import Count

from config.lib.errors import Conflict
from config.lib.ids import uuids_in
from config.lib.jsontext import storable
from config.lib.sealing import seal
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import CallCancelled, ToolTimeout, ToolUnavailable
from registry.executors.base import give_back_connection
from registry.models import Tool, ToolVersion
from registry.specs import ToolSpec
from sequences.definition import parse
from sequences.log import run_details
from sequences.models import Run
from sequences.models.run import RunStatus
from sequences.models.run_step import OPEN
from sequences.places import limit_of
from sequences.sending import enqueue_on_commit
from sequences.states import run_cancel

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.1

Told = dict[int, tuple[str, int]]
"""Number of a step → its status and how many items of its loop are over, as told last."""


def new_run(spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Run:
    """Create a queued run of this version of a sequence, with the rights of its caller.

    Values that came with the call are sealed in its row until it ends; the queue carries the id
    of the run alone.
    """
    version = ToolVersion.objects.get(tool_id=spec.tool_id, number=spec.version)
    return Run.objects.create(
        tool_id=spec.tool_id,
        tool_version=version,
        input=storable(arguments),
        caller=context.caller,
        user=context.user,
        agent_id=context.agent_id,
        scopes=None if context.scopes is None else sorted(context.scopes),
        turn_id=context.turn_id,
        call_id=context.call_id,
        given=seal(json.dumps(dict(context.given))) if context.given else None,
        parent_step_id=context.run_step_id,
    )


def launch(spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Run:
    """Create a run and put it in the queue on commit; the caller has checked the arguments.

    When the queue cannot be reached the run stays queued, its `error` says so, and it is put in
    the queue later by `sequences.reaper`.
    """
    run = new_run(spec, arguments, context)
    enqueue_on_commit(run.pk)
    return run


def wait(run: Run, context: CallContext, timeout_seconds: float) -> Run:
    """Follow a run to its end and return it as it then is.

    First `context.progress` is told the steps as `{run, plan: [{step, message}]}`, then each change
    of one as `{message, step, status, run}`, in a loop with how many items are done. A caller
    that gives up, a time limit that passes and a queue that cannot be reached cancel the run:
    nobody would be told how it ended. They raise CallCancelled, ToolTimeout and ToolUnavailable.
    """
    deadline = time.monotonic() + timeout_seconds
    told: Told = {}
    plan = planned(run)
    while True:
        status, error = Run.objects.values_list("status", "error").get(pk=run.pk)
        if plan:
            context.progress({"message": "", "run": str(run.pk), "plan": plan})
            plan = []
        _tell(run, told, context)
        if status not in (RunStatus.QUEUED, RunStatus.RUNNING):
            run.refresh_from_db()
            return run
        if context.cancel.is_set():
            _give_up(run)
            raise CallCancelled("The run was cancelled.", details=run_details(run))
        if status == RunStatus.QUEUED and error:
            _give_up(run)
            raise ToolUnavailable(
                "The queue cannot be reached, so the sequence could not run.",
                "Try again later. The operator finds the cause with `manage.py doctor`.",
                details=run_details(run),
            )
        if time.monotonic() > deadline:
            _give_up(run)
            raise _too_late(run, RunStatus(status), timeout_seconds)
        context.cancel.wait(POLL_SECONDS)


def await_end(run: Run, seconds: float) -> None:
    """Wait until a run is over or rests for a person, or the time is up; read it back."""
    deadline = time.monotonic() + seconds
    while not (run.is_finished or run.is_paused) and time.monotonic() < deadline:
        give_back_connection()
        time.sleep(POLL_SECONDS)
        run.refresh_from_db(fields=["status", "output", "error"])


def planned(run: Run) -> list[JsonObject]:
    """Return the steps that a run is to do, as `[{step, message}]`."""
    steps = [step for step in parse(run.plan).steps if not step.disabled]
    ids = uuids_in(step.tool for step in steps if not step.title)
    names = Tool.objects.filter(pk__in=ids).values_list("pk", "wire_name")
    known = {str(tool_id): name for tool_id, name in names}
    return [
        {
            "step": step.step_number,
            "message": step.title or known.get(step.tool, step.tool or "Approval"),
        }
        for step in steps
    ]


def _tell(run: Run, told: Told, context: CallContext) -> None:
    of_steps = run.steps.filter(iteration=None).order_by("number", "pk")
    rows = of_steps.values_list("number", "status", "message", "title", "tool_name")
    done = _done(run)
    for number, status, message, title, tool in rows:
        stands = (status, done.get(number, 0))
        if told.get(number) != stands:
            told[number] = stands
            context.progress(
                {
                    "message": _words(message or title or tool or f"Step {number}", *stands),
                    "step": number,
                    "status": status,
                    "run": str(run.pk),
                }
            )


def _done(run: Run) -> dict[int, int]:
    """Return how many items of each loop are over."""
    rows = run.steps.filter(iteration__isnull=False).exclude(status__in=OPEN)
    return dict(rows.order_by().values_list("number").annotate(Count("pk")))


def _words(message: str, status: str, done: int) -> str:
    return f"{message}: {done} done" if done and status in OPEN else message


def _give_up(run: Run) -> None:
    try:
        run_cancel(run)
    except Conflict:
        logger.info("Run %s ended just before it was given up", run.pk)


def _too_late(run: Run, status: RunStatus, seconds: float) -> ToolTimeout | ToolUnavailable:
    if status == RunStatus.QUEUED and limit_of(run):
        return ToolUnavailable(
            f"Other runs of {run.name} were at work for {seconds:g} s, as many as it allows.",
            "Try again later, or let its owner allow more runs at the same time.",
            details=run_details(run),
        )
    if status == RunStatus.QUEUED:
        return ToolUnavailable(
            f"No worker took the sequence within {seconds:g} s.",
            "Try again later. The operator finds the cause with `manage.py doctor`.",
            details=run_details(run),
        )
    return ToolTimeout(
        f"The sequence did not end within {seconds:g} s and was cancelled.",
        "Run it from its own page, where it may take longer, or give it less to do.",
        details=run_details(run),
    )
