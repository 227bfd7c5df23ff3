"""End a step: skipped, failed, or failed and replaced by its fallback."""

import copy
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from config.lib.types import JsonObject
from sequences.definition import Step
from sequences.display import display_failure
from sequences.models import Run, RunStep
from sequences.models.run_step import StepStatus

LONGEST_TOLD = 2**31 - 1
"""Milliseconds that the column holds; who waits for a person may take longer."""


def row_of(run: Run, step: Step, iteration: int | None = None) -> RunStep:
    """Return a new row of a step that begins now; it is written when the step begins or ends."""
    return RunStep(
        run=run,
        number=step.step_number,
        iteration=iteration,
        key=step.key or "",
        title=step.name,
        started_at=timezone.now(),
    )


def succeed(row: RunStep, output: Any, message: str) -> None:
    """Put into the row what the step gave."""
    row.status, row.output, row.error, row.message = StepStatus.SUCCEEDED, output, None, message
    _stop_clock(row)


def skip(row: RunStep, message: str) -> None:
    """Put into the row why the step was not done; it leaves no output."""
    row.status, row.message = StepStatus.SKIPPED, message
    _stop_clock(row)


def fail(
    row: RunStep,
    step: Step,
    error: JsonObject,
    *,
    known: Mapping[str, Any],
    inputs: Mapping[str, Any] | None = None,
    may_fall_back: bool = True,
) -> None:
    """Put into the row why the step failed, and the value in its place where it has a fallback."""
    row.error = error
    row.message = display_failure(step, context=known, inputs=inputs or {}, error=error)
    row.status = StepStatus.FAILED
    if step.fallback is not None and may_fall_back:
        row.status, row.output = StepStatus.FELL_BACK, copy.deepcopy(step.fallback.value)
    _stop_clock(row)


def _stop_clock(row: RunStep) -> None:
    took = (timezone.now() - row.started_at).total_seconds() * 1000
    row.duration_ms = min(max(round(took), 0), LONGEST_TOLD)
