"""Answer what a run asks a person, once, and let the run go on."""

import logging
from datetime import datetime
from typing import cast
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from config.lib.errors import Conflict, DomainError, InvalidInput, NotFound
from config.lib.jsontext import storable
from config.lib.types import JsonObject, JsonValue
from registry.errors import InvalidArguments
from registry.schemas import validate_arguments
from sequences.definition import DefinitionInvalid, Step, parse
from sequences.display import display_success
from sequences.models import RunRequest, RunStep
from sequences.models.run_step import StepStatus
from sequences.running.ends import fail, succeed
from sequences.running.journey import Known, known_of
from sequences.states import run_lock, run_wake

logger = logging.getLogger(__name__)

ANSWERED = "It was answered."

LONGEST_NOTE = 2_000
"""Characters of the note that comes with an answer."""


class ApprovalRefused(DomainError):
    """A person refused."""

    code = "approval_refused"
    default_hint = "Change what was refused, then retry from the approval step."


class ApprovalExpired(DomainError):
    """Nobody answered in time."""

    code = "approval_expired"
    default_hint = "Retry from the approval step, and answer it in time."


def request_answer(
    request: RunRequest,
    *,
    user: User,
    approved: bool,
    values: JsonValue = None,
    note: str = "",
) -> RunRequest:
    """Answer the question of an approval step and let its run go on; return it as answered.

    `values` are checked by the question's form; a refusal has none. Raises NotFound for anybody
    but the person whose run it is, InvalidInput, whose problems name the fields, for an answer
    that does not fit, and Conflict when it was answered, has expired or is no longer asked.
    """
    if request.run.user_id != user.pk:
        raise NotFound("There is no such question, or it is not yours to answer.")
    if len(note) > LONGEST_NOTE:
        raise InvalidInput(f"The note is longer than {LONGEST_NOTE:,} characters.")
    checked = _checked(request.input_schema, values) if approved else None
    with transaction.atomic():
        open_request = _lock(request.pk)
        if open_request is None:
            raise Conflict("This was answered already, or is no longer asked.", "Reload the page.")
        open_request.approved, open_request.values = approved, checked
        open_request.note = str(storable(note))
        open_request.answered_by, open_request.answered_at = user, timezone.now()
        open_request.save()
        _end(open_request)
    return open_request


def requests_expire(now: datetime) -> int:
    """Fail the approval steps that nobody answered in time; return how many."""
    late = RunRequest.objects.filter(approved=None, expires_at__lte=now)
    count = 0
    for request_id in list(late.values_list("pk", flat=True)):
        try:
            count += _expire(request_id)
        except Exception:  # the boundary: the others are late, too; this one is tried again
            logger.exception("Question %s could not be put away", request_id)
    return count


@transaction.atomic
def _expire(request_id: UUID) -> bool:
    request = _lock(request_id)
    if request is None:
        # the run ended first: the question is put away, so that no sweep finds it again
        RunRequest.objects.filter(pk=request_id, approved=None).update(expires_at=None)
        return False
    request.approved, request.answered_at = False, timezone.now()
    request.save()
    _end(request)
    return True


def _lock(request_id: UUID) -> RunRequest | None:
    """Return the question if it is still asked, and let nobody else answer it or end its run."""
    request = RunRequest.objects.select_related("run", "step").get(pk=request_id)
    run_lock(request.run)
    request.refresh_from_db(from_queryset=RunRequest.objects.select_related("run", "step"))
    waits = request.step.status == StepStatus.WAITING and not request.run.is_finished
    return request if waits and request.approved is None else None


def _checked(schema: JsonObject | None, values: JsonValue) -> JsonObject | None:
    if schema is not None:
        try:
            return validate_arguments(schema, storable({} if values is None else values))
        except InvalidArguments as error:
            raise _unfit(error) from None
    if values:
        raise InvalidInput("This question has no form, so no values can be sent with the answer.")
    return None


def _unfit(error: InvalidArguments) -> InvalidInput:
    """Return what does not fit as a problem of an answer, and not of a tool's arguments."""
    if not (problems := error.extra.get("problems")):
        return InvalidInput(error.message, "Correct the values and answer again.")
    told = "; ".join(f"{each['path'].removeprefix('$.')} {each['message']}" for each in problems)
    return InvalidInput(
        f"The answer does not fit the form: {told}.",
        "Correct the named fields and answer again.",
        problems=problems,
    )


def _end(request: RunRequest) -> None:
    """End the step by the answer, and let the run go on.

    A run whose definition can no longer be read is told so by whoever plays it.
    """
    row, run = request.step, request.run
    try:
        definition = parse(run.plan)
    except DefinitionInvalid:
        row.message = ANSWERED
    else:
        step = definition.steps[row.number - 1]
        rows = {(each.number, each.iteration): each for each in run.steps.all()}
        _put(request, row, step, known_of(run, definition, rows))
    row.save()
    run_wake(run)


def _put(request: RunRequest, row: RunStep, step: Step, known: Known) -> None:
    """Put the answer into the row of its step."""
    by = request.answered_by.username if request.answered_by else None
    output: JsonObject = {
        "approved": request.approved,
        "by": by,
        "note": request.note,
        "values": request.values,
    }
    inputs = cast(JsonObject, row.input or {})
    goes_on = step.approval is not None and step.approval.on_rejected == "continue"
    if by is None:
        error: DomainError = ApprovalExpired("Nobody answered in time.")
    elif not request.approved and not goes_on:
        said = f": {request.note}" if request.note else "."
        error = ApprovalRefused(f"{by} refused{said}", by=by, note=request.note)
    else:
        told = f"{'Approved' if request.approved else 'Refused'} by {by}."
        if step.output_display_success.strip():
            told = display_success(step, context=known, inputs=inputs, result=output)
        return succeed(row, output, told)
    return fail(row, step, storable(error.as_dict()), known=known, inputs=inputs)
