"""How a message is read, word by word: what ranks, what is dropped and why."""

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Literal

from registry.search.need import LONGEST, read
from registry.search.stopwords import CHATTER_WORDS, STOP_WORDS
from registry.search.tokens import (
    clauses_of,
    is_small_talk,
    kinds_in,
    tokenize,
    words_as_written,
)

MOST_WORDS = 400
"""Words that are told of one message."""

Fate = Literal["kept", "stop word", "chatter", "too short", "number", "small talk"]
_RUN = re.compile(r"\S+")


@dataclass(frozen=True)
class Word:
    """One word as it was written, what becomes of it, and the terms that it ranks by.

    `read_as` are the terms that it is read as, where no tool holds its own.
    """

    text: str
    fate: Fate
    terms: tuple[str, ...] = ()
    is_quoted: bool = False
    read_as: tuple[str, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Tell whether it ranks."""
        return self.fate == "kept"


@dataclass(frozen=True)
class Clause:
    """One clause of a message; that of small talk asks for nothing."""

    text: str
    words: tuple[Word, ...]
    is_small_talk: bool


@dataclass(frozen=True)
class ReadMessage:
    """A message as the ranking reads it; `kinds` are words put in place of a payload.

    `is_statement` says that it tells something and asks for nothing, as an answer does.
    """

    clauses: tuple[Clause, ...]
    kinds: tuple[Word, ...] = ()
    is_statement: bool = False

    @property
    def words(self) -> list[Word]:
        """Return all words in order, those that stand for a payload last."""
        return [*(word for clause in self.clauses for word in clause.words), *self.kinds]

    @property
    def is_corrected(self) -> bool:
        """Tell whether some word is read as another."""
        return any(word.read_as for word in self.words)

    @property
    def asks_nothing(self) -> bool:
        """Tell whether nothing is left to rank by."""
        return not any(word.is_kept for word in self.words)


def read_message(text: str, corrected: Mapping[str, tuple[str, ...]] | None = None) -> ReadMessage:
    """Return how a message is read, at most its first `MOST_WORDS` words.

    `corrected` are its terms that no tool holds and are read as others.
    """
    text, corrected = text[:LONGEST], corrected or {}
    quoted = read(text).quoted
    rest, kinds = kinds_in(text)
    clauses, left = [], MOST_WORDS
    for clause in clauses_of(rest):
        if not clause.strip() or left <= 0:
            continue
        small_talk = is_small_talk(clause)
        words = tuple(
            _as_ranked(word, quoted, corrected) for word in _words(clause, small_talk=small_talk)
        )[:left]
        if kinds:  # what is left of a payload's ends is no word of the message
            words = tuple(word for word in words if word.fate != "number")
        left -= len(words)
        clauses.append(Clause(clause.strip(), words, small_talk))
    told = tuple(
        Word(_whole(found, text), "kept", tuple(tokenize(words))) for found, words in kinds
    )
    return ReadMessage(tuple(clauses), told, read(text).is_statement)


def _as_ranked(word: Word, quoted: Set[str], corrected: Mapping[str, tuple[str, ...]]) -> Word:
    others = [other for term in word.terms for other in corrected.get(term, ())]
    is_quoted = bool(word.terms) and quoted >= set(word.terms)
    return replace(word, is_quoted=is_quoted, read_as=tuple(dict.fromkeys(others)))


def _whole(found: str, text: str) -> str:
    """Return a payload with the letters and digits that it is cut from."""
    start = text.index(found)
    end = start + len(found)
    while start and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return text[start:end]


def words_by_term(
    texts: Iterable[str], corrected: Mapping[str, tuple[str, ...]] | None = None
) -> dict[str, str]:
    """Return for each term the word of the texts that it comes from, the first one."""
    found: dict[str, str] = {}
    for text in texts:
        for word in read_message(text, corrected).words:
            for term in (*word.terms, *word.read_as):
                found.setdefault(term, word.text)
    return found


def _words(clause: str, *, small_talk: bool) -> Iterable[Word]:
    for run in _RUN.findall(clause):
        parts = [part.lower() for part in words_as_written(run)]
        if not parts:
            continue
        terms = tuple(dict.fromkeys(tokenize(run)))
        shown = run.strip("\"'()[]{}<>“”„‘’«»")
        if small_talk:
            yield Word(shown, "small talk")
        elif terms:
            yield Word(shown, "kept", terms)
        else:
            yield Word(shown, _why_dropped(parts))


def _why_dropped(parts: Iterable[str]) -> Fate:
    for part in parts:
        if part in CHATTER_WORDS:
            return "chatter"
        if part.isdecimal():
            return "number"
        if part in STOP_WORDS and len(part) > 1:
            return "stop word"
    return "too short"
