"""Talk to one sandboxed guest; end it the moment it breaks the rules."""

import asyncio
import contextlib
import secrets
import signal
from collections.abc import Callable
from typing import Any, Self

from registry.sandbox.service.egress import Egress
from registry.sandbox.service.errors import ServiceError, tail
from registry.sandbox.service.limits import (
    MAX_LINE_BYTES,
    MAX_LOG_CHARACTERS,
    MAX_NOTIFICATIONS,
    STDIN_SECONDS,
)
from registry.sandbox.service.profile import Profile, prepare
from registry.sandbox.service.runtime import Runtime
from registry.sandbox.service.spawn import CHUNK_BYTES, Finished, Sandbox
from registry.sandbox.service.wire import (
    LINE_FEED,
    Answer,
    Failure,
    LineTooLong,
    Message,
    Notification,
    Violation,
    parse_line,
    request_line,
)

LogSink = Callable[[str, str], None]
"""Receives `(level, text)` of each line a guest logs."""

SIGNAL_EXIT = 128
MEMORY_SIGNS = ("out of memory", "memory allocation of", "Out of memory", "OutOfMemory")


class GuestFailure(Exception):
    """The guest answered a request with an error."""

    def __init__(self, code: int, message: str, data: dict[str, Any]) -> None:
        self.code = code
        self.message = message
        self.data = data
        super().__init__(message)


