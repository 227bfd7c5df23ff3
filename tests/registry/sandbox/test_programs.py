"""Programs that a model writes, in the real sandbox."""

import threading
from typing import Any

import pytest

from registry import errors
from registry.errors import ApprovalDenied
from registry.sandbox.client import LocalSandbox
from registry.sandbox.contract import CodeOutput, InnerCall
from tests.registry.sandbox.service import RunningService, becomes_true, programs

pytestmark = pytest.mark.sandbox


def add(arguments: Any, cancel: threading.Event) -> Any:
    return sum(arguments.values())


def refuse(arguments: Any, cancel: threading.Event) -> Any:
    raise ApprovalDenied("This agent is set to deny it.", "Ask its owner.")


def waits(arguments: Any, cancel: threading.Event) -> Any:
    return cancel.wait(30)


TOOLS: dict[str, InnerCall] = {"add": add, "refuse": refuse, "waits": waits, "print": add}
OFFERED = {name: call for name, call in TOOLS.items() if name != "print"}


def run(sandbox: LocalSandbox, code: str, **options: Any) -> CodeOutput:
    return sandbox.execute(code, options.pop("tools", OFFERED), **options)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1 + 1", 2),
        ("x = 3", None),
        ("", None),
        ("'a'\n'b'", "b"),
        ("[1, 'two', None, {'three': 3.5}]", [1, "two", None, {"three": 3.5}]),
        ("for i in range(3):\n    pass", None),
        ("def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nf(10)", 55),
        ("import math, statistics\nstatistics.mean([math.floor(2.5), 4])", 3),
        ("import sys\nprint('before')\nsys.exit()", None),
        ("class A:\n    x = 4\nA.x", 4),
        ("'a\\x00b'", "a�b"),
    ],
)
def test_the_last_expression_is_the_result(sandbox: LocalSandbox, code: str, value: Any) -> None:
    answer = run(sandbox, code)
    assert (answer.value, answer.is_json) == (value, True)


@pytest.mark.parametrize(
    ("code", "shown", "type_name"),
    [
        ("{1}", "{1}", "set"),
        ("1j", "1j", "complex"),
        ("float('nan')", "nan", "float"),
        ("10 ** 30", "1" + "0" * 30, "int"),
        ("import datetime\ndatetime.date(2024, 2, 29)", "datetime.date(2024, 2, 29)", "date"),
        ("{(1, 2): 3}", "{(1, 2): 3}", "dict"),
    ],
)
def test_a_result_that_is_not_json_is_shown_as_python_writes_it(
    sandbox: LocalSandbox, code: str, shown: str, type_name: str
) -> None:
    answer = run(sandbox, code)
    assert (answer.value, answer.is_json, answer.type_name) == (shown, False, type_name)


def test_a_loop_over_a_tool_comes_back_as_one_result(sandbox: LocalSandbox) -> None:
    code = """
total = 0
for n in range(5):
    total += await tool_call("add", a=n, b=1)
    print("now", total)
{"total": total}
"""
    pieces: list[str] = []
    answer = run(sandbox, code, on_print=pieces.append)
    assert answer.value == {"total": 15}
    assert answer.printed == "".join(pieces) == "now 1\nnow 3\nnow 6\nnow 10\nnow 15\n"
    assert answer.calls == 5
    assert not answer.truncated


def test_calls_run_side_by_side_but_never_more_than_eight(sandbox: LocalSandbox) -> None:
    lock, running, most = threading.Lock(), 0, 0
    together = threading.Barrier(8)

    def meets(arguments: Any, cancel: threading.Event) -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(60)  # only if eight are here at once
        with lock:
            running -= 1
        return arguments["n"]

    code = "await asyncio.gather(*(tool_call('meets', n=n) for n in range(24)))"
    assert run(sandbox, code, tools={"meets": meets}).value == list(range(24))
    assert most == 8


def test_a_tool_can_be_called_by_its_plain_name(sandbox: LocalSandbox) -> None:
    assert run(sandbox, "await add(a=1, b=2)").value == 3


def test_a_tool_never_hides_a_name_of_python(sandbox: LocalSandbox) -> None:
    tools = {"len": add, "json": add, "tool_call": add, "word-count": add, "class": add}
    code = "[len('abc'), json.dumps(1), await tool_call('len', a=1), await tool_call('class', a=2)]"
    assert run(sandbox, code, tools=tools).value == [3, "1", 1, 2]


def test_a_program_may_run_its_own_event_loop(sandbox: LocalSandbox) -> None:
    code = """
import asyncio
async def main():
    return await asyncio.gather(add(a=1), add(a=2))
print(asyncio.run(main()))
asyncio.run(main())
"""
    answer = run(sandbox, code)
    assert (answer.value, answer.printed) == ([1, 2], "[1, 2]\n")


