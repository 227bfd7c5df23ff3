"""Streams that stay open until the process ends, or their token does."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agents.bearer import Bearer
from agents.lifelines import lifeline


class Ending:
    """Tells open streams that the process ends, so that the server need not wait for them."""

    def __init__(self) -> None:
        self._begun = False
        self._open: set[asyncio.Event] = set()
        self._loop = asyncio.get_running_loop()

    def begin(self) -> None:
        """End them, from whatever thread."""
        self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._begun = True
        for over in self._open:
            over.set()

    async def serve(
        self, app: ASGIApp, bearer: Bearer, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve a stream whose client seems to leave when the process ends, or its token does.

        Then the stream is closed as one that is complete.
        """
        last: Message = {"type": ""}
        over = asyncio.Event()
        if self._begun:
            over.set()

        async def received() -> Message:
            coming = asyncio.ensure_future(receive())
            ending = asyncio.ensure_future(over.wait())
            try:
                await asyncio.wait({coming, ending}, return_when=asyncio.FIRST_COMPLETED)
                return coming.result() if coming.done() else {"type": "http.disconnect"}
            finally:
                coming.cancel()
                ending.cancel()

        async def sent(message: Message) -> None:
            nonlocal last
            last = message
            await send(message)

        self._open.add(over)
        try:
            with lifeline(bearer, over.set):
                await app(scope, received, sent)
        finally:
            self._open.discard(over)
        if over.is_set() and _is_open(last):
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _is_open(last: Message) -> bool:
    """Say whether an answer goes on after its last message so far."""
    return last["type"] == "http.response.start" or bool(last.get("more_body"))
