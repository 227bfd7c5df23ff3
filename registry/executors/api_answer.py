"""Make the output of an HTTP tool from what the server answered."""

import base64
import codecs
import json
import re
import time
from collections.abc import Iterable
from email.message import Message
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import NoReturn

import httpx
from jmespath.parser import Parser

from config.lib.masking import Masker
from config.lib.types import JsonObject, JsonValue
from registry.api_definition import ApiDefinition
from registry.api_templates import SLIPS
from registry.builtins.json_bounds import BoundedInterpreter, weighed
from registry.errors import (
    OutputRejected,
    ToolInputRejected,
    UpstreamAuth,
    UpstreamError,
    UpstreamRateLimited,
    UpstreamUnreachable,
)
from registry.outbound import Answer

LONGEST_EXCERPT = 400
MOST_LOOKED_AT = 65_536
LONGEST_WAIT = 86_400
"""Seconds of a Retry-After that are believed."""

REFUSED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
CHARSET = re.compile(r"utf[-_]?(8|16|32)|ascii|iso8859|cp\d|gb|big5|euc|shift_jis|koi8|iso2022")
"""Beginnings of Python's names for character sets; its other codecs are no business of a server."""

TEXTUAL = {
    "application/graphql",
    "application/javascript",
    "application/x-www-form-urlencoded",
    "application/xml",
    "application/yaml",
    "image/svg+xml",
}


def value_of(
    definition: ApiDefinition, answer: Answer, *, secrets: Iterable[str] = ()
) -> JsonValue:
    """Return the tool's output: JSON as it is, text, or `{mediaType, size, base64}`.

    Where an error repeats the answer, `secrets` are put out of sight before it is shortened.

    Raises UpstreamAuth, UpstreamRateLimited or UpstreamError for a status that is no success, and
    OutputRejected for an answer that its mapping does not fit.
    """
    wanted = definition.response.success_status
    if not (answer.status in wanted if wanted else 200 <= answer.status < 300):  # noqa: PLR2004
        _refuse(answer, secrets)
    media, charset = _media(answer.headers)
    value, is_json = _read(answer, media, charset)
    path = definition.response.path.strip()
    if not path or value is None:
        return value
    if not is_json:
        raise OutputRejected(
            f"{answer.host} answered with {media or 'something'} that is not JSON, so the tool's "
            "response path finds nothing in it.",
            "Take the response path away, or ask the service for JSON.",
        )
    return _mapped(path, value)


def _refuse(answer: Answer, secrets: Iterable[str]) -> NoReturn:
    try:
        named = f"{answer.status} {HTTPStatus(answer.status).phrase}"
    except ValueError:
        named = str(answer.status)
    excerpt = _excerpt(answer, secrets)
    message = f"{answer.host} answered {named}" + (f": {excerpt}" if excerpt else ".")
    facts: JsonObject = {"host": answer.host, "status": answer.status}
    if answer.status in REFUSED:
        raise UpstreamAuth(message, **facts)
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        wait = _retry_after(answer.headers.get("Retry-After", ""))
        hint = f"Wait {wait} seconds, then try again." if wait is not None else ""
        raise UpstreamRateLimited(message, hint, retry_after=wait, **facts)
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise UpstreamUnreachable(message, **facts)
    raise UpstreamError(message, **facts)


def _read(answer: Answer, media: str, charset: str) -> tuple[JsonValue, bool]:
    """Return the value of an answer, and whether it was JSON."""
    if not answer.body:
        return None, True
    if media == "application/json" or media.endswith("+json"):
        return _json(answer), True
    if media.startswith("text/") or media in TEXTUAL or media.endswith("+xml"):
        return answer.body.decode(charset, "replace"), False
    if not media:
        try:
            return json.loads(answer.body, parse_constant=_no_constant), True
        except (ValueError, RecursionError):
            pass
        try:
            return answer.body.decode(), False
        except UnicodeDecodeError:
            media = "application/octet-stream"
    packed = base64.b64encode(answer.body).decode()
    return {"mediaType": media, "size": len(answer.body), "base64": packed}, False


def _json(answer: Answer) -> JsonValue:
    try:
        return json.loads(answer.body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise OutputRejected(
            f"{answer.host} says that its answer is JSON, but it cannot be read.",
            "Ask the service's operator.",
        ) from None


def _mapped(path: str, value: JsonValue) -> JsonValue:
    try:
        query = Parser().parse(path).parsed
        return weighed(BoundedInterpreter().visit(query, value))
    except ToolInputRejected:
        raise OutputRejected(
            "The response path takes too long on this answer, or selects too much.",
            "Write a simpler path, or ask the service for less.",
        ) from None
    except SLIPS as problem:
        raise OutputRejected(
            f"The response path does not fit the answer: {' '.join(str(problem).split())[:200]}",
            "Look at a whole answer of the service and correct the path.",
        ) from None


def _media(headers: httpx.Headers) -> tuple[str, str]:
    """Return the media type and a charset that Python knows."""
    parsed = Message()
    given = headers.get("Content-Type", "")
    if not given:
        return "", "utf-8"
    parsed["Content-Type"] = given
    charset = parsed.get_content_charset("utf-8")
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        name = ""
    return parsed.get_content_type(), name if CHARSET.match(name) else "utf-8"


def _excerpt(answer: Answer, secrets: Iterable[str]) -> str:
    """Return the start of an answer for an error message, on one line."""
    text = answer.body[:MOST_LOOKED_AT].decode("utf-8", "replace")
    return " ".join(Masker(secrets).text(text).split())[:LONGEST_EXCERPT]


def _retry_after(text: str) -> int | None:
    """Return the seconds that a Retry-After header asks for, a number or a date."""
    try:
        seconds = int(text) if text.isdigit() else _seconds_until(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0, min(seconds, LONGEST_WAIT))


def _seconds_until(date: str) -> int:
    return round(parsedate_to_datetime(date).timestamp() - time.time())


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
