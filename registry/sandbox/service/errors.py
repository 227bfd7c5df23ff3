"""What the service answers when it could not do what was asked."""

from typing import Any

from registry.sandbox.service.limits import STDERR_SHOWN_CHARACTERS


class ServiceError(Exception):
    """A refusal or failure with a code that the client maps onto `registry.errors`."""

    def __init__(self, code: str, message: str, hint: str = "", **extra: Any) -> None:
        self.code = code
        self.message = message
        self.hint = hint
        self.extra = extra
        super().__init__(message)

    def as_rpc(self) -> dict[str, Any]:
        """Return the `error` member of a JSON-RPC answer."""
        data = {"code": self.code, "hint": self.hint, "extra": self.extra}
        return {"code": -32000, "message": self.message, "data": data}


def tail(text: str) -> str:
    """Return the end of a process's error output, short enough for a message."""
    return text.strip()[-STDERR_SHOWN_CHARACTERS:]
