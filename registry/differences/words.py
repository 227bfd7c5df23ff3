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
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for operation, a, b, c, d in matcher.get_opcodes():
        if operation == "equal":
            yield Run("same", "".join(old[a:b]))
            continue
        if a < b:
            yield Run("deleted", "".join(old[a:b]))
        if c < d:
            yield Run("inserted", "".join(new[c:d]))
