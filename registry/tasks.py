"""What the worker does for the registry. Arguments are ids; a task claims its row first."""

from uuid import UUID

from celery import shared_task

from registry.importing.health_check import packages_check
from registry.importing.jobs import TASK, import_run


@shared_task(name=TASK)
def run_import(job_id: str) -> None:
    """Carry out one queued import."""
    import_run(UUID(job_id))


@shared_task(name="registry.check_tool_health")
def check_tool_health() -> None:
    """Read the exports of every imported package again and set the health of its tools."""
    for _ in packages_check():
        pass
