"""Say how many calls run at the same time, and keep one package from taking every place."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from registry.sandbox.service.limits import QUEUE_SECONDS
from registry.sandbox.service.memory import busy

PLACES = 64
PLACES_OF_ONE = 32


class Places:
    """Places for calls. A call that hangs needs no processor, so there are many."""

    def __init__(self, total: int = PLACES, of_one: int = PLACES_OF_ONE) -> None:
        self._total = total
        self._of_one = of_one
        self._held: Counter[str] = Counter()
        self._changed = asyncio.Condition()
        self.waiting = 0

    @property
    def running(self) -> int:
        """How many places are held."""
        return self._held.total()

    def of(self, package: str) -> int:
        """Return how many places a package holds."""
        return self._held[package]

    def _free(self, package: str) -> bool:
        return self.running < self._total and self._held[package] < self._of_one

    @asynccontextmanager
    async def take(self, package: str) -> AsyncIterator[None]:
        """Hold a place; raises `sandbox_busy` when none comes free in time."""
        if not self._free(package):
            await self._wait(package)
        self._held[package] += 1
        try:
            yield
        finally:
            self._held[package] -= 1
            if not self._held[package]:
                del self._held[package]
            if self.waiting:
                async with self._changed:
                    self._changed.notify_all()

    async def _wait(self, package: str) -> None:
        self.waiting += 1
        try:
            async with asyncio.timeout(QUEUE_SECONDS), self._changed:
                await self._changed.wait_for(lambda: self._free(package))
        except TimeoutError:
            raise busy("Too many tools are running at the same time.") from None
        finally:
            self.waiting -= 1
