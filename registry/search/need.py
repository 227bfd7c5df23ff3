"""A need told in words, and how it is read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from registry.search.history import states
from registry.search.tokens import (
    query_terms,
    query_terms_and_clauses,
    words_of,
)

LONGEST = 20_000
"""Characters of a message that are read; the need stands at its start or is not in words."""

_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|(?<!\w)(?:\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'(?!\w)|`[^`\n]{1,300}`)"
    r"|[“„«][^“”„«»\n]{1,300}[”“»]|‘[^‘’\n]{1,300}’(?!\w)",
    re.DOTALL,
)
_QUOTES = re.compile("[\"'`“„«‘]")

MOST_QUERIES = 5
"""Needs that a search takes beside the message."""

LONGEST_QUERY = 1_000
"""Characters of one of them."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """What tools are wanted for.

    `text` is the message, `recent` the messages before it, the oldest first, `queries` what is
    wanted in the words of a model, one need each.
    """

    text: str
    recent: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """One text of a need as weighted terms: of the whole, and of each clause that has some.

    `quoted` are the terms that stand in quotes or code alone. `text` is what was read.
    """

    terms: dict[str, float]
    clauses: tuple[dict[str, float], ...] = ()
    quoted: frozenset[str] = frozenset()
    text: str = ""

    @cached_property
    def is_statement(self) -> bool:
        """Say whether it tells something and asks for nothing."""
        return states(self.text)

    @cached_property
    def words(self) -> dict[str, str]:
        """Return for each term a word that gives it."""
        return words_of(self.text)


def read(text: str) -> Reading:
    """Return a text as weighted terms; without terms where it is small talk or blank."""
    text = text[:LONGEST]
    terms, clauses = query_terms_and_clauses(text)
    return Reading(terms, tuple(clauses) if len(clauses) > 1 else (), _quoted(text, terms), text)


def told_before(readings: Sequence[Reading]) -> Reading:
    """Return the words of several messages as one text; each was read when it came."""
    counts: dict[str, float] = {}
    for reading in readings:
        for term, weight in reading.terms.items():
            counts[term] = counts.get(term, 0.0) + weight * weight
    terms = {term: count**0.5 for term, count in counts.items()}
    quoted = frozenset[str]().union(*(reading.quoted for reading in readings))
    if quoted:
        quoted = quoted.difference(*(each.terms.keys() - each.quoted for each in readings))
    return Reading(terms, quoted=quoted)


def _quoted(text: str, terms: dict[str, float]) -> frozenset[str]:
    if not terms or not _QUOTES.search(text):
        return frozenset()
    return frozenset(terms.keys() - query_terms(_QUOTED.sub(" . ", text)).keys())
