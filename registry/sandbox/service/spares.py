"""What a pool of spares keeps: sandboxes that serve one call, in a line for each key."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from registry.sandbox.service.memory import Share

# So many calls within so many seconds want a second spare.
BUSY_CALLS, BUSY_SECONDS = 5, 5.0


class OneShot(Protocol):
    """A sandbox that serves one call."""

    @property
    def alive(self) -> bool:
        """Say whether it still runs."""

    def memory(self) -> int:
        """Return the bytes it uses."""

    def pause(self) -> None:
        """Give it no processor time until it is resumed."""

    def resume(self) -> None:
        """Let it run."""

    async def settle(self) -> None:
        """Return once it has done what it does of itself after its start, or soon in any case."""

    def halt(self) -> None:
        """Let nothing of it run on, without the work that its end makes."""

    def kill(self) -> None:
        """Stop it; nothing of it runs on."""

    async def end(self) -> None:
        """Kill and reap it."""


S = TypeVar("S", bound=OneShot)
Start = Callable[[], Awaitable[S]]
"""Starts a sandbox and brings it as far as it can be before the call."""


@dataclass(slots=True, eq=False)
class Spare(Generic[S]):
    """A sandbox and the memory it counts for."""

    guest: S
    share: Share
    since: float


@dataclass(slots=True, eq=False)
class Refill(Generic[S]):
    """A spare that is to be made: once it is being started, a call may wait for it."""

    task: "asyncio.Task[None] | None" = None
    started: bool = False
    claim: "asyncio.Future[Spare[S] | None] | None" = None
    """Where the call waits that is to have it; None comes when there will be none."""

    def hand_over(self, spare: Spare[S] | None) -> bool:
        """Give it to the call that waits, if one still does."""
        if self.claim is None or self.claim.done():
            return False
        self.claim.set_result(spare)
        return spare is not None


@dataclass(slots=True, eq=False)
class Line(Generic[S]):
    """What is known of one key: its spares and how they were used. Holds no value of a key."""

    label: str
    group: str
    spares: deque[Spare[S]] = field(default_factory=deque)
    refills: set[Refill[S]] = field(default_factory=set)
    calls: deque[float] = field(default_factory=lambda: deque(maxlen=BUSY_CALLS))
    start: Start[S] | None = None
    running: int = 0
    hits: int = 0
    misses: int = 0
    lost: int = 0
    last: float = 0.0
    closed: bool = False

    def wanted(self, now: float) -> int:
        """Return how many spares are worth keeping: one, or two when calls come fast."""
        fast = len(self.calls) == BUSY_CALLS and now - self.calls[0] < BUSY_SECONDS
        return 2 if fast else 1

    def as_dict(self, now: float) -> dict[str, Any]:
        """Return what the status page shows."""
        ages = [now - spare.since for spare in self.spares]
        return {
            "name": self.label,
            "artifact": self.group,
            "hits": self.hits,
            "misses": self.misses,
            "running": self.running,
            "spares": len(self.spares),
            "memory": sum(spare.share.size for spare in self.spares),
            "age_seconds": round(max(ages, default=0.0), 1),
            "idle_seconds": round(now - self.last, 1),
        }
