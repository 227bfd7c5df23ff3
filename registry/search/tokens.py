"""Turn text into the terms that search compares.

The same text always gives the same terms, documents and queries alike: identifiers are split
(`getUserName`, `get_user_name`, `get-user-name`), accents folded, filler words dropped, and
English words cut to their Snowball stem. Scripts that write no blanks (Chinese, Japanese, Thai …)
and Korean give overlapping pairs of characters. Each word between blanks or signs gives its terms
whatever stands beside it.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from threading import Lock

import snowballstemmer

from registry.search.stopwords import CHATTER_WORDS, STOP_WORDS, STOP_WORDS_ABROAD

MAX_TERM_LENGTH = 40
"""Characters of a word that count; longer runs are payload (hashes, base64), not language."""
LETTERS_OF_PARTS = 3
"""Letters of the shortest word that is looked for within another."""
LONGEST_BRAND = 9
"""Characters of a word like `GitHub` that is kept whole beside its parts, because people write
`github` too. Longer ones are mostly identifiers (`GetWeather`); kept whole they measured worse."""
LONGEST_WORD = 200
"""Characters that are read of a run without blanks and signs."""


_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_APOSTROPHES = re.compile(r"(?<=[^\W\d_])['’](?=[^\W\d_])")
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670]+")
"""Marks that may be left out when writing: accents, Hebrew points, Arabic vowels and stretches."""
_CAMEL = re.compile(r"(?<=[a-z0-9]{2})(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z](?![0-9]))")
"""Not within `iOS`, `eBay` and `IPv4`."""
_UNSPACED = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"  # Kana, Han, Hangul
    "\u0e00-\u0e4e\u0e80-\u0ecf\u1000-\u103f\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
)
_INDIC = "\u0900-\u0963\u0966-\u0dff"
"""Words of these scripts hold vowel signs, which `\\w` leaves out."""
_WORD = re.compile(rf"[{_UNSPACED}]+|[{_INDIC}]+|[^\W_{_UNSPACED}{_INDIC}]+")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")

_NUMBERED = re.compile(r"([a-z]{3,12})[0-9]+")
_KIND_WORDS = (
    (re.compile(r"\d(?:\s{0,3}(?:\*\*|[+*^×÷])\s{0,3}|\s[-/%]\s)\(?-?\d"), "calculate arithmetic"),
    (re.compile(r"</?[a-zA-Z][^<>]{0,200}>"), "html"),
)
"""Payloads that hold no word of their own (`17 * 23`, `<h1>`), each with the words for its kind.
A minus or slash needs blanks round it, else every date would be a calculation."""

_CLAUSE_END = re.compile(r"[.!?,;:\n]+")
_SENTENCE_END = re.compile(r"[.!?:\n]+")
_FEELING = "(?:sad|happy|bored|tired|fine|good|great|ok|okay|well|lonely|sick|excited|sorry|back)"
_SMALL_TALK = re.compile(
    rf"""
    (?:hi|hello|hey|yo|greetings|good\ (?:morning|afternoon|evening|night|day))(?:\ \w+)?
    | how\ (?:are|is|was|were|have|do)\ (?:you|it|things|everything|life|your\ \w+)(?:\ \w+)?
    | (?:what\ is|what\ s|whats)\ (?:up|new|your\ name|the\ meaning\ of\ life|going\ on)
    | (?:who|what|how\ old|where)\ are\ you(?:\ from|\ doing)?
    | who\ (?:made|created|built|trained)\ you | are\ you\ (?:an?\ )?\w+
    | do\ you\ (?:have\ )?(?:feelings|emotions|sleep|dream|love\ me|like\ me)
    | what\ (?:can|do)\ you\ (?:do|think)(?:\ about\ (?:life|me|that|it|this))?
    | (?:ok\ |okay\ )?(?:many\ )?(?:thanks|thank\ you)(?:\ \w+){{0,4}}
    | (?:that|this|it|you|he|she)\ (?:is|was|s|re|are)\ (?:not\ )?(?:\w+\ )?\w+(?:\ i\ meant)?
    | (?:nice|pleased|good|glad)\ (?:to\ meet|meeting)\ you | see\ you(?:\ \w+)? | (?:good)?bye
    | have\ an?\ \w+\ (?:day|evening|night|weekend|one)
    | i\ (?:am|m|feel|was)\ (?:(?:feeling|so|very|really)\ )?{_FEELING}(?:\ \w+)?
    | i\ (?:do\ not|don\ t)\ (?:understand|know|care|get\ it) | i\ (?:love|like|hate)\ you
    | (?:great|good|nice|well|amazing|awesome)\ (?:job|work|done|answer) | sounds\ (?:good|great)
    | let\ s\ (?:go|do\ (?:it|this|that)|start|talk) | happy\ birthday
    | lol | (?:ha)+h? | wow | cool
    | (?:can|could|would)\ you\ (?:explain|say|repeat)\ (?:that|it|this)(?:\ again)?
    | tell\ me\ (?:something(?:\ \w+)?|about\ yourself|more)
    """,
    re.VERBOSE,
)
"""A clause that asks for no tool. Only whole clauses match, so that `what is your name` is dropped
and `what is the name of the file` is not."""
MAX_SMALL_TALK_LENGTH = 60

_stemmer = snowballstemmer.stemmer("english")
_stemmer_lock = Lock()  # the stemmer keeps its working word on itself


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the Snowball stem of a word in lower case."""
    with _stemmer_lock:
        return str(_stemmer.stemWord(word[:MAX_TERM_LENGTH]))


