"""Sequences that wait for a person: for an answer, or because a step is in doubt."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.utils import timezone

from config.lib.types import JsonObject
from registry.models import Tool
from sequences import running
from sequences.models import Run, RunRequest, RunStep
from tests.sequences import workshop

FORM: JsonObject = {
    "type": "object",
    "properties": {"copies": {"type": "integer", "minimum": 1}, "express": {"type": "boolean"}},
    "required": ["copies"],
}


def approval(**fields: Any) -> JsonObject:
    """Describe a step that asks before the run goes on."""
    return {"title": "Print it?", "message": "It costs <b>paper</b>.", **fields}


def asking(user: User, **fields: Any) -> RunRequest:
    """Make a run that has asked a person and waits; `fields` are of the approval."""
    echo = workshop.make("echo", wire_name="print")
    sequence = workshop.sequence_of(
        user, workshop.step(echo), {"approval": approval(**fields)}, workshop.step(echo)
    )
    run = workshop.run_of(sequence, user)
    running.execute(run.pk)
    return RunRequest.objects.select_related("run").get(run=run)


def doubtful(user: User) -> RunStep:
    """Make a run that needs attention: nobody knows what became of its step."""
    tool = Tool.objects.filter(wire_name="order").first() or workshop.make(
        "echo", wire_name="order", output_schema={"type": "object", "required": ["id"]}
    )
    run = workshop.run_of(workshop.sequence_of(user, workshop.step(tool)), user)
    now = timezone.now()
    step = RunStep.objects.create(
        run=run,
        number=1,
        tool=tool,
        tool_name="order",
        tool_version=1,
        status="in_doubt",
        input={},
        started_at=now,
    )
    values = {"lease": uuid4(), "lease_until": now + timedelta(seconds=20)}
    Run.objects.filter(pk=run.pk).update(status="running", started_at=now, **values)
    Run.objects.filter(pk=run.pk).update(status="attention", lease=None, lease_until=None)
    return step
