"""How a message is put: whether it asks for something, speaks of people, or goes on from before.

What a message is about stands in its terms (`registry/search/tokens.py`); this looks at the words
that the terms leave out.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from registry.search.tokens import is_small_talk, tokenize

READ = 2_000
"""Characters of a message whose form is looked at: its manner shows at the start."""

_PERSON_WORDS = """
    i me my mine myself we us our ours ourselves you your yours yourself u he him his she her they
    them their
"""
_PERSONS = frozenset(_PERSON_WORDS.split())
_FOR_ME = re.compile(
    r"\b(?:bring|build|find|get|give|help|let|make|read|send|show|tell)\ (?:me|us)\b"
)
_ASKS = re.compile(
    r"\b(?:can|could|would|will)\ you\b | \bplease\b | \bhelp\ me\b"
    r"| \bi['’]m\ (?:looking|trying)\b"
    r"| \bi(?:['’]d|\ would)?\ (?:need|want|like\ to)\b",
    re.VERBOSE,
)
_PAYLOAD = re.compile(r"\d|[\"“`]|(?<!\w)'|https?:|\S@\S|\w/\w|\w_\w|\w\.\w")
_NAMED = re.compile(r"(?<=[\w,:] )[A-Z]\w")
_TALK = re.compile(
    r"\W*(?:why|should|is|are|am|do|does|did|was|were|who|whom|explain|define|describe|if|when)\b"
    r"|.*\bhow\ (?:do|can|should)\ i\b",
    re.VERBOSE | re.DOTALL,
)
_PLAIN = re.compile(
    r"\W*(?:please\ |(?:can|could|would)\ you\ (?:please\ )?)?"
    r"(?:(?:what['’]?s|what\ (?:is|are)|how['’]?s|how\ (?:is|are)|where['’]?s|where\ (?:is|are))"
    r"\ (?:the|a|an|my|today['’]?s)\ "
    r"|(?:what|which)\ [a-z]+\ is\ (?:it|today)\b"
    r"|(?:bring|build|find|generate|get|give|help|make|play|read|send|show|tell)\ (?:me|us)\ "
    r"|(?P<verb>[a-z]{3,})\ (?:this|that|it|these|those|the|a|an|my|some)\b)"
)
_CONFIRMS = re.compile(
    r"\W*(?:yes|yeah|yep|no|correct|right|sure|exactly)\b"
    r"|.*\b(?:confirm\w*|that['’]?s\ (?:it|all|right|correct))\b",
    re.VERBOSE | re.DOTALL,
)
_CLOSES = re.compile(
    r"\b(?:thanks?|thx|ty|bye|goodbye|hello|hi|hey|great|awesome|perfect|appreciate\w*|haha|lol"
    r"|good\ (?:morning|night|evening|afternoon))\b",
    re.VERBOSE,
)
_WORDS = re.compile(r"[^\W_]+")
_BRIEF = 8
_FEW = 6
_MUCH = 0.25

EVERYDAY = frozenset(
    tokenize("""
    able adult afraid age agree alive alone alright always amazing angry anxious apology asleep
    aunt autumn awake aware awesome awful baby bad beautiful beauty bed begin believe best better
    bit bored boring born boss boy brain brave breath brilliant bring brother care careful cheer
    child childhood clever close cold colleague come confident confused cool couple crazy cry
    curious dad dark daughter dead deal death decide deep delicious depressed die different
    difficult dinner dislike dog doubt dream dumb easy eat else embarrass emotion enemy enjoy
    enough eventually evil excited excuse exist eye face fair fall family famous fantastic far fast
    fat father fault favorite favourite favor favour fear feel feeling fight finally fine finger
    fool forever forget forgive fortunate free friend friendly friendship fun funny gentle
    gentleman girl girlfriend god gone goodness gossip grandfather grandma grandmother grateful
    grow guess guy half hand happen happiness happy hard hate head heart heaven hell hide hilarious
    hobby home honest hope horrible human humor hungry hurry hurt husband idea ignore imagine
    impress impossible insult interesting invisible jealous joy keep kid kind kiss kitchen knight
    lady last late laugh lazy leave lie life little live lonely long lose loss lot love luck lucky
    mad magic man marriage marry matter mean meet mind miss mom moment mood moon mother mouth mum
    mystery neighbor neighbour nervous never nice nobody noise nonsense normal nothing old opinion
    owe pain pardon party patient peace people perfect piece pirate pleasant pleased pleasure
    polite poor prefer pretend pretty promise proud purpose quiet quit reality reason regret relax
    rest rich riddle rude sad say scared sea secret seem self sense serious shame sick silence
    silly simple sister sit sky sleep sleepy small smart smile somebody someone soon sorry soul
    spring stand stay strange stranger strong stuck stupid sun suppose surprise survive sweet taste
    tear terrible thought tired tooth totally tree trouble truth turn twice ugly uncle understand
    universe upset usual wait wake walk war warm waste weird welcome wife win wise woman wonderful
    wood world worry worse worst worth wow wrong young
    """)
)
"""Terms of everyday talk. They say less of what is wanted than their frequency among tools tells:
a word that few tools hold is rare there, not in what people say."""


class Form(NamedTuple):
    """`personal` is the share of words for people; most others are 0 or 1.

    `asks` tells of `please`, `I need` …, `plain` of a few words that order something or ask for a
    thing (`translate this`, `tell me a joke`, `what's the weather`), `named` of a name within a
    sentence (`the time in Tokyo`), `payload` of something to work on (a number, a quotation, an
    address), `talk` of an opening that asks for an opinion or an explanation. `follows` says
    whether the message may go on from earlier ones: not when it greets, thanks or speaks of
    something else. `words` is how many there are.
    """

    personal: float
    asks: float
    payload: float
    named: float
    talk: float
    plain: float
    follows: bool
    words: int


REQUEST = Form(
    personal=0.0, asks=1.0, payload=0.0, named=0.0, talk=0.0, plain=0.0, follows=False, words=8
)
"""The form of a need in the words of a model, which has nothing else to say."""


@lru_cache(maxsize=256)
def form_of(text: str) -> Form:
    """Return the form of a message."""
    text = text[:READ]
    lower = text.lower()
    words = _WORDS.findall(lower)
    persons = sum(word in _PERSONS for word in words) - len(_FOR_ME.findall(lower))
    personal = persons / max(1, len(words))
    asks = bool(_ASKS.search(lower))
    payload = bool(_PAYLOAD.search(text))
    talk = bool(_TALK.match(lower))
    named = bool(_NAMED.search(text))
    if payload or named or _CONFIRMS.match(lower):
        follows = bool(words) and not (len(words) < _BRIEF and _closes(lower))
    else:
        follows = (
            bool(words)
            and not talk
            and not _CLOSES.search(lower)
            and not is_small_talk(text)
            and (asks or personal < _MUCH)
            and not stands_alone(text)
        )
    return Form(
        personal=personal,
        asks=float(asks),
        payload=float(payload),
        named=float(named),
        talk=float(talk),
        plain=float(not talk and len(words) <= _FEW and _is_plain(lower)),
        follows=follows,
        words=len(words),
    )


def form_of_all(texts: Sequence[str]) -> Form:
    """Return the form of several messages as one, by the forms of each; the first one opens it."""
    forms = [form_of(text) for text in texts]
    words = sum(form.words for form in forms)
    return Form(
        personal=sum(form.personal * form.words for form in forms) / max(1, words),
        asks=max(form.asks for form in forms),
        payload=max(form.payload for form in forms),
        named=max(form.named for form in forms),
        talk=forms[0].talk,
        plain=forms[0].plain if len(forms) == 1 else 0.0,
        follows=any(form.follows for form in forms),
        words=words,
    )


def _is_plain(lower: str) -> bool:
    found = _PLAIN.match(lower)
    return found is not None and (found["verb"] is None or bool(tokenize(found["verb"])))


def stands_alone(text: str) -> bool:
    """Say whether a message asks for a thing by its name alone (`what time is it?`), so that
    nothing that was said before belongs to it."""
    lower = text[:READ].lower()
    found = _PLAIN.match(lower) if len(_WORDS.findall(lower)) <= _FEW else None
    return found is not None and found["verb"] is None


def _closes(lower: str) -> bool:
    return bool(_CLOSES.search(lower)) and not any(map(str.isdecimal, lower))
