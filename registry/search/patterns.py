"""Find texts by a regular expression that a stranger wrote, within limits of time and memory."""

import time
from collections.abc import Iterable

import regex

from registry.errors import PatternInvalid, PatternTooSlow
from registry.pattern_limits import PatternRefusedError, compiled

LONGEST = 1_000
"""Characters of a pattern."""

TOTAL_SECONDS = 0.8
"""How long one pattern may compute on all texts together."""

MOST_SECONDS = 3.0
"""How long that may take on a machine that has much else to do."""

TEXT_SECONDS = 0.02
"""How long it may look at one text; what takes longer goes back over it again and again."""

MOST_TRIES = 4
"""How often it looks at a text that took too long while the machine was busy with others."""

BETWEEN_LOOKS = 256
"""Texts between two looks at the clock."""


def read(source: str) -> regex.Pattern[str]:
    """Return the compiled pattern. It ignores case; `^` and `$` match at the ends of each line.

    Raises PatternInvalid, which says where it is wrong.
    """
    if not source.strip():
        raise PatternInvalid("The pattern is empty.", "Send a pattern such as get_.*weather.")
    if len(source) > LONGEST:
        raise PatternInvalid(
            f"The pattern is {len(source):,} characters long.",
            f"Use at most {LONGEST:,}; look for fewer words at once.",
        )
    try:
        return compiled(source, regex.IGNORECASE | regex.MULTILINE)
    except PatternRefusedError as refused:
        problem = PatternInvalid(f"The pattern {refused.reason}.", refused.hint)
        if refused.position is not None:
            problem.extra["position"] = refused.position
        raise problem from None


def matches(pattern: regex.Pattern[str], texts: Iterable[bytes]) -> list[tuple[int, int]]:
    """Return, for each text that matches, its number and the line of its first match.

    Raises PatternTooSlow when the time is over, for a part of the texts would be no answer.
    """
    found = []
    spent, end = time.thread_time() + TOTAL_SECONDS, time.monotonic() + MOST_SECONDS
    for number, encoded in enumerate(texts):
        if not number % BETWEEN_LOOKS and (time.thread_time() > spent or time.monotonic() > end):
            raise PatternTooSlow
        text = encoded.decode()
        try:
            match = pattern.search(text, timeout=TEXT_SECONDS)
        except TimeoutError:
            match = _again(pattern, text)
        if match is not None:
            found.append((number, text.count("\n", 0, match.start())))
    return found


def _again(pattern: regex.Pattern[str], text: str) -> regex.Match[str] | None:
    """Look at a text again: the limit is one of the clock, and others may have had the time."""
    for _ in range(MOST_TRIES):
        began = time.thread_time()
        try:
            return pattern.search(text, timeout=TEXT_SECONDS)
        except TimeoutError:
            if time.thread_time() - began > TEXT_SECONDS / 2:
                break
    raise PatternTooSlow
