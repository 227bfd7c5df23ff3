"""Put secrets out of sight in whatever is stored, shown or told to a model.

A secret is looked for as it is and in the forms in which programs commonly write text: escaped for
JSON, HTML or an address, as base64 (inside a longer text too), as hexadecimal digits, as a list of
byte values, backwards, and cut into pieces that follow one another in a list or an object. What a
tool does beyond that, such as a cipher of its own, cannot be recognised; what holds then is that a
tool gets only the variables it declares.
"""

import html
import json
import logging
import traceback
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from urllib.parse import quote, quote_plus

from config.lib.types import JsonValue

MASK = "••••••"
SHORTEST_SECRET = 4
"""Shorter values are not masked: they would blot out half of every text and hide nothing."""

SHORTEST_RECODED = 8
"""Shorter values are not looked for in base64, backwards or in pieces: chance would find them."""


class Masker:
    """Masks a set of secrets; made once and used for many texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        kept = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        self._long = _by_length(s for s in kept if len(s) >= SHORTEST_RECODED)
        self._forms = _by_length(form for secret in kept for form in _forms(secret))
        self._bytes = [secret.encode("utf-8", "replace") for secret in kept]

    def __bool__(self) -> bool:
        return bool(self._forms)

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        for form in self._forms:
            text = text.replace(form, MASK)
        return text

    def value(self, value: JsonValue) -> JsonValue:
        """Return a JSON value without the secrets, in keys too."""
        if not self._forms:
            return value
        if self._shows(value):
            value = _mapped(value, self.text, self._numbers)
        return self._joined(self._joined(value, keys=False), keys=True) if self._long else value

    def stream(self) -> "StreamMask":
        """Return a mask for a text that comes in pieces."""
        return StreamMask(self)

    def might_begin(self, text: str) -> int:
        """Return how many characters at the end of `text` may be the start of a secret."""
        longest = len(self._forms[0]) - 1 if self._forms else 0
        for size in range(min(longest, len(text)), 0, -1):
            end = text[-size:]
            if any(form.startswith(end) for form in self._forms):
                return size
        return 0

    def _shows(self, value: JsonValue) -> bool:
        """Say quickly whether anything is to be masked; mostly nothing is."""
        text = "\x00".join(_leaves(value, keys=True))
        return any(form in text for form in self._forms) or _has_numbers(value)

    def _numbers(self, numbers: list[JsonValue]) -> JsonValue:
        """Return the mask for a list of byte values that spells a secret, else the list."""
        try:
            spelt = bytes(number for number in numbers if isinstance(number, int))
        except ValueError:
            return numbers
        return MASK if any(secret in spelt for secret in self._bytes) else numbers

    def _joined(self, value: JsonValue, *, keys: bool) -> JsonValue:
        """Mask the pieces of a secret that is spread over texts that follow one another."""
        leaves = list(_leaves(value, keys=keys))
        joined = "".join(leaves)
        spans = [
            (place, place + len(secret))
            for secret in self._long
            for place in _places(secret, joined)
        ]
        if not spans:
            return value
        starts = [0]
        for leaf in leaves:
            starts.append(starts[-1] + len(leaf))
        shown = iter(
            MASK if any(a < end and start < b for start, end in spans) and a < b else leaf
            for leaf, (a, b) in zip(leaves, pairwise(starts), strict=True)
        )
        return _replaced(value, shown, keys=keys)


class StreamMask:
    """Masks a text that comes in pieces: what may be the start of a secret is held back."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._held = ""

    def take(self, text: str) -> str:
        """Take the next piece; return what can be shown by now."""
        text = self._masker.text(self._held + text)
        held = self._masker.might_begin(text)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def rest(self) -> str:
        """Return what was held back, at the end of the text."""
        rest, self._held = self._masker.text(self._held), ""
        return rest


def log_failure(logger: logging.Logger, masker: Masker, words: str, *parts: object) -> None:
    """Log the exception that is being handled: its words, too, may repeat a secret."""
    logger.error(f"{words}\n%s", *parts, masker.text(traceback.format_exc()))


