"""What the worker does for agents. Arguments are ids; a task claims its row first."""

from uuid import UUID

from celery import shared_task
from oauth2_provider.models import clear_expired

from agents import search_evaluations
from agents.oauth.registration import forget_waiting


@shared_task(name=search_evaluations.TASK)
def measure_search(evaluation_id: str) -> None:
    """Rank the labelled queries of one agent."""
    search_evaluations.evaluation_run(UUID(evaluation_id))


@shared_task(name="agents.measure_all_searches")
def measure_all_searches() -> None:
    """Rank the labelled queries of every agent, once a night."""
    search_evaluations.evaluate_all()


@shared_task(name="agents.clear_oauth")
def clear_oauth() -> None:
    """Forget expired codes and tokens, and programs that nobody has decided about."""
    clear_expired()  # type: ignore[no-untyped-call]
    forget_waiting()
