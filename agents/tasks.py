"""What the worker does for agents. Arguments are ids; a task claims its row first."""

from uuid import UUID

from celery import shared_task

from agents import search_evaluations


@shared_task(name=search_evaluations.TASK)
def measure_search(evaluation_id: str) -> None:
    """Rank the labelled queries of one agent."""
    search_evaluations.evaluation_run(UUID(evaluation_id))


@shared_task(name="agents.measure_all_searches")
def measure_all_searches() -> None:
    """Rank the labelled queries of every agent, once a night."""
    search_evaluations.evaluate_all()
