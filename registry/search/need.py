"""A need told in words, and how it is read."""

import re
from dataclasses import dataclass

from registry.search.history import states
from registry.search.tokens import query_clauses, query_terms, tokenize, words_as_written

LONGEST = 20_000
"""Characters of a message that are read; the need stands at its start or is not in words."""

_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|(?<!\w)(?:\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'(?!\w)|`[^`\n]{1,300}`)"
    r"|[“„«][^“”„«»\n]{1,300}[”“»]|‘[^‘’\n]{1,300}’(?!\w)",
    re.DOTALL,
)
_QUOTES = re.compile("[\"'`“„«‘]")


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

    `quoted` are the terms that stand in quotes or code alone. `is_statement` says that it tells
    something and asks for nothing. `text` is what was read.
    """

    terms: dict[str, float]
    clauses: tuple[dict[str, float], ...] = ()
    quoted: frozenset[str] = frozenset()
    is_statement: bool = False
    text: str = ""


def read(text: str) -> Reading:
    """Return a text as weighted terms; without terms where it is small talk or blank."""
    text = text[:LONGEST]
    terms = query_terms(text)
    clauses = query_clauses(text) if terms else []
    return Reading(
        terms,
        tuple(clauses) if len(clauses) > 1 else (),
        _quoted(text, terms),
        states(text),
        text,
    )


def _quoted(text: str, terms: dict[str, float]) -> frozenset[str]:
    if not terms or not _QUOTES.search(text):
        return frozenset()
    return frozenset(terms.keys() - query_terms(_QUOTED.sub(" . ", text)).keys())


@dataclass(frozen=True)
class Told:
    """How a message was read, for a page that explains a ranking.

    `kept` are its words with the term that each gives, `dropped` those that say nothing of which
    tool is wanted, `clauses` its parts that are scored by themselves.
    """

    kept: dict[str, str]
    dropped: tuple[str, ...]
    clauses: tuple[str, ...]
    quoted: tuple[str, ...]
    is_statement: bool


def told(text: str) -> Told:
    """Return how a message is read. Slow; a search does not need it."""
    text = text[:LONGEST]
    reading = read(text)
    kept: dict[str, str] = {}
    dropped: dict[str, None] = {}
    for word in words_as_written(text):
        terms = [term for term in tokenize(word) if term in reading.terms]
        if terms:
            kept.setdefault(word, terms[-1])
        else:
            dropped.setdefault(word)
    return Told(
        kept,
        tuple(dropped),
        tuple(" ".join(clause) for clause in reading.clauses),
        tuple(sorted(reading.quoted)),
        reading.is_statement,
    )
