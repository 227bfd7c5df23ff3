"""A program's calls of tools, turned against the host: nobody's tool is reached but those offered.

What the program may do by the protocol is checked by `tests/registry/sandbox/`; here it does more
than it may, and the next honest program must get all of its calls.
"""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from registry.errors import CallCancelled, ToolError
from registry.sandbox.client import LocalSandbox
from registry.sandbox.contract import InnerCall
from tests.hostile.witness import Witness
from tests.registry.sandbox.service import becomes_true

pytestmark = pytest.mark.sandbox

# How a program speaks past its worker.
RAW = """
import os, sys, time, json, asyncio, threading
out = tool_call.__self__._out
def say(**members):
    data = memoryview(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\\n")
    while data:
        data = data[os.write(out, data):]
frame = sys._getframe()
while "request" not in frame.f_locals:
    frame = frame.f_back
own = frame.f_locals["request"]["id"]
async def quietly(tool, /, **arguments):
    try:
        return await tool_call(tool, **arguments)
    except Exception as error:
        return getattr(error, "code", type(error).__name__)
"""


@dataclass
class Tools:
    """The tools that are offered, and one that is not; counts who was called."""

    called: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.15
    running: int = 0
    most: int = 0
    cancelled: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def offered(self) -> dict[str, InnerCall]:
        """Return the tools that the program is told of."""
        return {"echo": self.echo, "slow": self.slow}

    def echo(self, arguments: Any, _cancel: threading.Event) -> Any:
        """Answer with what came."""
        with self.lock:
            self.called["echo"] += 1
        return arguments

    def slow(self, _arguments: Any, cancel: threading.Event) -> Any:
        """Take a while, or be cancelled."""
        with self.lock:
            self.called["slow"] += 1
            self.running += 1
            self.most = max(self.most, self.running)
        given_up = cancel.wait(self.seconds)
        with self.lock:
            self.running -= 1
            self.cancelled += given_up
        return "slow"


@pytest.fixture
def tools() -> Tools:
    """Tools that nobody has called."""
    return Tools()


@pytest.fixture
def sandbox(witness: Witness) -> Iterator[LocalSandbox]:
    """The service; afterwards the next program gets every answer to its own calls."""
    client = witness.service.client
    yield client
    witness.check()
    honest = "[(await tool_call('echo', n=n))['n'] for n in range(5)]"
    assert client.execute(honest, Tools().offered()).value == [0, 1, 2, 3, 4]


NOT_OFFERED = [
    *("secret", "run_code", "execute", "describe", "build", "call", "status", "forget", "collect"),
    *("answer", "tool", "drop", "cancel", "ready", "__class__", "echo ", "Echo", "echo\\u0000", ""),
    *("../echo", "echo;secret", "%65cho", "ｅcho", "slow\\necho", "x" * 200),
]  # fmt: skip


@pytest.mark.parametrize("name", NOT_OFFERED)
def test_a_tool_that_is_not_offered_cannot_be_called(
    sandbox: LocalSandbox, tools: Tools, name: str
) -> None:
    code = f"""
name = "{name}"
tool_call.__self__.tools |= {{name}}
answers = [await quietly(name), await quietly(name, name="echo", arguments={{}})]
answers
"""
    assert sandbox.execute(RAW + code, tools.offered()).value == ["unknown_tool"] * 2
    assert tools.called == {}


def test_code_inside_of_code_is_a_tool_like_any_other(sandbox: LocalSandbox, tools: Tools) -> None:
    code = "await quietly('run_code', code='1'), await quietly('execute', code='1', tools=['echo'])"
    assert sandbox.execute(RAW + code, tools.offered()).value == ["unknown_tool"] * 2


FLOODS = {
    "five hundred and one": "for n in range(1, 502):\n    say(id=n, method='echo', params={})",
    "one id twice": "for n in (1, 1):\n    say(id=n, method='echo', params={})",
    "its own id": "for n in (own, own):\n    say(id=n, method='echo', params={})",
    "answers and calls": "say(id=1, method='echo', params={}, result={})",
    "an answer to a call": "say(id=1, method='echo', params={})\nsay(id=1, result={})",
    "great arguments": "for n in range(1, 9):\n"
    "    say(id=n, method='slow', params={'x': 'x' * 3_000_000})",
    "a call as a log": "say(method='echo', params={})",
    "a made-up answer for the host": "say(method='answer', params={'call': 1, 'result': 1})",
    "a made-up cancel": "say(method='cancel', params={'id': 1})",
}  # fmt: skip


