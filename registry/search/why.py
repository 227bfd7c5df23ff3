"""Say in a few words why a tool fits a need."""

import re
from collections.abc import Iterable

from registry.search.tokens import tokenize

MOST_WORDS = 6
"""Words that are named."""

LONGEST = 2_000
"""Characters of a need that are looked at; a reason is no place to quote more from."""

_WORD = re.compile(r"\w+")


def shared_words(needs: Iterable[str], texts: Iterable[str]) -> str:
    """Return the words of some needs that a tool's texts have as well, `a, b and c`, or nothing.

    Words are told as the need has them; `files` is shared with a tool that says `file`.
    """
    held = {term for text in texts for term in tokenize(text)}
    shared: dict[str, str] = {}
    for need in needs:
        for word in _WORD.findall(need[:LONGEST]):
            terms = tokenize(word)
            if terms and held.issuperset(terms):
                shared.setdefault(" ".join(terms), word.lower())
    words = list(shared.values())[:MOST_WORDS]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def why_words(needs: Iterable[str], texts: Iterable[str]) -> str:
    """Return why a tool that was ranked by its words fits."""
    words = shared_words(needs, texts)
    return f"has {words}" if words else "fits the words"
