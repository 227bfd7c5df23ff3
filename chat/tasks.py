"""What the worker does for conversations."""

from uuid import UUID

from celery import shared_task

from chat import bench_running
from chat.endings import turns_close_stale
from chat.taking_up import hand_back_missed, runs_hand_back
from chat.turns import turn_start
from chat.variables import expired


@shared_task
def forget_expired_values() -> int:
    """Delete the values of conversations whose time is over; return how many."""
    return expired().delete()[0]


@shared_task
def close_stale_turns() -> int:
    """Close turns whose process is gone, though nobody looks at them; return how many.

    Turns go on that wait for another agent, or for a run, whose process died before it could tell
    them.
    """
    closed = turns_close_stale()
    for turn_id in [*hand_back_missed(), *runs_hand_back()]:
        turn_start(turn_id)
    return closed


@shared_task(name=bench_running.TASK)
def run_bench(run_id: str) -> None:
    """Try the cases of a bench run that are left."""
    bench_running.bench_run(UUID(run_id))


@shared_task(name="chat.resume_benches")
def resume_benches() -> int:
    """Go on with the bench runs whose worker is gone; return how many."""
    return bench_running.benches_resume()
