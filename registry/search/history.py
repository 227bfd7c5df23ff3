"""How much a message leans on the messages before it.

`Move the file to the archive` says all by itself; `10 pm tonight` or `My user name is Mary` answer
a question, and the words of the need stand earlier. Blindly added, earlier messages make the first
kind worse by more than they make the second kind better.
"""

import math
import re

READ = 400
"""Characters of a message that tell whether it asks or answers."""

WORDS_ALONE = 3.3
"""Content words after which a request leans a third as much as one without any."""

STATED = 0.3
"""How much a content word of an answer counts as one of a request: it is a name or a value."""

LEAST = 0.02
"""Below it a message stands on its own, and earlier ones need not be looked at."""

_LEAD = re.compile(
    r"""
    (?:\W*(?:
    hi|hello|hey|good\ (?:morning|afternoon|evening|day)|there|everyone|dear
    |so|and|then|please|kindly|maybe|just
    |(?:can|could|would|will|do|may)\ (?:you|i\ ask\ you\ to)|you\ (?:can|could|would|might)
    |mind(?:\ if\ i\ ask(?:ed)?\ you\ to)?
    |i\ (?:want|need|would\ like)\ you\ to|i['’]d\ (?:like|love|want)\ you\ to
    |(?:i\ (?:was|am)|i['’]m|just)\ wondering\ (?:if|whether)
    |(?:i\ would|i['’]d)\ (?:\w+\ ){0,2}(?:appreciate|be\ \w+)\ (?:it\ )?if
    |(?:would|is)\ it\ (?:be\ )?possible\ (?:for\ you\ )?to
    |i\ need\ (?:your|some|a\ bit\ of)?\ ?help(?:\ with)?|help\ me(?:\ (?:to|with))?
    )\b\W*)+
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Polite openings, which may stand before anything."""

_ASKS = re.compile(
    r"""
    \? | \b(?:can|could|would|will|may|might|should)\ (?:you|i|we)\b
    | \b(?:please|kindly|let['’]?s|let\ (?:me|us)|how|what|which|where|who|when|why|help|show
    |give\ me|tell\ me|need|want|wish|(?:like|love)\ (?:to|you)|looking|appreciate|grateful)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ANSWERS = re.compile(
    r"""
    \W*(?:(?:yes|yeah|yep|no|nope|ok|okay|sure|great|thanks|thank\ you|well|alright|oh|actually
    |correct|right|exactly)\b\W*)*
    (?:(?:my|it|its|it['’]s|that|that['’]s|this|these|those|i|i['’]m|i['’]ve|the|a|an|he|she|we
    |they|his|her|our|there|here|for|on|at|in|to|from|with|by|of|and|no|yes|\d\S*)(?!\w)|$)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def states(text: str) -> bool:
    """Say whether a message tells something and asks for nothing, as an answer does."""
    text = text[:READ]
    if lead := _LEAD.match(text):
        text = text[lead.end() :]
    return not _ASKS.search(text) and _ANSWERS.match(text) is not None


def reliance(words: int, coverage: float, *, is_statement: bool) -> float:
    """Return how much a message leans on those before it, in 0–1.

    `words` is how many content words it has, `coverage` the share of its best tool's name that it
    says: who names a tool needs no history.
    """
    said = words * (STATED if is_statement else 1.0)
    leaning = (1 - coverage) ** 2 * math.exp(-said / WORDS_ALONE)
    return leaning if leaning > LEAST else 0.0
