"""What a run, or a run inside it, waits for a person to say; and the runs around it."""

from uuid import UUID

from sequences.models import Run, RunRequest, RunStep
from sequences.models.run_step import StepStatus
from sequences.nesting import MAX_DEPTH


def runs_within(run: Run) -> list[UUID]:
    """Return the ids of a run and of the runs that are not over inside it."""
    found, level = [run.pk], [run.pk]
    for _ in range(MAX_DEPTH):
        inner = Run.objects.filter(parent_step__run__in=level, finished_at=None)
        level = list(inner.values_list("pk", flat=True))
        if not level:
            break
        found += level
    return found


def requests_open(runs: list[UUID]) -> list[RunRequest]:
    """Return the questions of these runs that nobody has answered, the oldest first."""
    asked = RunRequest.objects.filter(run__in=runs, run__finished_at=None, approved=None)
    return list(asked.select_related("run__tool", "step").order_by("asked_at", "pk"))


def steps_in_doubt(runs: list[UUID]) -> list[RunStep]:
    """Return the steps of these runs of which nobody knows whether they did their work."""
    doubtful = RunStep.objects.filter(
        run__in=runs, run__finished_at=None, status=StepStatus.IN_DOUBT
    )
    return list(doubtful.select_related("run__tool", "tool").order_by("number", "iteration", "pk"))


def outermost(run: Run) -> Run:
    """Return the run that a person or a program started, of which this one is a part."""
    while run.parent_step_id:
        run = Run.objects.select_related("tool").get(steps=run.parent_step_id)
    return run
