"""The one shape of every error answer of the REST API."""

from typing import Any

from django.http import Http404
from rest_framework import exceptions
from rest_framework.permissions import SAFE_METHODS
from rest_framework.response import Response
from rest_framework.views import set_rollback

from config.lib.errors import DomainError, NotFound
from config.lib.jsontext import storable
from config.lib.types import JsonObject


def error_body(code: str, message: str, hint: str = "", **extra: Any) -> JsonObject:
    """Return the one shape of every error answer."""
    return {"code": code, "message": message, "hint": hint, "extra": extra}


def handle_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn any expected error into `{code, message, hint, extra}` with the right 4xx."""
    if isinstance(error, Http404):
        error = NotFound("There is no such thing here.")
    if isinstance(error, DomainError):
        set_rollback()
        return Response(storable(error.as_dict()), status=error.status, headers=error.headers)
    if not isinstance(error, exceptions.APIException):
        return None
    set_rollback()
    headers = {}
    if header := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = header
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    if isinstance(error, exceptions.ValidationError):
        request = context.get("request")
        is_read = request is not None and request.method in SAFE_METHODS
        body = error_body(
            "invalid_input",
            "The query parameters are not valid." if is_read else "The request body is not valid.",
            "Correct the named fields.",
            problems=_problems(error.detail),
        )
    else:
        body = error_body(str(error.default_code), str(error.detail), _HINTS.get(type(error), ""))
    # a message may repeat what was sent, such as half a character, which no answer can hold
    return Response(storable(body), status=error.status_code, headers=headers)


_HINTS: dict[type[Exception], str] = {
    exceptions.NotAuthenticated: "Send “Authorization: Bearer <token>”, or sign in.",
    exceptions.AuthenticationFailed: "Make a new token under API tokens.",
    exceptions.PermissionDenied: "Ask for a token with this scope.",
    exceptions.ParseError: "Send well-formed JSON.",
    exceptions.UnsupportedMediaType: "Send “Content-Type: application/json”.",
}


def _problems(detail: Any, path: str = "$") -> list[JsonObject]:
    if isinstance(detail, dict):
        return [p for key, item in detail.items() for p in _problems(item, f"{path}.{key}")]
    if isinstance(detail, list):
        if all(not isinstance(item, dict | list) for item in detail):
            return [{"path": path, "message": str(item)} for item in detail]
        return [p for i, item in enumerate(detail) for p in _problems(item, f"{path}[{i}]")]
    return [{"path": path, "message": str(detail)}]
