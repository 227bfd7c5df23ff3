"""Compile regular expressions that strangers wrote, within a limit of memory."""

from functools import lru_cache

import regex

MAX_COPIES = 50_000
"""Parts a pattern may unfold to. A compiled repetition such as a{1000} holds 1,000 copies of what
it repeats, each near 300 bytes, so (a{30000}){30000} would fill any memory."""

UNSUPPORTED = regex.compile(
    r"\(\?#|\(\?(?:R|[+-]?[0-9]+|&\w+|P>\w+)\)|\(\?[a-zA-Z0-9-]*(?:x|V1)", regex.VERSION0
)
"""Recursion grows by a gigabyte a second; the others hide brackets from `copies`."""

PART = regex.compile(
    r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{(?P<least>[0-9]+)(?:,[0-9]*)?\}|(?P<more>\+)|.",
    regex.DOTALL,
)


class PatternRefusedError(ValueError):
    """The pattern is not one, or is too large; `reason` follows “The pattern ”.

    `position` is the character that it goes wrong at, where that is known, from 0.
    """

    def __init__(self, reason: str, hint: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
        self.position = position


@lru_cache(maxsize=16)
def compiled(source: str, flags: int = 0) -> regex.Pattern[str]:
    """Return the compiled pattern; raise `PatternRefusedError` if it is none or is too large."""
    if UNSUPPORTED.search(source):
        raise PatternRefusedError(
            "uses recursion, a comment, verbose mode or version 1 syntax",
            "Write it as a plain regular expression, without (?R), (?1), (?#), (?x) or (?V1).",
        )
    if copies(source) > MAX_COPIES:
        raise PatternRefusedError(
            "repeats too much", "Use smaller counts, without one {count} inside another."
        )
    try:
        # Not kept in regex's own cache, which would hold hundreds of large patterns.
        return regex.compile(source, flags | regex.VERSION0, cache_pattern=False)
    except (regex.error, LookupError, OverflowError, RecursionError, TypeError, ValueError) as why:
        raise PatternRefusedError(
            f"is not a regular expression: {str(why)[:200]}",
            "Escape special characters such as ( [ . * with a backslash.",
            getattr(why, "pos", None),
        ) from None


def copies(source: str) -> int:
    """Return how many parts the pattern unfolds to, counting each repetition at its least."""
    totals, last = [0], 0
    for part in PART.finditer(source):
        if part[0] == "(":
            totals.append(0)
            continue
        if part[0] == ")" and len(totals) > 1:
            last = totals.pop()
        elif part["least"] or part["more"]:
            # The part was counted once already; the repetition itself takes one copy more.
            last, once = last * (1 + int((part["least"] or "1")[:9])), last
            totals[-1] -= once
        else:
            last = 1
        totals[-1] += last
    return sum(totals)
