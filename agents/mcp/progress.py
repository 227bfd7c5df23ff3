"""What a running call tells of itself, as MCP's progress: a number that only grows."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp.server.context import ServerRequestContext

from config.lib.types import JsonObject
from registry.context import Progress, ignore_progress

OPEN = frozenset({"running", "waiting", "in_doubt"})
"""How a step stands that is not over."""

MOST_WORDS = 500
"""Characters of a message."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One notification: how far, of how much (None: nobody knows), and in words."""

    progress: float
    total: float | None = None
    message: str = ""


@dataclass
class Meter:
    """Turns a call's notes into progress, which MCP wants to grow with every notification.

    A call with steps is as far as its steps are over, and a little further with each note of one
    that is not; their number is the total. What another server said of its own call goes on as
    said. Anything else is counted.
    """

    _last: float = 0.0
    _begun: bool = False
    _total: float | None = None
    _over: set[int] = field(default_factory=set)
    _stand: dict[int, tuple[str, str]] = field(default_factory=dict)

    def read(self, note: Mapping[str, Any]) -> Step | None:
        """Return what to tell of a note, or None where it tells nothing new."""
        if isinstance(plan := note.get("plan"), list):
            self._total = float(len(plan)) or None
            return None
        message = str(note.get("message") or "")[:MOST_WORDS]
        step = note.get("step")
        if isinstance(step, int):
            stands = (str(note.get("status")), message)
            if self._stand.get(step) == stands:
                return None  # a run that goes on after a question is told of from its start
            self._stand[step] = stands
            if stands[0] not in OPEN:
                self._over.add(step)
            return self._told(self._of_steps(), self._total, message)
        done, total = note.get("progress"), note.get("total")
        if isinstance(done, int | float):
            return self._told(
                float(done), total if isinstance(total, int | float) else None, message
            )
        return self._told(self._last + 1, None, message)

    def _of_steps(self) -> float:
        """Return how many steps are over; between two of those it comes ever nearer to the next."""
        over = float(len(self._over))
        if over > self._last:
            return over
        between = self._last + (over + 1 - self._last) / 2
        return between if between < over + 1 else self._last

    def _told(self, progress: float, total: float | None, message: str) -> Step | None:
        if not progress > self._last and (self._begun or progress < 0):
            return None  # nought is something to begin with
        self._last, self._begun = progress, True
        return Step(progress=progress, total=total, message=message)


@contextlib.asynccontextmanager
async def telling(ctx: ServerRequestContext[Any, Any]) -> AsyncIterator[Progress]:
    """Pass a call's notes on to a client that asked for them; they may come from any thread.

    They go out in their order, and all of them before the block is left, so that none comes after
    the answer.
    """
    if ctx.meta is None or ctx.meta.get("progress_token") is None:
        yield ignore_progress
        return
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[JsonObject | None] = asyncio.Queue()

    def progress(note: JsonObject) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and the client is gone
            loop.call_soon_threadsafe(waiting.put_nowait, note)

    sender = loop.create_task(_send(ctx, waiting))
    try:
        yield progress
        loop.call_soon(waiting.put_nowait, None)  # behind what threads have said
        await sender
    finally:
        sender.cancel()


async def _send(
    ctx: ServerRequestContext[Any, Any], waiting: asyncio.Queue[JsonObject | None]
) -> None:
    meter = Meter()
    while (note := await waiting.get()) is not None:
        if (step := meter.read(note)) is not None:
            await ctx.session.report_progress(step.progress, step.total, step.message or None)