def mask(value: JsonValue, secrets: Iterable[str]) -> JsonValue:
    """Return `value` with every occurrence of a secret, in keys too, put out of sight."""
    return Masker(secrets).value(value)


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret in every form in which it is looked for."""
    data = secret.encode("utf-8", "replace")
    digits = data.hex()
    yield from (secret, html.escape(secret), html.escape(secret, quote=False))
    for ascii_only in (True, False):
        escaped = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield from (escaped, json.dumps(escaped, ensure_ascii=ascii_only)[1:-1])
    for encoded in (quote(data, safe=""), quote(data), quote_plus(data)):
        yield from (encoded, _lower_percent(encoded), quote(encoded, safe=""))
    yield from (digits, digits.upper())
    pairs = [digits[place : place + 2] for place in range(0, len(digits), 2)]
    for mark in ("%", "\\x", ":", " "):
        spelt = mark.join(["", *pairs] if mark in "%\\x" else pairs)
        yield from (spelt, spelt.upper() if mark != "\\x" else spelt)
    yield "".join(f"\\u{ord(character):04x}" for character in secret)
    for comma in (",", ", "):
        yield comma.join(map(str, data))
        yield comma.join(f'"{character}"' for character in secret)
        yield comma.join(f"'{character}'" for character in secret)
    if len(secret) >= SHORTEST_RECODED:
        yield secret[::-1]
        for encode in (b64encode, urlsafe_b64encode):
            yield from _base64_cores(data, encode)


def _base64_cores(data: bytes, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yield what base64 makes of `data` wherever it stands inside a longer text.

    Three bytes become four characters, so there are three ways to begin; the characters at the
    edges depend on the neighbours and are left out.
    """
    for before in range(3):
        text = encode(bytes(before) + data).decode().rstrip("=")
        first = -(-before * 8 // 6)
        last = (before + len(data)) * 8 // 6
        yield text[first:last]


def _lower_percent(text: str) -> str:
    first, *others = text.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in others)])


def _by_length(texts: Iterable[str]) -> list[str]:
    """Return texts, each once, the longest first: one may be part of another."""
    return sorted({text for text in texts if text}, key=lambda text: (-len(text), text))


def _places(secret: str, text: str) -> Iterator[int]:
    place = text.find(secret)
    while place >= 0:
        yield place
        place = text.find(secret, place + len(secret))


def _leaves(value: JsonValue, *, keys: bool) -> Iterator[str]:
    """Yield the texts of a value in their order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if keys:
                yield key
            yield from _leaves(item, keys=keys)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, keys=keys)


def _replaced(value: JsonValue, shown: Iterator[str], *, keys: bool) -> JsonValue:
    """Return a value with its texts replaced by `shown`, in the order of `_leaves`."""
    match value:
        case str():
            return next(shown)
        case dict():
            return {
                (next(shown) if keys else key): _replaced(item, shown, keys=keys)
                for key, item in value.items()
            }
        case list():
            return [_replaced(item, shown, keys=keys) for item in value]
        case _:
            return value


def _has_numbers(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return any(_has_numbers(item) for item in value.values())
    if isinstance(value, list):
        return any(_has_numbers(item) for item in value)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_numbers(value: list[JsonValue]) -> bool:
    return len(value) >= SHORTEST_SECRET and all(type(item) is int for item in value)


def _mapped(
    value: JsonValue, text: Callable[[str], str], numbers: Callable[[list[JsonValue]], JsonValue]
) -> JsonValue:
    match value:
        case str():
            return text(value)
        case dict():
            return {text(key): _mapped(item, text, numbers) for key, item in value.items()}
        case list():
            if _is_numbers(value):
                return numbers(value)
            return [_mapped(item, text, numbers) for item in value]
        case int() | float() if not isinstance(value, bool) and text(str(value)) == MASK:
            return MASK
        case _:
            return value
