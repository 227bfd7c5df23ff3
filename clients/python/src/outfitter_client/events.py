"""Server-sent events: their wire format (HTML standard, section 9.2), and how to follow them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from outfitter_client.errors import ConnectionFailed, TimedOut
from outfitter_client.shapes import Event
from outfitter_client.wire import Reply, Request, Retry

QUIET_SECONDS = 45.0
"""A stream that is silent for so long is broken: the server says every 15 s that it lives."""


class Parser:
    """Makes events of bytes, however they are cut."""

    def __init__(self) -> None:
        """Begin at the start of a stream."""
        self._rest = b""
        self._fields: dict[str, list[str]] = {}

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Yield the events that end in this piece."""
        # only \n parts lines here: what str.splitlines() takes for one may stand inside JSON
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            text = line.removesuffix(b"\r").decode(errors="replace")
            if not text:
                if event := self._event():
                    yield event
            elif not text.startswith(":"):
                name, _, value = text.partition(":")
                self._fields.setdefault(name, []).append(value.removeprefix(" "))

    def _event(self) -> Event | None:
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return None
        text = "\n".join(fields["data"])
        try:
            data: Any = json.loads(text, strict=False)
        except ValueError:
            data = text
        return Event(fields.get("event", ["message"])[-1], data, fields.get("id", [""])[-1])


class Following:
    """A stream that is followed to its end across lost connections.

    `request_of` makes the request that begins behind an event's id, or at the start for an empty
    one. `ends` says of an event that it is the last. `fresh` drops what was told before, for
    streams that tell all of it again to those who come back; `opened` sees each answer.
    """

    def __init__(
        self,
        request_of: Callable[[str], Request],
        ends: Callable[[Event], bool],
        fresh: Callable[[Event], bool] = lambda event: True,
        opened: Callable[[Reply], None] = lambda reply: None,
        last_id: str = "",
    ) -> None:
        """Begin behind an event, or before the first."""
        self._request_of, self._ends, self._fresh = request_of, ends, fresh
        self._opened = opened
        self._parser = Parser()
        self.last_id = last_id
        self._losses = 0
        self._over = False

    def is_over(self) -> bool:
        """Say whether the last event was told."""
        return self._over

    def request(self, left: float | None = None) -> Request:
        """Return the request that goes on; `left` are the seconds that the caller has."""
        self._parser = Parser()
        asked = self._request_of(self.last_id).with_headers(accept="text/event-stream")
        timeout = QUIET_SECONDS if left is None else max(0.001, min(left, QUIET_SECONDS))
        return replace(asked, stream=True, timeout=timeout)

    def opened(self, reply: Reply) -> None:
        """Take note of an answer that is no stream: there is nothing to follow."""
        self._opened(reply)
        self._over = reply.stream is None

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Yield the new events of a piece."""
        for event in self._parser.feed(piece):
            self._losses = 0
            self.last_id = event.id or self.last_id
            self._over = self._ends(event)
            if self._fresh(event):
                yield event
            if self._over:
                return

    def lost(self, retry: Retry, reason: str) -> float:
        """Return how long to wait before going on; raise when it was lost too often."""
        self._losses += 1
        if self._losses > retry.times:
            raise ConnectionFailed(
                f"The events broke off {self._losses} times in a row: {reason}",
                "Follow it again later: it goes on without anybody looking.",
            )
        return retry.backoff(self._losses)


def too_late(what: str, seconds: float) -> TimedOut:
    """Return the error of a wait that is over before what was waited for."""
    return TimedOut(
        f"{what} is not over after {seconds:g} s.", "It goes on; wait again, or cancel it."
    )
