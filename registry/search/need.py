"""A need told in words, and how it is read."""

from dataclasses import dataclass

from registry.search.tokens import query_clauses, query_terms

LONGEST = 20_000
"""Characters of a message that are read; the need stands at its start or is not in words."""


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
    """One text of a need as weighted terms: of the whole, and of each clause that has some."""

    terms: dict[str, float]
    clauses: tuple[dict[str, float], ...] = ()


def read(text: str) -> Reading:
    """Return a text as weighted terms; without terms where it is small talk or blank."""
    text = text[:LONGEST]
    terms = query_terms(text)
    clauses = query_clauses(text) if terms else []
    return Reading(terms, tuple(clauses) if len(clauses) > 1 else ())
