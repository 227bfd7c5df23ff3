"""When a web process is told to end, its streams end at once and say why.

The server itself would wait for them until its patience is over, and then cut them off. A browser
or an MCP client comes back by itself, to another process, and says by `Last-Event-ID` what it has.
"""

import asyncio
import time
from collections.abc import Callable
from threading import Lock

from starlette.types import Message, Receive, Send

FAREWELL = b": the server ends; come back with Last-Event-ID\nretry: 500\n\n"
"""A comment, which no client takes for an event, and when to come back, in milliseconds."""


class Streams:
    """The streams of events that this process sends now."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._over = False

    def begin(self) -> asyncio.Event:
        """Return what is set when the stream is to end."""
        ends = asyncio.Event()
        with self._lock:
            self._open[ends] = asyncio.get_running_loop()
            if self._over:
                ends.set()
        return ends

    def over(self, ends: asyncio.Event) -> None:
        """Forget a stream that is over."""
        with self._lock:
            self._open.pop(ends, None)

    def end_all(self) -> None:
        """Have all streams end, and those that begin from now on; from any thread."""
        with self._lock:
            self._over = True
            for ends, loop in self._open.items():
                loop.call_soon_threadsafe(ends.set)


streams = Streams()
"""Those of this process."""


class Parting:
    """Passes on what a stream sends, until it is to end.

    The application is then told that the client has gone, and what it still sends is dropped.
    """

    def __init__(self, ends: asyncio.Event, receive: Receive, send: Send) -> None:
        self._ends, self._receive, self._send = ends, receive, send
        self._streams, self._over = False, False
        self._asked_all = False

    async def receive(self) -> Message:
        """Return what the client sends, or that it has gone."""
        if not self._asked_all:
            message = await self._receive()
            self._asked_all = not message.get("more_body", False)
            return message
        hearing = asyncio.ensure_future(self._receive())
        ending = asyncio.ensure_future(self._ends.wait())
        try:
            await asyncio.wait({hearing, ending}, return_when=asyncio.FIRST_COMPLETED)
            if hearing.done():
                return hearing.result()
            await self._part()
            if not self._streams:
                return await hearing  # an answer that is no stream is given
        finally:
            hearing.cancel()
            ending.cancel()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send what the application says."""
        if self._over:
            return
        if message["type"] == "http.response.start":
            self._streams = _is_stream(message)
        elif not message.get("more_body", False):
            self._over = True
        await self._send(message)

    async def _part(self) -> None:
        if self._streams and not self._over:
            self._over = True
            await self._send({"type": "http.response.body", "body": FAREWELL, "more_body": False})


def wants_stream(accept: str) -> bool:
    """Say whether a client would take a stream of events."""
    return "text/event-stream" in accept


def _is_stream(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in message["headers"]
    )


def after(first: Callable[[], None], seconds: float) -> Callable[[], None]:
    """Return what does `first`, lets its words go out for so long, and then ends all streams."""

    def end() -> None:
        try:
            first()
        finally:
            time.sleep(seconds)
            streams.end_all()

    return end
