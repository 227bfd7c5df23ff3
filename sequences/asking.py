"""What a run waits for, as whoever called it in a conversation has to ask it."""

from typing import Any

from django.urls import reverse

from config.lib.types import JsonObject, JsonSchema
from registry.context import CallContext
from registry.errors import Fault, RunAsks, ToolError
from sequences.models import Run, RunRequest, RunStep
from sequences.models.run import RunStatus
from sequences.models.run_step import StepStatus


class RunInDoubt(ToolError):
    """Nobody knows whether a step of the sequence did its work."""

    code = "run_in_doubt"  # `extra.steps` are the numbers of the steps
    health = Fault.NONE
    actor = "owner"
    default_hint = (
        "A person has to say on the page of the run what became of the step. Do not call the "
        "sequence again: the run waits there and goes on then."
    )


def begun_by(context: CallContext) -> Run | None:
    """Return the run that this very call began, if it did: it is made again after a question."""
    if context.depth:
        return None
    if context.begun is not None:
        return Run.objects.filter(pk=context.begun, user=context.user, parent_step=None).first()
    if context.turn_id is None or not context.call_id:
        return None
    runs = Run.objects.filter(
        turn_id=context.turn_id, call_id=context.call_id, parent_step=None, retry_of=None
    )
    return runs.order_by("created_at", "pk").first()


def asked_by(run: Run) -> RunRequest | None:
    """Return what a run, or one inside of it, asks first."""
    inside = [run.pk]
    while inside:
        asked = RunRequest.objects.filter(
            run__in=inside, approved=None, step__status=StepStatus.WAITING
        )
        if found := asked.order_by("asked_at", "pk").first():
            return found
        waiting = RunStep.objects.filter(run__in=inside, status=StepStatus.WAITING)
        runs = Run.objects.filter(parent_step__in=waiting, status=RunStatus.WAITING)
        inside = list(runs.values_list("pk", flat=True))
    return None


def is_asked(request_id: Any) -> bool:
    """Tell whether a question still waits for its answer."""
    return RunRequest.objects.filter(
        pk=request_id, approved=None, step__status=StepStatus.WAITING
    ).exists()


def asking_error(run: Run, request: RunRequest, details: JsonObject) -> RunAsks:
    """Return the error that makes a conversation ask what a run asks."""
    title = request.title or f"{run.name} waits for you"
    schema = request.input_schema
    return RunAsks(
        f"{run.name} asks a person: {title}",
        request=str(request.pk),
        key=request.step.key,
        run=str(run.pk),
        page=reverse("sequences:run_detail", args=[run.pk]),
        title=title,
        words=request.message,
        schema=schema,
        values=_defaults(schema or {}),
        details=details,
    )


def _defaults(schema: JsonSchema) -> JsonObject:
    properties = schema.get("properties") or {}
    return {name: each["default"] for name, each in properties.items() if "default" in each}


def doubt_error(run: Run, details: JsonObject) -> RunInDoubt:
    """Return the error of a call whose run waits for somebody to look at a step."""
    doubtful = run.steps.filter(status=StepStatus.IN_DOUBT, iteration=None).order_by("number")
    numbers = list(doubtful.values_list("number", flat=True))
    which = f"step {numbers[0]}" if numbers else "a step inside of it"
    return RunInDoubt(
        f"{run.name} stopped: its worker was lost while {which} was under way, and nobody knows "
        "whether that did its work. The run was not cancelled.",
        run=str(run.pk),
        steps=numbers,
        details=details,
    )
