"""Make a repeated POST harmless: the second one gets the first one's answer.

A client that sends `Idempotency-Key: <any text up to 200 characters>` may send the same request
again, after a lost connection say, within a day. The key belongs to the person, to what their
token may do, so that no narrower one gets the answer, and to the address; the same key with another
body is an error (IETF draft-ietf-httpapi-idempotency-key-header).
"""

import functools
import hashlib
import json
from collections.abc import Callable
from typing import Any

from django.core.cache import cache
from django.core.files import File
from django.utils.crypto import salted_hmac
from rest_framework.request import Request
from rest_framework.response import Response

from config.lib.api import agent_of, scopes_of
from config.lib.errors import Conflict, InvalidInput

KEPT_SECONDS = 24 * 3600
LONGEST_KEY = 200
IN_PROGRESS_SECONDS = 330
"""How long a first request may take before a repeat is let through: the longest run, and more."""

Post = Callable[..., Response]


class IdempotencyConflict(Conflict):
    """This Idempotency-Key belongs to another request."""

    code = "idempotency_conflict"


def idempotent(post: Post) -> Post:
    """Wrap a DRF `post` method so that it honours `Idempotency-Key`."""

    @functools.wraps(post)
    def wrapped(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get("Idempotency-Key", "")
        if not key:
            return post(view, request, *args, **kwargs)
        if len(key) > LONGEST_KEY:
            raise InvalidInput(f"An Idempotency-Key has at most {LONGEST_KEY} characters.")
        slot = _digest(str(request.user.pk), _rights(request), request.path, key)
        body = _digest(json.dumps(request.data, sort_keys=True, default=_text))
        if not cache.add(slot, {"body": body}, IN_PROGRESS_SECONDS):
            return _repeated(cache.get(slot) or {}, body)
        try:
            response = post(view, request, *args, **kwargs)
        except BaseException:
            cache.delete(slot)  # a refused request may be mended and sent again
            raise
        kept = {"body": body, "status": response.status_code, "data": response.data}
        cache.set(slot, kept, KEPT_SECONDS)
        return response

    wrapped.honours_idempotency_key = True  # type: ignore[attr-defined]  # for the OpenAPI document
    return wrapped


def _rights(request: Request) -> str:
    """Return what tells tokens apart that may do different things, but not one from its next."""
    scopes = scopes_of(request)
    return json.dumps([str(agent_of(request)), None if scopes is None else sorted(scopes)])


def _text(value: Any) -> str:
    """Return what stands for a value that JSON has not; of a file, a digest of its content."""
    if not isinstance(value, File):
        return str(value)
    digest = hashlib.sha256(b"".join(value.chunks())).hexdigest()
    value.seek(0)
    return f"{value.name}:{digest}"


def _repeated(kept: dict[str, Any], body: str) -> Response:
    if kept.get("body") != body:
        raise IdempotencyConflict(
            "This Idempotency-Key was used with another body.", "Use a new key for a new request."
        )
    if "status" not in kept:
        raise IdempotencyConflict(
            "The first request with this Idempotency-Key is still being worked on.",
            "Wait a moment and send it again.",
        )
    headers = {"Idempotent-Replayed": "true"}
    return Response(kept["data"], status=kept["status"], headers=headers)


def _digest(*parts: str) -> str:
    # keyed, because a body may hold variables, and a bare digest lets short ones be guessed
    text = "\x1f".join(parts)
    return "idempotency:" + salted_hmac("idempotency", text, algorithm="sha256").hexdigest()
