"""What may go wrong: one class for each family, the exact code in `.code`.

Every answer of the API that is an error has the shape `{code, message, hint, extra}`; the codes
are listed in Outfitter's `docs/reference/errors.md`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


class OutfitterError(Exception):
    """The general error. `status` is that of HTTP, or 0 where no answer came."""

    code = "error"

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        code: str = "",
        status: int = 0,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep what happened, and what to do about it."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.code
        self.status = status
        self.extra: dict[str, Any] = dict(extra or {})

    def __str__(self) -> str:
        """Return the message, the hint and the code on one line."""
        return f"{self.message} {self.hint}".strip() + f" [{self.code}]"

    def as_dict(self) -> dict[str, Any]:
        """Return the error as the API has it, for a model to read."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "extra": self.extra,
        }


class InvalidRequest(OutfitterError):
    """What was sent is not accepted; `extra["problems"]` names the fields."""

    code = "invalid_input"


class AuthenticationFailed(OutfitterError):
    """There is no token, or it is unknown, expired or revoked."""

    code = "authentication_failed"


class NotAllowed(OutfitterError):
    """The token's person, agent or scopes do not allow it."""

    code = "not_allowed"

    needed_scopes: tuple[str, ...] = ()
    """All scopes that the request needs, where the server told them."""


class NotFound(OutfitterError):
    """It does not exist, or may not be seen."""

    code = "not_found"


class Conflict(OutfitterError):
    """Its state does not allow this, or does no more."""

    code = "conflict"


class InputNeeded(Conflict):
    """A call waits for a person: an approval or an answer."""

    code = "input_needed"


class RateLimited(OutfitterError):
    """Too many requests; `retry_after` is in seconds."""

    code = "rate_limited"

    retry_after: float = 0


class ToolFailed(OutfitterError):
    """A tool could not be loaded, or ran and failed; `extra` has `tool` and `phase`."""

    code = "tool_error"


class RunFailed(ToolFailed):
    """A run of a sequence failed or was cancelled; `extra["run"]` is its id."""

    code = "run_failed"


class ModelFailed(OutfitterError):
    """The model of an agent did not answer."""

    code = "model_error"


class ServerFault(OutfitterError):
    """A fault of the server, or of what stands before it."""

    code = "server_fault"


class ConnectionFailed(OutfitterError):
    """No answer came."""

    code = "connection_failed"


class TimedOut(OutfitterError):
    """It took longer than the caller wanted to wait; what was begun goes on."""

    code = "timed_out"


_FAMILIES: dict[int, type[OutfitterError]] = {
    401: AuthenticationFailed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    424: ModelFailed,
    429: RateLimited,
}
_CLIENT_ERRORS, _SERVER_ERRORS = 400, 500
_LONGEST_FOREIGN = 200


def error_of(status: int, body: Any, headers: Mapping[str, str]) -> OutfitterError:
    """Return the error that an answer tells; `headers` have names in small letters."""
    told: dict[str, Any] = body if isinstance(body, dict) and "code" in body else {}
    extra = told.get("extra") if isinstance(told.get("extra"), dict) else {}
    family = _family(status, extra or {})
    error = family(
        str(told.get("message") or _foreign(status, body)),
        str(told.get("hint") or ""),
        code=str(told.get("code") or ""),
        status=status,
        extra=extra,
    )
    if isinstance(error, RateLimited):
        error.retry_after = retry_after(headers) or 0
    if isinstance(error, NotAllowed):
        error.needed_scopes = _challenged_scopes(headers.get("www-authenticate", ""))
    return error


def run_error(run: str, status: str, told: Mapping[str, Any] | None) -> RunFailed:
    """Return the error of a run that is over and did not succeed."""
    told = told or {}
    return RunFailed(
        str(told.get("message") or f"The run ended as {status}."),
        str(told.get("hint") or ""),
        code=str(told.get("code") or status),
        extra={**(told.get("extra") or {}), "run": run},
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return for how many seconds an answer asks to wait, when it says so in seconds."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _family(status: int, extra: Mapping[str, Any]) -> type[OutfitterError]:
    phase = extra.get("phase")
    if status >= _SERVER_ERRORS:
        return ServerFault
    if status == 409 and phase == "approval":  # noqa: PLR2004
        return InputNeeded
    if phase in {"load", "execute"} and status not in {401, 404, 429}:
        return ToolFailed
    if status >= _CLIENT_ERRORS:
        return _FAMILIES.get(status, InvalidRequest)
    return OutfitterError


def _foreign(status: int, body: Any) -> str:
    """Say what somebody else answered, such as a proxy or OAuth's `{error, error_description}`."""
    if isinstance(body, dict) and "error" in body:
        return f"{body['error']}: {body.get('error_description', '')}".rstrip(": ")
    text = body.decode(errors="replace") if isinstance(body, bytes) else str(body or "")
    text = " ".join(text.split())[:_LONGEST_FOREIGN]
    return f"The server answered with {status}. {text}".strip()


def _challenged_scopes(challenge: str) -> tuple[str, ...]:
    found = re.search(r'scope="([^"]*)"', challenge)
    return tuple(found[1].split()) if found else ()
