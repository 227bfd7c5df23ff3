"""Server-sent events of a turn: HTML for the page, JSON for programs."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

from django.http import HttpRequest
from django.utils import timezone

from chat.endings import STALE_AFTER, turns_close_stale
from chat.events import Event, events_after
from chat.folding import TurnView, view_for
from chat.following import follow
from chat.models import Turn
from chat.rendering import changes_html, ended_html, status_html
from chat.threads import in_thread
from config.lib.event_streams import KEEPALIVE, sse
from config.lib.numbers import whole_number

ASKING = frozenset({"input.required", "input.answered", "turn.waiting", "turn.resumed"})
"""Events after which a turn waits for the person, or no longer does."""


async def json_stream(
    turn: Turn, *, after: int = 0, until_waiting: bool = False
) -> AsyncGenerator[str]:
    """Yield the events behind `after` as the contract has them, until the turn is over.

    With `until_waiting`, also until it waits for a person.
    """
    async with aclosing(_followed(turn, after, until_waiting=until_waiting)) as events:
        async for event in events:
            if event is None:
                yield KEEPALIVE
            else:
                # sorted, so that an event is the same bytes live and when it is read again
                data = json.dumps(event.data, ensure_ascii=False, sort_keys=True)
                yield sse(data, event.name, event.number)


async def html_stream(turn: Turn, *, after: int = 0) -> AsyncGenerator[str]:
    """Yield what changes on the page behind event `after`, and `end` when the turn is over."""
    view = await in_thread(_view_until, turn, after)
    if not view.over:
        async with aclosing(_followed(turn, after)) as events:
            async for event in events:
                if event is None:
                    yield KEEPALIVE
                elif html := _told(view, event):
                    yield sse(html, "turn", event.number)
    yield sse(await in_thread(ended_html, turn), "turn", view.number)
    yield sse("over", "end", view.number)


def _told(view: TurnView, event: Event) -> str:
    """Take an event into a view; return what it changes on the page."""
    html = changes_html(view, view.apply(event))
    return html + status_html(view) if event.name in ASKING else html


async def wait_for_end(turn: Turn, *, after: int = 0, until_waiting: bool = False) -> None:
    """Return when the turn is over; with `until_waiting`, also when it waits for a person."""
    async with aclosing(_followed(turn, after, until_waiting=until_waiting)) as events:
        async for _ in events:
            pass


async def _followed(
    turn: Turn, after: int, *, until_waiting: bool = False
) -> AsyncGenerator[Event | None]:
    """Follow a turn, and close it where its process turns out to be gone."""
    if timezone.now() - (turn.heartbeat_at or turn.created_at) > STALE_AFTER:
        await in_thread(turns_close_stale, turn.conversation_id)
    async with aclosing(follow(turn.pk, after=after, until_waiting=until_waiting)) as events:
        async for event in events:
            yield event
            if event is None:
                await in_thread(turns_close_stale, turn.conversation_id)


def _view_until(turn: Turn, number: int) -> TurnView:
    """Return the view that a page has which saw the events up to `number`."""
    view = view_for(turn)
    for event in events_after(turn.pk, 0):
        if event.number <= number:
            view.apply(event)
    return view


def last_seen(request: HttpRequest) -> int:
    """Return the event a client saw last: `Last-Event-ID` on a reconnect, else `?after=`."""
    seen = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    return whole_number(seen) or 0
