"""Ask a person in the middle of a run."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from config.lib.errors import DomainError
from config.lib.jsontext import storable
from sequences.definition import Approval, Step, Template
from sequences.mapping import resolve_inputs
from sequences.models import RunRequest, RunStep
from sequences.models.run_step import StepStatus
from sequences.running.ends import fail
from sequences.running.journey import Journey, Known
from sequences.step_rows import step_end


def ask(journey: Journey, asked: Approval, step: Step, row: RunStep, known: Known) -> None:
    """Write the question of an approval step; its row waits until `sequences.requests` ends it."""
    if row.status == StepStatus.WAITING:
        return
    try:
        template = {"message": Template(source="template", value=asked.message)}
        row.input = storable(resolve_inputs(template, known))
    except DomainError as problem:
        fail(row, step, storable(problem.as_dict()), known=known)
        journey.journal.end(row)
        return
    row.status, row.message = StepStatus.WAITING, "It waits for a person's answer."
    journey.journal.flush()
    seconds = asked.expires_after_seconds
    with transaction.atomic():
        step_end(journey.run, row)
        RunRequest.objects.create(
            run=journey.run,
            step=row,
            title=asked.title or step.title,
            message=row.input["message"],
            input_schema=asked.input_schema,
            expires_at=timezone.now() + timedelta(seconds=seconds) if seconds else None,
        )
