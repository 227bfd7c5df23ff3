"""Keep what the steps of a draft gave in its tests."""

from uuid import UUID

from sequences.models import DraftOutput, Run
from sequences.models.run_step import StepStatus
from sequences.testing_plan import step_digests

KEPT = (StepStatus.SUCCEEDED, StepStatus.FELL_BACK, StepStatus.FAILED)


def outputs_keep(run_id: UUID) -> None:
    """Keep what the steps of a test gave, for the builder and for later tests.

    Of any other run, nothing is kept.
    """
    run = Run.objects.filter(pk=run_id, draft__isnull=False).first()
    if run is None:
        return
    digests = step_digests(run.plan)
    rows = run.steps.filter(iteration=None, status__in=KEPT).exclude(key="").order_by("number")
    for row in rows:
        DraftOutput.objects.update_or_create(
            draft_id=run.draft_id,
            step_key=row.key,
            defaults={
                "digest": digests.get(row.key, ""),
                "input": row.input,
                "output": row.output,
                "error": row.error if row.status == StepStatus.FAILED else None,
                "is_edited": False,
                "run": run,
            },
        )
