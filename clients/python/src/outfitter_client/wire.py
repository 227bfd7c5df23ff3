"""What passes between the client's logic and the transport that it runs on.

All logic is written once, as generators: an operation yields what is to be done (`Request`, or
`Pause`) and is sent what came of it (`Reply`, or `Lost`). The sync and the async client differ
in how they do these two things, and in nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from outfitter_client.errors import retry_after

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """A request; `path` is behind the server's address.

    `repeatable` says that doing it twice is doing it once: a read, or a POST with a key. With
    `stream` the body of the answer is left unread. `basic` are the id and secret of a client.
    """

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = field(default=None, repr=False)
    form: Mapping[str, str] | None = field(default=None, repr=False)
    files: Mapping[str, Any] | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    basic: tuple[str, str] | None = field(default=None, repr=False)
    repeatable: bool = False
    stream: bool = False
    timeout: float | None = None

    def with_headers(self, **headers: str) -> Request:
        """Return the request with further headers; `_` in a name stands for `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **named})


@dataclass(frozen=True)
class Reply:
    """An answer; header names are in small letters. `stream` is the transport's open answer."""

    status: int
    headers: Mapping[str, str]
    body: Any = None
    stream: Any = field(default=None, repr=False)


@dataclass(frozen=True)
class Lost:
    """No answer: the connection failed. `sent` says that the request may have arrived."""

    reason: str
    sent: bool


@dataclass(frozen=True)
class Pause:
    """Wait before the next request."""

    seconds: float


Operation = Generator[Request | Pause, Reply | Lost | None, Any]
"""What an operation returns is told by the method of the core that makes it."""

_BUSY = frozenset({429, 503})
"""Answers of a server that did nothing: whatever the request, it may come again."""

_IN_BETWEEN = frozenset({502, 504})
"""Answers of a proxy, behind which the request may have been done."""


@dataclass(frozen=True)
class Retry:
    """How often and how patiently a request is repeated; times are in seconds."""

    times: int = 3
    first: float = 0.25
    longest: float = 30.0

    def pause(self, request: Request, answer: Reply | Lost, attempt: int) -> float | None:
        """Return how long to wait before the next attempt, None when there is none.

        A `Retry-After` is kept to; one that asks for more than `longest` ends the attempts, so
        that the caller decides.
        """
        if attempt > self.times or not self._may_repeat(request, answer, attempt):
            return None
        asked = _asked(answer)
        if asked is not None:
            return asked if asked <= self.longest else None
        return self.backoff(attempt)

    def backoff(self, attempt: int) -> float:
        """Return how long to wait after so many failures in a row."""
        # jitter, so that clients that failed together do not come back together
        full: float = self.first * 2 ** (attempt - 1)
        return min(self.longest, full) * random.uniform(0.5, 1)  # noqa: S311

    def _may_repeat(self, request: Request, answer: Reply | Lost, attempt: int) -> bool:
        if isinstance(answer, Lost):
            return request.repeatable or not answer.sent
        if answer.status in _BUSY:
            return True
        if answer.status in _IN_BETWEEN:
            return request.repeatable
        return attempt > 1 and _first_still_runs(answer)


def _asked(answer: Reply | Lost) -> float | None:
    return retry_after(answer.headers) if isinstance(answer, Reply) else None


def _first_still_runs(answer: Reply) -> bool:
    """Say whether a repeated POST came while the server still works on the first one."""
    body = answer.body
    return isinstance(body, dict) and body.get("code") == "idempotency_conflict"
