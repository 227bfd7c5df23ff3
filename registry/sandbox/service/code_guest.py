"""One sandboxed program: hand it its code, answer its calls, end it when it breaks the rules."""

import asyncio
import contextlib
import json
import secrets
from typing import Any, Self

from registry.sandbox.service.code_execution import Ask, Execution, Print, Program
from registry.sandbox.service.code_wire import CodeMessage, ToolRequest, parse_code_line
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import CODE_START_SECONDS, MAX_LINE_BYTES, STDIN_SECONDS
from registry.sandbox.service.process import crash
from registry.sandbox.service.profile import Profile, prepare
from registry.sandbox.service.runtime import Runtime
from registry.sandbox.service.spawn import CHUNK_BYTES, Sandbox
from registry.sandbox.service.wire import (
    LINE_FEED,
    Answer,
    Failure,
    LineTooLong,
    Notification,
    Violation,
)


class CodeGuest:
    """A sandboxed interpreter that runs one program."""

    def __init__(self, sandbox: Sandbox) -> None:
        loop = asyncio.get_running_loop()
        self._sandbox = sandbox
        self._ready: asyncio.Future[None] = loop.create_future()
        self._answer: asyncio.Future[Answer | Failure] = loop.create_future()
        self._execution: Execution | None = None
        self._violation: ServiceError | None = None
        # It cannot be guessed, so an answer sent before the question is told apart.
        self._id = 1 + secrets.randbelow(1 << 40)
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, runtime: Runtime, profile: Profile) -> Self:
        """Start the interpreter and wait until everything is imported."""
        guest = cls(await Sandbox.spawn(prepare(runtime, profile)))
        try:
            async with asyncio.timeout(CODE_START_SECONDS):
                await guest._first_of(guest._ready)
        except TimeoutError:
            await guest.end()
            message = f"Python did not start within {CODE_START_SECONDS:g} seconds."
            raise ServiceError("sandbox_busy", message) from None
        except BaseException:
            await guest.end()
            raise
        return guest

    # As a spare of the pool

    @property
    def alive(self) -> bool:
        """Say whether it still runs."""
        return not self._reader.done() and self._sandbox.running

    def memory(self) -> int:
        """Return the bytes it uses; 0 if that is not known."""
        return self._sandbox.memory()

    def pause(self) -> None:
        """Do nothing: it has been given no code, and waits without using the processor."""

    def resume(self) -> None:
        """Do nothing; see `pause`."""

    async def settle(self) -> None:
        """Return at once; see `pause`."""

    def halt(self) -> None:
        """Let nothing of it run on."""
        self._sandbox.halt()

    def kill(self) -> None:
        """Stop it; nothing of it runs on."""
        self._sandbox.kill()

    async def end(self) -> None:
        """Kill and reap it."""
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader
        await self._sandbox.end()

    # Running

    async def run(
        self, program: Program, ask: Ask, on_print: Print
    ) -> tuple[Answer | Failure, Execution]:
        """Run the program to its answer; its calls that are still open then are given up.

        Raises `TimeoutError` when its time is up, `ServiceError` when the process ended or broke
        the protocol.
        """
        self._execution = execution = Execution(program, ask, on_print, self._send)
        params: dict[str, Any] = {"code": program.code, "tools": sorted(program.tools)}
        if program.start is not None:
            params["start"] = program.start
        try:
            async with asyncio.timeout(program.seconds):
                await self._send({"id": self._id, "method": "execute", "params": params})
                await self._first_of(self._answer)
            return self._answer.result(), execution
        finally:
            # Before its calls are given up, so that it cannot make more.
            self.halt()
            await execution.close()

    async def _first_of(self, wanted: "asyncio.Future[Any]") -> None:
        """Wait for what is wanted, or raise what ended the process before."""
        either: set[asyncio.Future[Any]] = {wanted, self._reader}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if wanted.done():
            return
        if self._violation is None:
            raise crash(await self._sandbox.finished())
        raise self._violation

    async def _send(self, message: dict[str, Any]) -> None:
        stdin = self._sandbox.process.stdin
        assert stdin is not None  # noqa: S101 - opened as a pipe
        # The reader sees the end of a process that has gone.
        with contextlib.suppress(ConnectionError):
            stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + LINE_FEED)
            try:
                async with asyncio.timeout(STDIN_SECONDS):
                    await stdin.drain()
            except TimeoutError:
                self._stop("nothing: it did not read what it was told")

    async def _read(self) -> None:
        """Take in lines until the answer is there, the output ends or a rule is broken."""
        try:
            await self._take_lines()
        except Violation as violation:
            self._stop(str(violation), violation.code)

    def _stop(self, sent: str, code: str = Violation.code) -> None:
        message = f"The code was stopped because its process sent {sent}."
        self._violation = self._violation or ServiceError(code, message)
        self.kill()

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
                self._take(parse_code_line(line))
                if self._answer.done():
                    return
            if len(pending) > MAX_LINE_BYTES:
                raise LineTooLong(f"a line of more than {MAX_LINE_BYTES >> 20} MB")

    def _take(self, message: CodeMessage) -> None:
        execution = self._execution
        if execution is None:
            if not isinstance(message, Notification) or message.method != "ready":
                raise Violation("something before it was given any code")
            if self._ready.done():
                raise Violation("twice that it is ready")
            self._ready.set_result(None)
        elif isinstance(message, ToolRequest):
            execution.take_request(message)
        elif isinstance(message, Notification):
            execution.take_notification(message)
        elif message.id != self._id:
            raise Violation("an answer to a question that was not asked")
        else:
            self._answer.set_result(message)
