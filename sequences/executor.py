"""Run a sequence as a tool: in the worker, or inside the run of another sequence."""

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
from sequences.launch import launch, new_run, wait
from sequences.log import run_details
from sequences.models import Run
from sequences.models.run import RunStatus
from sequences.nesting import MAX_DEPTH
from sequences.runner import play
from sequences.states import run_claim


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
        require_steps_permitted(spec, context)
        require_steps_approved(spec, context)
        require_steps_credentials(spec, context)
        if context.depth == 0:
            run = wait(launch(spec, arguments, context), context, spec.timeout_seconds)
        else:
            run = _run_inside(spec, arguments, context)
        return _answer(run)


def _run_inside(spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Run:
    run = run_claim(new_run(spec, arguments, context).pk)
    if run is None:
        raise CallCancelled("The run was cancelled before it began.")
    play(run, cancel=context.cancel, depth=context.depth)
    return run


def _answer(run: Run) -> Output:
    details = run_details(run)
    if run.status == RunStatus.SUCCEEDED:
        return Output(value=run.output, details=details)
    error = run.error or {}
    failure = CallCancelled if run.status == RunStatus.CANCELLED else _class_of(error)
    raise failure(error.get("message", ""), error.get("hint", ""), phase="execute", details=details)


def _class_of(error: JsonObject) -> type[ToolError]:
    """Return what the failure of a run is to its caller; a stop or a limit is not its fault."""
    return {error.code: error for error in (ToolStopped, RateLimited)}.get(
        error.get("code", ""), ToolFailed
    )
