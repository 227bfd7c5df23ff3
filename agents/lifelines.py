"""What is told for long ends soon after the token that it was asked for with: streams of events.

A token is looked at when a request comes. A stream goes on for hours, so the tokens of those that
are open are looked at again every few seconds, all of a process in one go.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from django.db import DatabaseError

from agents.bearer import Bearer, keys_working
from config.lib.threads import in_thread

logger = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""How long a stream outlives its token at most, beside the time of one query."""


@dataclass(eq=False)
class _Line:
    """One stream: the key of its token, and what ends it."""

    key: str
    end: Callable[[], None]


class _Lines:
    """The streams of one event loop, and the task that looks at their tokens."""

    def __init__(self) -> None:
        self._lines: set[_Line] = set()
        self._task: asyncio.Task[None] | None = None

    def join(self, line: _Line) -> None:
        self._lines.add(line)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def leave(self, line: _Line) -> None:
        self._lines.discard(line)
        if not self._lines and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            lines = list(self._lines)
            try:
                working = await in_thread(keys_working, {line.key for line in lines})
            except DatabaseError as problem:  # whether they still work will be seen
                logger.warning("The tokens of open streams could not be read: %s", problem)
                continue
            for line in lines:
                if line.key not in working:
                    line.end()


_of_loop: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Lines]" = WeakKeyDictionary()


@contextmanager
def lifeline(bearer: Bearer, end: Callable[[], None]) -> Iterator[None]:
    """While inside, call `end` in this event loop once the token no longer works."""
    lines = _of_loop.setdefault(asyncio.get_running_loop(), _Lines())
    line = _Line(bearer.key, end)
    lines.join(line)
    try:
        yield
    finally:
        lines.leave(line)


class _Limit:
    """Ends the wait for the next event, or has no other begun."""

    def __init__(self) -> None:
        self.is_over = False
        self._wait: asyncio.Timeout | None = None

    def end(self) -> None:
        self.is_over = True
        if self._wait is not None:
            self._wait.reschedule(asyncio.get_running_loop().time())

    async def next_of(self, events: AsyncGenerator[str]) -> str | None:
        """Return the next event, or None at the end or where the wait for it was ended."""
        try:
            async with asyncio.timeout(None) as self._wait:
                return await anext(events, None)
        except TimeoutError:
            if not self.is_over:
                raise
            return None
        finally:
            self._wait = None


async def while_working(bearer: Bearer | None, events: AsyncGenerator[str]) -> AsyncGenerator[str]:
    """Yield events until there are no more, or the token no longer works; without one, all."""
    limit = _Limit()
    async with aclosing(events):
        if bearer is None:
            async for event in events:
                yield event
            return
        with lifeline(bearer, limit.end):
            while not limit.is_over and (following := await limit.next_of(events)) is not None:
                yield following
