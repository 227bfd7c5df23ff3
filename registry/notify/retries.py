"""When a delivery that failed is tried again."""

import random
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

MOST_TRIES = 8
"""With the default first wait the last one is made about a day and a half after the first."""

FACTOR = 5
LONGEST_WAIT = timedelta(days=1)
JITTER = 0.2
"""Each wait is made longer or shorter by up to this share, so that receivers are not hit at once
by all that failed while they were away."""


def wait_after(
    tries: int, *, first_seconds: float, asked: timedelta | None = None, chance: float | None = None
) -> timedelta | None:
    """Return how long to wait after this many tries; None: it is given up.

    `asked` is what the receiver said by Retry-After, which only ever makes the wait longer.
    `chance` is a number from 0 to 1, for tests.
    """
    if tries >= MOST_TRIES:
        return None
    drawn = random.random() if chance is None else chance  # noqa: S311 - no secret hangs on it
    seconds = first_seconds * FACTOR ** (tries - 1) * (1 + JITTER * (2 * drawn - 1))
    wait = timedelta(seconds=min(seconds, LONGEST_WAIT.total_seconds()))
    return min(max(wait, asked), LONGEST_WAIT) if asked else wait


def retry_after(header: str | None, now: datetime) -> timedelta | None:
    """Read a Retry-After header: seconds or a date; None where there is none that can be read."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:9]), LONGEST_WAIT.total_seconds()))
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return max(at - now, timedelta())
