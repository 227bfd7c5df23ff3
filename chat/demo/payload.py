"""Find in a message what a tool shall work on: quotes, code, links, numbers, places, sums."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from config.lib.types import JsonValue
from registry.search.tokens import tokenize

_FENCE = re.compile(r"```[\w+#.-]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_QUOTE = re.compile(r"`([^`]+)`|\"([^\"]*)\"|“([^”]*)”|«([^»]*)»|(?<!\w)'([^'\n]+)'(?!\w)")
_URL = re.compile(r"https?://[^\s<>\"'`)\]]+")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w-]*\d*-\d)")
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_DATE = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?\b"
    rf"|\b\d{{1,2}} {_MONTH}(?: \d{{4}})?\b|\b{_MONTH} \d{{1,2}},? \d{{4}}\b"
)
_ZONE = re.compile(
    r"\b[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?\b|\bUTC(?:[+-]\d{1,2}(?::\d{2})?)?"
)
_PLACE = re.compile(r"\b(?:in|at|for|of)\s+((?:[A-Z][\w'’.-]*)(?:\s+[A-Z][\w'’.-]*)*)")
_SUM = re.compile(
    r"(?:(?:sqrt|round|abs|log|ln|exp|sin|cos|tan|floor|ceil|min|max|pi|tau|of)\b|[\d.,()+*/^%×÷\s-])+"
)
_OPERATIONS = (
    (re.compile(r"\bsquare root of (\d[\d.,]*)", re.IGNORECASE), r"sqrt(\1)"),
    (re.compile(r"\bto the power of\b", re.IGNORECASE), "**"),
    (re.compile(r"(?<=[\d)])\s+(?:multiplied by|times)\s+(?=[\d(-])", re.IGNORECASE), " * "),
    (re.compile(r"(?<=[\d)])\s+(?:divided by|over)\s+(?=[\d(-])", re.IGNORECASE), " / "),
    (re.compile(r"(?<=[\d)])\s+plus\s+(?=[\d(-])", re.IGNORECASE), " + "),
    (re.compile(r"(?<=[\d)])\s+minus\s+(?=[\d(-])", re.IGNORECASE), " - "),
    (re.compile(r"(?<=[\d)])\s+squared\b", re.IGNORECASE), " ** 2"),
    (re.compile(r"(?<=\d)\s+percent\b", re.IGNORECASE), "%"),
)
_COUNTED = re.compile(r"-?\d[\d,]*(?:\.\d+)?\s*(?:degrees?\s+)?([A-Za-z°µ/%²³]+)")
_HOW_MANY = re.compile(r"\bhow many ([A-Za-z°µ/²³]+)", re.IGNORECASE)
_TARGET_UNIT = re.compile(r"\b(?:to|into|in|as)\s+([A-Za-z°µ/²³]+)\s*[?.!]*\s*$")
_CUE = re.compile(r"\b(?:of|in|on|for|about|from|with|this|that|text)\b[:\s]+(?=\S)", re.IGNORECASE)


MOST_DOCUMENTS = 100
"""Brackets of a message that are tried as the start of JSON."""


def in_signs(said: str) -> str:
    """Return a text with its calculations in signs: `17 times 23` becomes `17 * 23`."""
    for pattern, sign in _OPERATIONS:
        said = pattern.sub(sign, said)
    return said


def _json_documents(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the JSON lists and objects that stand in a text, as text and as values."""
    decoder = json.JSONDecoder()
    end = 0
    for match in islice(re.finditer(r"[\[{]", text), MOST_DOCUMENTS):
        if match.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        yield text[match.start() : end], value


SHORTEST_STEM = 4
"""Letters of an option that may be the start of a longer word in the message."""


