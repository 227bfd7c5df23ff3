"""What an HTTP request to the MCP server asks for, before the SDK reads it."""

import json
from typing import Any

from django.http import HttpRequest
from starlette.types import Message, Receive

from config.lib.documents import is_deep
from config.lib.errors import DomainError
from config.lib.parsing import DEEPEST_JSON

LARGEST_BODY = 4_000_000
"""Bytes of one request; the REST API takes somewhat more, for documents."""


class MessageTooLarge(DomainError):
    """The request is too large."""

    code = "message_too_large"
    status = 413
    default_hint = f"Send at most {LARGEST_BODY:,} bytes."


class MessageTooDeep(DomainError):
    """The request is nested too deeply."""

    code = "message_too_deep"
    default_hint = f"At most {DEEPEST_JSON} levels are taken."


async def body_of(request: HttpRequest, receive: Receive) -> bytes:
    """Return the whole body; raise MessageTooLarge before all of it is read."""
    declared = request.META.get("CONTENT_LENGTH", "")
    if declared.isdecimal() and int(declared) > LARGEST_BODY:
        raise MessageTooLarge()
    parts, size = [], 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size > LARGEST_BODY:
            raise MessageTooLarge()
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def replaying(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read once more, and then what comes after it."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def asked(request: HttpRequest, body: bytes) -> tuple[str, str]:
    """Return `(method, name)` of a message: the name of the tool, where it calls one.

    It is read where whoever serves it reads it. What cannot be read is for the SDK to refuse;
    what is nested too deeply raises MessageTooDeep.
    """
    try:
        message = json.loads(body) if body else None
    except (ValueError, RecursionError):
        return "", ""
    if not isinstance(message, dict):
        return "", ""
    if is_deep(message, DEEPEST_JSON):
        raise MessageTooDeep()
    method = message.get("method")
    if not isinstance(method, str):
        return "", ""
    params: Any = message.get("params")
    name = params.get("name") if method == "tools/call" and isinstance(params, dict) else None
    return method, name if isinstance(name, str) else ""
