"""Read what a sandboxed process says, believing none of it.

One JSON-RPC 2.0 message per line. Whatever is not exactly that is a `Violation`, and the process
that sent it is killed.
"""

import json
import math
from dataclasses import dataclass
from typing import Any, NoReturn

from registry.sandbox.service.limits import MAX_INTEGER_DIGITS, MAX_JSON_DEPTH

LINE_FEED = b"\n"


class Violation(Exception):
    """The process did not keep to the protocol."""

    code = "protocol_violation"


class LineTooLong(Violation):
    """The process sent more in one line than is read."""

    code = "output_too_large"


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that wants no answer."""

    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a request; `size` is the length of its line in bytes."""

    id: int
    result: Any
    size: int


@dataclass(frozen=True, slots=True)
class Failure:
    """The error answer to a request; `data` is whatever object the guest sent with it."""

    id: int
    code: int
    message: str
    data: dict[str, Any]


Message = Notification | Answer | Failure


def request_line(request_id: int, method: str, params: dict[str, Any]) -> bytes:
    """Return a request as one line."""
    request = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    return json.dumps(request).encode() + LINE_FEED


def parse_line(line: bytes) -> Message:
    """Parse one line; raises `Violation` for anything but a notification or an answer."""
    message = parse_json(line)
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise Violation("a message that is not a JSON-RPC 2.0 object")
    if "method" in message:
        return _notification(message)
    return _answer(message, len(line))


def _notification(message: dict[str, Any]) -> Notification:
    method, params = message["method"], message.get("params")
    if "id" in message:
        raise Violation("a request, where only answers are expected")
    if not isinstance(method, str) or not isinstance(params, dict):
        raise Violation("a notification whose method or params have the wrong type")
    return Notification(method, params)


def _answer(message: dict[str, Any], size: int) -> Answer | Failure:
    request_id = message.get("id")
    if type(request_id) is not int:
        raise Violation("an answer whose id is not a number")
    if ("result" in message) == ("error" in message):
        raise Violation("an answer that has not exactly one of result and error")
    if "result" in message:
        return Answer(request_id, message["result"], size)
    error = message["error"]
    if not isinstance(error, dict) or type(error.get("code")) is not int:
        raise Violation("an error that is not an error object")
    if not isinstance(error.get("message"), str):
        raise Violation("an error without a message")
    data = error.get("data")
    return Failure(
        request_id, error["code"], error["message"], data if isinstance(data, dict) else {}
    )


def parse_json(line: bytes) -> Any:
    """Parse JSON from a stranger, in plain values that PostgreSQL can hold."""
    try:
        value = json.loads(
            line.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_int=_bounded_int,
            parse_float=_finite_float,
        )
    except UnicodeDecodeError as error:
        raise Violation("bytes that are not UTF-8") from error
    except RecursionError as error:
        raise Violation("JSON that is nested too deeply") from error
    except ValueError as error:
        raise Violation("a line that is not JSON") from error
    return _clean(value, MAX_JSON_DEPTH)


def _refuse_constant(name: str) -> NoReturn:
    raise Violation(f"the number {name}, which JSON does not have")


def _bounded_int(digits: str) -> int:
    if len(digits) > MAX_INTEGER_DIGITS:
        raise Violation("a number with too many digits")
    return int(digits)


def _finite_float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise Violation("a number too large to hold")
    return value


def clean_text(text: str) -> str:
    """Replace lone surrogates and NUL, which PostgreSQL does not store."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "�")


def _clean(value: Any, depth: int) -> Any:
    if depth == 0:
        raise Violation("JSON that is nested too deeply")
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _clean(item, depth - 1) for key, item in value.items()}
    return value
