"""What a sandboxed process may say, line by line."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.sandbox.service.wire import (
    Answer,
    Failure,
    Notification,
    Violation,
    parse_line,
    request_line,
)


def line(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def test_an_answer_an_error_and_a_notification_are_read() -> None:
    answer = line(id=7, result={"x": [1, 2.5, None, True]})
    assert parse_line(answer) == Answer(7, {"x": [1, 2.5, None, True]}, len(answer))
    assert parse_line(line(id=7, error={"code": -1, "message": "no"})) == Failure(7, -1, "no", {})
    assert parse_line(line(method="log", params={})) == Notification("log", {})


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"hello",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 200 + b"]" * 200 + b"}",
        b'{"jsonrpc":"2.0","id":1,"result":NaN}',
        b'{"jsonrpc":"2.0","id":1,"result":-Infinity}',
        b'{"jsonrpc":"2.0","id":1,"result":1e999}',
        b'{"jsonrpc":"2.0","id":1,"result":' + b"9" * 31 + b"}",
        b'{"jsonrpc":"2.0","id":1,"result":' + b"9" * 5_000 + b"}",
        b'{"id":1,"result":1}',
        line(id=1),
        line(id=1, result=1, error={"code": 1, "message": ""}),
        line(id=True, result=1),
        line(id="1", result=1),
        line(id=1.0, result=1),
        line(id=None, result=1),
        line(result=1),
        line(id=1, error="no"),
        line(id=1, error={"code": "1", "message": ""}),
        line(id=1, error={"code": True, "message": ""}),
        line(id=1, error={"code": 1, "message": None}),
        line(id=1, method="tool", params={}),
        line(method="log"),
        line(method="log", params=[]),
        line(method=1, params={}),
    ],
)
def test_anything_else_is_a_violation(bad: bytes) -> None:
    with pytest.raises(Violation):
        parse_line(bad)


def test_text_is_made_fit_for_postgresql() -> None:
    found = parse_line(b'{"jsonrpc":"2.0","id":1,"result":{"a\\u0000":"b\\ud800\\ud83d\\ude00"}}')
    assert isinstance(found, Answer)
    assert found.result == {"a�": "b?😀"}


@given(st.binary(max_size=200))
def test_no_bytes_make_it_fail_in_another_way(data: bytes) -> None:
    with pytest.raises(Violation):
        parse_line(data)


def test_a_request_is_one_line() -> None:
    request = request_line(3, "call", {"text": "a\nb"})
    assert request.count(b"\n") == 1
    assert json.loads(request)["params"] == {"text": "a\nb"}
