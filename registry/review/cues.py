"""What a description says to a model that it should not: cues of an injected instruction.

A cue is looked for in the text as a model takes it: compatibility forms made plain (NFKC), upper
and lower case alike, look-alike Cyrillic and Greek letters as the Latin ones they stand for, and
every run of blanks as one. Precision counts for more than recall, because a person reads every
hit: the patterns were measured on thousands of descriptions of real tools
(`tests/registry/review/test_cues.py` says how often they hit one).
"""

import re
from typing import NamedTuple

from config.lib.unseen import UNSEEN
from registry.review.letters import LONGEST_READ, plain

BLOCK, WARN, INFO = "block", "warn", "info"
LONGEST_QUOTE = 120
LONGEST_USUAL = 4_000
"""Characters: one description in a thousand of real tools is longer than half of it."""


class Cue(NamedTuple):
    """What was found in a text: `quote` is the very words."""

    code: str
    severity: str
    told: str
    quote: str


class _Pattern(NamedTuple):
    code: str
    severity: str
    told: str
    pattern: re.Pattern[str]


def _pattern(code: str, severity: str, told: str, text: str) -> _Pattern:
    return _Pattern(code, severity, told, re.compile(text))


_SECRETS = (
    r"(conversation|chat history|message history|messages|credentials?|api[ _-]?keys?|passwords?"
    r"|secrets?|access tokens?|private keys?|environment variables?|system prompt|personal data)"
)
_ADDRESS = r"(https?://|www\.|[\w.+-]{1,64}@[\w-]{1,64}\.[a-z]{2})"
_FILES = (
    r"(~/\.(ssh|aws|gnupg|cursor|claude|kube|docker|netrc|npmrc|pypirc|git-credentials)\b"
    r"|\bid_(rsa|ed25519|ecdsa)\b|/etc/(shadow|passwd)\b|\.aws/credentials|\bmcp\.json\b)"
)

_PATTERNS = (
    _pattern(
        "injection_override",
        BLOCK,
        "It tells a model to set aside what it was told",
        r"\b(ignore|disregard|forget|override|bypass)\s(?:(?:all|any|every|the|your|of|these|those"
        r"|my|its|other)\s){0,4}(previous|prior|earlier|above|preceding|foregoing|system|original"
        r"|initial)\s(?:\w+\s)?(instruction|prompt|rule|directive|message|guideline|command)",
    ),
    _pattern(
        "injection_secrecy",
        BLOCK,
        "It tells a model to keep something from the person",
        r"\b((do not|don't|never|must not|mustn't|should not|without)\s(?:ever\s)?(tell|inform"
        r"|mention|reveal|disclos|show|notif|alert)\w{0,4}\s(?:(?:this|it|that|these|anything"
        r"|any of this|about|to)\s){0,3}(the|your|any)\s(end[ -]?)?(user|human|person|operator)\b"
        r"(?!\s?\w*(name|id|agent|list|interface|account|profile|group)\b)"
        r"|(keep|hide|conceal)\s(?:this|it|that|these)\s(?:\w+\s){0,2}(from the (user|human))"
        r"|the user (must|should|may|need) (not|never) (know|see|be told|be informed|notice))",
    ),
    _pattern(
        "injection_order",
        BLOCK,
        "It puts itself before or in place of other tools",
        r"\b(before|prior to|instead of|in place of|after)\s(?:you\s)?(?:us(?:e|ing)|call(?:ing)?"
        r"|invok(?:e|ing)|running|run)\s(?:any|all|every|each)(?:\sof\sthe)?\s(?:(?:other|available)"
        r"\s)?(tool|function)s?\b",
    ),
    _pattern(
        "injection_frame",
        BLOCK,
        "It is dressed up as an instruction of the system",
        r"<\s?/?\s?(important|system|system[-_ ]?prompt|admin|secret|hidden|critical|override)\s?>"
        r"|<\|(im_start|im_end|system|user|assistant|endoftext)\|>|<<\s?/?sys\s?>>|\[/?inst\]"
        r"|#{2,}\s?system\s?(prompt|message)?\s?:|\bend of (system )?(prompt|instructions)\b"
        r"|\bnew (system )?(instructions?|prompt)\s?:",
    ),
    _pattern(
        "injection_role",
        BLOCK,
        "It gives a model another role",
        r"\byou are now (?:a|an|the|in)\b|\bfrom now on,? you\b|\b(developer|jailbreak|dan) mode\b"
        r"|\byou must (always )?(obey|comply with)\b",
    ),
    _pattern(
        "injection_prompt",
        BLOCK,
        "It asks for what a model was told in confidence",
        r"\b(reveal|print|repeat|leak|output|dump|include|send|pass|expose|paste|copy)\w{0,3}\s"
        r"(?:\w+\s){0,3}(your|its|the)\s(?:(?:full|entire|whole|complete|hidden|original|current)"
        r"\s)?system (prompt|instructions)",
    ),
    _pattern(
        "injection_files",
        BLOCK,
        "It has files of the person read",
        r"\b(read|open|load|cat|include|send|pass|attach|upload|paste|copy|contents? of|fetch)\b"
        rf"[^.!?\n]{{0,80}}?{_FILES}",
    ),
    _pattern("sensitive_file", WARN, "It names a file that commonly holds secrets", _FILES),
    _pattern(
        "injection_exfiltration",
        BLOCK,
        "It has something confidential sent away",
        r"\b(send|post|upload|forward|transmit|exfiltrate|leak|copy|report|email|e-mail|bcc)\b"
        rf"[^!?]{{0,80}}?\b{_SECRETS}\b[^!?]{{0,80}}?\bto\b[^!?]{{0,60}}?{_ADDRESS}",
    ),
    _pattern(
        "injection_context",
        WARN,
        "It asks for the whole conversation as an argument",
        r"\b(include|pass|put|copy|paste|append|provide|attach)\w{0,3}\s(?:\w+\s){0,4}?(entire|full"
        r"|whole|complete|previous|all of the)\s(?:\w+\s){0,3}?(conversation|chat|message) ?"
        r"(history|log|transcript|messages?)\b",
    ),
    _pattern(
        "injection_redirect",
        BLOCK,
        "It turns what other tools send to another address",
        r"\ball (?:\w+\s)?(e-?mails?|messages|payments|transfers|requests|files|data) (must|should"
        r"|need to|have to|are to) (always )?(be )?(sent|forwarded|routed|copied|redirected|go)"
        r" to\b"
        r"|\b(change|replace|set|redirect) the (recipient|destination|payee|bcc|address) "
        r"(?:\w+\s){0,3}to\b[^!?]{0,40}@",
    ),
    _pattern(
        "injection_approval",
        WARN,
        "It tells a model to go on without the person",
        r"\b(without|skip|skipping|bypass|bypassing|never) (?:(?:asking|requesting|waiting|ask|for"
        r"|the)\s){0,3}user'?s? (for )?(approval|confirmation|consent|permission)\b",
    ),
    _pattern(
        "hidden_comment", WARN, "It holds a comment that pages do not show", r"<!--.{0,200}?-->"
    ),
    _pattern(
        "data_link",
        WARN,
        "It holds a link that would carry data away",
        r"!\[[^\]]{0,80}\]\(https?://[^)\s]{0,300}?[?&=/](\{|\$\{|<|%7b)"
        r"|https?://[^\s\"'<>]{1,200}?[?&]\w{1,40}=(\{\{|\$\{|<)\s?(conversation|message|data|secret"
        r"|token|key|content|context|history|password|prompt|chat)",
    ),
)

