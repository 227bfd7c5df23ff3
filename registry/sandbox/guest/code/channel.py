"""The way of a program in the sandbox to its host: calls of tools, answers and what is printed."""

import asyncio
import functools
import io
import itertools
import json
import os
import threading
import time
import typing
from collections.abc import Callable
from typing import Any

if typing.TYPE_CHECKING:
    from registry.sandbox.guest.code.steady import Clock

MOST_CALLS = 500
MOST_BYTES = 1 << 20
MOST_DIGITS = 30
DEEPEST = 80
PRINT_CHARACTERS = 32_768
PRINT_SECONDS = 0.1


class ToolCallError(Exception):
    """A tool that the code called answered with an error."""

    __module__ = "__main__"

    def __init__(self, tool: str, code: str, message: str, hint: str = "") -> None:
        self.tool, self.code, self.message, self.hint = tool, code, message, hint
        super().__init__(f"{tool}: {message} ({code})" + (f" {hint}" if hint else ""))


class NotJson(Exception):
    """A value that cannot be told as JSON."""


class TooDeep(NotJson):
    """A value in so many layers that showing it would help nobody."""


def encoded(value: Any) -> str:
    """Return a value as JSON that the host accepts; raises NotJson."""
    try:
        _check(value, DEEPEST)
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None


def _check(value: Any, depth: int) -> None:
    if depth == 0:
        raise TooDeep("it is nested too deeply")
    if isinstance(value, dict):
        for item in value.values():
            _check(item, depth - 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _check(item, depth - 1)
    elif isinstance(value, int) and not -(10**MOST_DIGITS) < value < 10**MOST_DIGITS:
        raise NotJson(f"it has a number of more than {MOST_DIGITS} digits")


def _unsendable(arguments: dict[str, Any]) -> str:
    """Return why arguments cannot be sent, or nothing."""
    try:
        size = len(encoded(arguments))
    except NotJson as error:
        return str(error)
    return "they have more than 1 MB" if size > MOST_BYTES else ""


class Channel:
    """The two descriptors to the host, which every thread and event loop of the code may use."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.close(nothing)
        self._writing, self._reading = threading.Lock(), threading.Lock()
        self._pending: dict[int, tuple[str, int, asyncio.Future[Any]]] = {}
        self._loops: set[asyncio.AbstractEventLoop] = set()
        self._arrived = bytearray()
        self._ids = itertools.count(1)
        self.tools: frozenset[str] = frozenset()
        self.before_call: Callable[[], None] = lambda: None
        self.clock: Clock | None = None

    def write(self, **message: Any) -> None:
        """Send one message, whole."""
        line = memoryview(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        with self._writing:
            while line:
                line = line[os.write(self._out, line) :]

    def wait_for_request(self) -> dict[str, Any]:
        """Wait for the host's one request; end when there is none."""
        while b"\n" not in self._arrived:
            chunk = os.read(self._in, 1 << 16)
            if not chunk:
                os._exit(0)
            self._arrived += chunk
        line, _, rest = self._arrived.partition(b"\n")
        self._arrived = rest
        os.set_blocking(self._in, False)
        request: dict[str, Any] = json.loads(line)
        return request

    async def tool_call(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool by its name and return what it answers; raises ToolCallError."""
        if name not in self.tools:
            known = ", ".join(sorted(self.tools)) or "none"
            text = f"There is no tool named “{str(name)[:64]}” here."
            raise ToolCallError(str(name)[:64], "unknown_tool", text, f"Tools: {known}.")
        if problem := _unsendable(arguments):
            text = f"The arguments cannot be sent: {problem}."
            raise ToolCallError(name, "invalid_arguments", text)
        number = next(self._ids)
        if number > MOST_CALLS:
            text = f"A program may call tools at most {MOST_CALLS} times."
            raise ToolCallError(name, "too_many_calls", text)
        self.before_call()
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops = {other for other in self._loops if not other.is_closed()} | {loop}
            loop.add_reader(self._in, self._readable)
        answer = loop.create_future()
        self._pending[number] = name, self.clock.now if self.clock else 0, answer
        try:
            self.write(id=number, method=name, params=arguments)
            return await answer
        finally:
            self._pending.pop(number, None)

    def _readable(self) -> None:
        with self._reading:
            try:
                chunk = os.read(self._in, 1 << 16)
            except BlockingIOError:
                return
            if not chunk:
                os._exit(0)
            self._arrived += chunk
            *lines, self._arrived = self._arrived.split(b"\n")
        for line in lines:
            self._settle(json.loads(line))

    def _settle(self, message: dict[str, Any]) -> None:
        name, since, answer = self._pending.get(message.get("id", 0), ("", 0, None))
        if answer is None:
            return
        if self.clock:
            self.clock.passed(since, message.get("seconds", 0.0))
        if "error" in message:
            error = message["error"]
            data = error.get("data") or {}
            code, hint = str(data.get("code", error["code"])), str(data.get("hint", ""))
            problem = ToolCallError(name, code, str(error["message"]), hint)
            settle = functools.partial(_fail, answer, problem)
        else:
            settle = functools.partial(_finish, answer, message.get("result"))
        if answer.get_loop() is asyncio.get_running_loop():
            settle()
        else:
            answer.get_loop().call_soon_threadsafe(settle)


def _fail(answer: asyncio.Future[Any], problem: Exception) -> None:
    if not answer.done():
        answer.set_exception(problem)


def _finish(answer: asyncio.Future[Any], result: Any) -> None:
    if not answer.done():
        answer.set_result(result)


class Printed(io.TextIOBase):
    """Sends what is printed, in pieces; beyond the cap it only says that something is missing."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lock = threading.RLock()
        self._held: list[str] = []
        self._size = self._sent = 0
        self._last = time.monotonic()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        with self._lock:
            self._held.append(text)
            self._size += len(text)
            if self._size > PRINT_CHARACTERS or time.monotonic() - self._last > PRINT_SECONDS:
                self.flush()
        return len(text)

    def flush(self) -> None:
        with self._lock:
            text, self._held, self._size = "".join(self._held), [], 0
            self._last = time.monotonic()
            # One character beyond the cap tells the host that there was more.
            text = text[: MOST_BYTES + 1 - self._sent]
            self._sent += len(text)
            for start in range(0, len(text), PRINT_CHARACTERS):
                piece = text[start : start + PRINT_CHARACTERS]
                self._channel.write(method="print", params={"text": piece})
