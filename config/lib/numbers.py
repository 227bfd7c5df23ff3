"""Read numbers out of text that people and programs send."""

MOST_DIGITS = 18
"""A number with more digits fits no column of the database."""


def whole_number(text: str) -> int | None:
    """Return the number that `text` is, or None where it is none or far too large."""
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None