def as_one_word(text: str) -> str:
    """Return the text with `e-mail` as the one word that it is: its letter alone says nothing."""
    for written in ("e-mail", "E-mail", "E-Mail", "E-MAIL"):
        text = text.replace(written, "email")
    return text


def _fold(text: str) -> str:
    """Return the text without accents and apostrophes."""
    text = as_one_word(text)
    if not text.isascii():
        decomposed = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
        text = unicodedata.normalize("NFC", decomposed)
    return _APOSTROPHES.sub(" ", text)


_DROPPED = STOP_WORDS | CHATTER_WORDS | frozenset(map(_fold, STOP_WORDS_ABROAD))


@lru_cache(maxsize=131_072)
def _terms_of_word(word: str) -> tuple[str, ...]:
    """Return the terms of one word as it is written."""
    if _UNSPACED_RUN.match(word):
        return tuple(word[i : i + 2] for i in range(max(1, len(word) - 1)))
    parts = _CAMEL.sub(" ", word).lower().split()
    terms = []
    for part in parts:
        is_word = len(part) > 1 or part in _LETTERS
        if is_word and part not in _DROPPED and not part.isdecimal():
            terms.append(stem(part))
            if numbered := _NUMBERED.fullmatch(part):
                terms.append(stem(numbered[1]))
    if len(parts) == 2 and len(word) <= LONGEST_BRAND and word[0].isupper():  # noqa: PLR2004
        terms.append(stem(word.lower()))
    return tuple(terms)


def tokenize(text: str) -> list[str]:
    """Return the terms of `text` in order, repeats included; empty when it holds none.

    Time is linear in the length of the text, whatever it holds.
    """
    terms: list[str] = []
    for word in _WORD.findall(_fold(text)):
        # payload of any length is no word, and would fill the cache
        terms += _terms_of_word(word[:LONGEST_WORD])
    return terms


def query_terms(text: str) -> dict[str, float]:
    """Return the terms of a query, each with its weight; empty for small talk.

    The weight is the square root of the term's count: a word said four times matters twice as
    much, not four times. A payload without words is replaced by the words for its kind, so that
    `What is 17 * 23?` asks for a calculation.
    """
    text, kinds = kinds_in(text)
    clauses = [clause for clause in clauses_of(text) if not _is_chat(clause)]
    return _weighted(tokenize(" . ".join([*clauses, *(words for _, words in kinds)])))


def clauses_of(text: str) -> list[str]:
    """Return the clauses of a text, some of them perhaps blank."""
    return _CLAUSE_END.split(text)


def kinds_in(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return a text without its payloads, and the first payload of each kind with its words."""
    kinds = []
    for pattern, words in _KIND_WORDS:
        if found := pattern.search(text):
            kinds.append((found[0], words))
            text = pattern.sub(" ", text)
    return text, kinds


def query_terms_and_clauses(text: str) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Return the weighted terms of a query, and of each clause that has some, small talk left out.

    Without terms there are no clauses.
    """
    clauses = clauses_of(text)
    if any(pattern.search(text) for pattern, _ in _KIND_WORDS):  # one may go beyond a clause
        terms = query_terms(text)
        return terms, [each for each in map(query_terms, clauses) if each] if terms else []
    said = [tokenize(clause) for clause in clauses if clause and not _is_chat(clause)]
    return _weighted(chain.from_iterable(said)), [_weighted(each) for each in said if each]


def _weighted(terms: Iterable[str]) -> dict[str, float]:
    counts: dict[str, int] = {}
    for term in terms:
        counts[term] = counts.get(term, 0) + 1
    return {term: count**0.5 for term, count in counts.items()}


def is_small_talk(text: str) -> bool:
    """Say whether a text is nothing but clauses that ask for no tool."""
    clauses = [clause for clause in clauses_of(text) if _WORD.search(clause)]
    return bool(clauses) and all(map(_is_chat, clauses))


def _is_chat(clause: str) -> bool:
    if len(clause) > MAX_SMALL_TALK_LENGTH:
        return False
    return _SMALL_TALK.fullmatch(" ".join(_WORD.findall(_fold(clause).lower()))) is not None


def words_of(text: str) -> dict[str, str]:
    """Return for each term of a text a word that gives it; names are left out.

    A word is a name where it always begins with a capital and never begins a sentence.
    """
    found: dict[str, str] = {}
    for clause in _SENTENCE_END.split(_fold(text)):
        for place, word in enumerate(_WORD.findall(clause)):
            if place and word[0].isupper() and not word.isupper():
                continue
            for term in _terms_of_word(word[:LONGEST_WORD]):
                found.setdefault(term, word.lower())
    return found


def words_as_written(text: str) -> list[str]:
    """Return the words of a text, from which its terms are made."""
    return _WORD.findall(_fold(text))