class Payload:
    """What a message holds beside the words that say what to do with it."""

    def __init__(self, said: str, tool: str = "", tool_words: frozenset[str] = frozenset()) -> None:
        self._said = said
        self._tool = tool
        self._tool_words = tool_words
        self._quoted: list[str] = [body.strip("\n") for body in _FENCE.findall(said)]
        unfenced = _FENCE.sub(" ", said)
        for document, _ in _json_documents(unfenced):
            self._quoted.append(document)
            unfenced = unfenced.replace(document, " ", 1)
        for groups in _QUOTE.findall(unfenced):
            text = next((group for group in groups if group), "")
            if text != tool:
                self._quoted.append(text)
        self._plain = _URL.sub(" ", _QUOTE.sub(" ", unfenced))
        self._urls = _URL.findall(said)
        self._dates = _DATE.findall(said)
        self._numbers = [
            float(text.replace(",", "")) if "." in text else int(text.replace(",", ""))
            for text in _NUMBER.findall(_DATE.sub(" ", self._plain))
        ]
        self._words = set(tokenize(said))

    def named(self, name: str) -> str | None:
        """Return what is assigned outright: `name: value`, `name=value`, `name "value"`."""
        label = re.escape(name).replace("_", "[ _-]")
        found = re.search(
            rf"(?<![\w-]){label}\s*(?:(?:=|:)\s*(?:[\"“'`]([^\"”'`]*)[\"”'`]|(\S+))|\s[\"“'`]([^\"”'`]*)[\"”'`])",
            self._said,
            re.IGNORECASE,
        )
        if not found:
            return None
        text = next(group for group in found.groups() if group is not None)
        text = text if found[2] is None else text.rstrip(",.;")
        if text in self._quoted:
            self._quoted.remove(text)
        return text

    def yes_or_no(self, name: str) -> bool | None:
        """Return whether a message that speaks of `name` wants it, else None."""
        words = tokenize(name)
        if not words or not set(words) <= self._words:
            return None
        label = re.sub(r"[_-]", r"[ _-]", name)
        return not re.search(rf"\b(?:no|not|without|don'?t)\s+{label}", self._said, re.IGNORECASE)

    def one_of(self, options: list[Any]) -> JsonValue:
        """Return the option that the message has a word of, the longest first."""
        for option in sorted((o for o in options if o is not None), key=lambda o: -len(str(o))):
            if re.search(
                rf"(?<![\w-]){re.escape(str(option))}(?![\w-])", self._said, re.IGNORECASE
            ):
                return option
        for option in options:
            if isinstance(option, str) and self._speaks_of(option):
                return option
        return None

    def _speaks_of(self, option: str) -> bool:
        """Tell whether a word is the option in another form: `uppercase` for `upper`."""
        words = set(tokenize(option))
        if words and words <= self._words:
            return True
        is_stem = len(option) >= SHORTEST_STEM
        return is_stem and any(word.startswith(option.lower()) for word in self._words)

    def number(self, name: str, *, needed: bool) -> float | int | None:
        """Take the next number, for an optional field only where the message speaks of it."""
        if not self._numbers or not (needed or set(tokenize(name)) & self._words):
            return None
        return self._numbers.pop(0)

    def items(self, kind: str) -> list[Any] | None:
        """Take all that could be items of a list."""
        if (value := self.json_value(list)) is not None:
            return list(value)
        if kind in {"integer", "number"}:
            numbers, self._numbers = self._numbers, []
            return numbers or None
        quoted, self._quoted = self._quoted, []
        if quoted:
            return [*quoted]
        tail = self._plain.rpartition(":")[2]
        parts = [part.strip(" .?!") for part in re.split(r",|\band\b", tail)]
        return [part for part in parts if part] or None

    def json_value(self, kind: type | tuple[type, ...]) -> Any:
        """Return the first JSON value of this kind that stands in the message."""
        found = (value for _, value in _json_documents(self._said) if isinstance(value, kind))
        return next(found, None)

    def url(self) -> str | None:
        """Take the next link."""
        return self._urls.pop(0).rstrip(".,;!?") if self._urls else None

    def date(self) -> str | None:
        """Take the next ISO date."""
        return self._dates.pop(0) if self._dates else None

    def place(self) -> str | None:
        """Return a time zone or a place's name."""
        if zone := _ZONE.search(self._said):
            return str(zone[0])
        if place := _PLACE.search(self._plain):
            return place[1].rstrip(".")
        return None

    def unit(self, name: str) -> str | None:
        """Return the unit behind a number, or for a target the one the message ends with."""
        target = _HOW_MANY.search(self._plain) or _TARGET_UNIT.search(self._plain)
        if re.search(r"to|target", name, re.IGNORECASE):
            return target[1] if target else None
        counted = _COUNTED.search(self._plain)
        return counted[1] if counted else None

    def expression(self) -> str | None:
        """Return the longest calculation, words for operators turned into signs."""
        text = in_signs(" . ".join([self._plain, *self._quoted]))
        found = (match.strip(" ,.") for match in _SUM.findall(text))
        sums = [match for match in found if re.search(r"\d", match)]
        sums = [re.sub(r"^(?:of\s+)+|(?:\s+of)+$", "", match) for match in sums]
        return max(sums, key=len, default=None)

    def quoted(self, name: str) -> str | None:
        """Take the next quote; the main text of a tool is the longest of several."""
        if not self._quoted:
            return None
        if re.fullmatch(
            r"text|content|input|string|body|code|html|json|source", name, re.IGNORECASE
        ):
            longest = max(self._quoted, key=len)
            self._quoted.remove(longest)
            return longest
        return self._quoted.pop(0)

    def rest(self) -> str:
        """Return what is left when the words that call for the tool are gone."""
        text = self._said
        if self._tool:
            text = re.sub(rf"`?{re.escape(self._tool)}`?", "", text, flags=re.IGNORECASE)
        _, colon, after = text.partition(":")
        if colon and after.strip() and not after.startswith("//"):
            return after.strip()
        if (cue := _CUE.search(text)) and (tail := text[cue.end() :].strip()):
            return tail.rstrip("?")
        return self._without_call(text)

    def _without_call(self, text: str) -> str:
        """Drop the words at the start that only say what the tool does."""
        words = text.split()
        while len(words) > 1 and set(tokenize(words[0])) <= self._tool_words:
            words.pop(0)
        return " ".join(words)
