"""Do the steps of a block, its branches at the same time."""

from functools import partial
from math import inf

from sequences.models.run_step import StepStatus
from sequences.running.journey import Journey, Known, Stop, Why, remember
from sequences.running.one_step import play_step
from sequences.running.plan import Block, Branch
from sequences.running.threads import share

MOST = 8
"""Branches that are at work at the same time."""


def play_block(journey: Journey, block: Block, known: Known) -> Stop | None:
    """Do a block; return why the run stops here, or None after adding its outputs to `known`.

    A branch sees what was known before the block and what it does itself. When one fails, the
    others end with the step in flight.
    """
    if len(block.branches) == 1:
        return _play_branch(journey, block.branches[0], known)
    journey.journal.flush()  # the end of the step before must not wait for the whole block
    stops: list[Stop] = []

    def play(branch: Branch) -> None:
        own = {**known, "steps": dict(known["steps"])}
        with journey.beside() as going:
            stop = _play_branch(going, branch, own)
        if stop is not None:
            stops.append(stop)

    jobs = (partial(play, branch) for branch in block.branches)
    share(jobs, at_once=min(MOST, len(block.branches)))
    for step in block.steps:
        if (row := journey.ended(step)) is not None:
            remember(known, step, row)
    return min(stops, key=_rank, default=None)


def _rank(stop: Stop) -> tuple[Why, float]:
    """Put what counts first: the gravest reason, and of those the one with a step to name.

    A branch that ends because another one failed has none, and does not say how the run ends.
    """
    return stop.why, stop.row.number if stop.row else inf


def _play_branch(journey: Journey, branch: Branch, known: Known) -> Stop | None:
    for step in branch:
        if journey.ended(step) is None and (why := journey.why_stop()) is not None:
            return Stop(why)
        row = play_step(journey, step, known)
        match row.status:
            case StepStatus.WAITING | StepStatus.IN_DOUBT:
                return Stop(Why.WAITS, row)
            case StepStatus.RUNNING:
                return Stop(Why.HANDED_OVER, row)
            case StepStatus.FAILED if journey.watch.is_cancelled():
                return Stop(Why.CANCELLED, row)
            case StepStatus.FAILED if not step.continue_on_failure:
                journey.halted.set()
                return Stop(Why.FAILED, row)
        remember(known, step, row)
    return None
