"""How often one caller may call one tool: counted in Redis, for all processes together.

A caller is the agent, or where there is none the person. What a program or a sequence calls counts
as a call of whoever started it.
"""

import logging
import time
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from uuid import UUID

from django.conf import settings
from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter
from redis.exceptions import RedisError

from registry import metrics
from registry.context import CallContext
from registry.errors import RateLimited, ToolStopped
from registry.models.tool import ToolKind
from registry.specs import ToolSpec
from registry.standing import Standing

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 60
REDIS_SECONDS = 0.25
"""How long a call waits at most for Redis to answer; it then goes on without being counted."""

REST_SECONDS = 5.0
"""After a failure Redis is not asked for so long, lest each call waits for it again."""

LOG_SECONDS = 60.0

ALIKE = frozenset({RateLimited.code, ToolStopped.code})
"""Refusals of which one a minute says all; the others each have arguments that tell something."""

REFUSALS_KEPT = 20
"""Rows a minute of other calls of one tool, by one caller, that never reached it."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What a caller may still do with a tool; `left` is None while Redis does not answer."""

    calls_per_minute: int
    left: int | None


class CallLimits:
    """The counters. While Redis is away nothing is limited: tools keep answering.

    To refuse would take every tool away with the queue and the live events, and to count in each
    process alone would allow as many times the limit as there are processes, unseen. So each call
    that goes on uncounted is counted in a metric, with a line in the log once a minute.
    """

    def __init__(self) -> None:
        self._rests_until = 0.0
        self._told_at = -LOG_SECONDS

    @cached_property
    def _storage(self) -> RedisStorage:
        uri = settings.REDIS_URL.replace("unix://", "redis+unix://", 1)
        return RedisStorage(
            uri,
            key_prefix="outfitter:limits",
            socket_timeout=REDIS_SECONDS,
            socket_connect_timeout=REDIS_SECONDS,
        )

    @cached_property
    def _limiter(self) -> MovingWindowRateLimiter:
        return MovingWindowRateLimiter(self._storage)

    def take(self, item: RateLimitItem, *names: str) -> float | None:
        """Count a call; return None where it may run, else in how many seconds the next one may."""
        if self._rests():
            metrics.UNLIMITED.inc()
            return None
        try:
            if self._limiter.hit(item, *names):
                return None
            reset = self._limiter.get_window_stats(item, *names).reset_time
        except RedisError as problem:
            self._rest(problem)
            metrics.UNLIMITED.inc()
            return None
        return max(reset - time.time(), 0.0)

    def left(self, item: RateLimitItem, *names: str) -> int | None:
        """Return how many calls are left now, None while Redis does not answer."""
        if self._rests():
            return None
        try:
            return self._limiter.get_window_stats(item, *names).remaining
        except RedisError as problem:
            self._rest(problem)
            return None

    def is_among_first(self, most: int, *names: str) -> bool:
        """Say whether this is among the first within a minute; always, while Redis is away."""
        if self._rests():
            return True
        try:
            return self._storage.incr("/".join(("first", *names)), WINDOW_SECONDS) <= most
        except RedisError as problem:
            self._rest(problem)
            return True

    def _rests(self) -> bool:
        return time.monotonic() < self._rests_until

    def _rest(self, problem: RedisError) -> None:
        now = time.monotonic()
        self._rests_until = now + REST_SECONDS
        if now - self._told_at >= LOG_SECONDS:
            self._told_at = now
            logger.error("Calls are not limited, for Redis does not answer: %s", problem)


call_limits = CallLimits()
"""The counters, as this process reaches them."""


def limit_of(kind: str, own: int | None) -> int | None:
    """Return how many calls a minute each caller has; None for as many as they like.

    `own` is the tool's own limit. The site's default is not for built-in tools: they run in
    microseconds, and a program may well call one a thousand times.
    """
    if own is not None:
        return own
    return None if kind == ToolKind.BUILTIN else settings.TOOL_CALLS_PER_MINUTE or None


def caller_of(context: CallContext) -> str:
    """Return whose calls are counted together."""
    return f"agent:{context.agent_id}" if context.agent_id else f"user:{context.user.pk}"


def require_within_limit(spec: ToolSpec, context: CallContext, standing: Standing) -> None:
    """Count a call; raise RateLimited when its caller has made as many as a minute allows."""
    most = limit_of(spec.kind, standing.calls_per_minute)
    if most is None:
        return
    wait = call_limits.take(RateLimitItemPerMinute(most), caller_of(context), str(spec.tool_id))
    if wait is None:
        return
    seconds = max(1, ceil(wait))
    whose = "This agent" if context.agent_id else "You"
    raise RateLimited(
        f"{whose} may call {spec.wire_name} {most} {'time' if most == 1 else 'times'} a minute, "
        "and did.",
        f"Try again in {seconds} {'second' if seconds == 1 else 'seconds'}.",
        retry_after_seconds=seconds,
        calls_per_minute=most,
    )


def allowance_of(kind: str, own: int | None, tool_id: UUID, caller: str) -> Allowance | None:
    """Return what a caller has left of a tool, None where its calls are not limited."""
    most = limit_of(kind, own)
    if most is None:
        return None
    left = call_limits.left(RateLimitItemPerMinute(most), caller, str(tool_id))
    return Allowance(calls_per_minute=most, left=left)


def is_worth_a_row(code: str, tool_id: UUID, context: CallContext) -> bool:
    """Say whether a refused call is recorded: the first of each minute, by tool and caller.

    A caller who does not listen would fill the table; the rest is counted in `/metrics`.
    """
    most = 1 if code in ALIKE else REFUSALS_KEPT
    return call_limits.is_among_first(most, code, caller_of(context), str(tool_id))