@pytest.mark.parametrize("flood", FLOODS)
def test_a_program_that_breaks_the_rules_of_calling_is_ended(
    sandbox: LocalSandbox, flood: str
) -> None:
    tools = Tools(seconds=60)  # what is under way stays so
    with pytest.raises(ToolError) as caught:
        sandbox.execute(f"{RAW}\n{FLOODS[flood]}\ntime.sleep(30)", tools.offered())
    assert caught.value.code == "protocol_violation"
    assert tools.called.total() <= 500


def test_the_worker_itself_makes_no_more_than_five_hundred_calls(
    sandbox: LocalSandbox, tools: Tools
) -> None:
    code = "Counted = [await quietly('echo') for _ in range(503)]\nCounted[499:]"
    assert sandbox.execute(RAW + code, tools.offered()).value == [{}, *["too_many_calls"] * 3]
    assert tools.called["echo"] == 500


@pytest.mark.parametrize(
    "code",
    [
        "await asyncio.gather(*(quietly('slow') for _ in range(20)))",
        "for n in range(1, 21):\n    say(id=n, method='slow', params={})\ntime.sleep(2)",
        "ts = [threading.Thread(target=lambda: asyncio.run(quietly('slow'))) for _ in range(12)]\n"
        "[t.start() for t in ts]\n[t.join() for t in ts]\nNone",
    ],
    ids=["gathered", "past the worker", "in threads"],
)
def test_no_more_than_eight_calls_run_at_the_same_time(
    sandbox: LocalSandbox, tools: Tools, code: str
) -> None:
    sandbox.execute(RAW + code, tools.offered())
    assert 0 < tools.most <= 8


@pytest.mark.parametrize(
    "end",
    ["os._exit(0)", "os.kill(os.getpid(), 9)", "say(id=own, result={'value': 1, 'json': True})"],
    ids=["ends", "dies", "answers"],
)
def test_calls_end_with_the_program_and_none_starts_afterwards(
    sandbox: LocalSandbox, end: str
) -> None:
    tools = Tools(seconds=60)  # none comes to its own end before the program does
    calls = "for n in range(1, 30):\n    say(id=n, method='slow', params={})"
    late = "for n in range(40, 60):\n    say(id=n, method='slow', params={})"
    with contextlib.suppress(ToolError):
        sandbox.execute(f"{RAW}\n{calls}\ntime.sleep(0.05)\n{end}\n{late}", tools.offered())
    assert becomes_true(lambda: tools.running == 0)
    started = tools.called["slow"]
    assert started <= 16, "no more than were under way, and those that were next"
    time.sleep(0.2)
    assert tools.called["slow"] == started


def test_a_cancelled_program_calls_nothing_any_more(sandbox: LocalSandbox, tools: Tools) -> None:
    cancel = threading.Event()
    code = "while True:\n    await quietly('slow')"

    def cancel_after_some() -> None:
        becomes_true(lambda: tools.called["slow"] > 1)
        cancel.set()

    watching = threading.Thread(target=cancel_after_some)
    watching.start()
    with pytest.raises(CallCancelled):
        sandbox.execute(RAW + code, tools.offered(), cancel=cancel)
    watching.join()
    assert becomes_true(lambda: tools.running == 0)
    started = tools.called["slow"]
    time.sleep(0.2)
    assert tools.called["slow"] == started


def test_a_program_that_catches_everything_is_cancelled_all_the_same(
    sandbox: LocalSandbox,
) -> None:
    cancel = threading.Event()

    def deaf(_arguments: Any, _cancel: threading.Event) -> Any:
        cancel.set()

    code = """
import signal
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
await quietly("deaf")
while True:
    try:
        while True: time.sleep(0.01)
    except BaseException: pass
"""
    with pytest.raises(CallCancelled):
        sandbox.execute(RAW + code, {"deaf": deaf}, cancel=cancel)
