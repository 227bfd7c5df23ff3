"""Gives a program the same clock and the same chance in every run, so that it can be run again.

The clock stands still while the program works it out: it goes on by what the program sleeps, by
what its calls took (the host says how long, in a run that repeats them too), and by a microsecond
at each look, so that no two looks are alike. `time.monotonic` and `time.perf_counter` are as ever.
"""

import asyncio
import asyncio.tasks
import datetime
import os
import random
import time
import uuid
from typing import Any

LOOK_NS = 1_000

_sleep, _async_sleep = time.sleep, asyncio.sleep


class Clock:
    """Counts nanoseconds since 1970, as far as the program can tell."""

    def __init__(self, start: float) -> None:
        self._now = int(start * 1e9)

    @property
    def now(self) -> int:
        """What it shows, without a look at it."""
        return self._now

    def look(self) -> int:
        """Return the time in nanoseconds."""
        self._now += LOOK_NS
        return self._now

    def seconds(self) -> float:
        """Return the time in seconds."""
        return self.look() / 1e9

    def passed(self, since: int, seconds: float) -> None:
        """Let what began at `since` have taken so long; what ran beside it took no time more."""
        self._now = max(self._now, since + int(seconds * 1e9))


def steadied(seed: int, start: float) -> Clock:
    """Put a clock and a chance in the place of those of the machine; return the clock."""
    clock = Clock(start)
    _chance(random.Random(seed))  # noqa: S311 - it must come out the same
    random.seed(seed)
    _time(clock)
    _dates(clock)
    return clock


def _chance(source: random.Random) -> None:
    def urandom(size: int) -> bytes:
        return source.randbytes(size)

    seeding = random.Random.seed

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        seeding(self, source.getrandbits(64) if a is None else a, version)

    os.urandom = urandom
    random._urandom = urandom  # type: ignore[attr-defined]
    random.Random.seed = seed  # type: ignore[method-assign]
    # without these, uuid1 takes the time and the address from the machine
    uuid._node = source.getrandbits(47)  # type: ignore[attr-defined]
    uuid._generate_time_safe = None  # type: ignore[attr-defined]


def _time(clock: Clock) -> None:
    patched: Any = time

    def sleep(seconds: float) -> None:
        since = clock.now
        _sleep(seconds)
        clock.passed(since, seconds)

    async def async_sleep(delay: float, result: Any = None) -> Any:
        since = clock.now
        given = await _async_sleep(delay, result)
        clock.passed(since, delay)
        return given

    patched.sleep = sleep
    time.time = clock.seconds
    time.time_ns = clock.look
    asyncio.sleep = asyncio.tasks.sleep = async_sleep
    gmtime, localtime = time.gmtime, time.localtime
    strftime, ctime, asctime = time.strftime, time.ctime, time.asctime

    def at(seconds: float | None) -> float:
        return clock.seconds() if seconds is None else seconds

    patched.gmtime = lambda seconds=None: gmtime(at(seconds))
    patched.localtime = lambda seconds=None: localtime(at(seconds))
    patched.ctime = lambda seconds=None: ctime(at(seconds))
    patched.asctime = lambda t=None: asctime(t or time.localtime())
    patched.strftime = lambda form, t=None: strftime(form, t or time.localtime())


def _dates(clock: Clock) -> None:
    """Put classes in the place of `date` and `datetime` that every date is an instance of."""

    class Alike(type):
        real: type

        def __instancecheck__(cls, value: object) -> bool:
            own = "real" in cls.__dict__
            return isinstance(value, cls.real) if own else super().__instancecheck__(value)

        def __subclasscheck__(cls, other: type) -> bool:
            own = "real" in cls.__dict__
            return issubclass(other, cls.real) if own else super().__subclasscheck__(other)

    class Date(datetime.date, metaclass=Alike):
        real = datetime.date

        @classmethod
        def today(cls) -> "Date":
            return cls.fromtimestamp(clock.seconds())

        def __repr__(self) -> str:
            return f"datetime.{super().__repr__()}"

    class DateTime(datetime.datetime, metaclass=Alike):
        real = datetime.datetime

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> "DateTime":
            return cls.fromtimestamp(clock.seconds(), tz)

        @classmethod
        def today(cls) -> "DateTime":
            return cls.now()

        @classmethod
        def utcnow(cls) -> "DateTime":
            return cls.now(datetime.UTC).replace(tzinfo=None)

        def __repr__(self) -> str:
            return f"datetime.{super().__repr__()}"

    for name, shown in (("date", Date), ("datetime", DateTime)):
        shown.__name__ = shown.__qualname__ = name
        shown.__module__ = "datetime"
        setattr(datetime, name, shown)
