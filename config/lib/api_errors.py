"""The one shape of every error answer of the REST API."""

from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404
from rest_framework import exceptions
from rest_framework.permissions import SAFE_METHODS
from rest_framework.response import Response
from rest_framework.views import set_rollback

from config.lib.api import required_by, rest_of, scopes_of
from config.lib.api_limits import TooManyRequests, count
from config.lib.challenges import challenge
from config.lib.errors import BodyTooLarge, DomainError, NotFound
from config.lib.jsontext import storable
from config.lib.types import JsonObject


def error_body(code: str, message: str, hint: str = "", **extra: Any) -> JsonObject:
    """Return the one shape of every error answer."""
    return {"code": code, "message": message, "hint": hint, "extra": extra}


def handle_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn any expected error into `{code, message, hint, extra}` with the right 4xx."""
    request = context.get("request")
    if request is not None:
        try:
            count(request)  # also what was refused before it came to its view
        except TooManyRequests as too_many:
            error = too_many
    if isinstance(error, RequestDataTooBig):
        error = BodyTooLarge("The body has more than is taken.")
    if isinstance(error, Http404):
        error = NotFound("There is no such thing here.")
    if isinstance(error, DomainError):
        set_rollback()
        headers = {**error.headers, **_step_up(error, context)}
        return Response(storable(error.as_dict()), status=error.status, headers=headers)
    if not isinstance(error, exceptions.APIException):
        return None
    set_rollback()
    headers = {}
    if header := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = header
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    if isinstance(error, exceptions.ValidationError):
        is_read = request is not None and request.method in SAFE_METHODS
        body = error_body(
            "invalid_input",
            "The query parameters are not valid." if is_read else "The request body is not valid.",
            "Correct the named fields.",
            problems=_problems(error.detail),
        )
    else:
        body = error_body(str(error.default_code), str(error.detail), _HINTS.get(type(error), ""))
        if isinstance(error, TooManyRequests):
            body["extra"] = {"retry_after_seconds": error.standing.reset}
    # a message may repeat what was sent, such as half a character, which no answer can hold
    return Response(storable(body), status=error.status_code, headers=headers)


_WHOLE = "non_field_errors"
"""What DRF calls a problem of a whole object or list, which is where that stands."""

_HINTS: dict[type[Exception], str] = {
    exceptions.NotAuthenticated: "Send “Authorization: Bearer <token>”, or sign in.",
    exceptions.AuthenticationFailed: "Make a new token under API tokens.",
    exceptions.PermissionDenied: "Ask for a token with this scope.",
    exceptions.NotAcceptable: "Send “Accept: application/json”.",
    exceptions.MethodNotAllowed: "The header Allow names the methods that it takes.",
    TooManyRequests: "Wait so long, and send fewer at a time.",
    exceptions.ParseError: "Send well-formed JSON.",
    exceptions.UnsupportedMediaType: "Send “Content-Type: application/json”.",
}


def _step_up(error: DomainError, context: dict[str, Any]) -> dict[str, str]:
    """Name the scopes of a refused call to the token that lacks them: those it must ask for."""
    missing, request = error.extra.get("missing_scopes"), context.get("request")
    if not missing or request is None or scopes_of(request) is None:
        return {}
    needed = required_by(context.get("view"), request.method) | set(missing)
    header = challenge(rest_of(request), error="insufficient_scope", scopes=needed)
    return {"WWW-Authenticate": header}


def _problems(detail: Any, path: str = "$") -> list[JsonObject]:
    if isinstance(detail, dict):
        inside = [
            (path if key == _WHOLE else f"{path}.{key}", item) for key, item in detail.items()
        ]
        return [problem for place, item in inside for problem in _problems(item, place)]
    if isinstance(detail, list):
        if all(not isinstance(item, dict | list) for item in detail):
            return [{"path": path, "message": str(item)} for item in detail]
        return [p for i, item in enumerate(detail) for p in _problems(item, f"{path}[{i}]")]
    return [{"path": path, "message": str(detail)}]
