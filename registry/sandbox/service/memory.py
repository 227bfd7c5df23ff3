"""Share out the memory that sandboxes may use together."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MB, QUEUE_SECONDS

LEAST_MB = 256
LIMITS_OF_THE_CONTAINER = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def default_budget_mb() -> int:
    """Return a quarter of the memory this machine (or its container) has, in MB."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in LIMITS_OF_THE_CONTAINER:
        try:
            total = min(total, int(path.read_text("ascii")))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return max(LEAST_MB, total // 4 // MB)


class Share:
    """Memory that one sandbox counts for, until it is released."""

    def __init__(self, budget: "Budget", size: int) -> None:
        self._budget = budget
        self.size = size

    def resize(self, size: int) -> None:
        """Say how much the sandbox really uses; less lets waiting calls go on."""
        if self in self._budget.shares:
            self.size = size
            self._budget.let_in()

    def release(self) -> None:
        """Give the memory back; a second time is harmless."""
        if self in self._budget.shares:
            self._budget.shares.remove(self)
            self._budget.let_in()


class Budget:
    """The bytes all sandboxes may use; who comes when they are taken waits in line.

    `evict` ends one sandbox that nobody uses and says whether there was one. What it frees counts
    as free at once: its process is already killed.
    """

    def __init__(self, total: int, evict: Callable[[], bool]) -> None:
        self.total = total
        self.shares: set[Share] = set()
        self._evict = evict
        self._evicting = False
        self._line: deque[tuple[int, asyncio.Future[Share]]] = deque()

    @property
    def used(self) -> int:
        """Bytes that are counted now."""
        return sum(share.size for share in self.shares)

    @property
    def waiting(self) -> int:
        """How many wait for memory."""
        return len(self._line)

    def reserve_now(self, size: int) -> Share | None:
        """Return a share when there is room, or room can be made of idle sandboxes."""
        return None if self._line else self._grant(size)

    async def reserve(self, size: int, *, seconds: float = QUEUE_SECONDS) -> Share:
        """Return a share, first come first served; raises `sandbox_busy` when none comes free."""
        share = self.reserve_now(size)
        if share is not None:
            return share
        place: asyncio.Future[Share] = asyncio.get_running_loop().create_future()
        entry = (size, place)
        self._line.append(entry)
        try:
            async with asyncio.timeout(seconds):
                return await place
        except (TimeoutError, asyncio.CancelledError) as reason:
            if place.done() and not place.cancelled():
                place.result().release()  # granted in the moment the wait ended
            if entry in self._line:
                self._line.remove(entry)
            if isinstance(reason, TimeoutError):
                raise busy("The memory for tools is in use.") from None
            raise

    def _grant(self, size: int) -> Share | None:
        # One sandbox may always run, however small the budget is.
        while self.shares and self.used + size > self.total:
            if not self._evict_one():
                return None
        share = Share(self, size)
        self.shares.add(share)
        return share

    def _evict_one(self) -> bool:
        self._evicting = True  # what is given back meanwhile is for the one who asked
        try:
            return self._evict()
        finally:
            self._evicting = False

    def let_in(self) -> None:
        """Give shares to those who wait, as far as there is room."""
        while self._line and not self._evicting:
            size, place = self._line[0]
            if place.done():
                self._line.popleft()
                continue
            share = self._grant(size)
            if share is None:
                return
            self._line.popleft()
            place.set_result(share)


def busy(reason: str) -> ServiceError:
    """Return the refusal of a call that waited too long for its turn."""
    return ServiceError("sandbox_busy", reason, "Try again in a moment.")
