"""Find in a message the words that name a need, for the tool search.

People paste what a tool shall work on: code, HTML, links, quoted text. Its words say nothing about
the tool that is wanted and would outvote the words that do, so each payload is replaced by the
name of its kind: ``Convert `<h1>Hi</h1>` to markdown`` asks to convert HTML to markdown.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

MAX_LENGTH = 2_000
"""Characters of an intent; a need is said in a few sentences."""

MAX_SCANNED = 50_000
"""Characters of a message that are read; whatever stands behind them is payload."""

SHORT_QUOTE_WORDS = 3
"""A quote of so many words may be a name (`the "weather" tool`); a longer one is payload."""

_FENCE = re.compile(r"```[ \t]*([\w+#.-]{0,20})[^\n`]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_INLINE = re.compile(r"`([^`\n]{1,2000})`")
_HTML = re.compile(r"<([a-zA-Z][a-zA-Z0-9]{0,20})(?:\s[^<>]{0,500})?/?>")
_HTML_RUN = re.compile(r"<[!a-zA-Z/][^<>]{0,500}>(?:[^<>]{0,2000}</?[a-zA-Z][^<>]{0,500}>)*")
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'`)\]]{1,2000}")
_EMAIL = re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}\b")
_JSON = re.compile(r"\{\s*\"[^{}]{0,2000}\}|\[\s*[\"{][^\[\]]{0,2000}\]")
_QUOTE = re.compile(r"\"([^\"\n]{1,2000})\"|“([^”\n]{1,2000})”|(?<!\w)'([^'\n]{1,2000})'(?!\w)")
_BLANKS = re.compile(r"\s+")


def extract_intent(message: str) -> str:
    """Return what the message asks for, without its payload; empty only for a blank message."""
    text = message[:MAX_SCANNED]
    text = _FENCE.sub(_fence_kind, text)
    text = _INLINE.sub(_inline_kind, text)
    text = _HTML_RUN.sub(lambda match: " HTML " if _HTML.search(match[0]) else match[0], text)
    text = _URL.sub(" URL ", text)
    text = _EMAIL.sub(" email address ", text)
    text = _JSON.sub(" JSON ", text)
    text = _QUOTE.sub(_short_quote, text)
    intent = _BLANKS.sub(" ", text).strip()
    if not re.search(r"\w", intent):
        intent = _BLANKS.sub(" ", message[:MAX_SCANNED]).strip()
    return intent[:MAX_LENGTH].strip()


def recent_context(messages: Iterable[Mapping[str, Any]], limit: int = 3) -> list[str]:
    """Return the intents of the user messages before the last one, the oldest first.

    `messages` are `{"role", "content"}` in order, the content a text or a list of parts of which
    those of type `text` count. At most `limit` are returned. The last user message is the query
    itself; search scores what came before separately, because joined to the query it does harm.
    """
    said = [_text(message.get("content")) for message in messages if message.get("role") == "user"]
    earlier = [intent for text in said[:-1] if (intent := extract_intent(text))]
    return earlier[-limit:] if limit > 0 else []


def _fence_kind(match: re.Match[str]) -> str:
    language, body = match[1], match[2]
    return f" {language or _kind(body)} "


def _inline_kind(match: re.Match[str]) -> str:
    """Keep an inline word such as `base64`; it is more often a name than payload."""
    body = match[1].strip()
    if re.fullmatch(r"[\w.-]{1,40}", body):
        return f" {body} "
    return f" {_kind(body)} "


def _kind(payload: str) -> str:
    """Return the name of a payload's kind, or what calls for a tool by itself: a calculation."""
    if _HTML.search(payload):
        return "HTML"
    if _URL.search(payload):
        return "URL"
    if _JSON.search(payload):
        return "JSON"
    if re.fullmatch(r"[\d\s().,+*/^%×÷-]{3,100}", payload):
        return payload
    return "code"


def _short_quote(match: re.Match[str]) -> str:
    body = match[1] or match[2] or match[3]
    return f" {body} " if len(body.split()) <= SHORT_QUOTE_WORDS else " "


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, Mapping)]
        return " ".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
    return ""
