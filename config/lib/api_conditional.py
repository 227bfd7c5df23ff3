"""Conditional requests: `ETag` on what is read, `If-None-Match` and `If-Match` (RFC 9110, 13).

An ETag is the digest of the representation, so it changes exactly when what a client sees does,
whatever that is made of. A write with `If-Match` is carried out in one transaction, in which
PostgreSQL shows one state of all rows (REPEATABLE READ): in it the resource is read as its own GET
shows it, compared, and written. Whoever else changes a row of it between the two, by REST or in
the browser, with a condition or without, makes the database refuse the second write; so nothing
that was changed is lost, and no view needs locks of its own for it.
"""

import copy
import hashlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.db import OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponseNotModified, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.http import parse_etags
from psycopg.errors import SerializationFailure
from rest_framework.response import Response

from config.lib.api_limits import COUNTED
from config.lib.errors import PreconditionFailed
from config.lib.jsontext import storable

WRITES = frozenset({"PUT", "PATCH", "DELETE"})
KEPT_OF_NOT_MODIFIED = ("Cache-Control", "Content-Location", "Date", "ETag", "Expires", "Vary")

View = Callable[..., HttpResponseBase]


def is_conditional_write(request: HttpRequest, view: View) -> bool:
    """Say whether a request wants something written only as the client has seen it."""
    return (
        request.method in WRITES
        and "If-Match" in request.headers
        and hasattr(getattr(view, "cls", None), "get")
    )


def write_if_matched(
    request: HttpRequest, view: View, args: Any, kwargs: dict[str, Any]
) -> HttpResponseBase:
    """Carry out a write if what it changes is still as `If-Match` says; else answer 412."""
    wanted = parse_etags(request.headers["If-Match"])
    reading = _reading(request)
    try:
        with transaction.atomic():
            if len(connection.savepoint_ids) == 0:
                _see_one_state()
            seen = view(reading, *args, **kwargs)
            setattr(request, COUNTED, getattr(reading, COUNTED, None))  # one request, counted once
            tag = etag_of(seen)
            if (
                seen.status_code != HTTPStatus.OK or tag is None
            ):  # such as a 404, or what may not be seen
                return seen
            if not _is_among(tag, wanted):
                return _refused(tag)
            answer = view(request, *args, **kwargs)
            if answer.status_code >= HTTPStatus.BAD_REQUEST:
                transaction.set_rollback(True)
            elif request.method != "DELETE" and (now := etag_of(view(reading, *args, **kwargs))):
                answer["ETag"] = now
            return answer
    except OperationalError as error:
        if not isinstance(error.__cause__, SerializationFailure):
            raise
    return _refused(etag_of(view(reading, *args, **kwargs)))


def etag_of(response: HttpResponseBase) -> str | None:
    """Return the ETag of a complete answer, None of a stream; a weak one of a list."""
    if response.streaming or response.status_code != HTTPStatus.OK:
        return None
    render = getattr(response, "render", None)
    if render is not None and not getattr(response, "is_rendered", True):
        render()
    digest = hashlib.blake2b(getattr(response, "content", b""), digest_size=16).hexdigest()
    return f'W/"{digest}"' if is_list(response) else f'"{digest}"'


def is_list(response: HttpResponseBase) -> bool:
    """Say whether an answer is a page of many things."""
    data = response.data if isinstance(response, Response) else None
    return isinstance(data, list) or (isinstance(data, dict) and "results" in data)


def not_modified(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Give an answer to a read its ETag, or 304 in its place where the client has it already."""
    if request.method not in ("GET", "HEAD") or not (tag := etag_of(response)):
        return response
    response.headers.setdefault("ETag", tag)
    response.headers.setdefault("Cache-Control", "private, no-cache")
    known = parse_etags(request.headers.get("If-None-Match", ""))
    if not any(each == "*" or _opaque(each) == _opaque(response["ETag"]) for each in known):
        return response
    short = HttpResponseNotModified()
    for name in KEPT_OF_NOT_MODIFIED:
        if name in response.headers:
            short[name] = response.headers[name]
    return short


def _see_one_state() -> None:
    # the connection's wrappers would put a statement before it, and it must be the first
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def _reading(request: HttpRequest) -> HttpRequest:
    """Return the same request as a GET without a body or conditions."""
    reading = copy.copy(request)
    reading.method = "GET"
    left = {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "CONTENT_TYPE", "CONTENT_LENGTH"}
    reading.META = {name: value for name, value in request.META.items() if name not in left}
    reading.META["REQUEST_METHOD"] = "GET"
    reading.__dict__.pop("headers", None)  # they are kept once read
    return reading


def _is_among(tag: str, wanted: list[str]) -> bool:
    # strongly compared: a weak tag, such as a list's, never matches
    return "*" in wanted or (not tag.startswith("W/") and tag in wanted)


def _opaque(tag: str) -> str:
    return tag.removeprefix("W/")


def _refused(tag: str | None) -> JsonResponse:
    error = PreconditionFailed(etag=tag) if tag else PreconditionFailed()
    answer = JsonResponse(storable(error.as_dict()), status=error.status)
    if tag:
        answer["ETag"] = tag
    return answer
