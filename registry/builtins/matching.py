"""Search a text for what a model asked for, within limits of time and memory."""

import regex

from registry import pattern_limits
from registry.errors import ToolInputRejected
from registry.pattern_limits import PatternRefusedError

SECONDS = 0.5
"""How long one search may take; a tool has to end within about a second."""

GRAPHEME = regex.compile(
    r"\p{Regional_Indicator}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*|\X"
)
"""One character as people see it: an accent or an emoji is several code points.

Flags are matched by themselves, because `\\X` counts all letters of flags before the next one:
quadratic time.
"""


def literal(wanted: str, *, case_sensitive: bool, whole_words: bool = False) -> regex.Pattern[str]:
    """Return the pattern that finds `wanted` as it is written."""
    source = regex.escape(wanted)
    if whole_words:
        # Unlike \b these also work for a search that starts or ends with a sign, such as "C++".
        source = rf"(?<!\w){source}(?!\w)"
    return regex.compile(source, 0 if case_sensitive else regex.IGNORECASE)


def compiled(source: str, flags: int = 0) -> regex.Pattern[str]:
    """Return the compiled pattern; raise `ToolInputRejected` if it is not one or is too large."""
    try:
        return pattern_limits.compiled(source, flags)
    except PatternRefusedError as problem:
        raise refused(problem) from None


def refused(problem: PatternRefusedError) -> ToolInputRejected:
    """Return the refusal of a pattern that is not one or is too large."""
    return ToolInputRejected(f"The pattern {problem.reason}.", problem.hint)


def too_slow() -> ToolInputRejected:
    """Return the refusal for a search that ran into the time limit."""
    return ToolInputRejected(
        "The search takes too long on this text and was stopped.",
        "Use a simpler pattern, without repetitions inside repetitions such as (a+)+, "
        "or a shorter text.",
    )
