"""Sandboxes made ready before they are needed: each serves one call and is then ended.

A pool knows nothing of what it keeps but that it can be paused, resumed and ended, so packages and
code use the same one. Who gets a spare must be told apart by its key: nothing of one tenant's
environment may be loaded into what another is handed.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Any, Generic

from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MB, QUEUE_SECONDS
from registry.sandbox.service.memory import Budget, Share, busy
from registry.sandbox.service.spares import Line, Refill, S, Spare, Start

logger = logging.getLogger("sandboxd")

IDLE_SECONDS = 90.0
FORGET_SECONDS = 600.0
TEND_SECONDS = 2.0
MOST_SPARES = 16
# What a sandbox counts for until it has been measured.
ESTIMATE = 64 * MB
STARTS_PER_PROCESSOR = 2
START_SECONDS = 2.0
# What is done after a call would fight it for the processor, until its answer was read.
END_AFTER, REFILL_AFTER = 0.004, 0.01
SHOWN = 50


class SparePool(Generic[S]):
    """Hands out sandboxes, and makes the next one ready once a call is over."""

    def __init__(
        self,
        memory_bytes: int,
        *,
        idle_seconds: float = IDLE_SECONDS,
        most: int = MOST_SPARES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budget = Budget(memory_bytes, self._evict)
        self._idle_seconds = idle_seconds
        self._most = most
        self._clock = clock
        self._lines: dict[Hashable, Line[S]] = {}
        self._in_use: set[Spare[S]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._refilling = asyncio.Semaphore(1)
        self._starting = asyncio.Semaphore(STARTS_PER_PROCESSOR * (os.cpu_count() or 1))
        self._tending: asyncio.Task[None] | None = None
        self._totals = {"hits": 0, "misses": 0, "evicted": 0, "lost": 0}

    @asynccontextmanager
    async def lease(
        self, key: Hashable, start: Start[S], *, label: str, group: str, keep: bool = True
    ) -> AsyncIterator[S]:
        """Give a sandbox for one call; it is dead on leaving.

        `label` names the line on the status page, `group` (an artifact) is what `forget` takes;
        with `keep` False no spare is used or made.
        After a call that went well it is only halted, and its end is left to the background; when
        it failed or was cancelled, nothing of it is left when this returns.
        """
        line = self._line(key, label, group)
        line.running += 1
        try:
            spare = await self._spare(line, start, keep)
            try:
                async with self._serving(spare):
                    yield spare.guest
            finally:
                if keep:
                    line.start = start
                    self._refill(line)
        finally:
            line.running -= 1

    @asynccontextmanager
    async def _serving(self, spare: Spare[S]) -> AsyncIterator[None]:
        self._in_use.add(spare)
        try:
            yield
        except BaseException:
            await asyncio.shield(self._end(spare))
            raise
        spare.guest.halt()
        self._end(spare, after=END_AFTER)

    def _line(self, key: Hashable, label: str, group: str) -> Line[S]:
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = Line(label, group)
        now = self._clock()
        line.last = now
        line.calls.append(now)
        if self._tending is None:
            self._tending = asyncio.create_task(self._tend())
        return line

    async def _spare(self, line: Line[S], start: Start[S], keep: bool) -> Spare[S]:
        """Return a spare; if there is none the one that is being made, else a new one."""
        if not keep:
            return await self._cold(line, start)
        return self._take(line) or await self._claimed(line) or await self._cold(line, start)

    async def _claimed(self, line: Line[S]) -> Spare[S] | None:
        """Wait for a spare that is being started: beginning another one would slow down both."""
        for refill in line.refills:
            if refill.started and refill.claim is None:
                spare = await self._when_made(refill)
                if spare is not None:
                    self._missed(line)
                return spare
        return None

    async def _when_made(self, refill: Refill[S]) -> Spare[S] | None:
        claim: asyncio.Future[Spare[S] | None] = asyncio.get_running_loop().create_future()
        refill.claim = claim
        try:
            return await claim
        except asyncio.CancelledError:
            if claim.done() and not claim.cancelled() and (spare := claim.result()):
                self._end(spare)  # it came in the moment the wait ended
            raise

    def _missed(self, line: Line[S]) -> None:
        line.misses += 1
        self._totals["misses"] += 1

    def _take(self, line: Line[S]) -> Spare[S] | None:
        """Return the oldest spare that is still alive, running again."""
        while line.spares:
            spare = line.spares.popleft()
            if spare.guest.alive:
                spare.guest.resume()
                line.hits += 1
                self._totals["hits"] += 1
                return spare
            self._lose(line, spare)
        return None

    async def _cold(self, line: Line[S], start: Start[S]) -> Spare[S]:
        """Start a sandbox for a call that found no spare."""
        self._missed(line)
        return await self._start(start, await self.budget.reserve(ESTIMATE))

    async def _start(
        self, start: Start[S], share: Share, refill: Refill[S] | None = None
    ) -> Spare[S]:
        try:
            async with _held_a_while(self._starting):
                if refill is not None:
                    refill.started = True
                return Spare(await start(), share, self._clock())
        except BaseException:
            share.release()
            raise

    # Spares

    def _refill(self, line: Line[S]) -> None:
        """Make ready what the line is short of, in the background."""
        wanted = 0 if line.closed else line.wanted(self._clock())
        coming = sum(refill.claim is None for refill in line.refills)
        for _ in range(wanted - len(line.spares) - coming):
            refill: Refill[S] = Refill()
            line.refills.add(refill)
            refill.task = asyncio.create_task(self._add_spare(line, refill))
            self._tasks.add(refill.task)
            refill.task.add_done_callback(self._tasks.discard)

    async def _add_spare(self, line: Line[S], refill: Refill[S]) -> None:
        spare: Spare[S] | None = None
        try:
            await asyncio.sleep(REFILL_AFTER)
            spare = await self._made(line, refill)
        except ServiceError as error:
            # The next call starts its own, and meets the error if it is still there.
            logger.info("no spare of %s: %s", line.label, error.code)
        finally:
            line.refills.discard(refill)
            handed_over = refill.hand_over(spare)
        if spare is not None and not handed_over:
            await self._keep(line, spare)

    async def _made(self, line: Line[S], refill: Refill[S]) -> Spare[S] | None:
        async with _held_a_while(self._refilling):
            start = line.start
            if start is None or (self._spares() >= self._most and not self._evict()):
                return None
            share = self.budget.reserve_now(ESTIMATE)
            return None if share is None else await self._start(start, share, refill)

    async def _keep(self, line: Line[S], spare: Spare[S]) -> None:
        """Put a spare where the next call finds it, and pause it when it has come to rest."""
        if line.closed:
            self._end(spare)
            return
        line.spares.append(spare)
        await spare.guest.settle()
        if spare in line.spares:
            spare.guest.pause()
            spare.share.resize(spare.guest.memory())

    def _evict(self) -> bool:
        """End the spare whose line has been unused the longest."""
        lines = [line for line in self._lines.values() if line.spares]
        if not lines:
            return False
        line = min(lines, key=lambda line: line.last)
        self._end(line.spares.popleft())
        self._totals["evicted"] += 1
        return True

    def _lose(self, line: Line[S], spare: Spare[S]) -> None:
        line.lost += 1
        self._totals["lost"] += 1
        self._end(spare)

    def _end(self, spare: Spare[S], *, after: float = 0.0) -> "asyncio.Task[None]":
        """Kill now (or after so many seconds what is halted already), reap in the background.

        The memory of a killed spare counts as free.
        """
        if not after:
            spare.guest.kill()
        if spare not in self._in_use:
            spare.share.release()
        task = asyncio.create_task(self._reap(spare, after))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task

    async def _reap(self, spare: Spare[S], after: float) -> None:
        try:
            await asyncio.sleep(after)
            await spare.guest.end()
        finally:
            self._in_use.discard(spare)
            spare.share.release()

    # Time

    async def _tend(self) -> None:
        """Measure what runs, end what is idle, replace what died."""
        while True:
            await asyncio.sleep(TEND_SECONDS)
            self.tend()

    def tend(self) -> None:
        """Do once what is done every few seconds."""
        now = self._clock()
        for spare in self._in_use:
            spare.share.resize(max(spare.guest.memory(), ESTIMATE))
        for key, line in list(self._lines.items()):
            self._tend_line(key, line, now)

    def _tend_line(self, key: Hashable, line: Line[S], now: float) -> None:
        for spare in [spare for spare in line.spares if not spare.guest.alive]:
            line.spares.remove(spare)
            self._lose(line, spare)
            self._refill(line)
        idle = now - line.last
        if line.running or idle < self._idle_seconds:
            return
        line.start = None  # it may hold an environment
        while line.spares:
            self._end(line.spares.popleft())
        if idle > FORGET_SECONDS and not line.refills:
            del self._lines[key]

    def forget(self, group: str) -> int:
        """End every spare of a group and make no more from what was known; returns how many."""
        ended = 0
        for key, line in list(self._lines.items()):
            if line.group != group:
                continue
            line.closed = True
            for refill in line.refills:
                if refill.task is not None:
                    refill.task.cancel()
            while line.spares:
                self._end(line.spares.popleft())
                ended += 1
            del self._lines[key]
        return ended

    def running(self, group: str) -> int:
        """Return how many calls of a group are under way."""
        return sum(line.running for line in self._lines.values() if line.group == group)

    async def close(self) -> None:
        """End all spares and wait until they are gone."""
        if self._tending is not None:
            self._tending.cancel()
        for group in {line.group for line in self._lines.values()}:
            self.forget(group)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*self._ending, return_exceptions=True)

    # What can be seen

    def _spares(self) -> int:
        return sum(len(line.spares) for line in self._lines.values())

    def status(self) -> dict[str, Any]:
        """Return `{memory: {used, budget, waiting}, spares: {…}, lines: [...]}`, busiest first."""
        now = self._clock()
        lines = sorted(self._lines.values(), key=lambda line: -line.last)[:SHOWN]
        return {
            "memory": {
                "used": self.budget.used,
                "budget": self.budget.total,
                "waiting": self.budget.waiting,
            },
            "spares": {"ready": self._spares(), "most": self._most, **self._totals},
            "lines": [line.as_dict(now) for line in lines],
        }


@asynccontextmanager
async def _held_a_while(places: asyncio.Semaphore) -> AsyncIterator[None]:
    """Hold one of the places to start at, or all would be late; a start that hangs loses it."""
    try:
        async with asyncio.timeout(QUEUE_SECONDS):
            await places.acquire()
    except TimeoutError:
        raise busy("Too many tools are starting at the same time.") from None
    loop = asyncio.get_running_loop()
    give_back = loop.call_later(START_SECONDS, places.release)
    try:
        yield
    finally:
        if give_back.when() > loop.time():
            give_back.cancel()
            places.release()
