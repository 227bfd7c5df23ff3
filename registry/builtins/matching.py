"""Search a text for what a model asked for, within a time limit."""

import regex

from registry.errors import ToolInputRejected

SECONDS = 0.8
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


def too_slow() -> ToolInputRejected:
    """Return the refusal for a search that ran into the time limit."""
    return ToolInputRejected(
        "The search takes too long on this text and was stopped.",
        "Use a simpler pattern, without repetitions inside repetitions such as (a+)+, "
        "or a shorter text.",
    )
