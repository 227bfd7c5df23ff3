"""Programs that speak to the host past their worker: each is stopped, none harms the next."""

import json
import threading
from typing import Any

import pytest

from registry import errors
from registry.sandbox.client import LocalSandbox
from registry.sandbox.service.code_wire import ToolRequest, parse_code_line
from registry.sandbox.service.wire import Answer, Failure, Notification, Violation

pytestmark = pytest.mark.sandbox

# How a program gets at the descriptor and at the id of its own answer.
RAW = """
import os, sys, time, json
out = tool_call.__self__._out
def say(data):
    view = memoryview(data if isinstance(data, bytes) else data.encode())
    while view:
        view = view[os.write(out, view):]
def line(**members):
    say(json.dumps({"jsonrpc": "2.0", **members}) + "\\n")
frame = sys._getframe()
while "request" not in frame.f_locals:
    frame = frame.f_back
own = frame.f_locals["request"]["id"]
"""
AFTERWARDS = "\ntime.sleep(60)"


def echo(arguments: Any, cancel: threading.Event) -> Any:
    return arguments


def waits(arguments: Any, cancel: threading.Event) -> Any:
    """Never answer, so that what was sent stays under way."""
    return cancel.wait(100)


def forge(sandbox: LocalSandbox, code: str, seconds: float = 120) -> Any:
    return sandbox.execute(RAW + code, {"echo": echo, "waits": waits}, timeout_seconds=seconds)


FORGERIES = [
    r"say(b'\xff\xfe\n')",
    r"say('hello\n')",
    r"say('\n')",
    r"say('[]\n')",
    r"say('null\n')",
    r"say('[' * 100_000 + '\n')",
    'say(\'{"jsonrpc":"2.0","id":1,"result":NaN}\\n\')',
    'say(\'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":-Infinity}}\\n\')',
    'say(\'{"jsonrpc":"2.0","method":"print","params":{"text":"a","n":1e999}}\\n\')',
    'say(\'{"jsonrpc":"2.0","id":\' + \'9\' * 40 + \',"method":"echo","params":{}}\\n\')',
    'say(\'{"id":1,"method":"echo","params":{}}\\n\')',
    "line()",
    "line(id=1)",
    "line(id=True, method='echo', params={})",
    "line(id='1', method='echo', params={})",
    "line(id=1.0, method='echo', params={})",
    "line(id=None, method='echo', params={})",
    "line(id=0, method='echo', params={})",
    "line(id=-1, method='echo', params={})",
    "line(id=2 ** 53, method='echo', params={})",
    "line(id=1, method='echo', params={})\nline(id=1, method='echo', params={})",
    "line(id=1, method='echo', params={})\ntime.sleep(0.2)\nline(id=1, method='echo', params={})",
    "line(id=1, method='echo')",
    "line(id=1, method='echo', params=[])",
    "line(id=1, method='echo', params=None)",
    "line(id=1, method='echo', params='x')",
    "line(id=1, method=7, params={})",
    "line(id=1, method=None, params={})",
    "line(id=1, method='x' * 201, params={})",
    "line(id=1, method='echo', params={}, result=1)",
    "line(id=1, method='echo', params={}, error={})",
    "line(id=own)",
    "line(id=own, result=1, error={'code': 1, 'message': ''})",
    "line(id=own + 1, result={'value': 1, 'json': True, 'type': 'int'})",
    "line(id=own, error='no')",
    "line(id=own, error={'code': '1', 'message': ''})",
    "line(id=own, error={'code': True, 'message': ''})",
    "line(id=own, error={'code': 1, 'message': None})",
    "line(id=own, result=1)",
    "line(id=own, result=[])",
    "line(id=own, result={'value': 1})",
    "line(id=own, result={'value': 1, 'json': 1})",
    "line(method='ready', params={})",
    "line(method='log', params={'text': 'x'})",
    "line(method='print', params={})",
    "line(method='print', params={'text': 7})",
    "line(method='print', params=[])",
    "for n in range(1, 503):\n    line(id=n, method='gone', params={})",
    "for n in range(20_001):\n    line(method='print', params={'text': ''})",
    "for n in range(20):\n    line(method='print', params={'text': 'x' * 1_000_000})",
    "for n in range(1, 30):\n    line(id=n, method='waits', params={'x': 'x' * 3_000_000})",
]


@pytest.mark.parametrize("code", FORGERIES)
def test_a_forged_message_ends_the_program_and_no_other(sandbox: LocalSandbox, code: str) -> None:
    with pytest.raises(errors.ProtocolViolation):
        forge(sandbox, code + AFTERWARDS)
    assert sandbox.execute("1 + 1", {}).value == 2


@pytest.mark.parametrize("code", ["say('x' * 5_000_000)", "say('x' * 5_000_000 + '\\n')"])
def test_a_line_without_end_ends_the_program(sandbox: LocalSandbox, code: str) -> None:
    with pytest.raises(errors.OutputTooLarge, match="a line of more than 4 MB"):
        forge(sandbox, code + AFTERWARDS)
    assert sandbox.execute("1 + 1", {}).value == 2


def test_a_flood_of_error_output_ends_the_program(sandbox: LocalSandbox) -> None:
    with pytest.raises(errors.ToolCrashed):
        forge(sandbox, "while True:\n    os.write(2, b'x' * 1_000_000)")


def test_a_tool_that_is_not_on_the_list_cannot_be_reached_past_the_worker(
    sandbox: LocalSandbox,
) -> None:
    called = []

    def secret(arguments: Any, cancel: threading.Event) -> Any:
        called.append(arguments)

    code = """
tool_call.__self__.tools = {"secret", "echo"}
found = []
for name in ("secret", "execute", "cancel", "print", "answer", "__class__"):
    tool_call.__self__.tools |= {name}
    try:
        await tool_call(name)
    except ToolCallError as error:
        found.append(error.code)
found
"""
    assert forge(sandbox, code).value == ["unknown_tool"] * 6
    assert called == []


def test_an_answer_that_a_program_forges_is_only_its_own(sandbox: LocalSandbox) -> None:
    code = "line(id=own, result={'value': 'mine', 'json': True, 'type': 'str'})\ntime.sleep(20)"
    assert forge(sandbox, code).value == "mine"
    assert sandbox.execute("'honest'", {}).value == "honest"


def test_a_program_that_does_not_read_its_answers_is_stopped(sandbox: LocalSandbox) -> None:
    code = "for n in range(1, 9):\n    line(id=n, method='echo', params={'x': 'x' * 900_000})"
    with pytest.raises(errors.ToolError) as failure:
        forge(sandbox, code + AFTERWARDS, seconds=3)
    assert failure.value.code in {"tool_timeout", "protocol_violation"}


def test_the_four_messages_are_read() -> None:
    def read(**members: Any) -> Any:
        return parse_code_line(json.dumps({"jsonrpc": "2.0", **members}).encode())

    request = read(id=3, method="echo", params={"x": 1})
    assert isinstance(request, ToolRequest)
    assert (request.id, request.name, request.arguments) == (3, "echo", {"x": 1})
    assert read(method="print", params={"text": "a"}) == Notification("print", {"text": "a"})
    assert isinstance(read(id=1, result=None), Answer)
    assert read(id=1, error={"code": -1, "message": "no"}) == Failure(1, -1, "no", {})
    with pytest.raises(Violation):
        read(id=1, method="echo", params=1)
