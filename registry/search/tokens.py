"""Turn text into the terms that search compares.

The same text always gives the same terms, documents and queries alike: identifiers are split
(`getUserName`, `get_user_name`, `get-user-name`), accents folded, filler words dropped, and
English words cut to their Snowball stem. Chinese, Japanese and Korean runs give overlapping pairs
of characters, because they have no blanks to split at.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from threading import Lock

import snowballstemmer

MAX_TERM_LENGTH = 40
"""Characters of a word that count; longer runs are payload (hashes, base64), not language."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS = _words("""
    a about above after again all also am an and any are as at be because been before being below
    between both but by can could d did do does doing done down during each either else few for
    from further had has have having he her here hers herself him himself his how i if in into is
    it its itself just ll m me more most my myself no nor not now of off on once only or other our
    ours ourselves out over own re s same shall she should so some such t than that the their
    theirs them themselves then there these they this those through to too under until up upon us
    ve very was we were what when where which while who whom whose why will with within without
    would you your yours yourself yourselves
""")

CHATTER_WORDS = _words("""
    allow allows anything certain chance dear every everything give given gives glad going gonna
    good great hello help helpful helps hey hi include includes including interested kindly know
    let like love make many may maybe might mind much must need needed needs nice ok okay one
    perhaps please possible provide provided provides providing really something stuff sure tell
    thank thanks thing things think try trying use used useful user users uses using via wanna want
    wanted wants way well whether wish wonder wondering yes
""")

_DROPPED = STOP_WORDS | CHATTER_WORDS
_APOSTROPHES = re.compile(r"(?<=[^\W\d_])['’](?=[^\W\d_])")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_CJK_RUN = re.compile(rf"[{_CJK}]")

_NUMBERED = re.compile(r"([a-z]{3,12})[0-9]+")
_KIND_WORDS = (
    (re.compile(r"\d(?:\s{0,3}(?:\*\*|[+*^×÷])\s{0,3}|\s[-/%]\s)\(?-?\d"), "calculate arithmetic"),
    (re.compile(r"</?[a-zA-Z][^<>]{0,200}>"), "html"),
)
"""Payloads that hold no word of their own (`17 * 23`, `<h1>`), each with the words for its kind.
A minus or slash needs blanks round it, else every date would be a calculation."""

_CLAUSE_END = re.compile(r"[.!?,;:\n]+")
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
    | (?:ok\ |okay\ )?(?:many\ )?(?:thanks|thank\ you)(?:\ \w+){{0,3}}
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
def _stem(word: str) -> str:
    with _stemmer_lock:
        return str(_stemmer.stemWord(word))


def _fold(text: str) -> str:
    """Return the text without accents, identifiers split at their capitals, in lower case."""
    decomposed = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    folded = unicodedata.normalize("NFC", decomposed)
    return _CAMEL.sub(" ", _APOSTROPHES.sub(" ", folded)).lower()


def tokenize(text: str) -> list[str]:
    """Return the terms of `text` in order, repeats included; empty when it holds none.

    Time is linear in the length of the text, whatever it holds.
    """
    terms: list[str] = []
    for word in _WORD.findall(_fold(text)):
        if _CJK_RUN.match(word):
            terms.extend(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif len(word) > 1 and not word.isdecimal() and word not in _DROPPED:
            terms.append(_stem(word[:MAX_TERM_LENGTH]))
            if numbered := _NUMBERED.fullmatch(word):
                terms.append(_stem(numbered[1]))
    return terms


def query_terms(text: str) -> dict[str, float]:
    """Return the terms of a query, each with its weight; empty for small talk.

    The weight is the square root of the term's count: a word said four times matters twice as
    much, not four times. A payload without words is replaced by the words for its kind, so that
    `What is 17 * 23?` asks for a calculation.
    """
    text, kinds = kinds_in(text)
    clauses = [clause for clause in clauses_of(text) if not is_small_talk(clause)]
    counts = Counter(tokenize(" . ".join([*clauses, *(words for _, words in kinds)])))
    return {term: count**0.5 for term, count in counts.items()}


def query_clauses(text: str) -> list[dict[str, float]]:
    """Return the weighted terms of each clause of a query that has some, small talk left out."""
    read = (query_terms(clause) for clause in clauses_of(text))
    return [terms for terms in read if terms]


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


def folded_words(text: str) -> list[str]:
    """Return the words of a text as they are compared with those that are dropped."""
    return _WORD.findall(_fold(text))


def is_small_talk(clause: str) -> bool:
    """Tell whether a clause asks for no tool."""
    if len(clause) > MAX_SMALL_TALK_LENGTH:
        return False
    return _SMALL_TALK.fullmatch(" ".join(_WORD.findall(_fold(clause)))) is not None