# Read as they are: what normalising would lose.
_RAW = (
    _pattern(
        "hidden_characters",
        BLOCK,
        "It holds characters that people cannot see but models read",
        UNSEEN.pattern,
    ),
    _pattern(
        "control_characters",
        BLOCK,
        "It holds control characters, which can hide what is shown",
        r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]+",
    ),
    _pattern(
        "hidden_by_space",
        WARN,
        "It pushes words out of sight with blanks",
        r"(?<=\S)(?:[ \t\u00a0]{120,}|(?:[ \t\r]*\n){20,})(?=\s*\S)",
    ),
    _pattern(
        "encoded_text",
        WARN,
        "It holds a long encoded text that people cannot read",
        r"(?<![\w+/,])(?=[A-Za-z0-9+/_-]{0,119}[a-z])(?=[A-Za-z0-9+/_-]{0,119}[A-Z])"
        r"(?=[A-Za-z0-9+/_-]{0,119}[0-9])[A-Za-z0-9+/_-]{160,}={0,2}",
    ),
)


def cues_in(text: str) -> list[Cue]:
    """Return what a text says that it should not, each kind once, in the order of its kinds."""
    read = text[:LONGEST_READ]
    found = [*_found(_RAW, read), *_found(_PATTERNS, plain(read))]
    if any(cue.code == "injection_files" for cue in found):
        found = [cue for cue in found if cue.code != "sensitive_file"]
    return found


def _found(patterns: tuple[_Pattern, ...], text: str) -> list[Cue]:
    return [
        Cue(item.code, item.severity, item.told, _quoted(match[0]))
        for item in patterns
        if (match := item.pattern.search(text))
    ]


def _quoted(words: str) -> str:
    """Return words so that they can be shown: what is not drawn is named by its number."""
    seen = "".join(
        letter if letter.isprintable() else f"U+{ord(letter):04X} " for letter in words[:400]
    ).strip()
    return seen if len(seen) <= LONGEST_QUOTE else f"{seen[:LONGEST_QUOTE]}…"
