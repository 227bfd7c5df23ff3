"""What a turn says of itself, in order, from its event loop."""

import asyncio
from concurrent.futures import Future
from uuid import UUID

from chat.event_writer import writer
from chat.events import Event
from config.lib.types import JsonObject

COALESCE_SECONDS = 0.05
"""Words that come within this time are one event: a row for every token would be too many."""


class EventLog:
    """Writes the events of one turn. Words that come after a pause are passed on at once."""

    def __init__(self, turn_id: UUID) -> None:
        self._turn_id = turn_id
        self._words: list[str] = []
        self._pause: asyncio.TimerHandle | None = None
        self._under_way: list[Future[Event]] = []

    async def append(self, name: str, data: JsonObject) -> None:
        """Write one event, behind the words that were said before it."""
        self.append_soon(name, data)
        await self._all_written()

    def append_soon(self, name: str, data: JsonObject) -> None:
        """Have an event written without waiting; `append` and `close` tell whether it was."""
        self._flush()
        self._write(name, data)

    async def say(self, text: str) -> None:
        """Write some words; those that come close together become one `text.delta`."""
        self._words.append(text)
        if self._pause is None:
            self._flush()
            self._rest()

    async def close(self) -> None:
        """Write the words that still wait; return when every row is there."""
        self._flush()
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        await self._all_written()

    def _rest(self) -> None:
        self._pause = asyncio.get_running_loop().call_later(COALESCE_SECONDS, self._rested)

    def _rested(self) -> None:
        self._pause = None
        if not self._words:
            return
        if all(future.done() for future in self._under_way):
            self._flush()
        self._rest()  # where the database is slow, its events become fewer and longer

    def _flush(self) -> None:
        if self._words:
            text = "".join(self._words)
            self._words.clear()
            self._write("text.delta", {"text": text})

    def _write(self, name: str, data: JsonObject) -> None:
        self._under_way = [
            future for future in self._under_way if not future.done() or future.exception()
        ]
        self._under_way.append(writer().write(self._turn_id, name, data))

    async def _all_written(self) -> None:
        """Return when every row is there; raise what kept one from being written.

        The rows are written even when whoever waits for them is cancelled.
        """
        waited, self._under_way = self._under_way, []
        await asyncio.gather(*(asyncio.shield(asyncio.wrap_future(each)) for each in waited))