def test_a_last_expression_that_can_be_awaited_is(sandbox: LocalSandbox) -> None:
    assert run(sandbox, "async def main():\n    return await add(a=4)\nmain()").value == 4


def test_threads_of_a_program_may_each_call_tools(sandbox: LocalSandbox) -> None:
    code = """
import asyncio, threading
found = []
async def one(n):
    return await add(a=n)
threads = [threading.Thread(target=lambda n=n: found.append(asyncio.run(one(n)))) for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
sorted(found)
"""
    assert run(sandbox, code).value == [0, 1, 2, 3]


def test_the_error_of_a_tool_can_be_caught(sandbox: LocalSandbox) -> None:
    code = """
try:
    await refuse(x=1)
except ToolCallError as error:
    caught = [error.tool, error.code, error.message, error.hint]
caught
"""
    told = ["refuse", "approval_denied", "This agent is set to deny it.", "Ask its owner."]
    assert run(sandbox, code).value == told


def test_a_tool_that_is_not_offered_is_named_with_those_that_are(sandbox: LocalSandbox) -> None:
    code = (
        "try:\n    await tool_call('gone')\nexcept ToolCallError as e:\n    r = (e.code, e.hint)\nr"
    )
    assert run(sandbox, code).value == ["unknown_tool", "Tools: add, refuse, waits."]


def test_an_unexpected_fault_of_a_tool_is_told_without_its_words(sandbox: LocalSandbox) -> None:
    def breaks(arguments: Any, cancel: threading.Event) -> Any:
        raise RuntimeError("secret-of-the-host")

    with pytest.raises(errors.CodeFailed) as failure:
        run(sandbox, "await breaks()", tools={"breaks": breaks})
    assert "breaks failed unexpectedly." in failure.value.message
    assert "secret-of-the-host" not in str(failure.value.as_dict())


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            "def f(x):\n    return 1 / x\n\nf(0)",
            "ZeroDivisionError: division by zero\n"
            "  line 4, in <module>: f(0)\n  line 2, in f: return 1 / x",
        ),
        ("x = = 1", "SyntaxError: invalid syntax\n  line 1: x = = 1"),
        (
            "await refuse()",
            "ToolCallError: refuse: This agent is set to deny it. (approval_denied)",
        ),
        ("nothing", "NameError: name 'nothing' is not defined\n  line 1, in <module>: nothing"),
        ("raise SystemExit(3)", "The code ended itself with the status 3."),
        ("input()", "EOFError"),
        ("await add(a=10 ** 40)", "a number of more than 30 digits"),
        ("await add(a={1})", "The arguments cannot be sent"),
        ("await add(a='x' * 2_000_000)", "they have more than 1 MB"),
        ("for n in range(501):\n    await add(a=n)", "at most 500 times"),
        ("class E(Exception):\n    def __str__(self):\n        1 / 0\nraise E", "E"),
        ("class R:\n    def __repr__(self):\n        1 / 0\nR()", "ZeroDivisionError"),
    ],
)
def test_a_failing_program_is_told_with_its_own_lines(
    sandbox: LocalSandbox, code: str, told: str
) -> None:
    with pytest.raises(errors.CodeFailed) as failure:
        run(sandbox, code)
    assert told in failure.value.message
    assert "worker.py" not in failure.value.message
    assert "correct the code" in failure.value.hint


def test_what_is_printed_beyond_a_megabyte_is_cut_and_said_to_be(sandbox: LocalSandbox) -> None:
    answer = run(sandbox, "for _ in range(300):\n    print('x' * 9_999)\n'done'")
    assert answer.value == "done"
    assert answer.truncated
    assert len(answer.printed) == 1 << 20


def test_many_short_lines_are_no_flood(sandbox: LocalSandbox) -> None:
    answer = run(sandbox, "for n in range(60_000):\n    print(n)")
    assert answer.printed.count("\n") == 60_000


def test_a_result_that_is_nested_too_deeply_is_refused(sandbox: LocalSandbox) -> None:
    with pytest.raises(errors.OutputRejected, match="nested too deeply"):
        run(sandbox, "x = 1\nfor _ in range(200):\n    x = [x]\nx")


def test_a_result_beyond_a_megabyte_is_refused(sandbox: LocalSandbox) -> None:
    with pytest.raises(errors.OutputTooLarge, match=r"has 2\.0 MB; at most 1 MB is taken"):
        run(sandbox, "'x' * 2_097_152")


@pytest.mark.parametrize(
    "code", ["while True: pass", "import time\ntime.sleep(60)", "await waits()"]
)
def test_a_program_that_never_ends_is_stopped_in_time(sandbox: LocalSandbox, code: str) -> None:
    with pytest.raises(errors.ToolTimeout, match="did not end within 1 seconds"):
        run(sandbox, code, timeout_seconds=1)
    assert run(sandbox, "1 + 1").value == 2


