"""How many requests a caller may send to the REST API: counted in Redis, for all processes.

A caller is a token, a person in a browser, or an address where nobody is known. The count is that
of a sliding window (`limits`): what of the last minute still weighs, and what this one has. While
Redis does not answer nothing is counted and nothing refused.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any

from django.conf import settings
from limits import RateLimitItemPerMinute
from limits.storage import RedisStorage
from redis.exceptions import RedisError
from rest_framework.exceptions import ErrorDetail, Throttled
from rest_framework.throttling import BaseThrottle

if TYPE_CHECKING:  # DRF's views import this module through the settings
    from collections.abc import Callable

    from rest_framework.request import Request
    from rest_framework.views import APIView

logger = logging.getLogger(__name__)

POLICY = "api"
WINDOW_SECONDS = 60
REDIS_SECONDS = 0.25
"""How long a request waits at most for Redis; it then goes on without being counted."""

REST_SECONDS = 5.0
"""After a failure Redis is not asked for so long."""

COUNTED = "_outfitter_counted"
"""The attribute of a request that holds its Standing, so that it is counted once."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a caller may still send; `wait` is 0 where this request may go on."""

    most: int
    left: int
    reset: int
    """Seconds until more may be sent than now."""
    is_refused: bool = False
    policy: str = POLICY
    window: int = WINDOW_SECONDS

    @property
    def headers(self) -> dict[str, str]:
        """Return the fields of draft-ietf-httpapi-ratelimit-headers, as structured fields."""
        headers = {
            "RateLimit-Policy": f'"{self.policy}";q={self.most};w={self.window}',
            "RateLimit": f'"{self.policy}";r={self.left};t={self.reset}',
        }
        return {**headers, "Retry-After": str(self.reset)} if self.is_refused else headers


class TooManyRequests(Throttled):
    """You sent more requests than a minute allows."""

    default_code = "rate_limited"

    def __init__(self, standing: Standing) -> None:
        super().__init__(wait=standing.reset)
        unit = "second" if standing.reset == 1 else "seconds"
        self.detail = ErrorDetail(  # DRF's own wording would be added to it
            f"You may send {standing.most} requests a minute, and did. "
            f"Try again in {standing.reset} {unit}."
        )
        self.standing = standing


class RequestLimits:
    """The counters. One round trip counts a request and tells what is left."""

    def __init__(self) -> None:
        self._rests_until = 0.0

    @cached_property
    def _storage(self) -> RedisStorage:
        return RedisStorage(
            settings.REDIS_URL.replace("unix://", "redis+unix://", 1),
            key_prefix="outfitter:api",
            socket_timeout=REDIS_SECONDS,
            socket_connect_timeout=REDIS_SECONDS,
        )

    @cached_property
    def _script(self) -> Callable[[list[str], list[int]], Any]:
        """Return what asks Redis: both scripts of `limits` as one, which answers once."""
        storage: Any = self._storage  # its types name only what `limits` uses
        take, look = storage.lua_acquire_sliding_window, storage.lua_sliding_window
        script: Callable[[list[str], list[int]], Any] = storage.get_connection().register_script(
            f"local function take(KEYS, ARGV) {take.script.decode()} end\n"
            f"local function look(KEYS, ARGV) {look.script.decode()} end\n"
            "return {take(KEYS, ARGV) and 1 or 0, look(KEYS, {ARGV[2]})}"
        )
        return script

    def take(self, caller: str) -> Standing | None:
        """Count a request; None where requests are not limited, or Redis does not answer."""
        most = settings.API_CALLS_PER_MINUTE
        if not most or time.monotonic() < self._rests_until:
            return None
        try:
            taken, window = self._asked(most, caller)
        except RedisError as problem:
            self._rests_until = time.monotonic() + REST_SECONDS
            logger.warning("Requests are not limited, for Redis does not answer: %s", problem)
            return None
        return _standing(most, bool(taken), window)

    def _asked(self, most: int, caller: str) -> tuple[Any, list[Any]]:
        key = self._storage.prefixed_key(RateLimitItemPerMinute(most).key_for(caller))
        taken, window = self._script([f"{key}/-1", key], [most, WINDOW_SECONDS, 1])
        return taken, window


def _standing(most: int, taken: bool, window: list[Any]) -> Standing:
    """Read what the window holds: counts, and milliseconds until each count is forgotten."""
    before, before_ms, now, now_ms = (max(0, int(float(each or 0))) for each in window)
    weighs = before * before_ms // (WINDOW_SECONDS * 1000) + now
    left = max(0, most - weighs) if taken else 0
    resets = []
    if before:
        resets.append(before_ms / 1000 % (WINDOW_SECONDS / before))
    if now:
        resets.append(now_ms / 1000 % WINDOW_SECONDS)
    reset = max(1, ceil(min(resets, default=1)))
    return Standing(most=most, left=left, reset=reset, is_refused=not taken)


request_limits = RequestLimits()
"""The counters, as this process reaches them."""


class PerCaller(BaseThrottle):
    """Count each request that got as far as its view, by its caller."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Let a request pass, or raise TooManyRequests."""
        count(request)
        return True


def count(request: Request) -> None:
    """Count a request, once; raise TooManyRequests where its caller sent too many."""
    sent = request._request
    if hasattr(sent, COUNTED):
        return
    setattr(sent, COUNTED, None)
    standing = request_limits.take(caller_of(request))
    setattr(sent, COUNTED, standing)
    if standing is not None and standing.is_refused:
        raise TooManyRequests(standing)


def caller_of(request: Request) -> str:
    """Return whose requests are counted together.

    Asked of one whose token was refused it must not ask for the person again: that would raise.
    """
    known = getattr(request, "_auth", None) or getattr(request, "_user", None)
    if key := getattr(known, "key", ""):
        return str(key)
    if (number := getattr(known, "pk", None)) is not None:
        return f"user:{number}"
    return f"address:{request.META.get('REMOTE_ADDR', '')}"
