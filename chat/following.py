"""Follow the events of a turn: first the rows, then live."""

import time
from collections.abc import AsyncGenerator
from uuid import UUID

from chat.events import TERMINAL, WAITING, Event, channel_of, events_after
from chat.threads import in_thread
from config.lib.event_hub import Listener, hub

KEEPALIVE_SECONDS = 15
POLL_SECONDS = 1
"""How often the rows are looked at while Redis is gone."""


async def follow(
    turn_id: UUID, *, after: int = 0, until_waiting: bool = False
) -> AsyncGenerator[Event | None]:
    """Yield the events behind `after` until the turn is over; at once, where it is already.

    A turn that waits for a person is followed on, unless `until_waiting`. Yields None when nothing
    happened for `KEEPALIVE_SECONDS`, so that the reader can tell the other side that the
    connection lives.
    """
    ends = TERMINAL | {WAITING} if until_waiting else TERMINAL
    async with hub().listening(channel_of(turn_id)) as news:
        # listening starts before the rows are read, so that nothing falls in between
        await news.wait(POLL_SECONDS)
        # the one before `after` too: it tells a reader that saw everything that this is the end
        waiting = await in_thread(events_after, turn_id, after - 1)
        quiet_since = time.monotonic()
        while True:
            for event in waiting:
                if event.number > after:
                    after = event.number
                    yield event
                    quiet_since = time.monotonic()
            # what was taken up again goes on behind its end
            if waiting and waiting[-1].name in ends:
                return
            waiting = await _heard(turn_id, after, news, quiet_since)
            if not waiting and time.monotonic() - quiet_since >= KEEPALIVE_SECONDS:
                yield None
                quiet_since = time.monotonic()


async def _heard(turn_id: UUID, after: int, news: Listener, quiet_since: float) -> list[Event]:
    """Return the new events: those that were told, or the rows where some were missed."""
    left = max(0.0, quiet_since + KEEPALIVE_SECONDS - time.monotonic())
    messages, missed = await news.wait(left if news.hears else min(left, POLL_SECONDS))
    told = [event for event in map(Event.unpacked, messages) if event.number > after]
    in_order = all(event.number == after + place for place, event in enumerate(told, 1))
    # silence is a reason to look too: Redis may have lost the news without a word
    if missed or not in_order or not messages:
        return await in_thread(events_after, turn_id, after)
    return told
