"""Celery tasks to compare a run with: what it would cost to do less."""

from __future__ import annotations

import time
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.utils import timezone
from redis import Redis

TIMES = "outfitter:test:ended"


@shared_task(name="tests.two_rows_a_step")
def two_rows_a_step(run_id: str, steps: int) -> None:
    """Write two rows a step through the ORM, and tell when it ended."""
    from registry.models import Invocation
    from sequences.models import Run, RunStep

    run = Run.objects.get(pk=UUID(run_id))
    tool_id = run.tool_id
    for number in range(1, steps + 1):
        RunStep.objects.create(
            run=run,
            number=number,
            tool_id=tool_id,
            tool_name="change_case",
            tool_version=1,
            status="succeeded",
            input={"text": "hello", "case": "upper"},
            output="HELLO",
            started_at=timezone.now(),
        )
        Invocation.objects.create(
            tool_id=tool_id,
            tool_version=1,
            caller="sequence",
            user_id=run.user_id,
            outcome="succeeded",
            phase="execute",
            arguments={"text": "hello", "case": "upper"},
            output="HELLO",
            duration_ms=0,
        )
    Redis.from_url(settings.REDIS_URL).rpush(TIMES, time.time())


@shared_task(name="tests.trivial")
def trivial(text: str) -> str:
    """Do next to nothing."""
    return text.upper()


@shared_task(name="tests.ended")
def ended(text: str) -> None:
    """Tell when a chain came to its end."""
    Redis.from_url(settings.REDIS_URL).rpush(TIMES, time.time())
