"""Follow a run: told by Redis, and by a look at the rows where nothing was heard."""

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from django.db.models import Count, Max, Q, Sum

from config.lib.event_hub import hub
from config.lib.threads import in_thread
from sequences.models import Run, RunStep
from sequences.models.run import FINISHED, RunStatus
from sequences.models.run_step import StepStatus
from sequences.news import channel_of

KEEPALIVE_SECONDS = 15
GATHER_SECONDS = 0.4
"""Changes that follow one another within this time are told together."""

LOOK_SECONDS = 3.0
"""How often the rows of a run under way are looked at although Redis is heard."""

REST_SECONDS = 15.0
"""The same for a run that waits: for a worker or for a person."""

POLL_SECONDS = 1.0
"""How often the rows are looked at while Redis is gone."""


@dataclass(frozen=True, kw_only=True)
class State:
    """What one look at a run's rows gave; another `digest` means that something has changed."""

    status: str
    digest: str

    @property
    def over(self) -> bool:
        """Tell whether nothing more will come."""
        return self.status in FINISHED


def state_of(run_id: UUID) -> State | None:
    """Return the state of a run and of the runs inside it; None when the run is gone."""
    run = (
        Run.objects.filter(pk=run_id)
        .values_list("status", "cancel_requested_at", "claims", "error", "sent_at")
        .first()
    )
    if run is None:
        return None
    inner = Run.objects.filter(parent_step__run=run_id).values_list("pk", flat=True)
    told = RunStep.objects.filter(run__in=[run_id, *inner]).aggregate(
        Count("pk"),
        Sum("attempts"),
        Max("started_at"),
        **{name: Count("pk", filter=Q(status=name)) for name in StepStatus.values},
    )
    text = repr((run, sorted(told.items())))
    return State(status=run[0], digest=sha256(text.encode()).hexdigest()[:16])


async def follow(run_id: UUID, *, seen: str = "") -> AsyncGenerator[State | None]:
    """Yield the state of a run each time that it is another than `seen`, until the run is over.

    What happens in quick succession is yielded once. Yields None when nothing happened for
    `KEEPALIVE_SECONDS`. Ends without a state when the run is gone.
    """
    async with hub().listening(channel_of(run_id)) as news:
        # listening starts before the rows are read, so that nothing falls in between
        await news.wait(POLL_SECONDS)
        quiet_since = time.monotonic()
        while (state := await in_thread(state_of, run_id)) is not None:
            if state.digest != seen:
                seen, quiet_since = state.digest, time.monotonic()
                yield state
            elif time.monotonic() - quiet_since >= KEEPALIVE_SECONDS:
                quiet_since = time.monotonic()
                yield None
            if state.over:
                return
            await asyncio.sleep(GATHER_SECONDS)
            resting = state.status != RunStatus.RUNNING
            patience = REST_SECONDS if resting else LOOK_SECONDS
            await news.wait(patience if news.hears else POLL_SECONDS)
