"""Run a sequence as a tool: in the worker, or inside the run of another sequence."""

from functools import partial

from django.db import transaction

from config.lib.patience import AWAY, patiently
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import CallCancelled, RateLimited, ToolError, ToolFailed, ToolStopped
from registry.executors.base import Output
from registry.specs import ToolSpec
from sequences.approval import (
    require_steps_approved,
    require_steps_credentials,
    require_steps_permitted,
)
from sequences.asking import asked_by, asking_error, begun_by, doubt_error
from sequences.launch import launch, new_run, wait
from sequences.log import run_details
from sequences.models import Run, RunStep
from sequences.models.run import RunStatus
from sequences.nesting import MAX_DEPTH
from sequences.running import play
from sequences.running.pauses import RunWaits
from sequences.states import run_cancel, run_take


class SequenceExecutor:
    """Called for a person or a model, it follows a run in the worker; called by a step, it runs
    in that step's own worker, because a task that waits for a task can wait for ever."""

    def execute(self, spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Output:
        """Run the sequence to its end; `details` has `{run_id, log}`, in a failure too."""
        if context.depth >= MAX_DEPTH:
            raise ToolFailed(
                f"Sequences stand inside one another more than {MAX_DEPTH} deep.",
                "Call the inner tools directly instead of through another sequence.",
            )
        begun = begun_by(context)
        if begun is None:
            require_steps_permitted(spec, context)
            require_steps_approved(spec, context)
            require_steps_credentials(spec, context)
        if context.depth == 0:
            return _followed(begun or launch(spec, arguments, context), spec, context)
        return _answer(_run_inside(spec, arguments, context))


def _followed(run: Run, spec: ToolSpec, context: CallContext) -> Output:
    """Follow a run in the worker to its end; a call that is made again follows the run it began.

    A caller who can ask a person is told what the run asks, any other that it waits.
    """
    while True:
        run = wait(run, context, spec.timeout_seconds)
        if run.status == RunStatus.ATTENTION:
            raise doubt_error(run, run_details(run))
        if run.status != RunStatus.WAITING or not (context.turn_id or context.call_id):
            return _answer(run)
        if asked := asked_by(run):
            raise asking_error(run, asked, run_details(run))
        run.refresh_from_db()  # it was answered just now, and is about to go on


def _run_inside(spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Run:
    """Play the run of a step or of a program in this thread, or go on with it."""
    try:
        run, taken = patiently(partial(_begun_or_new, spec, arguments, context))
        if taken is None:
            return run
        play(taken, cancel=context.cancel, depth=context.depth)
        taken.refresh_from_db(fields=["status", "output", "error"])
    except AWAY:  # the run around it has lost the database too
        raise _left(spec) from None
    if taken.is_paused and context.parent_id is not None:
        run_cancel(taken)  # a program cannot be left in the middle
        raise ToolFailed(
            f"{spec.wire_name} has to wait for a person, which it cannot do inside of a program.",
            "Call it as a step of its own.",
            details=run_details(taken),
        )
    return taken


@transaction.atomic
def _begun_or_new(
    spec: ToolSpec, arguments: JsonObject, context: CallContext
) -> tuple[Run, Run | None]:
    """Return the run of a step, and the same again where it was taken to be played.

    A worker that was given up for lost in the meantime must neither begin it nor take it from the
    worker that has the run around it now: it raises RunWaits.
    """
    if context.run_id is not None and context.run_lease is not None:
        around = Run.objects.select_for_update(no_key=True)  # nobody takes it until this is over
        if around.filter(pk=context.run_id, lease=context.run_lease).first() is None:
            raise _left(spec)
    run = _begun_before(spec, context) or new_run(spec, arguments, context)
    if run.is_finished or run.is_paused:
        return run, None
    taken = run_take(run)
    if taken is None:
        run.refresh_from_db()
    return run, taken


def _left(spec: ToolSpec) -> RunWaits:
    """Return what a step raises whose run goes on in another worker."""
    return RunWaits(f"{spec.wire_name} was left.", stands=RunStatus.QUEUED)


def _begun_before(spec: ToolSpec, context: CallContext) -> Run | None:
    """Return the run that this attempt of a step began before its worker let go of it."""
    if context.run_step_id is None or context.parent_id is not None:
        return None
    attempt = RunStep.objects.values_list("attempts", flat=True).get(pk=context.run_step_id)
    runs = Run.objects.select_related("tool", "tool_version", "user", "agent")
    begun = runs.filter(parent_step=context.run_step_id, tool=spec.tool_id)
    last = begun.order_by("created_at", "pk").last()
    if last is not None and last.status not in (RunStatus.FAILED, RunStatus.CANCELLED):
        return last  # an attempt that is told of as failed left none that goes on
    return begun.order_by("created_at", "pk")[attempt - 1 :].first()


def _answer(run: Run) -> Output:
    details = run_details(run)
    if run.status == RunStatus.SUCCEEDED:
        return Output(value=run.output, details=details)
    if not run.is_finished:
        message = f"{run.name} waits for a person."
        raise RunWaits(message, stands=_resting(run), details=details)
    error = run.error or {}
    failure = CallCancelled if run.status == RunStatus.CANCELLED else _class_of(error)
    raise failure(error.get("message", ""), error.get("hint", ""), phase="execute", details=details)


def _resting(run: Run) -> str:
    """Return how a run rests; one that another worker has by now is only gone from here."""
    return run.status if run.is_paused else RunStatus.QUEUED


def _class_of(error: JsonObject) -> type[ToolError]:
    """Return what the failure of a run is to its caller; a stop or a limit is not its fault."""
    return {error.code: error for error in (ToolStopped, RateLimited)}.get(
        error.get("code", ""), ToolFailed
    )
