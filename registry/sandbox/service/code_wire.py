"""Read what a program says while it runs, believing none of it.

It may ask for tools, print, and answer once. Whatever else it sends is a `Violation`, and it is
killed.
"""

from dataclasses import dataclass
from typing import Any

from registry.sandbox.service.wire import (
    Answer,
    Failure,
    Notification,
    Violation,
    parse_json,
)

LARGEST_ID = 1 << 53
MAX_METHOD_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """The program asks for a tool; `size` is the length of its line in bytes."""

    id: int
    name: str
    arguments: dict[str, Any]
    size: int


CodeMessage = ToolRequest | Notification | Answer | Failure


def parse_code_line(line: bytes) -> CodeMessage:
    """Parse one line; raises `Violation` for anything but the four messages there are."""
    message = parse_json(line)
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise Violation("a message that is not a JSON-RPC 2.0 object")
    if "method" in message:
        return _asked(message, len(line))
    request_id = _id_of(message)
    if ("result" in message) == ("error" in message):
        raise Violation("an answer that has not exactly one of result and error")
    if "result" in message:
        return Answer(request_id, message["result"], len(line))
    return _failure(request_id, message["error"])


def _asked(message: dict[str, Any], size: int) -> ToolRequest | Notification:
    method, params = message["method"], message.get("params")
    if not isinstance(method, str) or len(method) > MAX_METHOD_CHARACTERS:
        raise Violation("a message whose method is no name")
    if not isinstance(params, dict):
        raise Violation("a message whose params are no object")
    if "result" in message or "error" in message:
        raise Violation("a message that is a question and an answer at once")
    if "id" not in message:
        return Notification(method, params)
    return ToolRequest(_id_of(message), method, params, size)


def _id_of(message: dict[str, Any]) -> int:
    request_id = message.get("id")
    if type(request_id) is not int or not 0 < request_id < LARGEST_ID:
        raise Violation("a message whose id is not a number from 1 on")
    return request_id


def _failure(request_id: int, error: Any) -> Failure:
    if not isinstance(error, dict) or type(error.get("code")) is not int:
        raise Violation("an error that is not an error object")
    if not isinstance(error.get("message"), str):
        raise Violation("an error without a message")
    return Failure(request_id, error["code"], error["message"], {})
