"""Which words of a text came and which went."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

MOST_WORDS = 4_000
"""Words, each with the blanks after it, that are compared one by one; comparing is quadratic."""


class Run(NamedTuple):
    """A piece of text: `same`, `inserted` or `deleted`."""

    kind: str
    text: str


def word_runs(before: str, after: str) -> list[Run]:
    """Return both texts as one, in pieces that stayed, went and came, in reading order."""
    old, new = (re.findall(r"\s+|\w+\s*|[^\w\s]\s*", text) for text in (before, after))
    if max(len(old), len(new)) > MOST_WORDS:
        return [Run("deleted", before), Run("inserted", after)]
    return list(_runs(old, new))


def _runs(old: list[str], new: list[str]) -> Iterator[Run]:
    went, came = "", ""
    for operation, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        same = "".join(old[a:b])
        if operation == "equal" and not (went and came and _is_island(old, a, b)):
            yield from _changed(went, came)
            went, came = "", ""
            yield Run("same", same)
        else:
            went, came = went + same, came + "".join(new[c:d])
    yield from _changed(went, came)


def _is_island(old: list[str], start: int, end: int) -> bool:
    """Say whether a piece that stayed is a single word amid others that changed."""
    return end - start == 1 and end < len(old)


def _changed(went: str, came: str) -> Iterator[Run]:
    if went:
        yield Run("deleted", went)
    if came:
        yield Run("inserted", came)