class Guest:
    """A sandboxed process that answers one request at a time.

    Use it as `async with await Guest.start(...)`: on leaving, the process is dead and reaped.
    """

    def __init__(self, sandbox: Sandbox, on_log: LogSink | None = None) -> None:
        self._sandbox = sandbox
        self._on_log = on_log
        self._held: list[tuple[str, str]] = []
        self._log_room = MAX_LOG_CHARACTERS
        self._notifications = 0
        self._violation: ServiceError | None = None
        # The first id cannot be guessed, so an answer sent before the question is told apart.
        self._last_id = secrets.randbelow(1 << 30)
        self._waiting: asyncio.Future[Answer] | None = None
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, runtime: Runtime, profile: Profile, on_log: LogSink | None = None) -> Self:
        """Start the profile's command and listen to it."""
        return cls(await Sandbox.spawn(prepare(runtime, profile)), on_log)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    @property
    def alive(self) -> bool:
        """Say whether it still runs and has kept to the rules."""
        return not self._reader.done() and self._sandbox.running

    def memory(self) -> int:
        """Return the bytes it uses; 0 if that is not known."""
        return self._sandbox.memory()

    def pause(self) -> None:
        """Give it no processor time until it is resumed."""
        self._sandbox.pause()

    def resume(self) -> None:
        """Let it run."""
        self._sandbox.resume()

    async def settle(self) -> None:
        """Return once what it does of itself after its start is done, or soon in any case."""
        await self._sandbox.settle()

    def halt(self) -> None:
        """Let nothing of it run on; `end` is still to come."""
        self._sandbox.halt()

    def kill(self) -> None:
        """Stop it; `end` is still to come."""
        self._sandbox.kill()

    async def end(self) -> None:
        """Kill and reap it, so that nothing of it is left when this returns."""
        self._sandbox.kill()
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader
        await self._sandbox.end()

    def listen(self, on_log: LogSink) -> None:
        """Hand over what was logged so far, and from now on each line as it comes."""
        held, self._held = self._held, []
        for level, text in held:
            on_log(level, text)
        self._on_log = on_log

    @property
    def egress(self) -> Egress | None:
        """The sandbox's way out; None when it has none."""
        return self._sandbox.egress

    @property
    def namespace_pid(self) -> int | None:
        """The process id, on the host, of the sandbox's first process."""
        return self._sandbox.child

    async def request(self, method: str, params: dict[str, Any], *, seconds: float) -> Answer:
        """Ask and wait for the answer.

        Raises `GuestFailure` for an error answer, `TimeoutError` when time is up, and
        `ServiceError` when the process ended or broke the protocol.
        """
        if self._reader.done():
            raise await self._ended()
        self._last_id += 1
        self._waiting = asyncio.get_running_loop().create_future()
        async with asyncio.timeout(seconds):
            await self._write(request_line(self._last_id, method, params))
            either: set[asyncio.Future[Any]] = {self._waiting, self._reader}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not self._waiting.done():
                raise await self._ended()
            return self._waiting.result()

    async def finish(self, *, seconds: float) -> None:
        """Close the guest's input and let it end by itself; it is killed when it does not."""
        stdin = self._sandbox.process.stdin
        assert stdin is not None  # noqa: S101 - opened as a pipe
        stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._sandbox.finished()

    async def _write(self, line: bytes) -> None:
        stdin = self._sandbox.process.stdin
        assert stdin is not None  # noqa: S101 - opened as a pipe
        try:
            stdin.write(line)
            async with asyncio.timeout(STDIN_SECONDS):
                await stdin.drain()
        except ConnectionError:
            raise await self._ended() from None

    async def _ended(self) -> ServiceError:
        if self._violation is None:
            finished = await self._sandbox.finished()
            # The last lines may still have been on their way when the process ended.
            return self._violation or crash(finished)
        return self._violation

    async def _read(self) -> None:
        """Take in lines until the output ends or a rule is broken."""
        try:
            await self._take_lines()
        except Violation as violation:
            message = f"The tool's process was stopped because it sent {violation}."
            self._violation = ServiceError(violation.code, message)
            self._sandbox.kill()

    async def _take_lines(self) -> None:
        stdout = self._sandbox.process.stdout
        assert stdout is not None  # noqa: S101 - opened as a pipe
        pending = bytearray()
        while chunk := await stdout.read(CHUNK_BYTES):
            searched = len(pending)
            pending += chunk
            while (end := pending.find(LINE_FEED, searched)) >= 0:
                line = bytes(pending[:end])
                del pending[: end + 1]
                searched = 0
                self._take(parse_line(line))
            if len(pending) > MAX_LINE_BYTES:
                raise LineTooLong(f"a line of more than {MAX_LINE_BYTES >> 20} MB")

    def _take(self, message: Message) -> None:
        if isinstance(message, Notification):
            self._take_notification(message)
            return
        waiting = self._waiting
        if message.id != self._last_id or waiting is None or waiting.done():
            raise Violation("an answer to a question that was not asked")
        if isinstance(message, Failure):
            waiting.set_exception(GuestFailure(message.code, message.message, message.data))
        else:
            waiting.set_result(message)

    def _take_notification(self, message: Notification) -> None:
        self._notifications += 1
        if self._notifications > MAX_NOTIFICATIONS:
            raise Violation(f"more than {MAX_NOTIFICATIONS:,} messages")
        level, text = message.params.get("level"), message.params.get("text")
        if message.method != "log" or not isinstance(level, str) or not isinstance(text, str):
            raise Violation("a notification that is no log line")
        if self._log_room == 0:
            return
        kept = text[: self._log_room]
        self._log_room -= len(kept)
        text = kept if self._log_room else f"{kept} … (log cut here)"
        if self._on_log is None:
            self._held.append((level[:10], text))
        else:
            self._on_log(level[:10], text)


def out_of_memory() -> ServiceError:
    """Return the error of a tool that wanted more memory than it may have."""
    message = "The tool used more memory than a call may."
    return ServiceError("out_of_memory", message, "Try a smaller input.")


def crash(finished: Finished) -> ServiceError:
    """Say why a process ended before it answered."""
    code = finished.code
    if finished.ran_out or any(sign in finished.stderr for sign in MEMORY_SIGNS):
        return out_of_memory()
    if code == SIGNAL_EXIT + signal.SIGXCPU:
        return ServiceError(
            "cpu_limit",
            "The tool used more processor time than a call may.",
            "Try a smaller input.",
        )
    how = f"with exit code {code}"
    if code > SIGNAL_EXIT:
        with contextlib.suppress(ValueError):
            how = f"by signal {signal.Signals(code - SIGNAL_EXIT).name}"
    message = f"The tool's process ended {how} before it answered."
    return ServiceError("tool_crashed", message, exit_code=code, stderr=tail(finished.stderr))
