"""Start a run in the worker, and follow it."""

import json
import logging
import time

from config.lib.errors import Conflict
from config.lib.jsontext import storable
from config.lib.sealing import seal
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import CallCancelled, ToolTimeout, ToolUnavailable
from registry.models import ToolVersion
from registry.specs import ToolSpec
from sequences.log import run_details
from sequences.models import Run
from sequences.models.run import RunStatus
from sequences.places import limit_of
from sequences.sending import enqueue_on_commit
from sequences.states import run_cancel

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.1


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

    Each change of a step is told to `context.progress` as `{message, step, status, run}`. A caller
    that gives up, a time limit that passes and a queue that cannot be reached cancel the run:
    nobody would be told how it ended. They raise CallCancelled, ToolTimeout and ToolUnavailable.
    """
    deadline = time.monotonic() + timeout_seconds
    told: dict[int, str] = {}
    while True:
        status, error = Run.objects.values_list("status", "error").get(pk=run.pk)
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


def _tell(run: Run, told: dict[int, str], context: CallContext) -> None:
    steps = (
        run.steps.filter(iteration=None)
        .order_by("number")
        .values_list("number", "status", "message", "tool_name")
    )
    for number, status, message, tool in steps:
        if told.get(number) != status:
            told[number] = status
            context.progress(
                {
                    "message": message or f"Step {number}: {tool}",
                    "step": number,
                    "status": status,
                    "run": str(run.pk),
                }
            )


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