def test_a_slow_tool_is_given_up_and_the_program_goes_on(sandbox: LocalSandbox) -> None:
    given_up = threading.Event()

    def slow(arguments: Any, cancel: threading.Event) -> Any:
        if cancel.wait(50):
            given_up.set()

    code = """
try:
    await slow()
except ToolCallError as error:
    code = error.code
[code, await add(a=1)]
"""
    # The limit holds for the quick tool too, so it must be enough for that on a busy machine.
    answer = run(sandbox, code, tools={**OFFERED, "slow": slow}, call_seconds=3)
    assert answer.value == ["tool_timeout", 1]
    assert given_up.wait(60)


def test_cancelling_ends_the_program_and_its_calls(
    sandbox: LocalSandbox, sandbox_service: RunningService
) -> None:
    begun, ended, cancel = threading.Semaphore(0), threading.Semaphore(0), threading.Event()

    def slow(arguments: Any, given_up: threading.Event) -> Any:
        begun.release()
        if given_up.wait(50):
            ended.release()

    def give_up() -> None:
        for _ in range(3):
            begun.acquire(timeout=60)
        cancel.set()

    threading.Thread(target=give_up).start()
    code = "await asyncio.gather(*(slow() for _ in range(3)))"
    with pytest.raises(errors.CallCancelled):
        run(sandbox, code, tools={"slow": slow}, cancel=cancel)
    assert all(ended.acquire(timeout=60) for _ in range(3)), "each was told to give up"
    # What is left are at most two spares, each with bubblewrap's own first process.
    assert becomes_true(lambda: len(programs(sandbox_service)) <= 4)


def test_calls_that_are_not_awaited_end_with_the_program(sandbox: LocalSandbox) -> None:
    begun, given_up = threading.Event(), threading.Event()

    def slow(arguments: Any, cancel: threading.Event) -> Any:
        begun.set()
        if cancel.wait(50):
            given_up.set()

    def until_begun(arguments: Any, cancel: threading.Event) -> Any:
        return begun.wait(50)

    code = """
task = asyncio.ensure_future(slow())
await until_begun()
"""
    tools = {"slow": slow, "until_begun": until_begun}
    assert run(sandbox, code, tools=tools, call_seconds=60).value is True
    assert given_up.wait(60)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("x = bytearray(2 ** 31)", errors.OutOfMemory),
        ("import os\nos.kill(os.getpid(), 9)", errors.ToolCrashed),
        ("import os\nos._exit(0)", errors.ToolCrashed),
        ("import ctypes\nctypes.string_at(0)", errors.ToolCrashed),
        ("import os\nos.fork()", errors.CodeFailed),
        ("import socket\nsocket.socket(socket.AF_INET)", errors.CodeFailed),
        ("import subprocess\nsubprocess.run(['/usr/bin/prlimit'])", errors.CodeFailed),
        ("open('/rt/code/worker.py', 'a')", errors.CodeFailed),
        ("open('/etc/shadow').read()", errors.CodeFailed),
    ],
)
def test_a_hostile_program_gets_nowhere_and_the_next_one_is_fine(
    sandbox: LocalSandbox, code: str, found: type[errors.ToolError]
) -> None:
    with pytest.raises(found):
        run(sandbox, code)
    assert run(sandbox, "1 + 1").value == 2


def test_nothing_of_a_program_is_left_for_the_next(sandbox: LocalSandbox) -> None:
    run(sandbox, "import builtins\nbuiltins.sum = None\nopen('/tmp/left', 'w').write('x')")
    answer = run(sandbox, "import os\n[sum([1]), os.listdir('/tmp'), sorted(os.environ)]")
    assert answer.value == [1, [], ["HOME", "LANG", "PATH", "PWD", "TMPDIR"]]


def test_a_program_sees_the_interpreter_and_itself_but_no_other_guest(
    sandbox: LocalSandbox,
) -> None:
    answer = run(sandbox, "import os\n[os.listdir('/rt'), sorted(os.listdir('/rt/code'))]")
    assert answer.value == [["code"], ["channel.py", "steady.py", "worker.py"]]


@pytest.mark.parametrize("tools", [{"print": add}, {"execute": add}])
def test_a_tool_with_a_name_of_the_protocol_is_refused(
    sandbox: LocalSandbox, tools: dict[str, InnerCall]
) -> None:
    with pytest.raises(errors.ToolUnavailable, match="names that are free"):
        run(sandbox, "1", tools=tools)


def test_code_that_is_too_long_is_refused(sandbox: LocalSandbox) -> None:
    with pytest.raises(errors.ToolUnavailable, match="at most 200,000 characters"):
        run(sandbox, "#" * 200_001)
