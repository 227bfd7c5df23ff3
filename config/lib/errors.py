"""The one family of errors that people and programs are shown.

A class says what kind of thing went wrong (`code`, `status`); an instance says what happened
(`message`), what to do next (`hint`) and the facts (`extra`). The default message is the class's
docstring, so an error raised bare still reads well.
"""

from http import HTTPStatus
from typing import Any, ClassVar

from config.lib.types import JsonObject


class DomainError(Exception):
    """The request could not be carried out."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = HTTPStatus.BAD_REQUEST
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str = "", hint: str = "", **extra: Any) -> None:
        self.message = message or (self.__doc__ or "").strip()
        self.hint = hint or self.default_hint
        self.extra = extra
        super().__init__(self.message)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that an HTTP answer with this error has."""
        return {}

    def as_dict(self) -> JsonObject:
        """Return the wire shape `{code, message, hint, extra}` of `docs/reference/errors.md`."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "extra": self.extra,
        }


class InvalidInput(DomainError):
    """The input is not valid."""

    code = "invalid_input"


class NotAllowed(DomainError):
    """You may not do this."""

    code = "not_allowed"
    status = HTTPStatus.FORBIDDEN


class NotFound(DomainError):
    """There is no such thing, or you may not see it."""

    code = "not_found"
    status = HTTPStatus.NOT_FOUND


class Conflict(DomainError):
    """Somebody changed this at the same time."""

    code = "conflict"
    status = HTTPStatus.CONFLICT


class PreconditionFailed(DomainError):
    """This was changed since you read it; nothing was written."""

    code = "precondition_failed"  # `extra.etag` is the present one
    status = HTTPStatus.PRECONDITION_FAILED
    default_hint = "Read it again, look at what changed, and send your change with its new ETag."


class BodyTooLarge(DomainError):
    """The body is larger than is taken."""

    code = "body_too_large"
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    default_hint = "Send less."


class SessionEnded(DomainError):
    """Your session has ended."""

    code = "session_ended"
    status = HTTPStatus.UNAUTHORIZED
    default_hint = "Sign in again and repeat what you did; nothing of it was carried out."

    @property
    def headers(self) -> dict[str, str]:
        """Return the header by which a page knows it from any other refusal."""
        return {"HX-Session-Ended": "true"}
